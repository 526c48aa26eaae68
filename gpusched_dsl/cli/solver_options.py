"""Solver options of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

Value = bool | int | float | str


def own_options(texts: Sequence[str]) -> dict[str, Value]:
    """`name=value` by name, with values of the type that they look like; raises GSM6003 for anything else."""
    found: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            help = "write `name=value`, such as `--solver-option mip_heuristic_effort=0.2`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` does not set a value", help=help)])
        found[name] = _plain_value(value)
    return found


def _plain_value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
