"""The evaluator of points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpusched_dsl.ir import domains
from gpusched_dsl.ir.definitions import Affines, Conditions, Power, Product
from gpusched_dsl.ir.domains import IntervalDomain, Universe
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.ir.verify import Tolerances, verify

JOBS = Universe("Jobs", ("j1", "j2"))
NODES = Universe("Nodes", ("n1", "n2"))
INDEX = domains.ProductDomain((IntervalDomain(0, 1, 1, JOBS), IntervalDomain(0, 1, 1, NODES)))


def example() -> Problem:
    """Four `run[j,n]`, two whole; row 0 is the sum of all, row 1 is empty, row 2 has large terms that cancel."""
    return Problem(
        name="example",
        variables=(Family("run", 0, INDEX),),
        lower=np.array([0.0, 0.0, -np.inf, 0.0]),
        upper=np.array([1.0, 1.0, np.inf, 1e4]),
        integer=np.array([True, True, False, False]),
        constraints=(Family("total", 0, IntervalDomain(1, 1)), Family("rest", 1, IntervalDomain(1, 2), part=1)),
        matrix=Matrix(
            np.array([0, 4, 4, 6]), np.array([0, 1, 2, 3, 2, 3], dtype=np.int32), np.array([1.0, 1, 1, 1, 1e6, -1e6])
        ),
        row_lower=np.array([-np.inf, 0.0, -np.inf]),
        row_upper=np.array([3.0, 0.0, 0.0]),
        objectives=(
            Objective(
                "minimize",
                (
                    Term("work", np.array([0, 2], dtype=np.int32), np.array([2.0, -1.0])),
                    Term("fee", np.array([1], dtype=np.int32), np.array([5.0]), 7.0),
                ),
            ),
            Objective("maximize", ()),
        ),
    )


def test_a_feasible_point() -> None:
    found = verify(example(), np.array([1.0, 0.0, 0.5, 1.5]))
    assert found.feasible
    assert (found.row, found.bound, found.integrality) == (0, 0, 0)
    assert found.worst == ()
    first, second = found.objectives
    assert first.value == 8.5
    assert first.magnitude == 9.5
    assert [(t.name, t.value) for t in first.terms] == [("work", 1.5), ("fee", 7.0)]
    assert second.value == 0


def test_broken_row_is_named_with_its_index() -> None:
    found = verify(example(), np.array([1.0, 1.0, 1.0, 1.0]))
    assert not found.feasible
    (worst,) = found.worst
    assert (worst.kind, worst.number, worst.name, worst.index) == ("row", 0, "total[1]", (1,))
    assert (worst.value, worst.absolute) == (4.0, 1.0)
    assert worst.relative == pytest.approx(1 / 3)
    assert str(worst) == "`total[1]` is 4.0, which is above 3.0"
    assert (found.row, found.row_relative) == (1.0, pytest.approx(1 / 3))


def test_broken_bound() -> None:
    found = verify(example(), np.array([0.0, 0.0, -0.5, -0.5]))
    (worst,) = found.worst
    assert (worst.kind, worst.name, worst.absolute) == ("bound", "run[j2,n2]", 0.5)
    assert str(worst) == "`run[j2,n2]` is -0.5, which is below 0.0"


def test_fraction() -> None:
    found = verify(example(), np.array([0.25, 0.0, 0.0, 0.0]))
    (worst,) = found.worst
    assert (worst.kind, worst.name, worst.absolute) == ("integer", "run[j1,n1]", 0.25)
    assert found.integrality == 0.25


def test_violation_is_judged_by_the_size_of_the_terms() -> None:
    point = np.array([0.0, 0.0, 1.0 + 5e-7, 1.0])
    found = verify(example(), point)
    assert found.row == pytest.approx(0.5)  # 1e6 * 5e-7, but the terms are of size 1e6
    assert found.row_relative == pytest.approx(5e-7)
    assert found.feasible
    assert not verify(example(), point, Tolerances(feasibility=1e-7)).feasible


def test_empty_row_has_its_own_side_as_measure() -> None:
    one = example()
    object.__setattr__(one, "row_lower", np.array([-np.inf, 1e-3, -np.inf]))
    found = verify(one, np.zeros(4))
    assert [v.name for v in found.worst] == ["rest[1] (part 2)"]
    assert found.worst[0].relative == pytest.approx(1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(value: float) -> None:
    found = verify(example(), np.array([0.0, 0.0, value, 0.0]))
    assert not found.feasible
    assert [(v.kind, v.name) for v in found.worst] == [("value", "run[j2,n1]")]
    assert np.isnan(found.objectives[0].value)


def test_infinite_side_on_the_wrong_end() -> None:
    one = example()
    object.__setattr__(one, "row_upper", np.array([-np.inf, 0.0, 0.0]))
    found = verify(one, np.zeros(4))
    assert not found.feasible
    assert found.row_relative == np.inf


def test_only_the_worst_are_listed_worst_first() -> None:
    size = 40
    one = Problem(
        name="many",
        variables=(Family("x", 0, IntervalDomain(0, size - 1)),),
        lower=np.zeros(size),
        upper=np.ones(size),
        integer=np.zeros(size, dtype=bool),
        constraints=(),
        matrix=Matrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)),
        row_lower=np.zeros(0),
        row_upper=np.zeros(0),
    )
    found = verify(one, 1.0 + np.arange(size, dtype=np.float64))
    assert [v.number for v in found.worst] == [39, 38, 37, 36, 35]
    assert found.bound == 39


def test_wrong_length() -> None:
    with pytest.raises(ValueError, match="4 columns"):
        verify(example(), np.zeros(3))


def test_agrees_with_a_plain_loop() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        rows, columns = generator.integers(1, 8, 2)
        dense = np.where(generator.random((rows, columns)) < 0.5, generator.normal(size=(rows, columns)), 0)
        row_of, column_of = np.nonzero(dense)
        lower, upper = -generator.random(rows), generator.random(rows)
        one = Problem(
            name="random",
            variables=(Family("x", 0, IntervalDomain(0, int(columns) - 1)),),
            lower=-generator.random(columns),
            upper=generator.random(columns),
            integer=generator.random(columns) < 0.5,
            constraints=(Family("row", 0, IntervalDomain(0, int(rows) - 1)),),
            matrix=Matrix(
                np.searchsorted(row_of, np.arange(rows + 1)), column_of.astype(np.int32), dense[row_of, column_of]
            ),
            row_lower=lower,
            row_upper=upper,
        )
        point = generator.normal(size=columns)
        found = verify(one, point)
        excess = [0.0]
        relative = [0.0]
        for i in range(rows):
            terms = [dense[i, j] * point[j] for j in range(columns)]
            for amount, side in ((lower[i] - sum(terms), lower[i]), (sum(terms) - upper[i], upper[i])):
                if amount > 0:
                    excess.append(amount)
                    relative.append(amount / max([1.0, abs(side), *map(abs, terms)]))
        assert found.row == pytest.approx(max(excess))
        assert found.row_relative == pytest.approx(max(relative))
        assert found.bound == pytest.approx(max(0.0, *(one.lower - point), *(point - one.upper)))


def test_entry_names() -> None:
    assert entry_name(Family("x", 3, INDEX), 5) == "x[j2,n1]"
    assert entry_name(Family("x", 3, IntervalDomain(5, 9)), 4) == "x[6]"


def with_definitions() -> Problem:
    """`x, y, switch` and `z = x * y`, `r = 1 / x`; row 0: z <= 6; row 1, where `switch` is 1: x - y >= 1."""
    pair = Affines.of_columns(np.array([0, 1], dtype=np.int32))
    return Problem(
        name="defined",
        variables=(
            Family("x", 0, IntervalDomain(0, 0)),
            Family("y", 1, IntervalDomain(0, 0)),
            Family("switch", 2, IntervalDomain(0, 0)),
        ),
        auxiliary=(Family("z", 3, IntervalDomain(0, 0)), Family("r", 4, IntervalDomain(0, 0))),
        lower=np.array([-9.0, 0, 0, -np.inf, -np.inf]),
        upper=np.array([9.0, 9, 1, np.inf, np.inf]),
        integer=np.array([True, False, True, False, False]),
        constraints=(Family("small", 0, IntervalDomain(0, 0)), Family("apart", 1, IntervalDomain(0, 0))),
        matrix=Matrix(np.array([0, 1, 3]), np.array([3, 0, 1], dtype=np.int32), np.array([1.0, 1, -1])),
        row_lower=np.array([-np.inf, 1.0]),
        row_upper=np.array([6.0, np.inf]),
        objectives=(Objective("minimize", (Term("z", np.array([3], dtype=np.int32), np.array([2.0])),)),),
        definitions=(
            Product(np.array([3], dtype=np.int32), np.array([0, 2]), pair, None, "x * y"),
            Power(np.array([4], dtype=np.int32), np.array([0, 1]), pair.take(np.array([0])), None, "1 / x",
                  np.array([-1.0])),
        ),
        conditions=Conditions(np.array([1]), np.array([2], dtype=np.int32), np.array([True])),
    )  # fmt: skip


def test_result_columns_are_computed_not_read() -> None:
    found = verify(with_definitions(), np.array([2.0, 3.0, 0.0, 1e9, np.nan]))
    assert found.feasible
    assert found.objectives[0].value == 12.0
    found = verify(with_definitions(), np.array([3.0, 3.0, 0.0, 0.0, 1 / 3]))
    assert [(v.kind, v.name, v.value) for v in found.worst] == [("row", "small[0]", 9.0)]


@pytest.mark.parametrize(("switch", "feasible"), [(0.0, True), (1.0, False)])
def test_conditional_rows_count_where_their_condition_holds(switch: float, feasible: bool) -> None:
    found = verify(with_definitions(), np.array([1.0, 1.0, switch, 1.0, 1.0]))
    assert found.feasible == feasible
    assert found.row == (0.0 if feasible else 1.0)
    assert [v.name for v in found.worst] == ([] if feasible else ["apart[0]"])


def test_a_result_without_a_value_breaks_the_point_where_a_row_reads_it() -> None:
    # Row 1, where `switch` is 1: x - r >= 1, with r = 1 / x.
    matrix = Matrix(np.array([0, 1, 3]), np.array([3, 0, 4], dtype=np.int32), np.array([1.0, 1, -1]))
    reading = replace(with_definitions(), matrix=matrix)
    found = verify(reading, np.array([0.0, 1.0, 1.0, 0.0, 0.0]))
    assert not found.feasible
    assert [(v.kind, v.name) for v in found.worst] == [("value", "r[0]")]
    assert verify(reading, np.array([0.0, 1.0, 0.0, 0.0, 0.0])).feasible
    assert verify(reading, np.array([0.0, np.nan, 0.0, 0.0, 0.0])).worst[0].name == "y[0]"
