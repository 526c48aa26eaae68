"""The figures of a run over time: schedule, utilisation, cost, queue, GPUs, power, prices; bars of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import UNITS, convertible, factor
from gpusched_dsl.reporting.figures.bars import BarsFigure, comparison_bars
from gpusched_dsl.reporting.figures.curves_figure import Curve, CurvesFigure
from gpusched_dsl.reporting.figures.figure import Figure, TimeAxis, time_axis
from gpusched_dsl.reporting.figures.heat_map import utilisation
from gpusched_dsl.reporting.figures.price_curves import PriceCurve, price_curves, price_figures
from gpusched_dsl.reporting.figures.schedule_figure import MOST_STAYS, ScheduledJobs, ScheduleFigure, Stays
from gpusched_dsl.reporting.runs.metrics import FINISHED, METRICS, SHARE
from gpusched_dsl.reporting.runs.series import costs_over_time, gpus_in_use, gpus_of_used_nodes, queue_length

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.comparison import RunTrials
    from gpusched_dsl.reporting.runs.result import RunResult

MOST_POINTS = 600  # of a curve: more points are replaced by means
COMPARED = ("total", "jct_mean", "queueing_mean", "late_share", "cluster_utilisation", "utilisation", "energy")
TITLES = {
    "total": "Total cost",
    "jct_mean": "Mean completion time",
    "queueing_mean": "Mean wait for the first start",
    "late_share": "Share of late jobs",
    "cluster_utilisation": "Use of all GPUs",
    "utilisation": "Use of the GPUs of nodes in use",
    "energy": "Energy",
}


def run_figures(result: RunResult, most_stays: int = MOST_STAYS) -> list[Figure]:
    """Return the figures of one run; a run with more stretches of jobs has no schedule, but the utilisation."""
    axis = time_axis(0.0, max(result.outcome.world.now, 1e-9), result.unit, clock=result.clock)
    prices = _prices(result)
    stays, nodes, capacity = _stays(result)
    figures: list[Figure] = []
    if 0 < len(stays) <= most_stays:
        figures.append(_schedule(result, axis, stays, nodes, capacity, prices))
    if len(stays):
        heat = utilisation(stays, nodes, capacity, axis)
        if len(stays) > most_stays:
            missing = f"{count_text(len(stays), 'stretch', 'stretches')} of jobs are too many for a schedule"
            heat = type(heat)(**{**heat.__dict__, "note": "; ".join(t for t in (heat.note, missing) if t)})
        figures.append(heat)
    if result.total or any(result.costs.values()):
        figures.append(cost_figure(result, axis))
    figures += [queue_figure(result, axis), load_figure(result, axis)]
    figures += power_figures(result, axis)
    return [*figures, *price_figures(prices, axis)]


def run_bars(trials: RunTrials) -> list[BarsFigure]:
    """Return bars of the main metrics of several runs.

    Runs that did not finish have none, as their costs and times are those of a part of the jobs; a note names them.
    """
    import polars as pl

    runs = [(row.method, row.seed, row.result) for row in trials.averaged() if row.result is not None]
    if len({method for method, _, _ in runs}) < 2:
        return []
    unfinished = dict.fromkeys(method for method, _, result in runs if result.ended not in FINISHED)
    runs = [run for run in runs if run[2].ended in FINISHED]
    if not runs:
        return []
    records = [
        (method, seed, name, value)
        for name in COMPARED
        for method, seed, result in runs
        if (value := result.metrics[name]) is not None
    ]
    schema = {"method": pl.String, "seed": pl.Int64, "metric": pl.String, "value": pl.Float64}
    table = pl.DataFrame([(m, s, n, float(v)) for m, s, n, v in records], schema=schema, orient="row")
    used = {name for name, values in table.group_by("metric") for name in name if (values["value"] != 0).any()}
    if {"cluster_utilisation", "utilisation"} <= used:
        used.remove("utilisation")
    shares = pl.col("metric").is_in([name for name in COMPARED if METRICS[name].kind == SHARE])
    table = table.filter(pl.col("metric").is_in(used)).with_columns(
        pl.when(shares).then(100 * pl.col("value")).otherwise(pl.col("value")).alias("value")
    )
    first = runs[0][2]
    units = {name: "%" if METRICS[name].kind == SHARE else first.unit_of(name) for name in COMPARED}
    bars = comparison_bars(table, titles=TITLES, units=units)
    if not unfinished:
        return bars
    note = f"without unfinished runs of {', '.join(unfinished)}"
    return [replace(figure, note="; ".join(filter(None, (figure.note, note)))) for figure in bars]


# --- schedule --------------------------------------------------------------------------------------------------------


def _stays(result: RunResult) -> tuple[Stays, list[str], Floats]:
    """Return the stretches with rows of nodes, the names of all nodes, and their GPUs; one row without nodes."""
    history, world = result.history, result.outcome.world
    parts = history.stretches
    named = bool(history.places_root)
    places = result.outcome.base.all_codes(history.places_root) if named else np.zeros(1, dtype=np.int64)
    node = parts.place if named else np.zeros(len(parts), dtype=np.int64)
    capacity = np.full(len(places), np.nan)
    if named:
        capacity[node] = history.gpus[parts.kind]
    late = (world.end - world.due)[parts.job] > 1e-9 * np.maximum(1.0, np.abs(world.due[parts.job]))
    stays = Stays(node, parts.job, parts.start, parts.end, parts.uses, parts.kind, late)
    return stays, history.labels(history.places_root, places) if named else ["all jobs"], capacity


def _schedule(
    result: RunResult,
    axis: TimeAxis,
    stays: Stays,
    nodes: list[str],
    capacity: Floats,
    prices: Sequence[PriceCurve],
) -> ScheduleFigure:
    history, world = result.history, result.outcome.world
    came = history.came
    position = np.full(len(world.status), -1, dtype=np.int64)
    position[came] = np.arange(len(came))
    kinds: Ints = np.arange(len(world.gpu_time), dtype=np.int64)
    due = world.due[came]
    return ScheduleFigure(
        title="Schedule",
        axis=axis,
        stays=Stays(stays.node, position[stays.job], stays.start, stays.end, stays.uses, stays.node_type, stays.late),
        jobs=ScheduledJobs(history.labels(history.jobs_root, came), world.arrival[came], due, world.end[came]),
        nodes=nodes,
        capacity=capacity,
        node_types=history.labels(history.kinds_root, kinds) if history.kinds_root else (),
        prices=prices,
    )


def _prices(result: RunResult) -> list[PriceCurve]:
    """Return the prices of the slots, up to the end of the run, if the run has slots."""
    outcome = result.outcome
    if outcome.online.window is None or not outcome.slot_length:
        return []
    return price_curves(outcome.online.base, outcome.base.store, outcome.slot_length)


# --- curves ----------------------------------------------------------------------------------------------------------


def cost_figure(result: RunResult, axis: TimeAxis) -> CurvesFigure:
    """Return the charged money so far by term, at every plan; for runs without plans, from the charges of each job."""
    times, terms = result.samples.terms(result.outcome)
    if not result.samples.times:
        times, terms = costs_over_time(result.history)
    if len(times) > MOST_POINTS:
        keep = np.unique(np.linspace(0, len(times) - 1, MOST_POINTS).astype(np.int64))
        times, terms = times[keep], {name: values[keep] for name, values in terms.items()}
    charged = {name: values for name, values in terms.items() if values.any()}
    stacked = all((values >= 0).all() for values in charged.values())
    curves = [Curve(name, times, values) for name, values in charged.items()]
    if len(curves) != 1:
        curves.append(Curve("total", times, sum(charged.values(), start=np.zeros(len(times)))))
    unit = f" [{result.money}]" if result.money else ""
    return CurvesFigure(
        title=f"Cost so far{unit}", axis=axis, unit=result.money, curves=curves, stacked=stacked and len(charged) > 1
    )


def queue_figure(result: RunResult, axis: TimeAxis) -> CurvesFigure:
    """Return the number of jobs that are present and do not run."""
    waiting = queue_length(result.history)
    thin = waiting.thin_out(MOST_POINTS)
    curve = Curve("jobs waiting", thin.times, thin.values, steps=True)
    note = "" if thin is waiting else "means over short spans"
    return CurvesFigure(title="Jobs waiting", note=note, axis=axis, unit="jobs", curves=[curve], integer=True)


def load_figure(result: RunResult, axis: TimeAxis) -> CurvesFigure:
    """Return the number of used GPUs, and of the GPUs of nodes in use."""
    used, room = gpus_in_use(result.history), gpus_of_used_nodes(result.history)
    thin, what = used.thin_out(MOST_POINTS), "GPUs" if result.history.has_uses else "nodes"
    curves = [Curve(f"{what} used", thin.times, thin.values, steps=True)]
    if room is not None and result.history.has_uses:
        in_use = room.thin_out(MOST_POINTS)
        curves.append(Curve("GPUs of nodes in use", in_use.times, in_use.values, steps=True))
    note = "" if thin is used else "means over short spans"
    return CurvesFigure(title=f"Load: {what} in use", note=note, axis=axis, unit=what, curves=curves)


def power_figures(result: RunResult, axis: TimeAxis) -> list[CurvesFigure]:
    """Return the mean power between plans of the charges that are energy; none without such charges or plans."""
    outcome, samples = result.outcome, result.samples
    online = outcome.online
    per = UNITS["h"] / UNITS["h"] if online.window is not None else online.unit
    units = {charge.name: charge.unit * per for charge in online.charges}
    factors = {
        name: float(factor(unit, UNITS["kWh"])) for name, unit in units.items() if convertible(unit, UNITS["kWh"])
    }
    if not factors or len(samples.times) < 2:
        return []
    amounts = [*samples.amounts, outcome.world.ledger.totals]
    times = np.array([*samples.times, outcome.world.now])
    last = np.append(times[1:] > times[:-1], True)
    curves = []
    for name, scale in factors.items():
        energy = scale * np.array([found.get(name, 0.0) for found in amounts])[last]
        power = np.diff(energy) / (np.diff(times[last]) * result.history.hours)
        curves.append(Curve(name, times[last], np.append(power, power[-1:]), steps=True))
    return [CurvesFigure(title="Power [kW]", note="means between plans", axis=axis, unit="kW", curves=curves)]
