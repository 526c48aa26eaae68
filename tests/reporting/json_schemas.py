"""JSON documents against their published schemas; only the words of JSON Schema that these use are known."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "schema"
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
KNOWN = {"$ref", "$schema", "$defs", "title", "description", "type", "enum", "const", "pattern", "minimum", "anyOf",
         "required", "properties", "additionalProperties", "items"}  # fmt: skip


def published(name: str) -> dict[str, Any]:
    """A schema of docs/schema, by the name of its file."""
    found: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


def complaints(value: Any, schema: dict[str, Any], at: str = "$", whole: dict[str, Any] | None = None) -> Iterator[str]:
    """Where a value is not what a schema says, which is a part of the `whole` one."""
    whole = whole or schema
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
