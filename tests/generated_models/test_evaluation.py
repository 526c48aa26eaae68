"""The tests' own evaluation, enumeration and linear programs, against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from enumerated_optimum import faults, reference
from exact_lp import Row, minimum
from model_generator import generated
from model_text import text_of
from model_tree import (
    Arith,
    At,
    Compare,
    Constraint,
    Extreme,
    Indexing,
    Iter,
    Logic,
    Model,
    Num,
    Objective,
    Over,
    Ref,
    Set,
    Var,
    number,
)
from scipy.optimize import linprog
from shrinking import shrunk

X, Y = Ref("x"), Ref("y")


def model(constraints: list[object], objective: object, *, sense: str = "minimize", kind: str = "") -> Model:
    """Two variables between -10 and 10 and some constraints."""
    variables = tuple(Var(n, Indexing(), kind, number(-10), number(10)) for n in "xy")
    rows = tuple(Constraint(f"c{k}", Indexing(), c) for k, c in enumerate(constraints))  # type: ignore[arg-type]
    goal = Objective("goal", sense, (("term", objective),))  # type: ignore[arg-type]
    return Model((), (), (), variables, (), rows, (goal,))


@pytest.mark.parametrize("kind", ["", "integer"])
def test_disjunctions_and_extremes(kind: str) -> None:
    either = Logic("or", Compare((">=",), (X, number(3))), Compare(("<=",), (Y, number(-4))))
    assert reference(model([either], Extreme("abs", (X,)), kind=kind)).objectives == (0,)
    assert reference(model([either, Compare((">=",), (Y, number(0)))], Extreme("abs", (X,)), kind=kind)).objectives == (
        3,
    )
    far = Extreme("max", (Arith("-", X, Y), Arith("-", Y, X)))
    assert reference(model([either], far, sense="maximize", kind=kind)).objectives == (20,)
    assert reference(model([either, Compare(("==",), (X, number(2)))], Y, sense="maximize", kind=kind)).objectives == (
        -4,
    )
    assert reference(model([Compare((">=",), (X, number(11)))], Y, kind=kind)).status == "infeasible"


def test_an_integer_optimum_is_not_that_of_the_relaxation() -> None:
    rows = [Compare(("<=",), (Arith("*", number(2), X), number(5)))]
    assert reference(model(rows, X, sense="maximize")).objectives == (Fraction(5, 2),)
    assert reference(model(rows, X, sense="maximize", kind="integer")).objectives == (2,)


def test_points_are_judged_within_a_tolerance() -> None:
    either = Logic("or", Compare((">=",), (X, number(3))), Compare(("<=",), (Y, number(-4))))
    one = model([either], X)
    good = {("x", ()): 3 - 1e-7, ("y", ()): 0.0}
    bad = {("x", ()): 3 - 1e-4, ("y", ()): -4 + 1e-4}
    assert not faults(one, good, 1e-6)
    assert faults(one, bad, 1e-6) == ["c0{} is broken"]
    whole = model([either], X, kind="integer")
    assert faults(whole, {("x", ()): 3 - 1e-7}, 1e-6) == []
    assert "is 2.5" in faults(whole, {("x", ()): 2.5}, 1e-6)[0]
    assert "outside" in faults(one, {("x", ()): 10.5}, 1e-6)[0]


def test_sums_over_sets() -> None:
    total = Over("sum", Indexing((Iter(("i",), "K"),)), Arith("*", At("i"), Ref("x", (At("i"),))))
    one = Model(
        (Set("K", ((1,), (2,), (3,)), numbers=True),), (), (),
        (Var("x", Indexing((Iter(("i",), "K"),)), "binary", None, None),), (),
        (Constraint("c", Indexing(), Compare(("<=",), (total, number(4)))),),
        (Objective("goal", "maximize", (("term", total),)),),
    )  # fmt: skip
    assert reference(one).objectives == (4,)


@pytest.mark.parametrize("seed", range(60))
def test_linear_programs(seed: int) -> None:
    random = Random(seed)
    columns = random.randint(1, 4)
    costs = [random.randint(-3, 3) for _ in range(columns)]
    rows = [([random.randint(-3, 3) for _ in range(columns)], random.randint(-6, 6), random.random() < 0.3)
            for _ in range(random.randint(0, 5))]  # fmt: skip
    ends = [(random.choice((None, -2, 0)), random.choice((None, 3, 4))) for _ in range(columns)]
    found = minimum(
        [Fraction(c) for c in costs], [Row(tuple(Fraction(a) for a in r), Fraction(b), e) for r, b, e in rows],
        [(None if a is None else Fraction(a), None if b is None else Fraction(b)) for a, b in ends],
    )  # fmt: skip
    above, equal = [(r, b) for r, b, e in rows if not e], [(r, b) for r, b, e in rows if e]
    other = linprog(
        costs, A_ub=[[-a for a in r] for r, _ in above] or None, b_ub=[b for _, b in above] or None,
        A_eq=[r for r, _ in equal] or None, b_eq=[-b for _, b in equal] or None, bounds=ends,
    )  # fmt: skip
    assert found.status == {0: "optimal", 2: "infeasible", 3: "unbounded"}[other.status]
    if found.status == "optimal":
        assert float(found.value) == pytest.approx(other.fun, abs=1e-7)


def test_a_failure_is_shrunk_to_its_cause() -> None:
    """Of a large model only what the failure needs is left."""

    def fails(candidate: Model) -> bool:
        return " or " in text_of(candidate)

    seed = next(s for s in range(100) if fails(generated(s)) and len(text_of(generated(s))) > 1200)
    small = shrunk(generated(seed), fails)
    assert fails(small)
    assert len(text_of(small)) < 250
    assert all(isinstance(value, Num) for _, value in small.objectives[0].terms)
