"""The output of `gsdsl run` about one run, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language.text.numbers import (
    align,
    count_text,
    number_text,
    percent_text,
    seconds_text,
    short,
    with_unit,
)
from gpusched_dsl.online.run_record import EXPECTED
from gpusched_dsl.reporting.grid import plain
from gpusched_dsl.reporting.runs.groups import LEGEND, group_footer, group_grid
from gpusched_dsl.reporting.runs.metrics import is_fast_replay

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result import RunResult

GAP = 2  # spaces between the two columns
MOST_NAMES = 5  # of unfinished jobs
MOST_GROUPS = 12  # rows of a table by attribute
ENDED = {
    "finished": "finished: all jobs are done",
    "horizon": "ended with the last slot",
    "interrupt": "interrupted: results until then",
    "error": "ended by an error: results until then",
    "stuck": "stuck: jobs wait, and nothing that follows will start them",
    "events": "stopped at the largest number of events",
}
CHANGES = ("starts", "resumes", "migrations", "resizes", "halts", "boots")


def title(result: RunResult) -> str:
    """`CapacityPlanning, online block EveryEvent, scenario Week, with Greedy`."""
    online, info = result.outcome.online, result.run_info
    scenario = f", scenario {info.scenario}" if info.scenario else ""
    fallback = f", else {info.fallback}" if info.fallback not in (None, info.method) else ""
    return f"{online.base.name}, online block {online.name}{scenario}, with {info.method}{fallback}"


def run_lines(result: RunResult) -> list[str]:
    """Return the summary, and a table for each attribute of jobs."""
    return [*summary_lines(result), *tables_by_attribute(result)]


def summary_lines(result: RunResult) -> list[str]:
    """Return the end of the run, costs by term, bound, and metrics of jobs, nodes and plans, in two columns."""
    fields = [("ended", ENDED.get(result.ended, result.ended)), *_dates(result)]
    if result.outcome.broken is not None:
        fields.append(("broken", broken_text(result)))
    fields += [*_main_lines(result), *_nodes(result)]
    fields += _plans(result)
    width = max(len(word) for word, _ in fields) + GAP
    return [f"{word:<{width}}{text}".rstrip() for word, text in fields]


def _dates(result: RunResult) -> list[tuple[str, str]]:
    """Return the dates of the start and the end of the run, if there is a calendar."""
    calendar = result.clock.dates
    if calendar is None:
        return []
    start, end = (result.clock.text(time) for time in (0.0, result.outcome.world.now))
    return [("dates", f"{start} to {end} ({calendar.zone})")]


def broken_text(result: RunResult) -> str:
    """`3 of 5 plans violate the model in 4 rows, the worst by 8: `rack_cap[r1]` is 12, at most 4`."""
    broken = result.outcome.broken
    assert broken is not None
    plans = len(result.outcome.steps)
    of = f"{broken.plans:,} of {count_text(plans, 'plan')}" if plans else count_text(broken.plans, "plan")
    verb = "violates" if broken.plans == 1 else "violate"
    amount = f" by {number_text(broken.excess)}" if broken.excess else ""
    return f"{of} {verb} the model in {count_text(broken.rows, 'row')}, the worst{amount}: {broken.text}"


def tables_by_attribute(result: RunResult, most: int = MOST_GROUPS) -> list[str]:
    """Return a table for each attribute of jobs, such as their owner, as lines with a blank line before each."""
    lines: list[str] = []
    for attribute in result.attributes:
        table = result.by(attribute)
        lines += ["", *plain(group_grid(table, result.unit, most), indent="").splitlines(), *group_footer(table, most)]
    return [*lines, "", *LEGEND] if lines else []


def _main_lines(result: RunResult) -> list[tuple[str, str]]:
    """Return costs and jobs; jobs first, without a total, if nothing is charged."""
    if not result.is_charged:
        return [*_jobs(result), *_quantities(result)]
    return [*_money(result), *_jobs(result)]


def _quantities(result: RunResult) -> list[tuple[str, str]]:
    return [
        (name, with_unit(number_text(amount), result.outcome.quantities[name]))
        for name, amount in result.quantities.items()
    ]


def _money(result: RunResult) -> list[tuple[str, str]]:
    texts = align([result.total, *result.costs.values()])
    fields = [("total", with_unit(texts[0], result.money))]
    fields += [(f"  {name}", with_unit(text, result.money)) for name, text in zip(result.costs, texts[1:], strict=True)]
    fields += _quantities(result)
    if not result.total:
        return fields
    bound = result.bound
    if bound.value is None:
        return [*fields, ("bound", f"none: {bound.how}")]
    fields.append(("bound", f"{with_unit(number_text(bound.value), result.money)}   ({bound.how})"))
    return [*fields, ("gap", percent_text(result.gap)), *_gap_parts(result)]


def _gap_parts(result: RunResult) -> list[tuple[str, str]]:
    """Return the parts of the gap, each with its share of the total."""
    parts = result.gap_parts
    if parts is None:
        return []
    texts = align(list(parts.parts.values()))
    return [
        (f"  {name.replace('_', ' ')}", f"{with_unit(text, result.money)}   {percent_text(value / parts.total)}: {why}")
        for text, (name, value), why in zip(texts, parts.parts.items(), parts.meanings, strict=True)
    ]


def _jobs(result: RunResult) -> list[tuple[str, str]]:
    metrics = result.metrics
    of = metrics["jobs"]
    parts = [f"{short(metrics['jobs_finished'])} of {short(of)} finished"]
    parts += [f"{short(metrics[name])} {word}" for name, word in _UNDONE.items() if metrics[name]]
    fields = [("jobs", ", ".join(parts)), *_unfinished_jobs(result)]
    if metrics["tardiness_mean"] is not None:
        late = f"{short(metrics['jobs_late'])} late ({percent_text(metrics['late_share'])})"
        fields.append(("tardiness", f"{late}, {_statistics_text(result, 'tardiness', 'mean', 'max')}"))
    if metrics["jct_mean"] is not None:
        fields.append(("completion", _statistics_text(result, "jct", "mean", "p50", "p95", "p99", "max")))
        proved = result.completion_bound
        if proved is not None:
            least = f"none: {proved.how}"
            if proved.value is not None:
                least = f"{with_unit(short(proved.value), result.unit)} mean completion   ({proved.how})"
            fields.append(("at least", least))
        fields.append(("makespan", with_unit(short(metrics["makespan"]), result.unit)))
    if metrics["queueing_mean"] is not None:
        waiting = with_unit(short(metrics["waiting_mean"]), result.unit)
        fields.append(
            ("queueing", f"{_statistics_text(result, 'queueing', 'mean', 'p95', 'max')}; waiting {waiting} mean")
        )
    return fields


def _unfinished_jobs(result: RunResult) -> list[tuple[str, str]]:
    """Name the jobs that wait or run at the end, and the time at which they arrived."""
    present = result.outcome.world.present()
    if not len(present):
        return []
    names = result.history.labels(result.history.jobs_root, present[:MOST_NAMES])
    arrivals = [result.clock.text(at) for at in result.outcome.world.arrival[present[:MOST_NAMES]].tolist()]
    shown = [f"{name} (since {at})" for name, at in zip(names, arrivals, strict=True)]
    more = f" and {len(present) - MOST_NAMES:,} more" if len(present) > MOST_NAMES else ""
    return [("unfinished", ", ".join(shown) + more)]


_UNDONE = {"jobs_unfinished": "unfinished", "jobs_withdrawn": "withdrawn", "jobs_overdue": "overdue"}
_WORDS = {"mean": "mean", "max": "at most", "p50": "median"}


def _statistics_text(result: RunResult, name: str, *which: str) -> str:
    """`3 h mean, 3.9 h p95, 4 h at most`."""
    parts = ((short(result.metrics[f"{name}_{one}"]), _WORDS.get(one, one)) for one in which)
    return ", ".join(f"{with_unit(text, result.unit)} {word}" for text, word in parts)


def _nodes(result: RunResult) -> list[tuple[str, str]]:
    metrics = result.metrics
    parts = [f"{short(metrics['gpu_hours'])} {'GPU' if result.history.has_uses else 'node'}-hours of jobs"]
    if not result.history.counts_nodes:
        parts.append(f"{short(metrics['node_hours'])} node-hours in use")
    if metrics["utilisation"] is not None:
        parts.append(f"{percent_text(metrics['utilisation'])} of nodes in use")
    if metrics["cluster_utilisation"] is not None:
        parts.append(f"{percent_text(metrics['cluster_utilisation'])} of the cluster")
    changes = [_counts_text(int(metrics[name] or 0), name) for name in CHANGES if metrics[name]]
    return [("use", ", ".join(parts)), ("changes", ", ".join(changes) or "none")]


def _counts_text(count: int, names: str) -> str:
    """`1 resize`, `2 boots`."""
    return count_text(count, names.removesuffix("s"), names)


def _plans(result: RunResult) -> list[tuple[str, str]]:
    metrics, info = result.metrics, result.run_info
    fields: list[tuple[str, str]] = []
    if metrics["plans"]:
        times = ", ".join(
            f"{seconds_text(float(metrics[f'plan_seconds_{one}'] or 0.0))} {_WORDS.get(one, one)}"
            for one in ("mean", "p95", "max")
        )
        share = percent_text(metrics["fallback_share"])
        other = f"; {share} not by {info.method}" if metrics["fallback_share"] else ""
        resumed = f"; {count_text(info.resumed_steps, 'plan')} from the journal" if info.resumed_steps else ""
        fields.append(("plans", f"{short(metrics['plans'])}: {times}{other}{resumed}"))
    if is_fast_replay(result.history):
        times = count_text(int(result.outcome.extra["instants"]), "time", "times")
        text = f"fast replay, {times} at which jobs could start"
        return [("plans", text), ("time", seconds_text(info.seconds))]
    if result.event_by_event and not EXPECTED & set(result.event_by_event):
        fields.append(("replay", f"none, because {result.event_by_event[0]}"))
    parts = (("plans", "plan_seconds"), ("building", "build_seconds"), ("the rest", "loop_seconds"))
    shares = ", ".join(f"{word} {seconds_text(float(metrics[name] or 0.0))}" for word, name in parts)
    since = (
        (" since the start or resumption of the run; all steps include those of the journal")
        if info.resumed_steps
        else ""
    )
    return [*fields, ("time", f"{seconds_text(info.seconds)}{since}: {shares}")]
