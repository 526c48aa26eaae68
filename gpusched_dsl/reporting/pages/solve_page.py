"""Results of solves and their comparisons as pages: the schedule, prices, the placement and the jobs that wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.reporting.grid import Grid
from gpusched_dsl.reporting.pages.charts import Chart, ChartAxis, x_axis
from gpusched_dsl.reporting.pages.gantt import Gantt, Stays, gantt
from gpusched_dsl.reporting.pages.page import PageNote, PageSection, PageTable, cell, grid_table, render, summary_fields
from gpusched_dsl.reporting.pages.prices import price_charts
from gpusched_dsl.reporting.schedule import heading
from gpusched_dsl.reporting.summary import result_lines

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
    from gpusched_dsl.reporting.placement import Placement
    from gpusched_dsl.reporting.result_data import ResultData

MOST_ROWS = 5000  # of the table of the placement


def page(results: Sequence[tuple[str, ResultData]], grid: Grid | None = None, footer: Sequence[str] = ()) -> str:
    """HTML of one result, or of several with the grid of their comparison; each has the name of its method."""
    sections = [_section(method, result) for method, result in results]
    title = sections[0].title if len(sections) == 1 and grid is None else "Comparison of methods"
    return render(title, sections, grid, footer)


def _section(method: str, result: ResultData) -> PageSection:
    model, store = result.provenance.model, result.provenance.store
    name = result.problem.name if model is None else model.name
    scenario = result.provenance.scenario
    where = f", scenario {scenario}" if scenario not in (None, "", name) else ""
    tables: list[PageTable] = []
    chart: Gantt | None = None
    prices: list[Chart] = []
    placed = result.placed
    if placed is not None and model is not None and store is not None:
        axis = None
        if placed.table.height:
            stays = _stays(model, store, placed)
            axis = stays.axis
            chart = gantt(stays)
        prices = _prices(model, store, axis)
        tables.append(_placement_table(placed))
    waiting = result.waiting_jobs
    if waiting is not None and waiting.labels:
        tables.insert(0, grid_table(waiting.caption, waiting.grid(), is_open=True))
    return PageSection(
        f"{name}{where}, with {method}",
        summary_fields(result_lines(result)),
        [PageNote(w.code, w.message, w.help) for w in result.diagnostics],
        chart,
        prices,
        tables,
    )


def _placement_table(placed: Placement) -> PageTable:
    frame = placed.table.head(MOST_ROWS)
    more = placed.table.height - frame.height
    left_out = f", the first {frame.height} of {count_text(placed.table.height, 'row')}" if more else ""
    numbers = frozenset(at for at, name in enumerate(frame.columns) if frame[name].dtype.is_numeric())
    rows = [[cell(value) for value in row] for row in frame.rows()]
    return PageTable(
        f"Placement{left_out}",
        [heading(name, placed.units.get(name, "")) for name in frame.columns],
        rows,
        numbers,
        is_open=True,
    )


# --- the schedule ----------------------------------------------------------------------------------------------------


def _stays(model: CheckedModel, store: ValueStore, placed: Placement) -> Stays:
    """Return the placed jobs in time: slots, or times from the decision on."""
    declared, frame = model.placement, placed.table
    assert declared is not None
    row, rows = _rows(declared, store, placed)
    start, end, unit = _times(declared, store, placed, row)
    merged, end = _merge(frame, row, start, end)
    start, row, frame = start[merged], row[merged], frame[merged.tolist()]
    order = np.argsort(start, kind="stable")
    start, end, row, frame = start[order], end[order], row[order], frame[order.tolist()]
    names = _texts(frame, "job")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    uses, room = _uses(frame, row, len(rows))
    low, high = float(start.min()), float(end.max())
    slots = _slots(declared, store)
    if slots is not None:
        low, high = float(slots.min()), float(slots.max()) + 1
    return Stays(
        row=row,
        start=start,
        end=end,
        uses=uses,
        jobs=np.array([numbers[name] for name in names], dtype=np.int64),
        names=names,
        kinds=_texts(frame, "node_type") if "node" in frame.columns else [""] * frame.height,
        late=_late(frame),
        rows=rows,
        room=room,
        axis=x_axis(min(0.0, low) if slots is None else low, high, whole=slots is not None),
        unit=unit,
    )


def _texts(frame: pl.DataFrame, name: str) -> list[str]:
    return [str(v) for v in frame[name].to_list()] if name in frame.columns else [""] * frame.height


def _late(frame: pl.DataFrame) -> Bools:
    if "late" not in frame.columns:
        return np.zeros(frame.height, dtype=np.bool_)
    found: Bools = frame["late"].to_numpy() > 0
    return found


def _uses(frame: pl.DataFrame, row: Ints, rows: int) -> tuple[Floats, Floats]:
    """Return the GPUs of each stay, and of each node; NaN if unknown."""
    name = next((n for n in frame.columns if n.startswith("uses")), None)
    room = np.full(rows, np.nan)
    if name is None:
        return np.full(frame.height, np.nan), room
    of = "of" + name.removeprefix("uses")
    if of in frame.columns:
        room[row] = frame[of].to_numpy()
    return frame[name].to_numpy().astype(np.float64), room


def _rows(declared: CheckedPlacement, store: ValueStore, placed: Placement) -> tuple[Ints, list[str]]:
    """Return the row of each placed element, and the labels of all nodes, or of all types if no nodes are named."""
    role = "node" if "node" in placed.table.columns else "node_type"
    root = declared.places_root
    if role not in placed.codes or not root:
        labels = _texts(placed.table, role)
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        return np.array([numbers[label] for label in labels], dtype=np.int64), list(numbers)
    return np.asarray(placed.codes[role], dtype=np.int64), [str(label) for label in store.universes[root].labels]


def _slots(declared: CheckedPlacement, store: ValueStore) -> Floats | None:
    """Return all slots as numbers; None if the placement has no slots."""
    root = declared.root("slot")
    if not root:
        return None
    universe = store.universes[root]
    if not len(universe.labels):
        return None
    codes = np.arange(len(universe.labels))
    return (codes if universe.integer_labels is None else np.asarray(universe.integer_labels)).astype(np.float64)


def _times(declared: CheckedPlacement, store: ValueStore, placed: Placement, row: Ints) -> tuple[Floats, Floats, str]:
    """Return start and end of each placed element, and the unit."""
    frame = placed.table
    lasts = frame["lasts"].to_numpy().astype(np.float64) if "lasts" in frame.columns else np.ones(frame.height)
    unit = placed.units.get("lasts", "")
    if ("slot" in frame.columns and frame["slot"].dtype.is_numeric()) or "slot" in placed.codes:
        slots = _slots(declared, store)
        codes = np.asarray(placed.codes["slot"]) if "slot" in placed.codes else frame["slot"].to_numpy()
        start = slots[codes.astype(np.int64)] if slots is not None else codes.astype(np.float64)
        value, index = declared.value("lasts"), declared.index("slot")
        is_start = value is not None and any(variable is not index for variable in free_variables(value))
        length = np.maximum(lasts, 1.0) if is_start and not unit else np.ones(frame.height)
        return start, start + length, "slot"
    if "place_from_end" in frame.columns:  # queues: the job with the largest place comes first
        places = frame["place_from_end"].to_numpy().astype(np.float64)
        order = np.lexsort((-places, row))
        before = np.cumsum(lasts[order]) - lasts[order]
        first = np.concatenate(([True], row[order][1:] != row[order][:-1]))
        start = np.zeros(frame.height)
        start[order] = before - np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), frame.height)))
        return start, start + lasts, unit
    return np.zeros(frame.height), lasts, unit


def _merge(frame: pl.DataFrame, row: Ints, start: Floats, end: Floats) -> tuple[Ints, Floats]:
    """Join neighbouring slots of a job on a node: return the first element of each stay, and the end of each."""
    if "slot" not in frame.columns:
        return np.arange(len(row), dtype=np.int64), end
    kept = [name for name in frame.columns if name not in ("slot", "lasts", "cost", "costs", "late")]
    group = frame.select(kept).with_columns(pl.struct(kept).rank("dense").alias("_group"))["_group"].to_numpy()
    order = np.lexsort((start, group, row))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (
        (group[order][1:] != group[order][:-1])
        | (row[order][1:] != row[order][:-1])
        | (np.abs(start[order][1:] - end[order][:-1]) > 1e-9)
    )
    begins = np.flatnonzero(new)
    stops = np.append(begins[1:], len(order)) - 1
    return order[begins].astype(np.int64), end[order][stops]


def _prices(model: CheckedModel, store: ValueStore, axis: ChartAxis | None) -> list[Chart]:
    assert model.placement is not None
    slots = _slots(model.placement, store)
    if slots is None or len(slots) < 2:
        return []
    x = axis or x_axis(float(slots.min()), float(slots.max()) + 1, whole=True)
    return price_charts(model, store, x, "slot", float(slots[1] - slots[0]), float(slots[0]))
