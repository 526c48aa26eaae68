"""Which of several plans costs least, by their costs in the same simulated futures.

Costs have a row for each future and the columns of `FutureCost`, of which the first that differs decides.

Plans differ by less than drawn futures do, and a small change of a plan changes all later plans. So the mean of a few
draws is mostly chance: a plan has to cost less by more than chance explains (one-sided paired t test over common random
numbers: A. M. Law, Simulation Modeling and Analysis, 5th edition, sections 10.2 and 11.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.arrays import Floats

CONFIDENCE = 0.95


def of_least_mean(costs: Floats) -> Floats:
    """Return the costs by the planner with the least mean of them; `costs` are by future, planner and column."""
    means = costs.mean(axis=0)
    return costs[:, min(range(len(means)), key=lambda planner: tuple(means[planner]))]


def is_less(costs: Floats, others: Floats) -> bool:
    """Return whether costs are less than others: those of one future as they are, of several with confidence.

    One future is one in which nothing is drawn: a single draw has no deviation and says nothing.
    """
    differences = costs - others
    differs = differences.any(axis=0)
    if not differs.any():
        return False
    found = differences[:, int(differs.argmax())]
    mean, count = float(found.mean()), len(found)
    if count == 1 or mean >= 0:
        return mean < 0
    from scipy.special import stdtrit

    error = float(found.std(ddof=1) / np.sqrt(count))
    return mean + float(stdtrit(count - 1, CONFIDENCE)) * error < 0


def least_with_confidence(costs: Sequence[Floats], first: int) -> int:
    """Return the plan with the least mean of those that cost less than the plan `first`; `first` if there is none."""
    order = sorted(range(len(costs)), key=lambda plan: tuple(costs[plan].mean(axis=0)))
    return next((plan for plan in order if is_less(costs[plan], costs[first])), first)
