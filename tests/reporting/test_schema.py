"""The published schema describes what is written; the few words of JSON Schema that it uses are checked here."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.reporting.result import Result

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "result.schema.json").read_text(encoding="utf-8"))
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
KNOWN = {"$ref", "$schema", "$defs", "title", "description", "type", "enum", "const", "pattern", "minimum", "anyOf",
         "required", "properties", "additionalProperties", "items"}  # fmt: skip


def complaints(value: Any, schema: dict[str, Any], at: str = "$", whole: dict[str, Any] = SCHEMA) -> Iterator[str]:
    """Where a value is not what a schema says, which is (a part of) the `whole` one."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        yield from complaints(value, whole["$defs"][schema["$ref"].rpartition("/")[2]], at, whole)
    if "anyOf" in schema and all(list(complaints(value, s, at, whole)) for s in schema["anyOf"]):
        yield f"{at}: none of the alternatives"
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        fits = any(isinstance(value, TYPES[n]) and (n == "boolean" or not isinstance(value, bool)) for n in names)
        if not fits:
            yield f"{at}: {value!r} is not of type {names}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}: {value!r} does not match"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at}: {value!r} is too small"
    if isinstance(value, dict):
        yield from (f"{at}: `{name}` is missing" for name in schema.get("required", ()) if name not in value)
        for name, inner in value.items():
            inside = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if inside is False:
                yield f"{at}: `{name}` is not described"
            else:
                yield from complaints(inner, inside, f"{at}.{name}", whole)
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from complaints(inner, schema.get("items", {}), f"{at}[{number}]", whole)


def test_results_are_as_described(
    problem: Problem, linear: Problem, solved: Callable[..., Result], tmp_path: Path
) -> None:
    for number, one in enumerate((problem, linear)):
        result = solved(one, time_limit=60.0)
        result.to_json(tmp_path / f"{number}.json")
        found = json.loads((tmp_path / f"{number}.json").read_text(encoding="utf-8"))
        assert list(complaints(found, SCHEMA)) == []
        assert set(SCHEMA["required"]) == set(found) == set(SCHEMA["properties"])


@pytest.mark.parametrize(
    ("key", "value"),
    [("status", "done"), ("objective", "1"), ("variables", {"run": [{"index": [1.5], "value": 1}]}), ("extra", 1),
     ("inputs_sha256", {"a": "b"}), ("build_seconds", -1), ("has_point", 1)],
)  # fmt: skip
def test_the_check_can_fail(problem: Problem, solved: Callable[..., Result], key: str, value: object) -> None:
    found = {**solved(problem).to_dict(), key: value}
    assert list(complaints(found, SCHEMA)) != []
