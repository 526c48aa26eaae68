"""Solver options of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

Value = bool | int | float | str


def solver_options(texts: Sequence[str]) -> dict[str, Value]:
    """Return the values of `name=value` texts by name, as numbers if possible; raise DiagnosticError (GSM6003)."""
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            help = "write `name=value`, such as `--solver-option mip_heuristic_effort=0.2`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` does not set a value", help=help)])
        values[name] = _plain_value(value)
    return values


def _plain_value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
