"""Common parts of the readers of data files: limits, faults, resulting columns, and safe reading of bytes."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import Cell
from gpusched_dsl.language.project_root import MARKER

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.short_columns import Column


_COPIES = 2  # of a text while it is read
_JSON_BYTES = 40  # of a member or element of a JSON document, as measured, beside its text


class FileLimits(Struct, frozen=True):
    """The limits of a data file. Sizes in bytes: on disk, after expanding compressed data, and while it is read."""

    file_bytes: int = 1 << 30
    decoded_bytes: int = 2 << 30
    allow_outside: bool = False
    memory: int = 8 << 30

    @classmethod
    def within(cls, memory: int, *, allow_outside: bool) -> FileLimits:
        """Return the usual limits, none of them above the memory limit; a larger limit than the usual raises all."""
        usual = cls()
        file_bytes = max(usual.file_bytes, memory * usual.file_bytes // usual.memory)
        decoded_bytes = max(usual.decoded_bytes, memory * usual.decoded_bytes // usual.memory)
        return cls(file_bytes, min(decoded_bytes, memory), allow_outside, memory)

    def allow(self, needed: int, name: str) -> None:
        """Raise Unreadable (GSM2007) if reading a file needs more bytes than allowed; nothing is allocated before."""
        if needed > self.memory:
            message = (
                f"reading data file `{name}` needs about {size_text(needed)}, the limit is {size_text(self.memory)}"
            )
            help = "keep only the rows and columns that are needed, or raise the limit with `--memory-limit`"
            raise Unreadable(Fault("GSM2007", message, help=help))

    def allow_json(self, data: bytes, name: str) -> None:
        """Raise Unreadable (GSM2007) if a JSON document as Python objects needs more bytes than allowed."""
        self.allow(_COPIES * len(data) + _JSON_BYTES * (data.count(b",") + data.count(b":")), name)


class Fault(Struct, frozen=True):
    """One thing wrong with a file. `cell` is the place inside it, `column` the requested column it is about.

    A fault about an option of a format names it: the option, and the text at fault in its value.
    """

    code: str
    message: str
    cell: Cell | None = None
    column: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    option: tuple[str, str] | None = None


class Unreadable(Exception):
    """A file does not provide the requested data; `faults` are the reasons."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.message for fault in faults))


class FileColumns(Struct, frozen=True, eq=False):
    """Some columns of one file, all of `rows` length; text where the format has no types.

    `lines` holds the line of the file for each record; where it is None, record i (from 0) stands on line
    i + `first_line`. Formats without lines count records from 1.
    """

    name: str
    columns: Mapping[str, Column]
    rows: int
    sha256: str
    lines: Ints | None = None
    first_line: int = 1

    def line(self, record: int) -> int:
        return record + self.first_line if self.lines is None else int(self.lines[record])

    def series(self, column: str) -> pl.Series:
        return as_series(self.columns[column]).alias(column)

    def place(self, record: int, column: str | None = None) -> Cell:
        """Return the place of a record (counted from 0), with the text of the cell if a column is named."""
        text = None
        if column is not None and column in self.columns:
            value = self.columns[column][record]
            text = None if value is None else str(value)
        return Cell(self.name, self.line(record), column, text)


class DataFile(Struct, frozen=True):
    """A data path that may be read: where it is, and the name as the author wrote it."""

    path: Path
    name: str


def locate(base: Path, text: str, limits: FileLimits, root: Path | None = None) -> DataFile:
    """The file that a path in a `.gsm` text in folder `base` means.

    It is kept inside the folder `root` (without one: inside `base`) unless the limits say otherwise.
    Raises Unreadable (GSM2001 missing, GSM2002 outside, GSM2003 not a path that can be used).
    """
    if reason := _path_fault(text):
        shown = text.encode("unicode_escape").decode("ascii")[:80]
        raise Unreadable(
            Fault(
                "GSM2003",
                f"{f'`{shown}`' if shown else 'this'} is not a path of a data file: {reason}",
                help="name a file relative to this text, with `/` between folders",
            )
        )
    home = base.resolve()
    inside = home if root is None else root.resolve()
    absolute = text.startswith("/") or Path(text).is_absolute()
    if absolute and not limits.allow_outside:
        raise Unreadable(_outside_fault(text, "it is absolute"))
    try:
        path = (home / text).resolve()
    except (OSError, RuntimeError) as error:
        raise Unreadable(Fault("GSM2003", f"`{text}` is not a path of a data file: {error}")) from None
    if not limits.allow_outside and not path.is_relative_to(inside):
        reason = "the path contains a symbolic link" if ".." not in Path(text).parts else "`..` leaves the folder"
        raise Unreadable(_outside_fault(text, reason))
    try:
        exists = path.exists()
    except OSError as error:
        raise Unreadable(Fault("GSM2003", f"`{text}` is not a path of a data file: {error.strerror}")) from None
    if not exists:
        raise Unreadable(_missing_file(home, inside, text))
    return DataFile(path, text)


def _path_fault(text: str) -> str | None:
    if not text.strip():
        return "it is empty"
    if any(ord(c) < 32 or ord(c) == 127 for c in text):
        return "it contains a control character"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        return "addresses are not supported, only files"
    if re.match(r"[A-Za-z]:", text):
        return "it starts with a drive letter"
    if "\\" in text:
        return "it contains a backslash"
    if len(text) > 4096:
        return "it is too long"
    return None


def _outside_fault(text: str, reason: str) -> Fault:
    return Fault(
        "GSM2002",
        f"data file `{text}` is outside the folder of this text",
        notes=(reason,),
        help="move the file into the folder of the text, mark a folder above both as the root of a project by an empty "
        f"file `{MARKER}`, or allow files outside with `--allow-outside`",
    )


def _missing_file(home: Path, inside: Path, text: str) -> Fault:
    from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

    folder = (home / text).parent
    known: list[str] = []
    if folder.is_dir() and folder.resolve().is_relative_to(inside):
        prefix = text[: len(text) - len(Path(text).name)]
        known = [prefix + entry.name for entry in sorted(folder.iterdir())[:1000] if entry.is_file()]
    return Fault("GSM2001", f"data file `{text}` does not exist", help=did_you_mean(text, known))


def read_bytes(file: DataFile, limits: FileLimits) -> bytes:
    """The content of a plain file; raises Unreadable (GSM2004 cannot be opened, GSM2006 too large)."""
    # The path was resolved, so a link found here was put there since; a pipe must not make us wait.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(file.path, flags), "rb") as stream:
            check_plain(file, os.fstat(stream.fileno()), limits)
            data = stream.read(limits.file_bytes + 1)
    except OSError as error:
        raise Unreadable(Fault("GSM2004", f"data file `{file.name}` cannot be opened: {error.strerror}")) from None
    if len(data) > limits.file_bytes:
        raise Unreadable(_size_fault(file, limits))
    return data


def check_plain(file: DataFile, status: os.stat_result, limits: FileLimits) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable(Fault("GSM2004", f"`{file.name}` is a folder, not a data file"))
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(Fault("GSM2004", f"`{file.name}` is not a plain file"))
    if status.st_size > limits.file_bytes:
        raise Unreadable(_size_fault(file, limits))


def _size_fault(file: DataFile, limits: FileLimits) -> Fault:
    return Fault("GSM2006", f"data file `{file.name}` is larger than {size_text(limits.file_bytes)}")


def decoded_size_fault(name: str, limits: FileLimits) -> Fault:
    return Fault("GSM2007", f"data file `{name}` expands to more than {size_text(limits.decoded_bytes)}")


def size_text(size: int) -> str:
    """`1.5 GiB`."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"


def expand_gzip(name: str, data: bytes, limits: FileLimits) -> bytes:
    """The content of a gzip file, never more than the limit; raises Unreadable (GSM2007, GSM2008)."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            expanded = stream.read(limits.decoded_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(
            Fault("GSM2008", f"data file `{name}` is damaged: it is not valid gzip data", notes=(str(error),))
        ) from None
    if len(expanded) > limits.decoded_bytes:
        raise Unreadable(decoded_size_fault(name, limits))
    return expanded


_MARKS = re.compile(rb"\A(?:\xef\xbb\xbf)+")  # byte order marks; a program that does not know the first adds another
_MAGIC = (
    (b"\x1f\x8b", "gzip data (`.csv.gz`)"),
    (b"PAR1", "a Parquet file (`.parquet`)"),
    (b"SQLite format 3", "an SQLite database (`.sqlite`)"),
    (b"PK\x03\x04", "a zip archive or an Excel file (`.xlsx`)"),
)


def check_text(name: str, data: bytes) -> bytes:
    """Text of a data file as UTF-8 with `\\n` line ends and without byte order mark; raises Unreadable (GSM2009)."""
    looks = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    if looks is not None:
        raise Unreadable(Fault("GSM2009", f"data file `{name}` is not text", help=f"it looks like {looks}"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable(Fault("GSM2009", f"data file `{name}` is UTF-16 text", help="save it as UTF-8"))
    data = _MARKS.sub(b"", data, count=1)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if (at := data.find(b"\0")) >= 0:
        cell = Cell(name, data.count(b"\n", 0, at) + 1)
        raise Unreadable(
            Fault("GSM2009", f"data file `{name}` contains a NUL byte", cell, help="check that it is a text file")
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        cell = Cell(name, data.count(b"\n", 0, error.start) + 1)
        byte = data[error.start]
        raise Unreadable(
            Fault("GSM2009", f"data file `{name}` is not UTF-8: byte 0x{byte:02x}", cell, help="save it as UTF-8")
        ) from None
    return data


def column_name(cell: str) -> str:
    """The name of a column in a cell of a header, without surrounding spaces and invisible letters.

    Spreadsheets that open CSV text may keep its byte order mark in the first cell.
    """
    from gpusched_dsl.language.text.lookalikes import INVISIBLE

    return INVISIBLE.sub("", cell).strip()


def repeated_columns(name: str, wanted: Sequence[str], header: Sequence[str], line: int | None = 1) -> list[Fault]:
    """A fault for every wanted column that occurs more than once in the header, which is on this line."""
    return [
        Fault(
            "GSM2012",
            f"data file `{name}` has {header.count(column)} columns `{column}`",
            None if line is None else Cell(name, line),
            column,
        )
        for column in dict.fromkeys(wanted)
        if header.count(column) > 1
    ]


def missing_columns(name: str, wanted: list[str], known: list[str]) -> list[Fault]:
    """A fault for every wanted column that the file does not have."""
    from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

    shown = ", ".join(f"`{k}`" for k in known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return [
        Fault(
            "GSM2011",
            f"data file `{name}` has no column `{column}`",
            column=column,
            notes=(f"its columns are {shown}",) if known else ("it has no columns",),
            help=did_you_mean(column, known),
        )
        for column in dict.fromkeys(wanted)
        if column not in known
    ]
