"""Distributions of random quantities. One that a text can name is a file, and a row of `language/distributions.py`."""

from gpusched_dsl.ir.distributions.base import Distribution
from gpusched_dsl.ir.distributions.exponential import Exponential
from gpusched_dsl.ir.distributions.linear_survival import (
    LinearSurvival,
    deterministic,
    discrete,
    survival_points,
    uniform,
)
from gpusched_dsl.ir.distributions.lognormal import LogNormal
from gpusched_dsl.ir.distributions.mixture import Mixture, mixture
from gpusched_dsl.ir.distributions.normal import Normal
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
