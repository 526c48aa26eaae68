"""An inspection as text of at most 80 columns: one sentence first, then tables and reasons, without empty parts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.text.numbers import count_text, percent_text, short
from gpusched_dsl.reporting.grid import Grid, plain_within
from gsdsl_clusters.inspecting.grids import blocking_grid, change_grid, queue_grid, start_grid, team_grid, type_grid
from gsdsl_clusters.inspecting.inspection import ClusterInspection
from gsdsl_clusters.inspecting.other_queues import QueueComparison
from gsdsl_clusters.inspecting.reasons import InspectedJob
from gsdsl_clusters.inspecting.snapshot import SnapshotState
from gsdsl_clusters.inspecting.times import length_text
from gsdsl_clusters.inspecting.together import whole_jobs

WIDTH = 80  # columns
MOST_ROWS = 10  # of a table
MOST_BLOCKING = 5


def headline(found: ClusterInspection) -> str:
    """The state of the cluster, or the sum of its history, in one sentence."""
    gpus = int(found.by_type["gpus"].sum())
    if not found.has_present:
        return _history_sentence(found, gpus)
    used = int(found.by_type["used"].sum())
    waiting, run, blocked = (
        whole_jobs(found.snapshot.jobs_in(state)).height
        for state in (SnapshotState.WAITING, SnapshotState.RUNNING, SnapshotState.BLOCKED)
    )
    share = f" ({percent_text(used / gpus)})" if gpus else ""
    parts = [f"{used:,} of {gpus:,} GPUs are in use{share}", f"{count_text(run, 'job')} {_verb(run, 'run')}"]
    if waiting:
        wanted = int(found.by_team["wanted"].sum())
        parts.append(f"{waiting:,} {_verb(waiting, 'wait')} for {count_text(wanted, 'GPU')}")
    else:
        parts.append("none waits")
    if blocked:
        parts.append(f"{blocked:,} {'is' if blocked == 1 else 'are'} blocked")
    text = ", ".join(parts)
    queues = found.queues
    return text if queues is None or queues.real is None else f"{text}; mean wait so far {_wait(queues)}"


def _verb(count: int, verb: str) -> str:
    return verb + "s" * (count == 1)


def _wait(queues: QueueComparison) -> str:
    return length_text(queues.wait)


def _history_sentence(found: ClusterInspection, gpus: int) -> str:
    jobs, queues = found.snapshot.jobs, found.queues
    first, last = jobs["submitted"].min(), jobs["submitted"].max()
    span = f" in {length_text(last - first)}" if isinstance(first, float) and isinstance(last, float) else ""
    text = f"{count_text(whole_jobs(jobs).height, 'job')}{span} on {count_text(gpus, 'GPU')}"
    if queues is None:
        return text
    wait = f"mean wait {_wait(queues)}" if queues.anyone_waits else "nobody waits"
    result = queues.real or queues.own
    simulated = "" if queues.real else " in the simulation"
    return f"{text}: {wait}, {percent_text(result.used)} of the GPUs used{simulated}"


def inspection_lines(found: ClusterInspection) -> list[str]:
    """The output of `gsdsl inspect`."""
    return list(map(str.rstrip, _Writer(found).lines()))


class _Writer:
    def __init__(self, found: ClusterInspection) -> None:
        self._found = found
        self._left_out: list[str] = []

    def lines(self) -> list[str]:
        found, snapshot = self._found, self._found.snapshot
        lines = [*wrapped(headline(found)), *wrapped(f"{snapshot.source}, as of {found.clock.text(snapshot.now)}")]
        if snapshot.inferred:
            lines += wrapped(f"nodes are inferred: {snapshot.inferred}")
        lines += [line for note in snapshot.notes for line in wrapped(note)]
        lines += ["", *self._table(type_grid(found)), "", *self._table(team_grid(found), MOST_ROWS)]
        lines += self._waiting() + self._blocking() + self._starts() + self._queues() + self._changes()
        if text := unused_text(found):
            lines += ["", *wrapped(f"unused: {text}")]
        if snapshot.unread:
            lines += ["", "not read:"]
            for text in snapshot.unread:
                lines += wrapped(text, "  ")
        if self._left_out:
            names = ", ".join(dict.fromkeys(self._left_out))
            lines += ["", *wrapped(f"left out of tables for want of room: {names} (`--html` and `--json` have all)")]
        return lines

    def _table(self, grid: Grid, most: int | None = None) -> list[str]:
        shown = grid if most is None else grid.head(most)
        text, left_out = plain_within(shown, WIDTH)
        self._left_out += left_out
        more = grid.rows - shown.rows
        return text.rstrip("\n").split("\n") + ([f"  and {more:,} more"] if more else [])

    def _waiting(self) -> list[str]:
        found = self._found
        if not found.waiting:
            return []
        lines = ["", *wrapped(f"who waits and why; the queue: {found.starts.order.text}")]
        groups = waiting_groups(found)
        for group in groups[:MOST_ROWS]:
            lines.append("")
            names = names_text([job.job for job in group])
            lines += wrapped(names if len(group) == 1 else f"{count_text(len(group), 'job')}: {names}")
            for text in group_sentences(found, group):
                lines += wrapped(text, "  ", "  ")
        left = sum(map(len, groups[MOST_ROWS:]))
        return lines + (["", f"and {count_text(left, 'more job')} (`--html` and `--json` have all)"] if left else [])

    def _blocking(self) -> list[str]:
        if not self._found.blocking.height:
            return []
        return ["", "running jobs that block most:", *self._table(blocking_grid(self._found), MOST_BLOCKING)]

    def _starts(self) -> list[str]:
        found = self._found
        if not found.starts.table.height:
            return []
        lines = ["", *wrapped("starts, with the probability that the job has started by then:")]
        return [
            *lines,
            *self._table(start_grid(found), MOST_ROWS),
            *wrapped(coverage_text(found)),
            *wrapped(found.starts.drift or ""),
        ]

    def _queues(self) -> list[str]:
        queues = self._found.queues
        if queues is None or not queues.anyone_waits:
            return []
        jobs = count_text(queues.jobs, "job")
        lines = [""]
        if queues.jobs:
            lines += [
                *wrapped(f"the same {jobs} of the past with other queues:"),
                *self._table(queue_grid(self._found)),
            ]
        return lines + [line for note in queue_notes(queues) for line in wrapped(note)]

    def _changes(self) -> list[str]:
        found = self._found
        if len(found.changes) < 2 or not (found.waits or (found.queues is not None and found.queues.anyone_waits)):
            return []
        return ["", *wrapped(changes_title(found) + ":"), *self._table(change_grid(found), 2 * MOST_ROWS)]


def waiting_groups(found: ClusterInspection) -> list[list[InspectedJob]]:
    """Groups of jobs that wait for the same reason, besides who is ahead of them, in the order of their first ones."""
    groups: dict[tuple[object, ...], list[InspectedJob]] = {}
    for job in found.waiting:
        groups.setdefault((job.shape, *job.notes), []).append(job)
    return list(groups.values())


def group_sentences(found: ClusterInspection, group: Sequence[InspectedJob]) -> list[str]:
    """Why the jobs of a group wait."""
    first = group[0]
    if first.reason is None:
        return list(first.notes) or ["no reason is known"]
    alone = replace(first.reason, ahead=()) if len(group) > 1 else first.reason
    if alone.best is not None:
        alone = replace(alone, best=replace(alone.best, jobs=()))
    texts = alone.lines(found.time_text)
    if len(group) > 1 and first.reason.ahead:
        texts.append(f"ahead of {first.job}: {names_text([each.job for each in first.reason.ahead])}")
    return [*texts, *first.notes]


def coverage_text(found: ClusterInspection) -> str:
    """How often such times were kept in the past."""
    starts = found.starts
    if starts.coverage is None:
        return f"not checked against the past: {count_text(starts.cases, 'past wait')} are too few"
    shares = ", ".join(percent_text(share) for share in starts.coverage)
    return f"on past waits of this cluster ({starts.cases:,}) these times were kept in {shares} of the cases"


def queue_notes(queues: QueueComparison) -> list[str]:
    """What to know about the comparison."""
    if not queues.jobs:
        jobs = count_text(queues.left_out, "job")
        return [
            f"no comparison with other queues: none of the {jobs} of the past starts on the present nodes and limits"
        ]
    notes = []
    if not queues.explains:
        notes.append(
            "its queue in the simulation does not have the waits of the cluster, which has rules or outages that are "
            "not in the records: compare other queues with the simulation only"
        )
    if queues.left_out:
        verb = "does" if queues.left_out == 1 else "do"
        notes.append(f"{count_text(queues.left_out, 'job')} {verb} not start in some of them, and {verb} not count")
    return notes


def changes_title(found: ClusterInspection) -> str:
    """What the table of changes shows."""
    what = ["the mean wait of past jobs"] if found.queues is not None and found.queues.jobs else []
    what += ["how many waiting jobs start now"] if found.waits else []
    return f"what would help: {' and '.join(what)}, in the simulation"


def unused_text(found: ClusterInspection) -> str:
    """Unused GPU-hours in a sentence, and their price; "" if they are unknown."""
    unused = found.unused
    if unused is None:
        return ""
    hours, night = unused.hours, unused.at_night
    text = f"{short(hours, 3)} GPU-hours a day, {short(night, 3)} of them from 22 to 6 h"
    if found.price is not None:
        text += f", worth {short(hours * found.price, 3)} {found.currency} a day"
    if unused.waited:
        text += f"; GPUs were unused while jobs waited in {percent_text(unused.waited)} of the hours"
    return text


def wrapped(text: str, indent: str = "", hanging: str = "  ") -> list[str]:
    """The lines of a sentence."""
    whole = text.replace(" %", "\u00a0%")  # the number and its sign stay together
    hanging = indent + hanging
    lines = textwrap.wrap(whole, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
