"""Names of families in a script, and texts that cannot end a comment or a string."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from gpusched_dsl.ir.domains import Scalar
from gpusched_dsl.ir.problem import Family

USED: Final = frozenset(
    (
        *("model", "np", "scip", "highspy", "quicksum", "hessian", "CONTINUOUS", "INTEGER", "INFINITY", "GAP"),
        *("status", "has_solution", "objective", "families", "name", "key", "value", "low", "high", "kind"),
        *(
            "variable",
            "variables",
            "KEPT",
            "stages",
            "objectives",
            "sense",
            "terms",
            "largest",
            "slack",
            *dir(builtins),
        ),
    )
)


def python_names(families: Sequence[Family]) -> list[str]:
    """Return a distinct identifier for each family: its name if possible."""
    found: list[str] = []
    for family in families:
        base = re.sub(r"\W", "_", family.name, flags=re.ASCII) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        base = f"{base}_" if keyword.iskeyword(base) or base in USED else base
        name, number = base, 2
        while name in found:
            name, number = f"{base}_{number}", number + 1
        found.append(name)
    return found


def entry_names(name: str, keys: Sequence[tuple[Scalar, ...]]) -> Iterator[str]:
    """Yield the expression of each entry of a family: `run["j1", 2]`."""
    for key in keys:
        yield f"{name}[{', '.join(map(literal, key))}]" if key else name


def literal(value: Scalar | float) -> str:
    """Return a number or text as Python writes it, texts in double quotes."""
    if isinstance(value, str):
        plain = value.isprintable() and '"' not in value and "\\" not in value
        return f'"{value}"' if plain else ascii(value)
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def comment(text: str) -> str:
    """Return a text as one line of a comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"# {line}".rstrip()


def describe(family: Family) -> str:
    """Return the declaration of a family in words: its unit, description and place."""
    words = [f"{family.name} [{family.unit}]" if family.unit and family.unit != "1" else family.name]
    if family.part:
        words[0] += f", part {family.part + 1}"
    if family.doc:
        words[0] += f": {family.doc}"
    if family.span is not None:
        line, _ = family.span.source.position(family.span.start)
        words.append(f"({PurePath(family.span.source.name).name}, line {line})")
    return comment(" ".join(words))
