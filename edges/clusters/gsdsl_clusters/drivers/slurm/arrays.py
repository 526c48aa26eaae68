"""Arrays of jobs: every task is a job of its own, named `123_5`, also while the tasks wait in one record.

Source: "Job Array Support" of the documentation of Slurm. A task is updated, held and released by this name; Slurm then
gives it a record of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, text, whole

LIMIT = "JobArrayTaskLimit"  # the reason of tasks that wait for other tasks
MOST_TASKS = 20_000  # of one array that are read together; the others follow when these have ended


def name_of(record: Mapping[str, Any]) -> str:
    """The name of a job: its id, array and task, or het job and component, as squeue writes them. The tasks that still
    wait in one record have that of the array.

    Raises UnknownJson for a record without an id.
    """
    array, task = whole(record, "array_job_id"), whole(record, "array_task_id")
    if array and task is not None:
        return f"{array}_{task}"
    id = whole(record, "job_id")
    if id is None:
        raise UnknownJson("a job has no `job_id`")
    if het := whole(record, "het_job_id"):
        offset = whole(record, "het_job_offset")
        return f"{het}+{id - het if offset is None else offset}"  # the components have consecutive ids
    return str(id)


def waiting_tasks(record: Mapping[str, Any]) -> tuple[range, ...]:
    """The numbers of the tasks that wait in one record: `5-9:2,12%2` is 5, 7, 9 and 12; none for other jobs.

    Raises UnknownJson for a list that is shortened or has another form.
    """
    stated = text(record, "array_task_string")
    found = []
    for part in stated.partition("%")[0].split(",") if stated else ():
        bounds, colon, step = part.partition(":")
        first, dash, last = bounds.partition("-")
        numbers = (first, *([last] if dash else []), *([step] if colon else []))
        if "..." in stated:
            raise UnknownJson("the list of its tasks is shortened: start slurmrestd with SLURM_BITSTR_LEN=0")
        if not all(number.isascii() and number.isdigit() for number in numbers) or (colon and not int(step)):
            raise UnknownJson(f"`{stated}` is not a list of tasks")
        found.append(range(int(first), int(last or first) + 1, int(step or 1)))
    return tuple(found)


def task_limit(record: Mapping[str, Any]) -> int:
    """How many tasks of the array of a job may run at once, 0 for any number."""
    stated = text(record, "array_task_string").partition("%")[2]
    return int(stated) if stated.isdigit() else whole(record, "array_max_tasks") or 0


def separate(job: ObservedJob, tasks: Iterable[range], unread: list[str]) -> Iterable[ObservedJob]:
    """One job for each task that waits in the record of an array; those beyond the first are added to `unread`."""
    numbers = [number for part in tasks for number in part[:MOST_TASKS]][:MOST_TASKS]
    if (total := sum(map(len, tasks))) > len(numbers):
        unread.append(f"array `{job.name}` has {total:,} waiting tasks: {MOST_TASKS:,} of them are read at a time")
    for number in numbers:
        yield replace(job, name=f"{job.name}_{number}", fields={**job.fields, "array_task": number})


def apply_limits(jobs: dict[str, ObservedJob], limits: Mapping[str, int]) -> None:
    """Block the waiting tasks of each array beyond its limit. Those that may start at once stay, then the first ones.

    `limits` are by the id of the array, and become the field `array_limit` of its tasks.
    """
    waiting: dict[str, list[str]] = {array: [] for array in limits}
    running = dict.fromkeys(limits, 0)
    for name, job in jobs.items():
        array = name.partition("_")[0]
        if array in limits:
            jobs[name] = job = replace(job, fields={**job.fields, "array_limit": limits[array]})
        if array in limits and job.state is JobState.PENDING and not job.unsupported:
            waiting[array].append(name)
        elif array in limits and (job.state is JobState.RUNNING or job.allocation):
            running[array] += 1
    for array, names in waiting.items():
        names.sort(key=lambda name: (jobs[name].held, int(name.partition("_")[2])))
        for name in names[max(0, limits[array] - running[array]) :]:
            jobs[name] = replace(jobs[name], state=JobState.BLOCKED, reason=LIMIT, over_limit=True)
