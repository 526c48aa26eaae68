"""Renders the part of Helm's templates that our chart uses: values, if, else and six functions; else it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ACTION = re.compile(r"(\s*\{\{-|\{\{)\s*(.*?)\s*(-\}\}\s*|\}\})", re.DOTALL)
Json = dict[str, Any]


def rendered(chart: Path, values: Mapping[str, Any], name: str = "gpusched-dsl", space: str = "gpus") -> list[Json]:
    """The objects of all templates with the values of the chart and these. Raises ValueError as Helm fails."""
    given = _merged(yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8")), values)
    scope = {"Values": given, "Release": {"Name": name, "Namespace": space}, "chart": chart}
    objects: list[Json] = []
    for path in sorted((chart / "templates").glob("*.yaml")):
        text = render(path.read_text(encoding="utf-8"), scope)
        objects += [one for one in yaml.safe_load_all(text) if one is not None]
    return objects


def _merged(values: Json, changes: Mapping[str, Any]) -> Json:
    unknown = changes.keys() - values.keys()
    if unknown:
        raise ValueError(f"the chart has no value {sorted(unknown)[0]}")
    return values | {
        key: _merged(values[key], change) if isinstance(change, dict) else change for key, change in changes.items()
    }


def render(template: str, scope: Mapping[str, Any]) -> str:
    text, end = [], 0
    shown = [True]  # of each open block
    for found in ACTION.finditer(template):
        if all(shown):
            text.append(template[end : found.start()])
        end = found.end()
        word, _, rest = found[2].partition(" ")
        if word == "if":
            shown.append(all(shown) and bool(_pipeline(rest, scope)))
        elif word == "else" and not rest:
            shown[-1] = not shown[-1] and all(shown[:-1])
        elif word == "end":
            shown.pop()
        elif all(shown):
            text.append(_text(_pipeline(found[2], scope)))
    if shown != [True]:
        raise ValueError("a block has no end")
    return "".join([*text, template[end:]])


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pipeline(text: str, scope: Mapping[str, Any]) -> Any:
    value: Any = None
    for at, call in enumerate(_calls(_words(text))):
        value = _call(call, scope, [] if at == 0 else [value])
    return value


def _words(text: str) -> list[str]:
    return re.findall(r'"[^"]*"|[^\s"]+', text)


def _calls(words: list[str]) -> list[list[str]]:
    calls: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            calls.append([])
        else:
            calls[-1].append(word)
    return calls


def _call(words: list[str], scope: Mapping[str, Any], piped: list[Any]) -> Any:
    name, arguments = words[0], [_operand(word, scope) for word in words[1:]] + piped
    match name, arguments:
        case "eq", [one, other]:
            return one == other
        case "quote", [value]:
            return json.dumps(_text(value))
        case "toYaml", [value]:
            return yaml.safe_dump(value).rstrip("\n")
        case "indent", [str(number), str(value)]:
            return "\n".join(" " * int(number) + line for line in value.splitlines())
        case "required", [str(message), value]:
            if value in (None, ""):
                raise ValueError(message)
            return value
        case ".Files.Get", [str(path)]:
            return (scope["chart"] / path).read_text(encoding="utf-8")
        case _, []:
            return _operand(name, scope)
    raise ValueError(f"the renderer does not know `{' '.join(words)}`")


def _operand(word: str, scope: Mapping[str, Any]) -> Any:
    if word.startswith('"') or word.isdigit():
        return word.strip('"')
    if not word.startswith("."):
        raise ValueError(f"the renderer does not know `{word}`")
    value: Any = scope
    for key in word[1:].split("."):
        if key not in value:
            raise ValueError(f"there is no {word}")
        value = value[key]
    return value
