"""The tests' own evaluation, enumeration and linear programs, against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, log
from random import Random

import pytest
from algebras import SMOOTH, Exact
from enumerated_optimum import faults, reference
from exact_lp import Row, minimum
from model_generator import generated
from model_text import text_of
from model_tree import (
    Arith,
    At,
    Compare,
    Constraint,
    Decided,
    Extreme,
    Indexing,
    Iter,
    Label,
    Let,
    Logic,
    Model,
    Node,
    Num,
    Objective,
    Ord,
    Over,
    Piecewise,
    Quotient,
    Ref,
    Set,
    Smooth,
    SpecialOrdered,
    Var,
    number,
)
from model_values import Values
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


def value_of(node: Node, x: float, *sets: Set) -> Fraction:
    """The value of a formula of one variable."""
    one = replace(model([], node), sets=sets)
    return Fraction(Values(one, Exact(), {("x", ()): Fraction(x)}).number(node, {}))


@pytest.mark.parametrize(
    ("x", "by_slopes", "through"),
    [(-3, -12, -3), (-2, -2, -2), (-1, -1, -1), (0, 0, 0), (3, 3, 3), (4, 5, 3), (6, 9, 3)],
)
def test_piecewise(x: int, by_slopes: int, through: int) -> None:
    slopes = Piecewise(X, tuple(map(number, (-2, 3))), tuple(map(number, (10, 1, 2))))
    points = Piecewise(X, tuple(map(number, (0, 3, 5))), values=tuple(map(number, (0, 3, 3))))
    assert (value_of(slopes, x), value_of(points, x)) == (by_slopes, through)


def test_quotients_round_down() -> None:
    for x, whole, rest in ((7, 2, 1), (-1, -1, 2), (-3, -1, 0), (0, 0, 0)):
        assert value_of(Quotient("div", X, 3), x) == whole
        assert value_of(Quotient("mod", X, 3), x) == rest


def test_smooth_functions() -> None:
    two, three = number(2), number(3)
    values = {op: float(value_of(Smooth(op, (two, three)), 0)) for op in SMOOTH if op != "entropy"}
    assert values == pytest.approx({"norm": 13**0.5, "perspective": 2 * exp(1.5), "ratio": 4.5, "delay": -3})
    assert float(value_of(Smooth("entropy", (two,)), 0)) == pytest.approx(2 * log(2))


def test_indexed_ordered_and_sliced_sets() -> None:
    """Pairs (j1, n1), (j1, n2), (j2, n2); T is 5, 1 in this order."""
    a, b = Set("A", (("j1",), ("j2",))), Set("B", (("n1",), ("n2",)))
    pairs = (("j1", "n1"), ("j1", "n2"), ("j2", "n2"))
    p, q = Set("P", pairs, ("A", "B")), Set("Q", pairs, ("A", "B"), indexed=True)
    t = Set("T", ((5,), (1,)), ordered=True)
    for inner in (Iter(("n",), "Q", "j"), Iter(("j", "n"), "P")):
        each = Over("sum", Indexing((inner,)), number(1))
        counts = Over("sum", Indexing((Iter(("j",), "A"),)), Arith("*", each, each))
        assert value_of(counts, 0, a, b, p, q) == 2 * 2 + 1
    before = Ref("r", (At("t", -1, "T"),), number(10))
    body = Arith("+", before, Arith("*", At("t"), Ord("t", "T")))
    one = replace(model([], X), sets=(t,), lets=(Let("r", Indexing((Iter(("t",), "T"),)), body, data=True),))
    read = [Values(one, Exact()).number(Ref("r", (sub,)), {"u": 1}) for sub in (Label(5), At("u"), Decided(number(1)))]
    assert read == [15, 17, 17]
    assert "param r[t in T] = (r[t - 1] else 10) + t * ord(t);" in text_of(one)


@pytest.mark.parametrize("kind", ["", "integer"])
def test_special_ordered_sets_and_semicontinuous(kind: str) -> None:
    """Three amounts from 0 to 2, together at least 5/2: two neighbours, not one, and 0 or at least 3/2."""
    k = Set("K", ((1,), (2,), (3,)), numbers=True)
    over = Indexing((Iter(("i",), "K"),))
    x = Ref("x", (At("i"),))
    some = Compare((">=",), (Over("sum", over, x), number("2.5")))
    weighted = Over("sum", over, Arith("*", Arith("*", At("i"), At("i")), x))

    def best(op: str, *, semicontinuous: bool) -> object:
        low = number("1.5" if semicontinuous else 0)
        one = Model(
            (k,), (), (), (Var("x", over, kind, low, number(2), semicontinuous=semicontinuous),), (),
            (Constraint("c", Indexing(), some), Constraint("d", Indexing(), SpecialOrdered(op, over, x))),
            (Objective("goal", "minimize", (("term", weighted),)),),
        )  # fmt: skip
        found = reference(one)
        return found.objectives[0] if found.objectives else found.status

    assert best("sos1", semicontinuous=False) == "infeasible"
    assert best("sos2", semicontinuous=False) == (2 + 4 if kind else 2 + 4 * Fraction(1, 2))
    assert best("sos2", semicontinuous=True) == (2 + 4 * 2 if kind else Fraction(3, 2) + 4 * Fraction(3, 2))


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
