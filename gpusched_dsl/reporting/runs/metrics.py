"""The metrics of a run, by name, each with its formula and its unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked_online import TARDINESS
from gpusched_dsl.language.units import UNITS, convertible, factor
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.simulation.world import DONE, GONE
from gpusched_dsl.reporting.runs.fairness import bounded_slowdowns, finish_time_fairness, jain, slowdowns
from gpusched_dsl.reporting.runs.job_times import queueing_times, tardiness_of, waiting_times

Number: TypeAlias = float | int | None

MONEY, TIME, SHARE, COUNT, RATIO, SECONDS, GPU_HOURS, NODE_HOURS, ENERGY = (
    "money", "time", "share", "count", "ratio", "seconds", "GPU-hours", "node-hours", "kWh",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. `kind` determines its unit (`money`, `time`: those of the run; `share`: from 0 to 1),
    `means` its formula.
    """

    name: str
    kind: str
    means: str


FINISHED: Final = ("finished", "horizon")  # how runs end whose metrics are those of all jobs

METRICS: Final[Mapping[str, Metric]] = {
    m.name: m
    for m in (
        Metric("total", MONEY, "all charges in money: the sum of the costs by term"),
        Metric("energy", ENERGY, "the sum of the stated energy charges"),
        Metric("jobs", COUNT, "jobs that arrived"),
        Metric("jobs_finished", COUNT, "jobs that finished"),
        Metric("jobs_unfinished", COUNT, "jobs that were waiting or running when the run ended"),
        Metric("jobs_withdrawn", COUNT, "jobs that were cancelled"),
        Metric("jobs_overdue", COUNT, "unfinished jobs whose due date has passed"),
        Metric("jobs_late", COUNT, "finished jobs that ended after their due date"),
        Metric("late_share", SHARE, "`jobs_late` divided by the finished jobs with a due date"),
        Metric("tardiness_sum", TIME, "sum of max(0, end - due) of finished jobs"),
        Metric("tardiness_mean", TIME, "`tardiness_sum` divided by the finished jobs with a due date"),
        Metric("tardiness_max", TIME, "the largest max(0, end - due) of a finished job"),
        Metric("tardiness_cost", MONEY, "weighted tardiness: sum of weight * max(0, end - due) of finished jobs"),
        Metric("makespan", TIME, "from the first arrival to the last completion"),
        Metric("jct_mean", TIME, "mean job completion time: end - arrival of finished jobs"),
        Metric("jct_p50", TIME, "median job completion time"),
        Metric("jct_p90", TIME, "90th percentile of job completion times"),
        Metric("jct_p95", TIME, "95th percentile of job completion times"),
        Metric("jct_p99", TIME, "99th percentile of job completion times"),
        Metric("jct_max", TIME, "the longest job completion time"),
        Metric("queueing_mean", TIME, "mean of first start - arrival of started jobs"),
        Metric("queueing_p50", TIME, "median of first start - arrival"),
        Metric("queueing_p95", TIME, "95th percentile of first start - arrival"),
        Metric("queueing_max", TIME, "the longest first start - arrival"),
        Metric("waiting_sum", TIME, "time that jobs were present without running, before their start and after halts"),
        Metric("waiting_mean", TIME, "`waiting_sum` divided by the jobs"),
        Metric("slowdown_mean", RATIO, "mean slowdown of finished jobs: job completion time divided by run time"),
        Metric("slowdown_p50", RATIO, "median slowdown"),
        Metric("slowdown_p95", RATIO, "95th percentile of slowdowns"),
        Metric("slowdown_max", RATIO, "the largest slowdown"),
        Metric("bounded_slowdown_mean", RATIO, "mean of max(job completion time / max(run time, 10 s), 1)"),
        Metric("bounded_slowdown_p50", RATIO, "median bounded slowdown"),
        Metric("bounded_slowdown_p95", RATIO, "95th percentile of bounded slowdowns"),
        Metric("bounded_slowdown_max", RATIO, "the largest bounded slowdown"),
        Metric("slowdown_jain", SHARE, "Jain's index of slowdowns: (sum x)^2 / (n * sum x^2), 1 if all are equal"),
        Metric("rho_mean", RATIO, "mean finish-time fairness (see below) of finished jobs"),
        Metric("rho_max", RATIO, "the largest finish-time fairness"),
        Metric("unfair_share", SHARE, "finished jobs with a finish-time fairness above 1, divided by all of them"),
        Metric("gpu_hours", GPU_HOURS, "GPUs used * time, over all jobs (nodes * time, if jobs use complete nodes)"),
        Metric("node_hours", NODE_HOURS, "time in use, over all nodes (over types if a placement names no nodes)"),
        Metric("utilisation", SHARE, "used GPU time divided by the GPU time of nodes while they are in use"),
        Metric("cluster_utilisation", SHARE, "used GPU time divided by all GPUs * `makespan`, or run if unfinished"),
        Metric("starts", COUNT, "first starts of jobs"),
        Metric("resumes", COUNT, "later starts of jobs that were halted"),
        Metric("migrations", COUNT, "running jobs moved to another node"),
        Metric("resizes", COUNT, "running jobs changed to another way to run on their node"),
        Metric("halts", COUNT, "running jobs that were halted, by plans and failures"),
        Metric("boots", COUNT, "nodes switched on, or changed to another type"),
        Metric("plans", COUNT, "computed plans"),
        Metric("plans_broken", COUNT, "computed plans that violate rows or bounds of the model"),
        Metric("rows_broken", COUNT, "violated rows and bounds of the model, over all plans"),
        Metric("fallback_share", SHARE, "plans that the main method did not compute, divided by `plans`"),
        Metric("plan_seconds", SECONDS, "total time of computing plans"),
        Metric("plan_seconds_mean", SECONDS, "mean time of computing a plan"),
        Metric("plan_seconds_p95", SECONDS, "95th percentile of the time of computing a plan"),
        Metric("plan_seconds_max", SECONDS, "the longest time of computing a plan"),
        Metric("build_seconds", SECONDS, "time spent on the data of plans (present jobs, carried values)"),
        Metric("loop_seconds", SECONDS, "time of the rest of the loop"),
    )
}  # fmt: skip


def metrics_of(history: RunHistory, method: str) -> dict[str, Number]:
    """Return all metrics of `METRICS`, None for undefined ones. `method` is the main method of the run.

    Percentiles interpolate linearly between order statistics. Means over nothing are None.
    """
    found: dict[str, Number] = {"total": history.outcome.total, "energy": _energy(history)}
    found |= (
        _jobs(history)
        | _times(history)
        | _fairness(history)
        | _use(history)
        | _changes(history)
        | _plans(history, method)
    )
    return {name: found[name] for name in METRICS}


def quantities_of(history: RunHistory) -> dict[str, float]:
    """Return charges that are not money, each in its unit (`RunOutcome.quantities`)."""
    outcome = history.outcome
    return {n: v for n, v in outcome.world.ledger.totals.items() if n in outcome.quantities}


def unit_of(history: RunHistory, metric: str) -> str:
    """Return the unit of a metric of this run, `""` for shares and counts."""
    kind = METRICS[metric].kind
    if kind == MONEY:
        return "" if history.outcome.money == "1" else history.outcome.money
    if kind == TIME:
        return "" if history.outcome.unit == "1" else history.outcome.unit
    return {SHARE: "", COUNT: "", RATIO: "", SECONDS: "s"}.get(kind, kind)


def is_fast_replay(history: RunHistory) -> bool:
    """Whether the run is a fast replay: there are no steps, and no boots of nodes."""
    return "instants" in history.outcome.extra


# --- groups ----------------------------------------------------------------------------------------------------------


def _energy(history: RunHistory) -> Number:
    """Return the charged energy: amounts for slots, and rates of power in loops over events."""
    online, totals = history.outcome.online, history.outcome.world.ledger.totals
    per = UNITS["h"] / UNITS["h"] if online.window is not None else online.unit
    units = {charge.name: charge.unit * per for charge in online.charges}
    stated = {name: unit for name, unit in units.items() if convertible(unit, UNITS["kWh"])}
    if not stated:
        return None
    return sum(totals.get(name, 0.0) * float(factor(unit, UNITS["kWh"])) for name, unit in stated.items())


def _jobs(history: RunHistory) -> dict[str, Number]:
    world = history.outcome.world
    came, done = history.came, world.status == DONE
    present = world.present()
    tardiness = tardiness_of(history)
    defined = tardiness[~np.isnan(tardiness)]
    late = int((defined > 0).sum())
    return {
        "jobs": len(came),
        "jobs_finished": int(done.sum()),
        "jobs_unfinished": len(present),
        "jobs_withdrawn": int((world.status == GONE).sum()),
        "jobs_overdue": int((world.due[present] < world.now - world.tolerance()).sum()),
        "jobs_late": late,
        "late_share": late / len(defined) if len(defined) else None,
        "tardiness_sum": float(defined.sum()) if len(defined) else None,
        "tardiness_mean": _mean(defined),
        "tardiness_max": float(defined.max()) if len(defined) else None,
        "tardiness_cost": world.ledger.totals.get(TARDINESS, 0.0),
    }


def _times(history: RunHistory) -> dict[str, Number]:
    world = history.outcome.world
    done = world.status == DONE
    jct = (world.end - world.arrival)[done]
    started = history.came[~np.isnan(world.first_start[history.came])]
    queueing = queueing_times(world.first_start[started], world.arrival[started])
    waiting = waiting_times(history)[history.came]
    found: dict[str, Number] = {"makespan": makespan_of(history)}
    found |= {"jct_mean": _mean(jct), "queueing_mean": _mean(queueing)}
    found |= {f"jct_p{p}": _percentile(jct, p) for p in (50, 90, 95, 99)}
    found |= {f"queueing_p{p}": _percentile(queueing, p) for p in (50, 95)}
    found |= {"jct_max": _percentile(jct, 100), "queueing_max": _percentile(queueing, 100)}
    return found | {"waiting_sum": float(waiting.sum()), "waiting_mean": _mean(waiting)}


def _fairness(history: RunHistory) -> dict[str, Number]:
    found: dict[str, Number] = {}
    values = {"slowdown": slowdowns(history), "bounded_slowdown": bounded_slowdowns(history)}
    for name, all_values in values.items():
        known = all_values[~np.isnan(all_values)]
        found[f"{name}_mean"] = _mean(known)
        found |= {f"{name}_p{p}": _percentile(known, p) for p in (50, 95)}
        found[f"{name}_max"] = _percentile(known, 100)
    rho = finish_time_fairness(history)
    rho = rho[~np.isnan(rho)]
    unfair = float((rho > 1 + ROUNDING).mean()) if len(rho) else None
    found |= {"rho_mean": _mean(rho), "rho_max": _percentile(rho, 100), "unfair_share": unfair}
    return found | {"slowdown_jain": jain(values["slowdown"])}


def makespan_of(history: RunHistory) -> Number:
    """Return the time from the first arrival to the last completion; None if no job is done."""
    world = history.outcome.world
    done = world.status == DONE
    return float(world.end[done].max() - world.arrival[history.came].min()) if done.any() else None


def _time_with_jobs(history: RunHistory) -> float:
    """Return the time from the first arrival to the last completion; if jobs are unfinished, to the end of the run."""
    world, came = history.outcome.world, history.came
    if not len(came):
        return 0.0
    last = float(world.end[came].max()) if (world.status[came] == DONE).all() else world.now
    return last - float(world.arrival[came].min())


def _use(history: RunHistory) -> dict[str, Number]:
    world = history.outcome.world
    used, in_use = world.gpu_time, world.place_time
    room = float(np.where(in_use > 0, in_use * history.gpus, 0.0).sum())
    cluster = float((history.nodes * history.gpus).sum()) * _time_with_jobs(history)
    total = float(used.sum())
    return {
        "gpu_hours": total * history.hours,
        "node_hours": float(in_use.sum()) * history.hours,
        "utilisation": None if history.counts_nodes else _part(total, room),
        "cluster_utilisation": _part(total, cluster),
    }


def _changes(history: RunHistory) -> dict[str, Number]:
    world = history.outcome.world
    names = {"starts": "start", "resumes": "resume", "migrations": "migration", "resizes": "resize", "halts": "halt"}
    found: dict[str, Number] = {name: int(world.counts[of].sum()) for name, of in names.items()}
    return found | {"boots": None if is_fast_replay(history) else int(world.boots)}


def _plans(history: RunHistory, method: str) -> dict[str, Number]:
    steps, broken = history.outcome.steps, history.outcome.broken
    seconds = np.array([s.plan_seconds for s in steps])
    others = sum(s.method != method for s in steps)
    return {
        "plans": len(steps),
        "plans_broken": 0 if broken is None else broken.plans,
        "rows_broken": 0 if broken is None else broken.rows,
        "fallback_share": others / len(steps) if steps else None,
        "plan_seconds": float(seconds.sum()),
        "plan_seconds_mean": _mean(seconds),
        "plan_seconds_p95": _percentile(seconds, 95),
        "plan_seconds_max": _percentile(seconds, 100),
        "build_seconds": float(sum(s.build_seconds for s in steps)),
        "loop_seconds": float(sum(s.other_seconds for s in steps)),
    }


def _mean(values: Floats) -> Number:
    return float(values.mean()) if len(values) else None


def _percentile(values: Floats, percent: float) -> Number:
    return float(np.percentile(values, percent)) if len(values) else None


def _part(amount: float, of: float) -> Number:
    return amount / of if np.isfinite(of) and of > 0 else None
