"""Any file with a column of times and a column of prices, described by options."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import structs

from gpusched_dsl.data.formats.fields import header_of
from gpusched_dsl.data.formats.prices_files import first_member, prices_of, read_lines, select_series, stamps_of
from gpusched_dsl.data.formats.prices_slots import PriceTable, table_of
from gpusched_dsl.data.formats.separators import separator_advice
from gpusched_dsl.data.formats.shape import FormatTable, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable, missing_columns


def read_any(raw: Raw, settings: Mapping[str, Setting]) -> FormatTable:
    """The slots of one series; raises Unreadable (GSM2011 for a column that is not there)."""
    named = {label: str(settings[label]) for label in ("time", "price", "forecast", "series") if settings[label]}
    header = header_of(first_member(raw))
    faults = missing_columns(raw.name, list(named.values()), header)
    if faults:
        if advice := separator_advice(first_member(raw), header):
            raise Unreadable(structs.replace(faults[0], column=None, help=advice))
        label_of = {name: label for label, name in reversed(named.items())}
        raise Unreadable(*(_named_by_option(fault, label_of[fault.column or ""]) for fault in faults))
    everything = read_lines(raw, {label: re.escape(name) for label, name in named.items()})
    lines = everything
    if "series" in named:
        lines = select_series(lines, "series", str(settings["zone"]), "zone")
    order = str(settings["dates"])
    labels = [label for label in ("price", "forecast") if label in named]
    prices = PriceTable(
        lines,
        everything.rows,
        stamps_of(lines, "time", "" if order == "auto" else order),
        np.column_stack([prices_of(lines, label) for label in labels]),
        labels,
        str(settings["timezone"]),
        settings["stamps"] == "end",
        round(float(settings["interval"])),
    )
    return table_of(prices, settings)


def _named_by_option(fault: Fault, label: str) -> Fault:
    """A column that is not there, at the option that names it."""
    assert fault.column is not None
    help = f"name the column of the {label} by its option: `prices ({label} = ...)`"
    return structs.replace(fault, column=None, option=(label, fault.column), help=fault.help or help)
