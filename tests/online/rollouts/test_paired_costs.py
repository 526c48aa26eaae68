"""Plans are compared by their costs in the same drawn futures: no plan wins by chance alone."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.online.planners.paired_costs import is_less, least_with_confidence, of_least_mean


def money(*values: float) -> np.ndarray:
    """Costs by future: nobody is stuck, the times are equal."""
    return np.array([[0.0, value, 7.0] for value in values])


@pytest.mark.parametrize(
    ("costs", "others", "less"),
    [
        (money(1), money(2), True),
        (money(2), money(2), False),
        (np.array([[1.0, 0, 0]]), np.array([[0.0, 9, 9]]), False),  # a stuck job is worse than any cost
        (np.array([[0.0, 2, 3]]), np.array([[0.0, 2, 4]]), True),
        (money(1, 11), money(2, 12), True),  # the futures differ, the plans by the same amount in each
        (money(1, 11), money(1, 15), False),  # 4 less on the mean of two draws: the deviation is as large
        (money(1, 1, 1, 1, 1), money(2, 3, 2, 3, 2), True),  # mean -1.4, deviation 0.55: t = -5.7, 2.13 is needed
        (money(1, 1, 1), money(2, 0.8, 2), False),  # mean -0.6, deviation 0.69: t = -1.5, 2.92 is needed
    ],
)
def test_less_by_more_than_chance(costs: np.ndarray, others: np.ndarray, less: bool) -> None:
    assert is_less(costs, others) is less
    assert not is_less(others, costs) or not less


def test_of_equal_plans_one_is_taken_for_less_in_five_of_a_hundred_draws() -> None:
    rng = np.random.default_rng(1)
    count = sum(is_less(money(*rng.normal(size=6)), money(*rng.normal(size=6))) for _ in range(2000))
    assert 0.035 < count / 2000 < 0.065


def test_the_least_of_those_that_are_surely_less() -> None:
    plans = [money(5, 5, 5), money(4, 4.1, 4), money(0, 9, 0), money(4.5, 4.5, 4.4)]
    assert least_with_confidence(plans, 0) == 1  # the third has the least mean, by chance
    assert least_with_confidence([plans[0], plans[2]], 0) == 0


def test_a_plan_costs_what_its_best_planner_makes_of_it() -> None:
    by_planner = np.array([[[0.0, 1, 0], [0.0, 3, 0]], [[0.0, 9, 0], [0.0, 4, 0]]])  # future, planner, column
    assert of_least_mean(by_planner)[:, 1].tolist() == [3.0, 4.0]
