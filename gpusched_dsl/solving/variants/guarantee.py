"""What can be guaranteed with a probability over days: an order statistic, and what it says about a new day."""

from __future__ import annotations

import math

import numpy as np

from gpusched_dsl.ir.arrays import Floats

CONFIDENCE = 0.95
ROUNDING = 1e-9


def required_days(days: int, probability: float) -> int:
    """Return the smallest number of days that is at least this share of all."""
    return max(1, math.ceil(probability * days - ROUNDING))


def guaranteed_amount(most: Floats, probability: float) -> float:
    """Return the largest amount that at least this share of the days reaches: an order statistic of their `most`.

    The amount is the only decision before the day, and each day is a problem of its own. So the chance-constrained
    problem max S, P(most >= S) >= p over equally likely days needs neither binaries nor big-M constants.
    """
    return float(np.sort(most)[::-1][required_days(len(most), probability) - 1])


def probability_of_new_day(days: int, met: int, confidence: float = CONFIDENCE) -> float:
    """Return a lower bound of the probability that a new day of the same distribution meets what `met` days have met.

    It holds with this confidence, whatever the distribution (Clopper and Pearson 1934): the quantile 1 - confidence of
    the beta distribution with the parameters met and days - met + 1.
    """
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, met, days - met + 1)) if met else 0.0


def mean_probability_of_new_day(days: int, required: int) -> float:
    """Return the probability that a new day reaches the `required`-th largest amount of `days`, on average.

    The average is over the past days too: all days are draws of one distribution, so each of the days + 1 ranks of the
    new one is equally likely, and with ties it reaches the amount more often (Wilks 1941).
    """
    return required / (days + 1)


def amount_for_new_day(most: Floats, probability: float) -> float:
    """Return the largest amount that a new day reaches with this probability on average; 0 if the days are too few."""
    required = math.ceil(probability * (len(most) + 1) - ROUNDING)
    return float(np.sort(most)[::-1][required - 1]) if required <= len(most) else 0.0
