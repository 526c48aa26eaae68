"""The figures of a solve: schedule, utilisation, cost by term, prices; bars of several methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.reporting.figures.bars import BarsFigure, comparison_bars
from gpusched_dsl.reporting.figures.curves_figure import Curve, CurvesFigure
from gpusched_dsl.reporting.figures.figure import Figure, time_axis
from gpusched_dsl.reporting.figures.heat_map import utilisation
from gpusched_dsl.reporting.figures.price_curves import PriceCurve, price_curves, price_figures
from gpusched_dsl.reporting.figures.schedule_figure import MOST_STAYS, ScheduledJobs, ScheduleFigure, Stays
from gpusched_dsl.reporting.placement import SLOT_DATE
from gpusched_dsl.reporting.slot_clock import slot_clock

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.placement import Placement
    from gpusched_dsl.reporting.result import Result


def solve_figures(result: Result, most_stays: int = MOST_STAYS) -> list[Figure]:
    """Return the figures of one result; a result without a placement has none."""
    model, store, placed = result.provenance.model, result.provenance.store, result.placed
    if placed is None or model is None or store is None:
        return []
    prices = _prices(model, store)
    figures: list[Figure] = []
    axis = None
    if placed.table.height:
        schedule = _schedule(model, store, placed, prices)
        axis = schedule.axis
        if len(schedule.stays) <= most_stays:
            figures.append(schedule)
        figures.append(utilisation(schedule.stays, schedule.nodes, schedule.capacity, axis))
        figures.append(_load(schedule))
    if prices:
        low, high = min(float(p.times[0]) for p in prices), max(float(p.times[-1]) for p in prices)
        clock = slot_clock(model, store, result.provenance.limits)
        figures += price_figures(prices, axis or time_axis(low, high, "slot", slots=True, clock=clock))
    return figures


def solve_bars(comparison: Comparison) -> list[BarsFigure]:
    """Return bars of the objective and its terms for several methods."""
    results = [(row.method, row.seed, row.result) for row in comparison.rows if row.result is not None]
    if len({method for method, _, _ in results}) < 2:
        return []
    records = [
        (method, seed, name, float(value))
        for method, seed, result in results
        for name, value in {**_objective(result), **result.terms}.items()
        if value is not None
    ]
    schema = {"method": pl.String, "seed": pl.Int64, "metric": pl.String, "value": pl.Float64}
    return comparison_bars(pl.DataFrame(records, schema=schema, orient="row"))


def _objective(result: Result) -> dict[str, float | None]:
    objectives = result.problem.objectives
    return {objectives[0].name or "objective": result.objective} if objectives else {}


# --- the schedule ----------------------------------------------------------------------------------------------------


def _schedule(
    model: CheckedModel, store: ValueStore, placed: Placement, prices: Sequence[PriceCurve]
) -> ScheduleFigure:
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
    uses, capacity = _uses(frame, row, len(rows))
    low, high = float(start.min()), float(end.max())
    slots = _slots(declared, store)
    if slots is not None:
        low, high = float(slots.min()), float(slots.max()) + 1
    kinds = _texts(frame, "node_type") if "node" in frame.columns else [""] * frame.height
    types = list(dict.fromkeys(kind for kind in kinds if kind))
    job = np.array([numbers[name] for name in names], dtype=np.int64)
    late = _late(frame)
    unknown = np.full(len(numbers), np.nan)
    due = _due(job, end, late, len(numbers)) if slots is None else unknown
    return ScheduleFigure(
        title="Schedule",
        axis=time_axis(
            min(0.0, low) if slots is None else low,
            high,
            unit,
            slots=slots is not None,
            clock=placed.clock if unit == "slot" else RunClock(unit, store.calendar),
        ),
        stays=Stays(
            node=row,
            job=job,
            start=start,
            end=end,
            uses=uses,
            node_type=np.array([types.index(kind) if kind else -1 for kind in kinds], dtype=np.int64),
            late=late > 0,
        ),
        jobs=ScheduledJobs(list(numbers), unknown, due, unknown),
        nodes=rows,
        capacity=capacity,
        node_types=types,
        prices=prices,
    )


def _load(schedule: ScheduleFigure) -> CurvesFigure:
    """Return the GPUs in use over time, or the jobs that run if the GPUs are unknown."""
    stays = schedule.stays
    known = not np.isnan(stays.uses).any()
    amount = stays.uses if known else np.ones(len(stays))
    times, where = np.unique(np.concatenate((stays.start, stays.end)), return_inverse=True)
    changes = np.bincount(where, weights=np.concatenate((amount, -amount)), minlength=len(times))
    level = np.cumsum(changes).round(9).astype(np.float64)
    what = "GPUs" if known else "jobs"
    curve = Curve(f"{what} in use" if known else "jobs that run", times, level, steps=True)
    return CurvesFigure(title=f"Load: {curve.label}", axis=schedule.axis, unit=what, curves=[curve])


def _due(job: Ints, end: Floats, late: Floats, jobs: int) -> Floats:
    """Return the due times of late jobs, which follow from their ends; NaN for the others."""
    due = np.full(jobs, np.nan)
    due[job[late > 0]] = (end - late)[late > 0]
    return due


def _texts(frame: pl.DataFrame, name: str) -> list[str]:
    return [str(v) for v in frame[name].to_list()] if name in frame.columns else [""] * frame.height


def _late(frame: pl.DataFrame) -> Floats:
    """Return by how much each job is late."""
    if "late" not in frame.columns:
        return np.zeros(frame.height)
    return frame["late"].to_numpy().astype(np.float64)


def _uses(frame: pl.DataFrame, row: Ints, rows: int) -> tuple[Floats, Floats]:
    """Return the GPUs of each stay, and of each node; NaN if unknown."""
    name = next((n for n in frame.columns if n.startswith("uses")), None)
    capacity = np.full(rows, np.nan)
    if name is None:
        return np.full(frame.height, np.nan), capacity
    of = "of" + name.removeprefix("uses")
    if of in frame.columns:
        capacity[row] = frame[of].to_numpy()
    return frame[name].to_numpy().astype(np.float64), capacity


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
    kept = [name for name in frame.columns if name not in ("slot", SLOT_DATE, "lasts", "cost", "costs", "late")]
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


def _prices(model: CheckedModel, store: ValueStore) -> list[PriceCurve]:
    assert model.placement is not None
    slots = _slots(model.placement, store)
    if slots is None or len(slots) < 2:
        return []
    return price_curves(model, store, float(slots[1] - slots[0]), float(slots[0]))
