"""Dependencies between jobs: the jobs that must end before a job may start, where Slurm's text says which.

Source: `--dependency` of sbatch. Slurm shows what is left, as in `afterok:12(unfulfilled),afterany:10_*(unfulfilled)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gsdsl_clusters.drivers.protocol import ObservedJob

_PART = re.compile(r"(afterok|afterany|aftercorr|singleton)(?::(\d+)(?:_(\d+|\*))?)?\((unfulfilled|fulfilled)\)$")


def predecessors(stated: str, job: ObservedJob, jobs: Mapping[str, ObservedJob]) -> tuple[str, ...]:
    """The names of the jobs that must end before a job, none if the text demands anything else.

    Alternatives (`?`), starts (`after`) and failures (`afternotok`) are no ends of certain jobs.
    """
    found: list[str] = []
    for part in stated.split(","):
        read = _PART.match(part)
        if read is None:
            return ()
        kind, id, task, state = read.groups()
        if state == "fulfilled":
            continue
        names = _earlier(job, jobs) if kind == "singleton" else _named(kind, id or "", task, job, jobs)
        if not names or any(name not in jobs or jobs[name].state.has_ended for name in names):
            return ()
        found += names
    return tuple(dict.fromkeys(found))


def _named(kind: str, id: str, task: str | None, job: ObservedJob, jobs: Mapping[str, ObservedJob]) -> list[str]:
    own = job.name.partition("_")[2]
    if kind == "aftercorr" and task == "*" and own:
        return [f"{id}_{own}"]
    if task is None and (components := [name for name in jobs if name.startswith(f"{id}+")]):
        return [name for name in components if not jobs[name].state.has_ended]
    if task == "*":
        return [name for name, other in jobs.items() if name.startswith(f"{id}_") and not other.state.has_ended]
    return [id if task is None else f"{id}_{task}"]


def _earlier(job: ObservedJob, jobs: Mapping[str, ObservedJob]) -> list[str]:
    """The jobs of the same user and name that were submitted before."""
    mine = (job.fields["user"], job.fields["job_name"])
    number = _number(job.name)
    return [
        name
        for name, other in jobs.items()
        if not other.state.has_ended
        and (other.fields.get("user"), other.fields.get("job_name")) == mine
        and -1 < _number(name) < number
    ]


def _number(name: str) -> int:
    """The number of a job, of the array of a task, or of the het job of a component; -1 for a record without one."""
    found = re.match(r"\d+", name, re.ASCII)
    return -1 if found is None else int(found[0])
