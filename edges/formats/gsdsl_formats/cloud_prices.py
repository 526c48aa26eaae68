"""Rows of a catalogue of GPU machines: ranges and empty cells, offers that repeat, names that are not unique."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.data.formats.shape import Dropped, FormatTable, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gsdsl_formats.prices_files import NO_SERIES, PriceLines, read_lines

if TYPE_CHECKING:
    import polars as pl

_NEEDED = {
    "cloud": "cloud|vendor|provider",
    "gpu": "gpu type",
    "gpus": "gpus",
    "memory": "gpu ram",
    "on_demand": "on-demand|per-hour",
}
_OPTIONAL = {"arch": "gpu arch", "cpus": "vcpus", "ram": "ram", "spot": "spot", "name": "name"}
_TEXT = ("cloud", "gpu", "arch", "name")
_NUMBER = r"^\$?(\d+(?:\.\d+)?)(?: *- *\$?\d+(?:\.\d+)?)?(?: *GB)?$"


def read_catalogue(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """Return the requested offers; raise Unreadable (GSM2032 for an unknown cloud or GPU, GSM2104)."""
    import polars as pl

    lines = read_lines(raw, _NEEDED, _OPTIONAL)
    frame = pl.DataFrame({name: _text(lines, name) if name in _TEXT else _numbers(lines, name) for name in _all()})
    offer = str(settings["offer"])
    frame = frame.with_columns(
        line=pl.Series(lines.numbers),
        again=~frame.select(pl.struct(pl.all()).is_first_distinct()).to_series(),
        price=pl.col(offer),
    )
    distinct = frame.filter(~pl.col("again"))
    stated = pl.col("gpu").str.extract(r"\((\d+) *GB\)$", 1).cast(pl.Float64)
    distinct = distinct.with_columns(type=_labels(distinct)).with_columns(
        price_per_gpu=pl.col("price") / pl.col("gpus"),
        gpu_memory=pl.coalesce(stated, pl.col("memory") / pl.col("gpus")),
        gpus=pl.col("gpus").cast(pl.Int64, strict=False),
    )
    wanted = _select_rows(distinct, raw.name, settings)
    kept = wanted.filter(pl.col("price").is_not_null())
    again, unpriced = frame.filter("again"), wanted.filter(pl.col("price").is_null())
    dropped = [
        Dropped(reason, rows.height, int(rows["line"][0]))
        for reason, rows in (
            ("repeated offer", again),
            (f"no {'on-demand' if offer == 'on_demand' else offer} price", unpriced),
        )
        if rows.height
    ]
    others = distinct.height - wanted.height
    filtered = (Dropped("another cloud or model of GPU", others),) if others else ()
    ranges = int(sum(_ranges(lines, name, kept["line"].to_numpy()) for name in ("cpus", "ram")))
    notes = (f"{ranges} ranges such as `80-100` are read as their smallest value",) if ranges else ()
    numbers: Ints = kept["line"].to_numpy()
    return FormatTable(kept.drop("line", "again"), lines.rows, tuple(dropped), filtered, notes, lines=numbers)


def _all() -> tuple[str, ...]:
    return (*_NEEDED, *_OPTIONAL)


def _text(lines: PriceLines, name: str) -> pl.Series:
    import polars as pl

    if name not in lines.columns:
        return pl.Series([None] * lines.rows, dtype=pl.String)
    return lines.columns[name].str.strip_chars()


def _numbers(lines: PriceLines, name: str) -> pl.Series:
    """A column as numbers: `80`, `$0.75`, `24GB`; of a range its least."""
    import polars as pl

    if name not in lines.columns:
        return pl.Series([None] * lines.rows, dtype=pl.Float64)
    text = lines.columns[name].str.strip_chars()
    if lines.decimal == ",":
        text = text.str.replace_all(r"(\d)\.(\d{3})", "${1}${2}").str.replace_all(r"(\d),(\d)", "${1}.${2}")
    found = text.str.extract(_NUMBER, 1).cast(pl.Float64, strict=False)
    wrong = np.flatnonzero((found.is_null() & text.is_not_null()).to_numpy())
    if len(wrong):
        row = int(wrong[0])
        message = f"`{text[row]}` in data file `{lines.name}` is neither a number nor a range"
        raise Unreadable(lines.fault("GSM2104", message, row, name))
    return found


def _ranges(lines: PriceLines, name: str, kept: Ints) -> int:
    if name not in lines.columns:
        return 0
    ranged = lines.columns[name].str.contains("-").fill_null(False).to_numpy()
    return int((ranged & np.isin(lines.numbers, kept)).sum())


def _labels(frame: pl.DataFrame) -> pl.Series:
    """Return a name for every offer, independent of the request: that of the machine if it is unique."""
    import polars as pl

    machine = pl.format("{} {}x {}", pl.coalesce("name", "cloud"), pl.col("gpus").cast(pl.Int64), "gpu")
    alone = pl.col("name").is_not_null() & (pl.len().over("name") == 1)
    named = frame.select(label=pl.when(alone).then("name").otherwise(machine))
    number = pl.int_range(pl.len()).over("label") + 1
    numbered = pl.when(number > 1).then(pl.format("{} ({})", "label", number)).otherwise("label")
    return named.select(numbered).to_series()


def _select_rows(frame: pl.DataFrame, name: str, settings: Mapping[str, Setting]) -> pl.DataFrame:
    for column in ("cloud", "gpu"):
        asked = str(settings[column]).strip().lower()
        if not asked:
            continue
        known = frame[column].str.to_lowercase()
        found = known == asked
        if column == "gpu":
            found |= known.str.replace(r" *\(\d+ *gb\)$", "") == asked
        if not found.any():
            names = [str(each) for each in frame[column].unique(maintain_order=True)]
            shown = ", ".join(f"`{each}`" for each in names[:30])
            raise Unreadable(
                Fault(
                    NO_SERIES,
                    f"data file `{name}` has no offers with {column} `{settings[column]}`",
                    notes=(f"its values are {shown}",),
                    help=did_you_mean(str(settings[column]), names),
                )
            )
        frame = frame.filter(found)
    return frame
