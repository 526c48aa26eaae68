"""Problems as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusched_dsl.ir.domains import Domain, IntervalDomain, ProductDomain, ScalarDomain, TupleDomain, Universe
from gpusched_dsl.ir.json.codec import from_json, schema, to_json
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Source
from gpusched_dsl.solving.solve import solve_problem

ROOT = Path(__file__).parent.parent.parent
PUBLISHED = ROOT / "docs" / "schema" / "problem.schema.json"

JOBS = Universe("Jobs", ("j1", "j2", "jäää"))
SLOTS = Universe("Slots", (3, 5))
SOURCE = Source("model.gsm", "model M {\n  var run[Jobs];\n}\n")


def example() -> Problem:
    jobs = IntervalDomain(0, 2, 1, JOBS)
    run = ProductDomain((jobs, IntervalDomain(2, 8, 3)))
    pairs = TupleDomain((JOBS, None, SLOTS), (np.array([0, 2]), np.array([-7, 10**12]), np.array([1, 0])))
    return Problem(
        name="M",
        variables=(
            Family("run", 0, run, SOURCE.span(12, 25), "h", doc="hours"),
            Family("use", 9, pairs),
            Family("total", 11, ScalarDomain()),
        ),
        lower=np.array([0.1 + 0.2] * 9 + [-np.inf, -1e300, 5e-324]),
        upper=np.array([np.inf] * 9 + [1.0, 1e300, np.inf]),
        integer=np.array([True] * 4 + [False] * 5 + [True, False, True]),
        constraints=(Family("chain", 0, jobs, part=0), Family("chain", 3, jobs, part=1)),
        matrix=Matrix(
            np.array([0, 2, 2, 3, 4, 5, 6], dtype=np.int64),
            np.array([0, 11, 3, 4, 5, 9], dtype=np.int32),
            np.array([1 / 3, -1e-9, 1.0, 2.0, 3.0, 123456789.123456789]),
        ),
        row_lower=np.array([-np.inf, -1, 0, 1, 2, 3.0]),
        row_upper=np.array([0.1, np.inf, 0, 1, 2, np.inf]),
        objectives=(
            Objective(
                "maximize",
                (
                    Term("work", np.array([1, 2], dtype=np.int32), np.array([0.7, -0.0]), 1e9, SOURCE.span(0, 5)),
                    Term(None, np.array([], dtype=np.int32), np.array([])),
                ),
                "profit",
                "$",
                SOURCE.span(0, 7),
            ),
            Objective("minimize", ()),
        ),
    )


def small() -> dict[str, Any]:
    """A sound file as data, to be broken."""
    one = Problem(
        name="small",
        variables=(Family("x", 0, IntervalDomain(0, 1, 1, JOBS)),),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.array([True, False]),
        constraints=(Family("r", 0, TupleDomain((SLOTS, None), (np.array([0, 1]), np.array([4, 4])))),),
        matrix=Matrix(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32), np.array([1.0, 2.0, 3.0])),
        row_lower=np.zeros(2),
        row_upper=np.full(2, np.inf),
        objectives=(Objective("minimize", (Term("t", np.array([0, 1], dtype=np.int32), np.ones(2)),)),),
    )
    data: dict[str, Any] = json.loads(to_json(one))
    return data


def labels(domain: Domain) -> list[list[str | int]]:
    return domain.label_columns()


def test_everything_comes_back() -> None:
    one = example()
    back = from_json(to_json(one))
    assert back.name == one.name
    for field in ("lower", "upper", "integer", "row_lower", "row_upper"):
        there, here = getattr(back, field), getattr(one, field)
        assert there.dtype == here.dtype
        assert np.array_equal(there, here)
    for field in ("starts", "columns", "values"):
        there, here = getattr(back.matrix, field), getattr(one.matrix, field)
        assert there.dtype == here.dtype
        assert np.array_equal(there, here)
    for there, here in zip((*back.variables, *back.constraints), (*one.variables, *one.constraints), strict=True):
        assert (there.name, there.first, there.size, there.unit, there.part, there.doc) == (
            here.name, here.first, here.size, here.unit, here.part, here.doc,
        )  # fmt: skip
        assert labels(there.domain) == labels(here.domain)
        assert type(there.domain) is type(here.domain)
        assert there.span is None
    for there, here in zip(back.objectives, one.objectives, strict=True):
        assert (there.sense, there.name, there.unit) == (here.sense, here.name, here.unit)
        for a, b in zip(there.terms, here.terms, strict=True):
            assert (a.name, a.constant) == (b.name, b.constant)
            assert np.array_equal(a.columns, b.columns)
            assert np.array_equal(a.coefficients, b.coefficients)
            assert a.columns.dtype == b.columns.dtype


def test_text_is_stable_and_places_are_written() -> None:
    text = to_json(example())
    data = json.loads(text)
    assert (data["format"], data["version"]) == ("gsdsl-problem", 1)
    assert data["variables"][0]["place"] == "model.gsm:2:3"
    assert data["objectives"][0]["terms"][0]["place"] == "model.gsm:1:1"
    again = to_json(from_json(text))
    assert to_json(from_json(again)) == again


@pytest.mark.slow
def test_products_and_shared_domains_are_stored_once() -> None:
    many = Universe("Many", tuple(f"m{i}" for i in range(1000)))
    axis = IntervalDomain(0, 999, 1, many)
    index = ProductDomain((axis, axis))
    size = index.size
    one = Problem(
        name="wide",
        variables=(Family("x", 0, index),),
        lower=np.zeros(size),
        upper=np.full(size, np.inf),
        integer=np.ones(size, dtype=bool),
        constraints=(),
        matrix=Matrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)),
        row_lower=np.zeros(0),
        row_upper=np.zeros(0),
    )
    data = json.loads(to_json(one))
    assert [d["kind"] for d in data["domains"]] == ["interval", "product"]
    assert data["domains"][1]["factors"] == [0, 0]
    assert len(data["universes"]) == 1
    assert data["integer"] == [[0, size]]
    assert from_json(to_json(one)).variables[0].index_of(1001) == ("m1", "m1")


def test_a_problem_read_back_solves_alike() -> None:
    one = from_json(json.dumps(small()).encode())
    assert solve_problem(one).objective == 0.0


def test_schema_is_published() -> None:
    """After a change: write json.dumps(schema(), indent=2) and a newline into the file."""
    assert in_order(json.loads(PUBLISHED.read_text())) == in_order(schema())


def in_order(value: Any) -> Any:
    """Versions of msgspec list the choices of `anyOf` in different orders."""
    if isinstance(value, dict):
        found = {name: in_order(part) for name, part in value.items()}
        if "anyOf" in found:
            found["anyOf"] = sorted(found["anyOf"], key=json.dumps)
        return found
    return [in_order(part) for part in value] if isinstance(value, list) else value


def test_schema_names_every_field() -> None:
    described = schema()["$defs"]["ProblemFile"]["properties"]
    assert set(described) - set(json.loads(to_json(example()))) == {
        "auxiliary", "definitions", "laws", "conditions", "decompose",
    }  # fmt: skip


def test_the_set_of_blocks_comes_back() -> None:
    assert "decompose" not in json.loads(to_json(example()))
    named = replace(example(), decompose="Jobs")
    assert json.loads(to_json(named))["decompose"] == "Jobs"
    assert from_json(to_json(named)).decompose == "Jobs"


# --- what is not a problem --------------------------------------------------------------------------------------


def code_of(text: bytes) -> str:
    with pytest.raises(DiagnosticError) as caught:
        from_json(text)
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[1, 2]",
        b"\xff\xfe\x00",
        b'{"format": "other"}',
        b'{"version": 1}',
        b'{"format": 5}',
        b"\x00" * 100,
    ],
)
def test_foreign_text(text: bytes) -> None:
    assert code_of(text) == "GSM4020"


def test_deep_nesting_is_no_crash() -> None:
    assert code_of(b"[" * 200_000) == "GSM4020"
    assert code_of(b'{"format": "gsdsl-problem", "version": 1, "deep": ' + b"[" * 200_000) == "GSM4020"


def test_other_version() -> None:
    data = small()
    data["version"] = 3
    data["new"] = "field"
    assert code_of(json.dumps(data).encode()) == "GSM4021"


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


BREAKAGES = {
    "missing": lambda data: data.pop("lower"),
    "unknown field": change("colour", "red"),
    "string for number": change("lower.0", "0"),
    "lower longer": lambda data: data["lower"].append(0.0),
    "upper shorter": lambda data: data["upper"].pop(),
    "infinite number": change("rows.values.0", 1e999),
    "null coefficient": change("rows.values.0", None),
    "starts not rising": change("rows.starts", [0, 3, 2]),
    "starts not from 0": change("rows.starts", [1, 2, 3]),
    "starts beyond": change("rows.starts", [0, 2, 4]),
    "starts too few": change("rows.starts", [0, 3]),
    "negative start": change("rows.starts", [0, -1, 3]),
    "column beyond": change("rows.columns.2", 2),
    "column negative": change("rows.columns.2", -1),
    "column huge": change("rows.columns.2", 10**30),
    "column twice": change("rows.columns.1", 0),
    "values shorter": lambda data: data["rows"]["values"].pop(),
    "rows.upper shorter": lambda data: data["rows"]["upper"].pop(),
    "integer beyond": change("integer", [[0, 3]]),
    "integer empty run": change("integer", [[1, 1]]),
    "integer overlapping": change("integer", [[0, 2], [1, 2]]),
    "domain beyond": change("variables.0.domain", 9),
    "universe beyond": change("domains.0.universe", 9),
    "interval too long": change("domains.0.high", 2),
    "interval beyond its universe": change("domains.0", {"kind": "interval", "low": 2, "high": 3, "universe": 0}),
    "interval step 0": change("domains.0.step", 0),
    "interval huge": change("domains.0.high", 10**18),
    "interval beyond 64 bits": change("domains.0.high", 10**30),
    "unknown kind": change("domains.0.kind", "cube"),
    "repeated tuple": change("domains.1.codes.0", [0, 0]),
    "code beyond": change("domains.1.codes.0", [0, 2]),
    "code negative": change("domains.1.codes.0", [0, -1]),
    "code huge": change("domains.1.codes.1", [4, 10**30]),
    "codes too few": change("domains.1.codes", [[0, 1]]),
    "codes of two lengths": change("domains.1.codes.1", [4]),
    "no codes": change("domains.1", {"kind": "tuples", "components": [], "codes": []}),
    "factor of itself": change("domains.0", {"kind": "product", "factors": [0]}),
    "factor later": change("domains.0", {"kind": "product", "factors": [1]}),
    "no factors": change("domains.0", {"kind": "product", "factors": []}),
    "blocks of no universe": change("decompose", "Nodes"),
    "repeated label": change("universes.0.labels.1", "j1"),
    "labels mixed": change("universes.0.labels.1", 7),
    "label not a label": change("universes.0.labels.1", 7.5),
    "label huge": change("universes.1.labels", [3, 10**30]),
    "sense": change("objectives.0.sense", "improve"),
    "term column beyond": change("objectives.0.terms.0.columns.1", 2),
    "term column twice": change("objectives.0.terms.0.columns.1", 0),
    "term of two lengths": change("objectives.0.terms.0.coefficients", [1.0]),
    "term infinite": change("objectives.0.terms.0.constant", 1e999),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_contradictions_are_told(what: str) -> None:
    data = small()
    BREAKAGES[what](data)
    text = json.dumps(data).replace("Infinity", "1e999").encode()
    assert code_of(text) in ("GSM4022", "GSM4020")


def test_sound_file_is_sound() -> None:
    assert from_json(json.dumps(small()).encode()).columns == 2


@pytest.mark.parametrize(
    ("field", "value"), [("lower", np.inf), ("upper", -np.inf), ("lower", np.nan), ("row_upper", -np.inf)]
)
def test_sides_that_json_cannot_tell(field: str, value: float) -> None:
    one = example()
    getattr(one, field)[0] = value
    with pytest.raises(DiagnosticError) as caught:
        to_json(one)
    assert caught.value.diagnostics[0].code == "GSM4023"
