"""The options of text files that separate cells or write numbers in other ways: `separator` and `decimal`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpusched_dsl.data.formats.shape import Format, Option, Raw, Setting
from gpusched_dsl.data.sources.delimited import likely_separator
from gpusched_dsl.data.sources.files import Fault, FileLimits, Unreadable

if TYPE_CHECKING:
    import polars as pl

_NAMED = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_COMMA_NUMBER = r"^\s*[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)?(?:,\d*)?(?:[eE][+-]?\d+)?\s*$"
_SAMPLE = 10_000  # bytes in which a decimal comma is looked for

SEPARATOR = Option(
    "separator",
    'text between cells: one character, such as ";" or "|", or `tab`',
    "",
    shown="`,`, or a tab in `.tsv`",
)
DECIMAL = Option(
    "decimal", "decimal sign of numbers; with `,`, a `.` separates thousands", ".", choices=(".", ",")
)  # fmt: skip
TEXT_OPTIONS = (SEPARATOR, DECIMAL)


def content_of(found: Format, name: str, data: bytes, settings: Mapping[str, Setting], limits: FileLimits) -> Raw:
    """Return a file for a format, with its separator and decimal sign; raise Unreadable (GSM1519)."""
    if SEPARATOR not in found.options:
        return Raw(name, data, limits=limits)
    separator = separator_of(name, str(settings.get("separator", "")))
    return Raw(name, data, separator, str(settings.get("decimal", ".")), limits)


def separator_of(name: str, wanted: str) -> str:
    """Return the separator that the option states, else that of the name; raise Unreadable (GSM1519)."""
    if not wanted:
        return "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","
    found = _NAMED.get(wanted, "\t" if wanted == "\\t" else wanted)
    if len(found) != 1 or not found.isascii() or not (found.isprintable() or found == "\t") or found == '"':
        raise Unreadable(
            Fault(
                "GSM1519",
                f"`{wanted}` cannot separate cells",
                help=f"write one character, or one of {', '.join(_NAMED)}",
                option=("separator", wanted),
            )
        )
    return found


def separator_advice(raw: Raw, names: Sequence[str]) -> str:
    """Return the options to state if another separator divides the header better than that of the file, else ""."""
    other = likely_separator(names, raw.separator)
    if other is None:
        return ""
    shown = "tab" if other == "\t" else f'"{other}"'
    comma = other != "," and re.search(rb'\d,\d+"?\s*(?:%b|$)' % re.escape(other).encode(), raw.data[:_SAMPLE], re.M)
    decimal = ', decimal = ","' if comma and raw.decimal == "." else ""
    return f"its cells seem to be separated by {'tabs' if other == chr(9) else f'`{other}`'}: " + (
        f"`separator = {shown}{decimal}`"
    )


def with_points(column: pl.Series, decimal: str) -> pl.Series:
    """Return a column of text in which the numbers that have this decimal sign have `.`, without thousands."""
    if decimal == ".":
        return column
    return column.zip_with(~_is_comma_number(column), _with_points(column))


def numbers_of(column: pl.Series, decimal: str) -> pl.Series:
    """Return the numbers of a column of text, null for what is none in this writing."""
    import polars as pl

    if decimal == ",":
        column = _with_points(column).set(~_is_comma_number(column), None)
    return column.cast(pl.Float64, strict=False)


def _is_comma_number(column: pl.Series) -> pl.Series:
    return column.str.contains(_COMMA_NUMBER).fill_null(False)


def _with_points(column: pl.Series) -> pl.Series:
    return column.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
