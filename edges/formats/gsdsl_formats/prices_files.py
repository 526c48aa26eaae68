"""Price files to columns of text: headers matched loosely, daily files of a zip archive joined, faults with lines."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.data.formats.fields import header_of
from gpusched_dsl.data.formats.separators import numbers_of, separator_advice
from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.formats.slots import Micros
from gpusched_dsl.data.formats.slots_times import ParsedTimes, TwoReadings, times_in
from gpusched_dsl.data.sources.delimited import read_delimited
from gpusched_dsl.data.sources.files import Fault, Unreadable, decoded_size_fault
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.diagnostics.diagnostic import Cell, did_you_mean

if TYPE_CHECKING:
    import polars as pl

UNREADABLE_TIME = "GSM2030"
NOT_COVERED = "GSM2031"
NO_SERIES = "GSM2032"

_EMPTY = ["", "-", "n/e", "N/E", "NA", "N/A", "nan", "NaN", "null"]
_LARGEST = 1e12  # no price, and still safe to add up
_MOST_MEMBERS = 400  # of an archive: a year of days and some more


@dataclass(frozen=True, eq=False)
class PriceLines:
    """Columns of text by the requested names, the line of each row, the file, and the decimal sign of its numbers."""

    name: str
    columns: dict[str, pl.Series]
    numbers: Ints
    decimal: str = "."

    @property
    def rows(self) -> int:
        return len(self.numbers)

    def where(self, kept: Bools) -> PriceLines:
        import polars as pl

        mask = pl.Series(kept)
        return replace(self, columns={k: c.filter(mask) for k, c in self.columns.items()}, numbers=self.numbers[kept])

    def fault(self, code: str, message: str, row: int, column: str | None = None, help: str | None = None) -> Fault:
        text = None if column is None else self.columns[column][row]
        return Fault(code, message, Cell(self.name, int(self.numbers[row]), column, text), help=help)


def first_member(raw: Raw) -> Raw:
    """Return the file itself, or the first one in an archive; raise Unreadable (GSM2008)."""
    return structs.replace(raw, data=next(_members(raw))[1])


def read_lines(raw: Raw, wanted: Mapping[str, str], optional: Mapping[str, str] | None = None) -> PriceLines:
    """Read columns by regular expressions of their names (complete, any case), under the names on the left.

    Optional ones may be missing. Several files of an archive are joined in the order of their names. Raises
    Unreadable (GSM2007 to GSM2013, GSM2015; GSM2011 where no column fits).
    """
    import polars as pl

    parts: list[dict[str, pl.Series]] = []
    numbers: list[Ints] = []
    for name, data in _members(raw):
        member = structs.replace(raw, name=name, data=data)
        places = _places(member, header_of(member), wanted, optional or {})
        file = read_delimited(data, name, list(dict.fromkeys(places.values())), raw.separator, raw.limits)
        parts.append({label: file.series(column) for label, column in places.items()})
        numbers.append(np.arange(file.rows) + file.first_line if file.lines is None else file.lines)
    labels = [label for label in parts[0] if all(label in part for part in parts)]
    columns = {label: pl.concat([part[label] for part in parts], rechunk=True) for label in labels}
    return PriceLines(raw.name, columns, np.concatenate(numbers).astype(np.int64), raw.decimal)


def _places(raw: Raw, header: Sequence[str], wanted: Mapping[str, str], optional: Mapping[str, str]) -> dict[str, str]:
    places: dict[str, str] = {}
    for label, pattern in (*wanted.items(), *optional.items()):
        found = [h for h in header if re.fullmatch(pattern, h.strip(), re.IGNORECASE)]
        if found:
            places[label] = found[0]
        elif label in wanted:
            raise Unreadable(
                Fault(
                    "GSM2011",
                    f"data file `{raw.name}` has no column for the {label}",
                    notes=(f"its columns are {', '.join(f'`{h}`' for h in header[:20])}",),
                    help=separator_advice(raw, header) or "check the format of the file",
                )
            )
    return places


def _members(raw: Raw) -> Iterator[tuple[str, bytes]]:
    """The file itself, or the `.csv` files in a zip archive by name; never more than the limit of expanded data."""
    if not raw.data.startswith(b"PK\x03\x04"):
        yield raw.name, raw.data
        return
    left = raw.limits.decoded_bytes
    try:
        with zipfile.ZipFile(io.BytesIO(raw.data)) as archive:
            names = sorted(n for n in archive.namelist() if n.lower().endswith(".csv"))
            if not 0 < len(names) <= _MOST_MEMBERS:
                raise Unreadable(Fault("GSM2008", f"archive `{raw.name}` contains {len(names)} `.csv` files",
                                       help=f"it must contain 1 to {_MOST_MEMBERS}"))  # fmt: skip
            for name in names:
                with archive.open(name) as member:
                    data = member.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise Unreadable(decoded_size_fault(raw.name, raw.limits))
                yield f"{raw.name}:{name}", data
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError) as error:
        note = (str(error),)
        raise Unreadable(Fault("GSM2008", f"data file `{raw.name}` is a damaged archive", notes=note)) from None


def stamps_of(lines: PriceLines, column: str, order: str = "") -> ParsedTimes:
    """The times of a column; raises Unreadable (GSM2030) at the first cell that is none."""
    try:
        times = times_in(lines.columns[column], order)
    except TwoReadings:
        fault = lines.fault(
            UNREADABLE_TIME,
            f"the order of day and month in data file `{lines.name}` is ambiguous",
            0,
            column,
            help="write dates as 2018-06-30, or state the option `dates` if the format has it",
        )
        raise Unreadable(fault) from None
    wrong = np.flatnonzero(~times.read)
    if len(wrong):
        row = int(wrong[0])
        what = "no time" if not times.has_value[row] else f"`{lines.columns[column][row]}`, which is not a time"
        more = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
        raise Unreadable(
            lines.fault(
                UNREADABLE_TIME,
                f"a row of data file `{lines.name}` has {what}{more}",
                row,
                column,
                help="write times as 2018-06-30 14:05:00, or 06/30/2018 14:05",
            )
        )
    return times


def prices_of(lines: PriceLines, column: str) -> Floats:
    """Return the numbers of a column, NaN for empty cells; raise Unreadable (GSM2104) for other text."""
    text = lines.columns[column].str.strip_chars()
    text = text.replace(_EMPTY, [None] * len(_EMPTY))
    numbers = numbers_of(text, lines.decimal)
    beyond = (numbers.abs() > _LARGEST).fill_null(False)
    wrong = np.flatnonzero(((numbers.is_null() & text.is_not_null()) | beyond).to_numpy())
    if len(wrong):
        row = int(wrong[0])
        message = f"`{text[row]}`, a price in data file `{lines.name}`, is not a number"
        other = "," if lines.decimal == "." else "."
        other_sign = bool(numbers_of(text[row : row + 1], other).is_not_null().all())
        help = f'if `{other}` is its decimal sign, state the option `decimal = "{other}"`' if other_sign else None
        raise Unreadable(lines.fault("GSM2104", message, row, column, help))
    return numbers.fill_null(np.nan).to_numpy().astype(np.float64)


def select_series(lines: PriceLines, column: str, wanted: str, option: str, what: str = "places") -> PriceLines:
    """The rows of one series: that which is wanted, or the only one; raises Unreadable (GSM2032).

    `what` names the series in messages; `option` chooses one.
    """
    names = lines.columns[column].fill_null("").str.strip_chars()
    known = names.unique(maintain_order=True).to_list()
    if not wanted and len(known) == 1:
        return lines
    kept = (names.str.to_lowercase() == wanted.strip().lower()).to_numpy() if wanted else np.zeros(len(names), bool)
    if not kept.any():
        shown = ", ".join(f"`{k}`" for k in known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
        message = (
            f"data file `{lines.name}` has no prices of `{wanted}`"
            if wanted
            else (
                f"data file `{lines.name}` has the prices of {len(known)} {what}, but "
                f"option `{option}` names none of them"
            )
        )
        help = did_you_mean(wanted, known) or f"choose one by the option `{option}`"
        raise Unreadable(Fault(NO_SERIES, message, notes=(f"its {what} are {shown}",), help=help))
    return lines.where(kept)


def utc_text(micros: Micros) -> pl.Series:
    """Times in UTC as `2018-06-01T04:00:00Z`."""
    import polars as pl

    return pl.Series(micros).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
