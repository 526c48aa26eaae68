"""Traces without a header: cells separated by white space, identified by their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.fields import Field, SelectedRows, rows_of
from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text
from gpusched_dsl.language.diagnostics.diagnostic import Cell

if TYPE_CHECKING:
    import polars as pl

# Bytes that reading takes: copies of the text, a line as Python's text, a cell in a list of cells.
_TEXT_COPIES, _LINE_BYTES, _CELL_BYTES = 4, 80, 32


def read_lines(
    raw: Raw,
    layouts: Mapping[int, Sequence[str]],
    fields: Sequence[Field],
    separator: str | None = None,
    comment: str = "",
) -> SelectedRows:
    """Rows of a file without a header; `layouts` names the cells of a line by how many there are.

    The first line says which layout it is; lines with fewer or more cells are left out. Cells stand between
    `separator`s (None: white space). Blank lines and those that begin with `comment` mean nothing.
    Raises Unreadable: GSM2009, GSM2010 nothing there, GSM2013 a first line of another length.
    """
    import numpy as np
    import polars as pl

    apart = raw.data.count((separator or " ").encode())
    count = raw.data.count(b"\n")
    raw.limits.allow(_TEXT_COPIES * len(raw.data) + _LINE_BYTES * count + _CELL_BYTES * apart, raw.name)
    lines = pl.Series("line", check_text(raw.name, raw.data).decode("utf-8").split("\n"), dtype=pl.String)
    stripped = lines.str.strip_chars() if separator is None else lines
    used = stripped.str.strip_chars() != ""
    if comment:
        used &= ~stripped.str.starts_with(comment)
    numbers = np.flatnonzero(used.to_numpy()) + 1
    cells = _split(stripped.filter(used), separator)
    if not len(cells):
        raise Unreadable(Fault("GSM2010", f"data file `{raw.name}` is empty", help="it has no row"))
    widths = cells.list.len().cast(pl.Int64)
    width = int(widths[0])
    if width not in layouts:
        raise Unreadable(_wrong_width(raw.name, width, layouts, int(numbers[0])))
    good = (widths == width).to_numpy()
    sound = cells.filter(pl.Series(good))
    texts = {name: sound.list.get(i) for i, name in enumerate(layouts[width])}
    rows = rows_of(texts, numbers[good], fields)
    rows.total = len(cells)
    if not good.all():
        rows.leave_out_lines(f"a line without {width} cells", numbers[~good])
    return rows


def _split(lines: pl.Series, separator: str | None) -> pl.Series:
    return lines.str.replace_all(r"\s+", " ").str.split(" ") if separator is None else lines.str.split(separator)


def _wrong_width(name: str, width: int, layouts: Mapping[int, Sequence[str]], line: int) -> Fault:
    known = " or ".join(map(str, layouts))
    return Fault(
        "GSM2013",
        f"the first row of data file `{name}` has {width} cells, not {known}",
        Cell(name, line),
        help="check the format of the file",
    )
