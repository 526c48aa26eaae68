"""The placement as a table for people: by node, then job; slots of one decision joined into ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.language.text.numbers import column_texts
from gpusched_dsl.reporting.grid import BAD, Grid, GridColumn
from gpusched_dsl.reporting.placement import SLOT_DATE, Placement, is_text

if TYPE_CHECKING:
    import polars as pl

FIRST = ("node", "node_type")  # group by these, in this order
SUMMED = ("lasts", "cost")
KEYS = ("node", "job", "uses")  # these do not wrap on a narrow terminal
LEFT_OUT = ("costs", "rack", "node_type", "workers", "late", "lasts")  # there in this order, where room is lacking
HEADINGS = {"lasts": "runs for", "late": "late by", SLOT_DATE: "date"}


def heading(name: str, unit: str = "") -> str:
    """Return the heading of a column of the placement in plain English, with its unit."""
    words = "rate" if name == "costs" and "/" in unit else HEADINGS.get(name, name.replace("_", " "))
    return f"{words} [{unit}]" if unit else words


def schedule(placed: Placement) -> Grid:
    """One line per placed job, those of one node together; `uses` and `of` become `3 of 4`."""
    if "slot" in placed.columns:
        placed = _join_slots(placed)
    order = _order(placed)
    found = {name: values[order] for name, values in placed.columns.items()}
    leading = [name for name in FIRST if name in found]
    names = [*leading, *(n for n in found if n not in leading)]
    starts = _group_starts(_rows(found, leading, placed.rows))
    columns: list[GridColumn] = []
    for name in names:
        if name == "of" or name.startswith("of_"):
            continue  # in the column of its `uses`
        header = heading(name, placed.units.get(name, ""))
        values, right = found[name].tolist(), not is_text(found[name])
        texts = column_texts(values) if right else ["" if v is None else str(v) for v in values]
        capacity = "of" + name.removeprefix("uses")
        if right and name.startswith("uses") and capacity in found:
            width = max((len(t) for t in texts), default=0)
            most = column_texts(found[capacity].tolist())
            texts = [f"{t.rjust(width)} of {m}" for t, m in zip(texts, most, strict=True)]
            right = False
        if name in leading:
            texts = [t if row in starts else "" for row, t in enumerate(texts)]
        marks = [BAD if value else "" for value in values] if name == "late" else ()
        optional = len(LEFT_OUT) - LEFT_OUT.index(name) if name in LEFT_OUT and name != names[0] else 0
        wraps = not right and name not in KEYS
        columns.append(GridColumn(header, texts, right, wraps=wraps, optional=optional, marks=marks))
    return Grid(tuple(columns), frozenset(starts))


def with_readable_dates(placed: Placement) -> pl.DataFrame:
    """Return the table with the dates of slots as people write them."""
    if placed.clock is None:
        return placed.table
    import polars as pl

    dates = placed.clock.texts(np.asarray(placed.codes[SLOT_DATE], dtype=np.float64))
    return placed.table.with_columns(pl.Series(SLOT_DATE, dates, dtype=pl.String))


def totals(placed: Placement) -> dict[str, float]:
    """Return meaningful sums over all rows: the cost."""
    return {"cost": float(placed.columns["cost"].sum())} if "cost" in placed.columns else {}


def _order(placed: Placement) -> Codes:
    """The order by node, then in the order of the sets of other labels."""
    keys: list[str] = [n for n in ("node", "node_type", "slot", "job") if n in placed.codes]
    keys += [n for n in placed.codes if n not in keys]
    return np.lexsort([placed.codes[name] for name in reversed(keys)]) if keys else np.arange(placed.rows)


def _rows(columns: Mapping[str, Values], names: Sequence[str], rows: int) -> list[tuple[Any, ...]]:
    return list(zip(*(columns[name].tolist() for name in names), strict=True)) if names else [()] * rows


def _group_starts(labels: Sequence[tuple[Any, ...]]) -> set[int]:
    """Return the rows with labels that differ from the previous row."""
    return {at for at in range(len(labels)) if at == 0 or labels[at] != labels[at - 1]}


def _join_slots(placed: Placement) -> Placement:
    """Merge rows that differ only in the slot and in summed values, with the slots as ranges.

    Rates of cost may differ between slots and would prevent the merge, so only the sum of the cost remains.
    """
    found = dict(placed.columns)
    if not placed.rows:
        return placed
    if "cost" in found:
        found.pop("costs", None)
    same = [n for n in found if n not in ("slot", SLOT_DATE) and n not in SUMMED]
    slot_codes = placed.codes.get("slot", np.arange(placed.rows))
    by_slot = np.argsort(slot_codes, kind="stable")
    groups: dict[tuple[Any, ...], list[int]] = {}
    keys = _rows(found, same, placed.rows)
    for row in by_slot.tolist():
        groups.setdefault(keys[row], []).append(row)
    slots = found["slot"].tolist()
    firsts = [rows[0] for rows in groups.values()]
    joined = {name: values[firsts] for name, values in found.items()}
    ranges = [_ranges([int(slot_codes[r]) for r in rows], [str(slots[r]) for r in rows]) for rows in groups.values()]
    joined["slot"] = np.array(ranges, dtype=object)
    if placed.clock is not None:
        numbers = placed.codes[SLOT_DATE]
        from gpusched_dsl.reporting.slot_clock import date_ranges

        dates = [date_ranges([int(numbers[r]) for r in rows], placed.clock) for rows in groups.values()]
        joined[SLOT_DATE] = np.array(dates, dtype=object)
    for name in SUMMED:
        if name in joined:
            joined[name] = np.array([float(found[name][rows].sum()) for rows in groups.values()])
    codes = {name: column[firsts] for name, column in placed.codes.items() if name in joined}
    return Placement(joined, len(firsts), placed.units, codes, placed.clock)


def _ranges(codes: Sequence[int], labels: Sequence[str]) -> str:
    """Return ranges of neighbouring slots: `3..7, 9`."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(codes) + 1):
        if at == len(codes) or codes[at] != codes[at - 1] + 1:
            parts.append(labels[start] if at - start == 1 else f"{labels[start]}..{labels[at - 1]}")
            start = at
    return ", ".join(parts)
