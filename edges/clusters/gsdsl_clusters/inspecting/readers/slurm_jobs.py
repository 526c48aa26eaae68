"""Jobs and nodes of Slurm from its records, in the columns of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.slurm.arrays import name_of
from gsdsl_clusters.drivers.slurm.demands import asked_nodes, is_exclusive
from gsdsl_clusters.drivers.slurm.gres import read_gpus
from gsdsl_clusters.drivers.slurm.job_records import FLAGS, gpus_on, job_states, time_limit
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, date, hosts, items, names, number, text, whole
from gsdsl_clusters.drivers.slurm.observe import DOWN, DRAINS, MAINTENANCE, NODE_STATES, node_states
from gsdsl_clusters.inspecting.array_tasks import LIMIT_REASON
from gsdsl_clusters.inspecting.readers.left_out import LeftOut
from gsdsl_clusters.inspecting.snapshot import SnapshotState

BLOCKED_BY = frozenset({
    "Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "BeginTime", LIMIT_REASON,
    "JobHoldMaxRequeue", "Reservation", "PartitionDown", "PartitionInactive",
})  # fmt: skip
_ENDS = ("afterok", "afterany", "aftercorr", "afterburstbuffer")  # dependencies on the end of a job
_PLAIN = re.compile(r"[\w.:+-]+(?:&[\w.:+-]+)*$")
_ANY_OF = re.compile(r"[\w.:+-]+(?:\|[\w.:+-]+)+$")
GIBIBYTE = 1024.0  # MiB


@dataclass
class SlurmRecords:
    """Rows of nodes and jobs, and what was left out, once for each reason.

    A demand for one of several features (`a|b`) becomes a feature of this name of all nodes that have one of them.
    """

    now: float
    racks: Mapping[str, str]
    unread: LeftOut = field(default_factory=LeftOut)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    maintained: set[str] = field(default_factory=set)  # nodes that are down for maintenance only
    demanded: set[str] = field(default_factory=set)  # features with `|`
    raw_ids: dict[str, str] = field(default_factory=dict)  # names of tasks by the number that their job has

    # --- nodes -------------------------------------------------------------------------------------------------------

    def add_node(self, record: Any) -> None:
        """Add a node; one that cannot be read is down."""
        name = record.get("name") if isinstance(record, Mapping) else None
        if not isinstance(name, str) or not name:
            self.unread.add("node", "", "it has no `name`")
            return
        row: dict[str, Any] = {"node": name, "rack": self.racks.get(name, ""), "gpus": 0}
        try:
            found = read_gpus(text(record, "gres"))
            row |= {"gpus": found.count, "gpu_type": found.kind, "partitions": items(record, "partitions")}
            stated = node_states(record)
            if unknown := stated - NODE_STATES:
                raise UnknownJson(f"its state is unknown: {', '.join(sorted(unknown))}")
            closed = stated & (DOWN | DRAINS)
            if closed and closed <= MAINTENANCE:
                self.maintained.add(name)
            cpus, memory = number(record, "cpus"), number(record, "real_memory")
            row |= {
                "up": not closed, "reason": text(record, "reason"), "cpus": cpus,
                "features": items(record, "active_features") or items(record, "features"),
                "memory": None if memory is None else memory / GIBIBYTE,
            }  # fmt: skip
            if found.slices:
                self.unread.add("node", name, f"slices of GPUs are not counted ({found.slices} here)")
            if len(found.kinds) > 1:
                self.unread.add("node", name, f"types of its GPUs are mixed ({', '.join(sorted(found.kinds))})")
        except (UnknownJson, ValueError) as failure:
            self.unread.add("node", name, str(failure))
            row |= {"up": False, "reason": f"its record cannot be read: {failure}"}
        self.nodes[name] = row

    def node_rows(self) -> list[dict[str, Any]]:
        """The nodes with GPUs, with the features that jobs demand as `a|b`."""
        rows = []
        for row in self.nodes.values():
            if row["gpus"]:
                own = set(row.get("features", ()))
                more = [either for either in sorted(self.demanded) if own & set(either.split("|"))]
                rows.append({**row, "features": [*row.get("features", ()), *more]})
        return rows

    # --- jobs --------------------------------------------------------------------------------------------------------

    def add_job(self, record: Any) -> None:
        """Add a job with GPUs; one that cannot be read is left out, and occupies all GPUs of its nodes if it runs."""
        if not isinstance(record, Mapping):
            self.unread.add("job", "", "its record is no object")
            return
        try:
            row = self._job(record)
        except (UnknownJson, ValueError) as failure:
            name = str(record.get("job_id", ""))
            self.unread.add("job", name, str(failure))
            row = self._occupant(record, name or f"unread {len(self.jobs) + 1}")
        if row is not None:
            self.jobs.append(row)

    def _job(self, record: Mapping[str, Any]) -> dict[str, Any] | None:
        raw = whole(record, "job_id")
        if raw is None:
            raise UnknownJson("it has no `job_id`")
        state, reason = _state(record), text(record, "state_reason")
        ran = state in (SnapshotState.RUNNING, SnapshotState.ENDED)
        where = hosts(text(record, "nodes")) if ran else ()
        each, count, kinds = self._gpus(record)
        split = gpus_on(record, where, each * max(count, 1))
        if is_exclusive(record):
            split = [max(gpus, self._gpus_of(node)) for node, gpus in zip(where, split, strict=True)]
        if ran and any(split):
            equal = len(set(split)) == 1
            each, count = (split[0], len(split)) if equal else (sum(split), 0)
        if not each:
            return None
        task, array = whole(record, "array_task_id"), whole(record, "array_job_id")
        name, limit = name_of(record), None
        if array:
            tasks = text(record, "array_task_string")
            name = f"{array}_[{tasks}]" if task is None and tasks else name
            limit = whole(record, "array_max_tasks") or None
            if task is not None:
                self.raw_ids[str(raw)] = name
        het = whole(record, "het_job_id")
        if het:
            self.raw_ids[str(raw)] = name
        partitions = items(record, "partition")
        if is_exclusive(record) and not ran:
            each = self._whole_nodes(each, partitions)
        later = date(record, "eligible_time")
        if state is SnapshotState.WAITING:
            held = number(record, "priority") == 0 or reason in BLOCKED_BY
            if held or text(record, "dependency") or (later is not None and later > self.now):
                state = SnapshotState.BLOCKED
            if text(record, "resv_name"):
                state, reason = SnapshotState.BLOCKED, "Reservation"
        start, end = (date(record, key) if ran else None for key in ("start_time", "end_time"))
        end = end if state is SnapshotState.ENDED else None
        longest, priority = time_limit(record), number(record, "priority")
        memory, cpus = number(record, "memory_per_node"), number(record, "cpus")
        asked = hosts(asked_nodes(record))
        if text(record, "licenses"):
            self.unread.add("job", name, "licences are not simulated")
        return {
            "job": name, "state": state.value, "outcome": _outcome(record) if state is SnapshotState.ENDED else "",
            "gpus": each, "nodes": count, "gpu_types": sorted(kinds), "features": self._features(record, name),
            "allowed_nodes": list(asked) if len(asked) >= max(count, 1) else [],
            "excluded_nodes": list(hosts(text(record, "excluded_nodes"))), "partitions": partitions,
            "cpus": None if cpus is None else cpus / max(count, 1),
            "memory": None if memory is None else memory / GIBIBYTE, "user": text(record, "user_name"),
            "team": text(record, "account"), "qos": text(record, "qos"), "name": text(record, "name"),
            "het_job": str(het) if het else "", "array_limit": limit,
            "priority": priority, "submitted": date(record, "submit_time"), "eligible": later,
            "started": start, "ended": end,
            "duration": None if start is None else max((self.now if end is None else end) - start, 0.0),
            "limit": longest,
            "reason": "" if ran else reason, "on_nodes": list(where), "on_gpus": split,
            "_after": "" if ran or reason.startswith("JobHeld") else text(record, "dependency"),
        }  # fmt: skip

    def _gpus(self, record: Mapping[str, Any]) -> tuple[int, int, frozenset[str]]:
        """The GPUs on each of a number of nodes (0: any number, and GPUs in all), and their types."""
        count, most = whole(record, "node_count") or 1, whole(record, "max_nodes") or 0
        if "gpu" in text(record, "tres_per_socket"):
            raise UnknownJson("it requests GPUs per socket")
        kinds, total, fixed = frozenset[str](), 0, False
        tasks = whole(record, "tasks") or 1
        for key, times in (("tres_per_node", count), ("tres_per_job", 1), ("tres_per_task", tasks),
                           ("tres_req_str", 1), ("tres_alloc_str", 1)):  # fmt: skip
            found = read_gpus(text(record, key))
            if found.slices:
                raise UnknownJson("it requests slices of GPUs")
            if found.count:
                kinds, total, fixed = found.kinds, found.count * times, key == "tres_per_node"
                break
        if fixed or ((count > 1 or most == 1) and total % count == 0):
            return total // count, count, kinds
        return total, 0, kinds

    def _features(self, record: Mapping[str, Any], job: str) -> list[str]:
        """The features that a node needs; one name for `a|b`."""
        wanted = text(record, "features")
        if not wanted:
            return []
        if _PLAIN.match(wanted):
            return wanted.split("&")
        if _ANY_OF.match(wanted):
            self.demanded.add(wanted)
            return [wanted]
        self.unread.add("job", job, f"the features `{wanted}` are not obeyed")
        return []

    def _gpus_of(self, node: str) -> int:
        return int(self.nodes[node]["gpus"]) if node in self.nodes else 0

    def _whole_nodes(self, each: int, partitions: Sequence[str]) -> int:
        """The GPUs of the smallest nodes on which a job that takes whole nodes fits."""
        sizes = {
            row["gpus"] for row in self.nodes.values()
            if row["gpus"] >= each and (not partitions or set(partitions) & set(row.get("partitions", ())))
        }  # fmt: skip
        return min(sizes, default=each)

    def _occupant(self, record: Mapping[str, Any], name: str) -> dict[str, Any] | None:
        try:
            if _state(record) is not SnapshotState.RUNNING:
                return None
            where = [node for node in hosts(text(record, "nodes")) if self._gpus_of(node)]
            start = date(record, "start_time") or self.now
        except UnknownJson:
            return None
        used = [self._gpus_of(node) for node in where]
        return {
            "job": name, "state": SnapshotState.RUNNING.value, "gpus": sum(used), "submitted": start, "started": start,
            "duration": max(self.now - start, 0.0), "on_nodes": where, "on_gpus": used, "reason": "", "_after": "",
            "array_limit": None,
        } if used else None  # fmt: skip


def _state(record: Mapping[str, Any]) -> SnapshotState:
    if "COMPLETING" in names(record, "job_state"):
        return SnapshotState.RUNNING  # it still occupies its nodes
    found, _ = job_states(record)
    if JobState.BLOCKED in found:
        return SnapshotState.BLOCKED
    if JobState.PENDING in found:
        return SnapshotState.WAITING
    return SnapshotState.ENDED if found[0].has_ended else SnapshotState.RUNNING


def _outcome(record: Mapping[str, Any]) -> str:
    return next((state for state in names(record, "job_state") if state not in FLAGS), "")


# --- dependencies ----------------------------------------------------------------------------------------------------


def dependencies_of(jobs: Sequence[Mapping[str, Any]], raw_ids: Mapping[str, str], unread: LeftOut) -> list[list[str]]:
    """For each job (a row with `_after`, and arrays split into tasks) the jobs that must end first."""
    present = [str(row["job"]) for row in jobs if row["state"] != SnapshotState.ENDED.value]
    known, tasks = set(present), dict[str, list[str]]()  # of an array, or components of a het job
    for name in present:
        if "_" in name or "+" in name:
            tasks.setdefault(re.split("[_+]", name)[0], []).append(name)
    chains = _chains(jobs)
    found = []
    for row in jobs:
        after: dict[str, None] = {}
        for item in re.split(r"[,?]", str(row["_after"] or "")):
            kind, _, ids = re.sub(r"\([^)]*\)$", "", item.strip()).partition(":")
            if kind == "singleton":
                after |= dict.fromkeys(chains.get(str(row["job"]), ()))
            elif kind in _ENDS:
                for id in ids.split(":"):
                    base = id.partition("+")[0].removesuffix("_*")
                    name = raw_ids.get(base, base)
                    after |= dict.fromkeys(tasks.get(base) or ([name] if name in known else []))
            elif kind:
                unread.add("job", str(row["job"]), f"dependencies of the kind `{kind}` are not simulated")
        found.append([name for name in after if name != row["job"]])
    return found


def _chains(jobs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """For each job with `singleton` the jobs of its user and name before it, back to the last one with `singleton`."""
    last: dict[tuple[str, str], list[str]] = {}
    found: dict[str, tuple[str, ...]] = {}
    order = sorted(range(len(jobs)), key=lambda at: (jobs[at]["submitted"] or 0.0, at))
    for row in (jobs[at] for at in order if jobs[at]["state"] != SnapshotState.ENDED.value):
        before = last.setdefault((str(row["user"]), str(row["name"])), [])
        if "singleton" in str(row["_after"] or ""):
            found[str(row["job"])] = tuple(before)
            before.clear()
        before.append(str(row["job"]))
    return found
