"""Nonlinear terms and rows under conditions as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from drafts import Draft
from laws import random_law
from msgspec import Struct
from random_problems import random_curves, random_problem

from gpusched_dsl.ir.definitions import Curves, complete
from gpusched_dsl.ir.distributions import Distribution, Exponential, Mixture, Normal, Truncated, uniform
from gpusched_dsl.ir.json.codec import from_json, schema, to_json
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Source
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

LAWS = (
    Truncated(Mixture((Exponential(3.0), Normal(4.0, 1.0)), np.array([0.25, 0.75])), -np.inf, 9.0),
    uniform(1.0, 5.0).censor(4.0),
)


def every_kind() -> Problem:
    """One block of every kind, each on what was made before, and rows under both values of a condition."""
    draft = Draft()
    (b,) = draft.columns("b")
    x = draft.columns("x", 2, -1.0, 3.0, integer=False)
    product = draft.product("product", [[b, x[0]], [{b: 2.0, None: -1.0}, x[0], x[1]]])
    extreme = draft.smallest("least", [[product[0]], [product[1], {None: 0.5}, x[0]]])
    draft.largest("most", [[x[0], {x[1]: -1.0}]])
    power = draft.power("power", [{x[0]: 1.0, None: 2.0}, {x[1]: 1.0, None: 1.0}], [-1.0, 0.5])
    draft.unary("size", "abs", [{x[0]: 1.0, x[1]: 1 / 3}])
    curve = draft.piecewise("curve", [x[0], extreme[1]], [1, 0], random_curves(np.random.default_rng(0), 2))
    expected = draft.partial_expectation("expected", [x[1], x[0], power[0]], [1, 1, 0], LAWS)
    holds = draft.holds("holds", [(1.0, x[0], np.inf), (-np.inf, {x[0]: 1.0, x[1]: 2.0}, 2.5)])
    draft.rows("low", [(-np.inf, {x[0]: 1.0, curve[0]: 1.0}, 2.0), (-5.0, x[1], 2.0)], (holds[1], False))
    draft.rows("free", [(-10.0, x[1], 10.0)])
    draft.rows("high", [(-np.inf, {x[1]: 1.0}, 2.0)], (b, True))
    draft.minimize({expected[0]: -1.0, product[1]: 1.0})
    return draft.problem()


def same(one: object, other: object) -> bool:
    """Whether two values hold the same numbers in the same classes; spans are not kept."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)  # type: ignore[attr-defined]
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))  # type: ignore[arg-type]
    if isinstance(one, Struct):
        names = one.__struct_fields__
    elif is_dataclass(one):
        names = tuple(f.name for f in fields(one))
    else:
        return one == other
    return all(same(getattr(one, name), getattr(other, name)) for name in names if name != "span")


def test_same_tells_apart() -> None:
    assert not same(every_kind().definitions, every_kind().definitions[1:])
    assert not same(Exponential(1.0), Exponential(2.0))
    assert not same(uniform(1, 2), uniform(1, 3))


def test_every_kind_comes_back() -> None:
    one = every_kind()
    back = from_json(to_json(one))
    for part in ("variables", "auxiliary", "definitions", "conditions", "lower", "upper", "integer", "matrix"):
        assert same(getattr(back, part), getattr(one, part)), part
    assert to_json(back) == to_json(one)
    point = np.random.default_rng(1).uniform(0, 1, one.columns)
    assert np.array_equal(complete(back.definitions, point), complete(one.definitions, point))


@pytest.mark.parametrize("seed", range(30))
def test_random_problems_come_back(seed: int) -> None:
    one = random_problem(np.random.default_rng(seed), continuous=1)
    back = from_json(to_json(one))
    assert same(back, one)


@pytest.mark.parametrize("seed", range(0, 20, 4))
def test_random_problems_have_the_same_optimum(seed: int) -> None:
    one = random_problem(np.random.default_rng(seed), binaries=2, whole=1, blocks=2, rows=1)
    found = [solve_problem(p, "highs", SolveOptions(gap=0.0)) for p in (one, from_json(to_json(one)))]
    assert found[0].status == found[1].status
    assert found[0].objective == found[1].objective


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(60))
def test_laws_come_back(seed: int) -> None:
    law: Distribution = random_law(np.random.default_rng(seed), depth=3)
    draft = Draft()
    (x,) = draft.columns("x", 1, 0.0, 9.0, integer=False)
    draft.partial_expectation("g", [x], [0], [law])
    back = from_json(to_json(draft.problem())).definitions[0]
    assert same(back.laws, (law,))  # type: ignore[attr-defined]
    at = np.linspace(-5.0, 100.0, 20)
    assert np.array_equal(back.laws[0].partial_expectation(at), law.partial_expectation(at))  # type: ignore[attr-defined]


def test_laws_of_two_terms_stay_one_law() -> None:
    """Otherwise terms that are the same are taken for different ones, and no longer become one."""
    draft = Draft()
    (x,) = draft.columns("x", 1, 0.0, 9.0, integer=False)
    draft.partial_expectation("g", [x, x], [1, 0], LAWS)
    draft.partial_expectation("h", [x], [0], LAWS[1:])
    text = to_json(draft.problem())
    assert len(json.loads(text)["laws"]) == 2
    g, h = from_json(text).definitions
    assert g.laws[1] is h.laws[0]  # type: ignore[attr-defined]
    assert g.which.tolist() == [1, 0]  # type: ignore[attr-defined]


def test_the_form_of_linear_problems_is_what_it_was() -> None:
    draft = Draft()
    draft.columns("x", 2)
    data = json.loads(to_json(draft.problem()))
    assert data["version"] == 1
    assert not {"auxiliary", "definitions", "laws", "conditions"} & set(data)
    whole = json.loads(to_json(every_kind()))
    assert whole["version"] == 2
    assert set(schema()["$defs"]["ProblemFile"]["properties"]) == {*whole, "decompose"}


def test_places_are_written() -> None:
    source = Source("model.gsm", "minimize t: x * y;\n")
    draft = Draft()
    x = draft.columns("x", 2)
    draft.product("p", [x])
    one = draft.problem()
    object.__setattr__(one.definitions[0], "span", source.span(12, 17))
    assert json.loads(to_json(one))["definitions"][0]["place"] == "model.gsm:1:13"


# --- what cannot be written or read -----------------------------------------------------------------------------------


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(DiagnosticError) as caught:
        call()
    return caught.value.diagnostics[0].code


def test_what_json_cannot_hold() -> None:
    def curves(y: float) -> Curves:
        one = np.zeros(1)
        return Curves(np.array([0, 1]), one, np.array([y]), one, one, one)

    makers: list[Callable[[Draft, int], object]] = [
        lambda d, x: d.product("p", [[x, {x: np.inf}]]),
        lambda d, x: d.product("p", [[x, {None: np.nan}]]),
        lambda d, x: d.power("p", [x], [np.nan]),
        lambda d, x: d.holds("p", [(np.inf, x, np.inf)]),
        lambda d, x: d.piecewise("p", [x], [0], curves(np.inf)),
        lambda d, x: d.partial_expectation("p", [x], [0], [NoForm(1.0)]),
    ]
    for make in makers:
        draft = Draft()
        (x,) = draft.columns("x")
        make(draft, x)
        one = draft.problem()
        assert code_of(lambda one=one: to_json(one)) == "GSM4023"  # type: ignore[misc]


class NoForm(Exponential):
    """A law of a class that states no form."""

    to_struct = Distribution.to_struct


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(data: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        target: Any = data
        for name in parents:
            target = target[int(name)] if name.isdigit() else target[name]
        if isinstance(target, list):
            target[int(last)] = value
        else:
            target[last] = value

    return apply


# Blocks: 0 product, 1 smallest, 2 largest, 3 power, 4 abs, 5 piecewise, 6 partial expectation, 7 holds.
COLUMNS = every_kind().columns
EMPTY = {"kind": "linear_survival", "knots": [], "left": [], "right": []}
BREAKAGES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "auxiliary missing": (lambda d: d.pop("auxiliary"), "variables and auxiliary"),
    "family missing": (lambda d: d["auxiliary"].pop(), "auxiliary"),
    "result beyond": (change("definitions.0.results.0", COLUMNS), "definitions[0].results"),
    "result negative": (change("definitions.0.results.0", -1), "definitions[0].results"),
    "result declared": (change("definitions.0.results.0", 1), "declared"),
    "result twice": (change("definitions.0.results.1", 3), "defined already"),
    "result of two": (change("definitions.1.results.0", 3), "defined already"),
    "reads itself": (change("definitions.0.arguments.columns.0", 3), "later"),
    "reads a later one": (change("definitions.0.arguments.columns.0", 6), "later"),
    "argument column beyond": (change("definitions.0.arguments.columns.0", COLUMNS), "arguments.columns"),
    "argument column twice": (change("definitions.4.arguments.columns.1", 1), "twice"),
    "arguments not rising": (change("definitions.0.arguments.starts.1", 5), "arguments.starts"),
    "argument too few": (lambda d: d["definitions"][3]["arguments"]["constants"].pop(), "arguments.starts"),
    "argument infinite": (change("definitions.0.arguments.values.0", 1e999), "definitions[0].arguments.values"),
    "constant infinite": (change("definitions.0.arguments.constants.0", 1e999), "arguments.constants"),
    "entries for other results": (lambda d: d["definitions"][3]["results"].pop(), "definitions[3]"),
    "starts not from 0": (change("definitions.0.starts.0", 1), "definitions[0].starts"),
    "entry without arguments": (change("definitions.0.starts.1", 0), "definitions[0].starts"),
    "starts too few": (lambda d: d["definitions"][1]["starts"].pop(), "definitions[1].starts"),
    "exponent missing": (lambda d: d["definitions"][3]["exponents"].pop(), "exponents"),
    "exponent infinite": (change("definitions.3.exponents.0", 1e999), "exponents"),
    "unknown kind": (change("definitions.0.kind", "cube"), "cube"),
    "unknown function": (change("definitions.4.function", "sin"), "sin"),
    "unknown field": (change("definitions.4.colour", "red"), "colour"),
    "which beyond": (change("definitions.5.which.0", 2), "definitions[5].which refers to a curve"),
    "which too few": (change("definitions.5.which", [0]), "definitions[5].which"),
    "curve points fall": (change("definitions.5.curves.x", [5.0, 4.0, 3.0, 2.0, 1.0]), "curves"),
    "curve values too few": (lambda d: d["definitions"][5]["curves"]["y"].pop(), "curves.y"),
    "curve slopes too few": (lambda d: d["definitions"][5]["curves"]["slope_after"].pop(), "curves.slope_after"),
    "curve without points": (change("definitions.5.curves.starts.1", 0), "curves.starts"),
    "no curves": (change("definitions.5.curves.starts", []), "curves.starts"),
    "law beyond": (change("definitions.6.which.0", 2), "definitions[6].which refers to a law"),
    "law beyond the file": (change("definitions.6.laws.0", 2), "definitions[6].laws refers to a law"),
    "laws missing": (lambda d: d.pop("laws"), "definitions[6].laws"),
    "unknown law": (change("laws.0.kind", "cauchy"), "cauchy"),
    "deviation negative": (change("laws.0.law.laws.1.deviation", -1.0), "deviation is not positive"),
    "scale infinite": (change("laws.0.law.laws.0.scale", 1e999), "mean is not finite"),
    "weights off 1": (change("laws.0.law.weights.0", 0.5), "laws[0].law.weights"),
    "weights too few": (lambda d: d["laws"][0]["law"]["weights"].pop(), "laws[0].law.weights"),
    "no chance": (change("laws.0.high", -1e9), "condition"),
    "law without a mean": (
        change("laws.0", {"kind": "lognormal", "median": 1e308, "sigma": 9.0}), "laws[0]"
    ),
    "survival rises": (change("laws.1.right.0", 1.5), "does not fall"),
    "survival not to 0": (change("laws.1.right.1", 0.1), "does not fall"),
    "knots fall": (change("laws.1.knots.0", 9.0), "knots"),
    "no knots": (change("laws.1", EMPTY), "knots"),
    "left too few": (lambda d: d["laws"][1]["left"].pop(), "left"),
    "sides too few": (lambda d: d["definitions"][7]["lower"].pop(), "definitions[7].lower"),
    "result not binary": (change("integer", [[0, 1]]), "not binary"),
    "condition beyond the rows": (change("conditions.rows.2", 4), "conditions.rows"),
    "conditions not rising": (change("conditions.rows.1", 0), "conditions.rows"),
    "condition beyond the columns": (change("conditions.columns.0", COLUMNS), "conditions.columns"),
    "condition not binary": (change("conditions.columns.0", 1), "conditions.columns"),
    "condition without value": (lambda d: d["conditions"]["values"].pop(), "conditions.values"),
    "condition of no truth": (change("conditions.values.0", 2), "conditions.values"),
}  # fmt: skip


@pytest.mark.quick(27)
@pytest.mark.parametrize("what", BREAKAGES)
def test_contradictions_are_told(what: str) -> None:
    data = json.loads(to_json(every_kind()))
    apply, word = BREAKAGES[what]
    apply(data)
    text = json.dumps(data).replace("Infinity", "1e999").encode()
    with pytest.raises(DiagnosticError) as caught:
        from_json(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code in ("GSM4022", "GSM4020")
    assert word in diagnostic.message or "out of range" in diagnostic.message


def test_laws_within_laws_are_no_crash() -> None:
    data = json.loads(to_json(every_kind()))
    inner = json.dumps({"kind": "exponential", "scale": 1.0, "offset": 0.0})
    deep = '{"kind": "censored", "high": 5.0, "law": ' * 100_000 + inner + "}" * 100_000
    data["laws"][0] = "DEEP"
    text = json.dumps(data).replace('"DEEP"', deep).encode()
    assert code_of(lambda: from_json(text)) in ("GSM4020", "GSM4022")
