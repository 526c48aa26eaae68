"""What a format is: a table read or drawn, in columns with stated units, and an account of the rows left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import polars as pl

Setting: TypeAlias = float | int | str


@dataclass(frozen=True, slots=True)
class Option:
    """`first = 1000` behind the name of a format; its type is that of `default`, None where it must be given."""

    name: str
    meaning: str
    default: Setting | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table that a format gives; `unit` as a data statement writes it, "" for labels and counts."""

    name: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows left out for one reason; `first` is the line of the first of them in the file."""

    reason: str
    rows: int
    first: int | None = None


@dataclass(frozen=True)
class Table:
    """A table in the columns of its format, how many rows there were, and what was left out or mended."""

    frame: pl.DataFrame
    rows: int
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A reader of files (`read` gets a path) or a generator (`read` gets None); options are complete and typed."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    read: Callable[[Path | None, Mapping[str, Setting]], Table]
    options: tuple[Option, ...] = ()
    source: str = ""  # where the format is from, and a licence if it names one
    settings: Mapping[str, Setting] = field(default_factory=dict)
