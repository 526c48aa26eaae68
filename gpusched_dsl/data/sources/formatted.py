"""Files read by a format, and tables that a generator draws, as columns with the places of their rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.data.formats.registry import generator, reader
from gpusched_dsl.data.formats.separators import content_of
from gpusched_dsl.data.formats.shape import FormatTable, dropped_text
from gpusched_dsl.data.sources.files import (
    DataFile,
    Fault,
    FileColumns,
    FileLimits,
    Unreadable,
    expand_gzip,
    read_bytes,
)
from gpusched_dsl.language import tree
from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.diagnostics.diagnostic import Cell, Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.formats import Use
from gpusched_dsl.language.scenarios.settings import format_name
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_GZIP = b"\x1f\x8b"


class FormattedFile(Struct, frozen=True, eq=False):
    """All columns that one use of a format gives, `file`, and the account of the rows left out, `table`."""

    file: FileColumns
    table: FormatTable

    def columns(self, wanted: Sequence[str]) -> FileColumns:
        """The file, if it has these columns; raises Unreadable (GSM2011) naming those it lacks."""
        lacking = [column for column in dict.fromkeys(wanted) if column not in self.file.columns]
        if lacking:
            listed = ", ".join(f"`{column}`" for column in self.file.columns)
            raise Unreadable(*(_missing_column(self.file.name, column, listed) for column in lacking))
        return self.file


def _missing_column(name: str, column: str, listed: str) -> Fault:
    message = f"data file `{name}` has no values for column `{column}` of its format"
    return Fault("GSM2011", message, column=column, notes=(f"it has values for {listed}",))


def read_with_format(use: Use, file: DataFile, limits: FileLimits) -> FormattedFile:
    """Read a file by its format; raise Unreadable (GSM20xx) with all of its errors."""
    raw = read_bytes(file, limits)
    digest = hashlib.sha256(raw).hexdigest()
    if raw.startswith(_GZIP):
        raw = expand_gzip(file.name, raw, limits)
    found, settings = reader(use.name), dict(use.options)
    table = found.read(content_of(found, file.name, raw, settings, limits), settings)
    return FormattedFile(_file_of(file.name, table, digest), table)


def draw(use: Use) -> FormattedFile:
    """Draw an instance; its name and options identify the content, because equal ones draw the same."""
    name = f"generate {use.text}"
    table = generator(use.name).read(None, dict(use.options))
    return FormattedFile(_file_of(name, table, digest_of(table)), table)


def digest_of(table: FormatTable) -> str:
    """The SHA-256 of a table as CSV text, the same on every machine."""
    return hashlib.sha256(table.frame.write_csv().encode()).hexdigest()


def _file_of(name: str, table: FormatTable, digest: str) -> FileColumns:
    frame = table.frame
    columns = {column: frame[column] for column in frame.columns}
    return FileColumns(name, columns, frame.height, digest, table.lines)


def report_dropped(read: FormattedFile, use: Use, data: tree.Data | tree.Generate, diagnostics: Diagnostics) -> None:
    """Report skipped and corrected rows (GSM2017), as one note per statement."""
    table = read.table
    gone = sum(each.rows for each in table.dropped)
    if not gone and not table.notes:
        return
    placed = [each for each in table.dropped if each.first is not None]
    first = min(placed, key=lambda each: each.first or 0) if placed else None
    place = format_name(data).span if first is None else Cell(read.file.name, first.first, first.column, first.text)
    message = f"{gone} of {count_text(table.rows, 'row')} of `{read.file.name}` are unusable and were skipped"
    if not gone:
        message = f"`{read.file.name}` was read with changes"
    diagnostics.error(
        "GSM2017",
        message,
        place,
        secondary=[Label(format_name(data).span, f"read as `{use.name}`")] if first is not None else [],
        notes=[*map(dropped_text, table.dropped), *table.notes],
        severity=Severity.NOTE,
    )


def report_other_start(
    read: FormattedFile, use: Use, data: tree.Data | tree.Generate, calendar: Calendar, diagnostics: Diagnostics
) -> None:
    """Warn (GSM1695) of slots that do not begin at the start of the calendar."""
    frame, settings = read.table.frame, dict(use.options)
    if not {"time", "slot"} <= set(frame.columns) or "slot" not in settings or not frame.height:
        return
    first = calendar.seconds(str(frame["time"][0])) - float(frame["slot"][0]) * float(settings["slot"]) * 60.0
    if abs(first) < 1e-3:
        return
    stated = next((option.value.span for option in data.options if option.name.text == "from"), format_name(data).span)
    diagnostics.error(
        "GSM1695",
        f"slot 0 of `{read.file.name}` begins at {calendar.text(first)}, the calendar at {calendar.text(0.0)}",
        stated,
        "another time",
        help="omit `from`, or keep it if prices of another time are intended",
        severity=Severity.WARNING,
    )
