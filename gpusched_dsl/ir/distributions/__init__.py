"""Laws of random quantities. A new one derives from `Restrictable`, and has a name in the language."""

from gpusched_dsl.ir.distributions.base import Distribution
from gpusched_dsl.ir.distributions.exponential import Exponential
from gpusched_dsl.ir.distributions.linear_survival import (
    LinearSurvival,
    deterministic,
    discrete,
    survival_points,
    uniform,
)
from gpusched_dsl.ir.distributions.mixture import Mixture, mixture
from gpusched_dsl.ir.distributions.normal import LogNormal, Normal
from gpusched_dsl.ir.distributions.restricted import Censored, Truncated
from gpusched_dsl.ir.distributions.weibull import Weibull

__all__ = [
    "Censored",
    "Distribution",
    "Exponential",
    "LinearSurvival",
    "LogNormal",
    "Mixture",
    "Normal",
    "Truncated",
    "Weibull",
    "deterministic",
    "discrete",
    "mixture",
    "survival_points",
    "uniform",
]
