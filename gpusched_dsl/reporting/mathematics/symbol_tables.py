"""The symbols and equations of a paper beside the names of a family's models, as a table of the family's page.

The table stands between two marks of `README.md`, is made from the declarations' texts, and so cannot differ from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpusched_dsl.reporting.mathematics.formulation import Equation, Formulation, Notation

BEGIN, END = "<!-- symbols: made by `make docs` -->", "<!-- end of symbols -->"
_BLOCK = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def with_symbols(page: str, models: Iterable[Formulation]) -> str:
    """Return a family's page with its table of symbols made anew; a page without the marks stays as it is."""
    return _BLOCK.sub(lambda _: f"{BEGIN}\n{symbol_table(models)}\n{END}", page)


def symbol_table(models: Iterable[Formulation]) -> str:
    """Symbols in the order of their declaration, then equations by number, with the files that declare each."""
    rows: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for model in models:
        for row in _cited(model):
            assert row.cited is not None
            key = (row.cited.symbol, row.cited.places, row.name, row.unit)
            rows.setdefault(key, {})[row.file] = None
    lines = ["| symbol | of the paper in | here | unit | declared in |", "| --- | --- | --- | --- | --- |"]
    for (symbol, places, name, unit), files in sorted(rows.items(), key=lambda row: _place(*row[0][:2])):
        shown = f"`{symbol}`" if symbol else ""
        typeset = f"$`{unit}`$" if unit else ""
        lines.append(f"| {shown} | {places} | `{name}` | {typeset} | {', '.join(f'`{file}`' for file in files)} |")
    return "\n".join(lines)


def _cited(model: Formulation) -> Iterator[Notation | Equation]:
    rows: list[Notation | Equation] = [*model.sets, *model.parameters, *model.randoms, *model.variables]
    rows += [*model.definitions, *model.objectives, *model.constraints]
    for variant in model.variants:
        rows += variant.equations
    return (row for row in rows if row.cited is not None)


def _place(symbol: str, places: str) -> tuple[bool, tuple[int, ...], str]:
    """Symbols stay in their order; rows are ordered by their first numbers."""
    return (False, (), "") if symbol else (True, tuple(map(int, re.findall(r"\d+", places))), places)
