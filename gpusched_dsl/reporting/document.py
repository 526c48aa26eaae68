"""Documents as readable JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic


def json_text(document: dict[str, Any]) -> str:
    """Return readable JSON: a line for each value of a variable, row of the placement and term."""
    return _layout(document, 0) + "\n"


def diagnostics_document(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    return [{"code": d.code, "message": d.message} for d in diagnostics]


def finite(value: Any) -> Any:
    """Replace NaN and infinite numbers by None, and keys by texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value


def _layout(value: Any, depth: int) -> str:
    """Lay out JSON: containers of containers are spread over lines, others are on one line."""
    inner = "  " * (depth + 1)
    if isinstance(value, list) and value and isinstance(value[0], dict) and set(value[0]) == {"index", "value"}:
        # All values at once; inside a text the quotes of this separator are escaped.
        entries = json.dumps(value, ensure_ascii=False)[1:-1].replace('}, {"index": [', "},\n" + inner + '{"index": [')
        return "[\n" + inner + entries + "\n" + "  " * depth + "]"
    if isinstance(value, dict) and value and (depth == 0 or any(isinstance(v, dict | list) for v in value.values())):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {_layout(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner + p for p in parts) + "\n" + "  " * depth + "}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        parts = [_layout(v, depth + 1) for v in value]
        return "[\n" + ",\n".join(inner + p for p in parts) + "\n" + "  " * depth + "]"
    return json.dumps(value, ensure_ascii=False)
