"""Lists the contents of a table of a format, and the known formats, as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.shape import Format, FormatTable, dropped_text
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    import polars as pl

_SIZES, _KINDS = 8, 4
_PERCENTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_STEPS = ((60.0, 1.0, "s"), (3600.0, 60.0, "min"), (86400.0, 3600.0, "h"), (float("inf"), 86400.0, "d"))


def lines_of_table(found: Format, table: FormatTable) -> Iterator[str]:
    """List the numbers of read and skipped rows, then the contents of the columns."""
    frame = table.frame
    yield from _pairs("file", table.facts)
    yield _line("rows", f"{table.rows} read, {_kept_text(table)}")
    yield from _pairs("unusable", map(dropped_text, table.dropped))
    yield from _pairs("excluded by options", map(dropped_text, table.filtered))
    yield from _pairs("note", table.notes)
    if "submitted" in frame.columns and frame.height:
        yield from _lines_of_jobs(frame)
    yield ""
    yield "columns"
    for column in found.columns:
        if column.name in frame.columns:
            yield _line(column.name, _contents(frame[column.name], column.unit), indent=2)
        else:
            yield _line(column.name, "not in this file", indent=2)
    known = {column.name for column in found.columns}
    for name in frame.columns:
        if name not in known:
            yield _line(name, _contents(frame[name], ""), indent=2)


def _kept_text(table: FormatTable) -> str:
    out = sum(d.rows for d in (*table.dropped, *table.filtered))
    kept = table.rows - out
    return f"{kept} kept" if kept == table.frame.height else f"{kept} kept, {table.frame.height} in the table"


def _lines_of_jobs(frame: pl.DataFrame) -> Iterator[str]:
    submitted = frame["submitted"].to_numpy()
    first, last = float(submitted.min()), float(submitted.max())
    rate = f", {frame.height / (last - first) * 3600:.4g} per hour" if last > first else ""
    yield _line("submitted", f"{time_text(first)} to {time_text(last)}{rate}")
    if "gpus" in frame.columns:
        counts = frame["gpus"].value_counts(sort=True)
        sizes = sorted(counts.head(_SIZES).iter_rows())
        rest = counts.height - len(sizes)
        shown = ", ".join(f"{size}: {count}" for size, count in sizes)
        yield _line("GPUs: jobs", shown + (f", and {rest} more sizes" if rest > 0 else ""))
    if "duration" in frame.columns:
        known = frame["duration"].drop_nulls()
        if len(known):
            parts = [f"{level:.0%} {time_text(_percentile(known, level))}" for level in _PERCENTILES]
            yield _line("duration", ", ".join([*parts, f"maximum {time_text(_percentile(known, 1.0))}"]))
    if {"gpus", "duration"} <= set(frame.columns):
        yield _line("GPU hours", f"{float((frame['gpus'] * frame['duration']).sum()) / 3600:.6g}")
    if "deadline" in frame.columns:
        known = (frame["deadline"] - frame["submitted"]).drop_nulls()
        middle = f", median {time_text(_percentile(known, 0.5))}" if len(known) else ""
        yield _line("deadlines", f"{count_text(len(known), 'job')}{middle} after the submission" if middle else "none")


def _percentile(values: pl.Series, level: float) -> float:
    found = values.quantile(level, "nearest")
    return float("nan") if found is None else float(found)


def _contents(column: pl.Series, unit: str) -> str:
    given = column.drop_nulls()
    if not len(given):
        return "empty"
    empty = f", {column.null_count()} empty" if column.null_count() else ""
    if column.dtype.is_numeric():
        values = given.to_numpy()
        shown = f"{values.min():.6g} to {values.max():.6g}" + (f" {unit}" if unit else "")
    else:
        kinds = given.unique(maintain_order=True)
        more = f" ({len(kinds)})" if len(kinds) > _KINDS else ""
        shown = ", ".join(str(kind) for kind in kinds.head(_KINDS).to_list()) + more
    return shown + empty


def time_text(seconds: float) -> str:
    """Return `891 s` as `14.9 min`: in the largest unit with a value above one."""
    size, symbol = next((size, symbol) for least, size, symbol in _STEPS if abs(seconds) < least or symbol == "d")
    return f"{seconds / size:.3g} {symbol}"


def _pairs(name: str, texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield _line(name if number == 0 else "", text)


def _line(name: str, text: str, indent: int = 0) -> str:
    return f"{' ' * indent}{name:<{16 - indent}} {text}".rstrip()


# --- formats ---------------------------------------------------------------------------------------------------------


def lines_of_list(formats: Iterable[Format]) -> Iterator[str]:
    """One line for each format."""
    for each in formats:
        yield f"  {each.name:<24} {each.doc}"


def lines_of_format(found: Format) -> Iterator[str]:
    """Return the description of a format without a file."""
    yield f"{found.name}: {found.doc}"
    if found.source:
        yield f"source: {found.source}"
    yield ""
    yield "columns"
    for column in found.columns:
        name = f"{column.name}[{column.unit}]" if column.unit else column.name
        yield f"  {name:<24} {column.meaning}"
    if found.open_columns:
        yield f"  {'...':<24} {'the other columns' if found.columns else 'the columns'} of the file, by their names"
    if found.options:
        yield ""
        yield "options"
    for option in found.options:
        shown = option.shown or _default(option.default)
        needed = "must be given" if option.default is None else f"default: {shown}"
        yield f"  {option.name:<24} {option.meaning}; {option.needs} ({needed})"


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
