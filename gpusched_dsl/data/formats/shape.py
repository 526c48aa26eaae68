"""The result of a format: a table, read or drawn, in columns with units, and the skipped rows.

A module of formats has `FORMATS`, its formats by name. It is imported to check texts, so it imports polars and NumPy
inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.data.sources.files import FileLimits
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.scenarios.formats import FormatColumn, Option, Setting

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dropped", "Format", "FormatColumn", "FormatTable", "Option", "Raw", "Setting", "dropped_text"]


class Raw(Struct, frozen=True):
    """The content of a data file: its name in the model and its bytes, expanded if compressed.

    `separator` is between the cells of text, and `decimal` the decimal sign of its numbers. `limits` are those of what
    reading may take: a reader asks them before it allocates.
    """

    name: str
    data: bytes
    separator: str = ","
    decimal: str = "."
    limits: FileLimits = FileLimits()


class Dropped(Struct, frozen=True):
    """Rows left out for one reason ("no duration"); `first` is the line of the first of them in the file.

    `text` is the cell at fault in this line, in `column` of the file.
    """

    reason: str
    rows: int
    first: int | None = None
    column: str | None = None
    text: str | None = None


def dropped_text(dropped: Dropped) -> str:
    """Return the count, the reason and the first place: `2: no duration (first on line 7)`."""
    if dropped.first is None:
        return f"{dropped.rows}: {dropped.reason}"
    cell = f": `{dropped.text}`" if dropped.text is not None else ""
    return f"{dropped.rows}: {dropped.reason} (first on line {dropped.first}{cell})"


class FormatTable(Struct, frozen=True, eq=False):
    """A table in the columns of its format, the number of rows of the file, and the skipped or corrected rows.

    The frame is typed (text, integers, floats; null is not given) and may lack columns that this file cannot give:
    those that are asked for are reported. `lines` holds the line of the file for each row. `dropped` rows could not be
    used, which is told as are the `notes`; `filtered` ones are those that the options exclude. `facts` are what the
    file says of itself, such as the name of the cluster.
    """

    frame: pl.DataFrame
    rows: int
    dropped: tuple[Dropped, ...] = ()
    filtered: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    lines: Ints | None = None
    facts: tuple[str, ...] = ()


class Format(Struct, frozen=True):
    """A reader of files (`read` gets the file) or a generator (`read` gets None); options are complete and typed.

    `read` raises Unreadable with everything wrong with the file as a whole; single rows are dropped with a reason.
    """

    name: str
    doc: str
    columns: tuple[FormatColumn, ...]
    read: Callable[[Raw | None, Mapping[str, Setting]], FormatTable]
    options: tuple[Option, ...] = ()
    source: str = ""  # where the format is from, and a licence if it names one
    open_columns: bool = False  # whether the file's own columns follow those of `columns`, by their names in the file
