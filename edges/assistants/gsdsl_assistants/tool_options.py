"""Arguments of tools for assistants, from the table of options."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.reading import positive_number
from gpusched_dsl.options.table import rows
from gsdsl_assistants.calls import SECONDS

Tool = Callable[..., Awaitable[dict[str, Any]]]
TYPES: dict[str, Any] = {"settings": dict[str, str]}


def with_options(verb: str) -> Callable[[Tool], Tool]:
    """Return what gives a tool the options of a verb as arguments, in place of its `**options`."""

    def add(tool: Tool) -> Tool:
        written = inspect.signature(tool, eval_str=True)
        *own, _ = written.parameters.values()
        parameters = [*own, *map(_parameter, rows(verb, "assistant"))]
        tool.__signature__ = written.replace(parameters=parameters)  # type: ignore[attr-defined]
        return tool

    return add


def _parameter(row: OptionRow) -> inspect.Parameter:
    kind, default = row.kind, row.default
    name, about = row.name, row.help
    of_kind: Any = TYPES.get(row.name, kind.type)
    if kind.is_time:
        name, about, default = SECONDS, "time limit, at most that of the server", None
    if kind.choices:
        of_kind = Literal[tuple(kind.choices)]
    least = kind.least if math.isfinite(kind.least) else None
    is_positive = kind.is_time or kind.read is positive_number
    field = Field(description=about, gt=least) if is_positive else Field(description=about, ge=least)
    of_kind = of_kind | None if default is None else of_kind
    annotation = Annotated[of_kind, field]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
