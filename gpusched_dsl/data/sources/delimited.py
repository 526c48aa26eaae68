"""CSV and TSV text to columns: every cell stays text, so that an error can show it at its place.

Cells are separated by `,` (CSV) or a tab (TSV); a cell that holds the separator, a quote or a line end stands in
double quotes, and `""` is a quote inside one. Spaces around a cell and blank lines mean nothing. The first line names
the columns.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.data.short_columns import MOST_CELLS, ShortColumn
from gpusched_dsl.data.sources.files import (
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    check_text,
    column_name,
    missing_columns,
    repeated_columns,
)
from gpusched_dsl.data.sources.panics import Panic, guard
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import Cell

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.short_columns import Column

_LINE_END, _QUOTE = 10, 34
_SHOWN = 3
# Bytes that reading takes: copies of the text, the places of separators and lines, the cells.
_TEXT_COPIES, _SEPARATOR_BYTES, _LINE_BYTES, _CELL_BYTES = 2, 8, 32, 16


@dataclass(frozen=True, eq=False)
class _Layout:
    """Byte offsets outside quotes: where each record starts and ends, and every separator. The header is record 0."""

    starts: Ints
    ends: Ints
    separators: Ints
    lines: Ints

    def counts(self) -> Ints:
        """Cells per record."""
        before = np.searchsorted(self.separators, self.starts)
        return np.searchsorted(self.separators, self.ends) - before + 1


def read_delimited(
    raw: bytes,
    name: str,
    columns: Sequence[str],
    separator: str,
    limits: FileLimits,
    digest: str | None = None,
) -> FileColumns:
    """The named columns as text (empty cells are null); raises Unreadable (GSM2007, GSM2009 to GSM2013, GSM2015)."""
    line_ends = raw.count(b"\n")
    needed = _TEXT_COPIES * len(raw) + _SEPARATOR_BYTES * raw.count(separator.encode()) + _LINE_BYTES * line_ends
    limits.allow(needed + _CELL_BYTES * line_ends * len(columns), name)
    data = check_text(name, raw)
    if not data.strip():
        raise Unreadable(Fault("GSM2010", f"data file `{name}` is empty", help="its first line must name the columns"))
    layout = _layout(name, data, ord(separator))
    if (layout.starts == layout.ends).any():
        data, layout = _without_blank_lines(data, layout)
    first = data[: int(layout.ends[0])].decode("utf-8")
    try:
        header = [column_name(cell) for cell in next(csv.reader([first], delimiter=separator))]
    except csv.Error as error:  # such as a name of more than 131,072 characters
        raise Unreadable(unsplit(name, str(error))) from None
    _check_header(name, header, columns, separator)
    _check_counts(name, layout, len(header), separator)
    rows = len(layout.starts) - 1
    columns = list(dict.fromkeys(columns))
    body = data[int(layout.ends[0]) + 1 :]
    found: Mapping[str, Column]
    if rows <= MOST_CELLS and b'"' not in body:
        found = _split_few(body, header, columns, separator)
    else:
        found = _split(name, body, header, columns, separator, rows).to_dict()
    lines = layout.lines[1:]
    plain = bool((lines == np.arange(rows) + 2).all())
    digest = digest or hashlib.sha256(raw).hexdigest()
    return FileColumns(name, found, rows, digest, None if plain else lines, 2)


def _layout(name: str, data: bytes, separator: int) -> _Layout:
    bytes_ = np.frombuffer(data, np.uint8)
    line_ends = np.flatnonzero(bytes_ == _LINE_END)
    separators = np.flatnonzero(bytes_ == separator)
    ends = line_ends
    if b'"' in data:
        quotes = np.flatnonzero(bytes_ == _QUOTE)
        _check_quotes(name, bytes_, quotes, line_ends, separator)
        ends = line_ends[np.searchsorted(quotes, line_ends) % 2 == 0]
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    lines = np.arange(1, len(starts) + 1) if ends is line_ends else np.searchsorted(line_ends, starts) + 1
    return _Layout(starts, ends, separators, lines)


def _check_quotes(name: str, data: NDArray[np.uint8], quotes: Ints, line_ends: Ints, separator: int) -> None:
    """Check the quotes: they come in pairs; one opens a cell and one closes it, or two form a `""`."""

    def line(at: int) -> int:
        return int(np.searchsorted(line_ends, at)) + 1

    opening, closing = quotes[0::2], quotes[1::2]
    before = np.where(opening > 0, data[opening - 1], _LINE_END)
    follows = np.isin(before, (separator, _LINE_END)) | (before == _QUOTE)
    after = np.where(closing + 1 < len(data), data[np.minimum(closing + 1, len(data) - 1)], _LINE_END)
    ended = np.isin(after, (separator, _LINE_END)) | (after == _QUOTE)
    stray = np.sort(np.concatenate((opening[~follows], closing[~ended])))
    if len(stray):
        notes = (f"{len(stray)} such quotes in total",) if len(stray) > 1 else ()
        raise Unreadable(
            Fault(
                "GSM2015",
                f"stray quote in data file `{name}`",
                Cell(name, line(int(stray[0]))),
                notes=notes,
                help='a quoted cell starts and ends with `"`, and a quote inside it is written `""`',
            )
        )
    if len(quotes) % 2:
        raise Unreadable(
            Fault(
                "GSM2015",
                f"a quoted cell of data file `{name}` has no closing quote",
                Cell(name, line(int(quotes[-1]))),
            )
        )


def _without_blank_lines(data: bytes, layout: _Layout) -> tuple[bytes, _Layout]:
    blank = layout.starts == layout.ends
    kept = np.flatnonzero(~blank)
    removed = layout.ends[blank]
    keep = np.ones(len(data), dtype=np.bool_)
    keep[removed[removed < len(data)]] = False

    def shift(places: Ints) -> Ints:
        shifted: Ints = places - np.searchsorted(removed, places)
        return shifted

    data = np.frombuffer(data, np.uint8)[keep].tobytes()
    return data, _Layout(
        shift(layout.starts[kept]), shift(layout.ends[kept]), shift(layout.separators), layout.lines[kept]
    )


def _check_header(name: str, header: list[str], columns: Sequence[str], separator: str) -> None:
    faults = missing_columns(name, list(columns), header)
    if faults:
        other = likely_separator(header, separator)
        if other is not None:
            shown = "tabs" if other == "\t" else f"`{other}`"
            option = "tab" if other == "\t" else f'"{other}"'
            wanted = "tabs (it is a `.tsv`)" if separator == "\t" else f"`{separator}`"
            raise Unreadable(
                Fault(
                    "GSM2011",
                    f"data file `{name}` has no column `{columns[0]}`",
                    column=columns[0],
                    notes=faults[0].notes,
                    help=f"its cells seem to be separated by {shown}, not by {wanted}: read it "
                    f"`as table (separator = {option})`",
                )
            )
    faults += repeated_columns(name, columns, header)
    if faults:
        raise Unreadable(*faults)


def likely_separator(header: Sequence[str], separator: str) -> str | None:
    """Return the separator that occurs more often in a header than the one by which it was split; None if none does."""
    text = separator.join(header)
    found = max((sign for sign in ";\t,|" if sign != separator), key=text.count)
    return found if text.count(found) > text.count(separator) else None


def _check_counts(name: str, layout: _Layout, width: int, separator: str) -> None:
    total = len(layout.starts) * (width - 1)
    if len(layout.separators) == total:
        if width == 1:
            return
        grid = layout.separators.reshape(-1, width - 1)
        if (grid[:, 0] >= layout.starts).all() and (grid[:, -1] < layout.ends).all():
            return
    counts = layout.counts()
    wrong = np.flatnonzero(counts != width)
    first = int(wrong[0])
    notes = tuple(f"line {layout.lines[i]} has {counts[i]}" for i in wrong[1 : 1 + _SHOWN].tolist())
    more = len(wrong) - 1 - len(notes)
    if more > 0:
        notes = (*notes, f"… and {more} more")
    raise Unreadable(
        Fault(
            "GSM2013",
            f"a row of data file `{name}` has {counts[first]} cells, but the header has {width}",
            Cell(name, int(layout.lines[first])),
            notes=notes,
            help="quote a cell that contains the separator" if counts[first] > width else None,
        )
    )


def _split_few(body: bytes, header: list[str], columns: Sequence[str], separator: str) -> dict[str, ShortColumn]:
    """As `_split`, for few rows without quotes."""
    lines = [line.split(separator) for line in body.decode().removesuffix("\n").split("\n")] if body else []
    places = {column: header.index(column) for column in columns}
    return {
        column: ShortColumn([line[place].strip(" ") or None for line in lines], "text")
        for column, place in places.items()
    }


def _split(
    name: str, body: bytes, header: list[str], columns: Sequence[str], separator: str, rows: int
) -> pl.DataFrame:
    import polars as pl

    if not body or not columns:
        return pl.DataFrame({column: pl.Series([], dtype=pl.String) for column in columns})
    # Names of our own, since those of the header may repeat.
    places = {column: f"column_{header.index(column) + 1}" for column in columns}
    try:
        with guard():
            frame = pl.read_csv(
                body,
                has_header=False,
                separator=separator,
                schema={f"column_{i + 1}": pl.String for i in range(len(header))},
                columns=list(places.values()),
            )
    except (pl.exceptions.PolarsError, Panic) as error:
        raise Unreadable(unsplit(name, str(error).splitlines()[0])) from None
    if frame.height != rows:
        raise Unreadable(unsplit(name, f"{frame.height} rows were read instead of {rows}"))
    frame = frame.select([pl.col(place).alias(column) for column, place in places.items()])
    spaced = b" " in body  # one byte is looked for much faster than two
    if spaced:
        ends = (f" {separator}", f"{separator} ", " \n", "\n ", '" ', ' "')
        spaced = body[:1] == b" " or body[-1:] == b" " or any(pair.encode() in body for pair in ends)
    if spaced:
        frame = frame.with_columns(pl.all().str.strip_chars(" "))
    if spaced or b'""' in body:
        frame = frame.with_columns(pl.all().replace("", None))
    return frame


def unsplit(name: str, note: str) -> Fault:
    return Fault("GSM2008", f"data file `{name}` cannot be split into cells", notes=(note,))
