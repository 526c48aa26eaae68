"""Truths of comparisons near their sides, and functions at the ends of their domains."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.definitions import Affines, Definition, Power, Reified, Unary, complete, unary_starts
from gpusched_dsl.ir.granularity import steps_of, with_steps
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.tolerances import FEASIBILITY, ROUNDING

INF = float("inf")


def at_least(side: float, coefficient: float, whole: bool) -> Reified:
    """`y == [coefficient * x >= side]`, x column 0 and y column 1."""
    made = Reified(
        np.array([1], dtype=np.int32), unary_starts(1), _times(coefficient), lower=np.array([side]),
        upper=np.array([INF]),
    )  # fmt: skip
    (with_them,) = with_steps([made], np.array([whole, True]))
    assert isinstance(with_them, Reified)
    return with_them


def _times(coefficient: float) -> Affines:
    starts, columns = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32)
    return Affines(Matrix(starts, columns, np.array([coefficient])), np.zeros(1))


def truth(definition: Definition, x: float, said: float = 0.0, within: float | None = None) -> float:
    return float(complete((definition,), np.array([x, said]), within)[1])


@pytest.mark.parametrize("size", [1.0, 1e6, 1e9, 1e12, 2.0**52])
def test_a_whole_number_below_its_side_is_below(size: float) -> None:
    comparison = at_least(size + 1, 1.0, whole=True)
    assert [truth(comparison, x) for x in (size, size + 1, size + 2)] == [0, 1, 1]
    # A solver that says that it is true is believed within its tolerance, but not by a whole step.
    assert [truth(comparison, x, 1.0, FEASIBILITY) for x in (size, size + 1)] == [0, 1]


@pytest.mark.parametrize("coefficient", [0.1, 0.25, 3.0])
@pytest.mark.parametrize("count", [7, 10**6 + 1, 10**9 + 7])
def test_sums_that_are_rounded_reach_their_side(coefficient: float, count: int) -> None:
    comparison = at_least(coefficient * count, coefficient, whole=True)
    assert [truth(comparison, count + k) for k in (-1, 0, 1)] == [0, 1, 1]
    off = np.nextafter(coefficient * count, INF)
    assert truth(at_least(off, coefficient, whole=True), count) == 1


def test_of_continuous_columns_errors_count_relative_to_their_size() -> None:
    comparison = at_least(1e9, 1.0, whole=False)
    assert [truth(comparison, 1e9 - off) for off in (0.5, 2.0)] == [1, 0]
    assert [truth(comparison, 1e9 - off, 1.0, FEASIBILITY) for off in (500.0, 2000.0)] == [1, 0]
    assert comparison.steps.tolist() == [0.0]


def test_some_entries_keep_their_steps() -> None:
    both = with_steps([at_least(3.0, 0.5, whole=True)], np.array([True, True]))[0]
    assert both.take(np.array([0, 0])).steps.tolist() == [0.5, 0.5]  # type: ignore[attr-defined]
    assert steps_of(both.arguments, np.array([True, True])).tolist() == [0.5]


def test_a_root_is_read_at_the_end_of_its_domain() -> None:
    one = (np.array([1], dtype=np.int32), unary_starts(1), _times(1.0))
    root = Power(*one, exponents=np.array([0.5]))
    assert truth(root, -ROUNDING / 2) == 0.0
    assert truth(root, -ROUNDING / 1e4) == 0.0
    assert np.isnan(truth(root, -2 * ROUNDING))
    assert truth(root, ROUNDING) == np.sqrt(ROUNDING)
    # A power of a whole exponent has no end there, a logarithm none that has a value.
    assert truth(Power(*one, exponents=np.array([2.0])), -0.5) == 0.25
    assert np.isnan(truth(Unary(*one, function="log"), -1e-12))
    assert truth(Unary(*one, function="log"), 0.0) == -INF


def test_only_powers_that_grow_towards_zero_have_no_value_there() -> None:
    one = (np.array([1], dtype=np.int32), unary_starts(1), _times(1.0))
    for exponent, without in ((-0.5, True), (0.5, False), (-1.0, False)):
        power = Power(*one, exponents=np.array([exponent]))
        assert power.entries_without_value(np.array([0.0])).tolist() == [without], exponent
