"""Jobs and nodes of Slurm from its records, in the columns of a snapshot."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
_NO_REASON = "None"  # as Slurm writes it in JSON
_ENDS = ("afterok", "afterany", "aftercorr", "afterburstbuffer")  # dependencies on the end of a job
_NEVER = frozenset({"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "DependencyNeverSatisfied", "Reservation"})
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
    unseen: list[dict[str, Any]] = field(default_factory=list)  # jobs that have not ended and are not among `jobs`

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
        unread = False
        try:
            row = self._job(record)
        except (UnknownJson, ValueError) as failure:
            unread, name = True, _name(record)
            self.unread.add("job", name, str(failure))
            row = self._occupant(record, name or f"unread {len(self.jobs) + 1}")
        if row is not None:
            self.jobs.append(row)
        else:
            with suppress(UnknownJson):
                self._add_unseen(record, unread)

    def _add_unseen(self, record: Mapping[str, Any], unread: bool) -> None:
        """Add what others may wait for of a job that is not shown, unless it has ended."""
        state = _state(record)
        if state is not SnapshotState.ENDED:
            self.unseen.append({
                "job": name_of(record), "state": state.value, "user": text(record, "user_name"), "unread": unread,
                "name": text(record, "name"), "submitted": date(record, "submit_time"), "het_job": _het_job(record),
                "_after": text(record, "dependency"), "limit": time_limit(record),
            })  # fmt: skip

    def leave_out_parts(self) -> None:
        """Leave out waiting components where another one of the het job cannot be read: they start together."""
        lacking = {row["het_job"] for row in self.unseen if row["unread"] and row["state"] != SnapshotState.RUNNING}
        kept = []
        for row in self.jobs:
            waits = row["state"] in (SnapshotState.WAITING, SnapshotState.BLOCKED)
            if waits and row["het_job"] and row["het_job"] in lacking:
                self.unread.add("job", row["job"], "another component of its het job cannot be read")
                self.unseen.append(row)
            else:
                kept.append(row)
        self.jobs = kept

    def _job(self, record: Mapping[str, Any]) -> dict[str, Any] | None:
        raw = whole(record, "job_id")
        if raw is None:
            raise UnknownJson("it has no `job_id`")
        state, reason = _state(record), text(record, "state_reason")
        reason = "" if reason == _NO_REASON else reason
        ran = state in (SnapshotState.RUNNING, SnapshotState.ENDED)
        where = hosts(text(record, "nodes")) if ran else ()
        each, count, kinds = self._gpus(record)
        split = gpus_on(record, where, each * max(count, 1))
        if is_exclusive(record):
            split = [max(gpus, self._gpus_of(node)) for node, gpus in zip(where, split, strict=True)]
        if ran and any(split):
            equal = len(set(split)) == 1
            each, count = (split[0], len(split)) if equal else (sum(split), 0)
        task, array, het = (whole(record, key) for key in ("array_task_id", "array_job_id", "het_job_id"))
        name, limit = name_of(record), None
        if het or (array and task is not None):
            self.raw_ids[str(raw)] = name
        if not each:
            return None
        if array:
            tasks = text(record, "array_task_string")
            name = f"{array}_[{tasks}]" if task is None and tasks else name
            limit = whole(record, "array_max_tasks") or None
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
            "_after": "" if ran or reason in _NEVER else text(record, "dependency"),
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
            "het_job": _het_job(record),
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


def _name(record: Mapping[str, Any]) -> str:
    """The name of a job that cannot be read, as far as it can."""
    with suppress(UnknownJson):
        return name_of(record)
    return str(record.get("job_id", ""))


def _het_job(record: Mapping[str, Any]) -> str:
    with suppress(UnknownJson):
        return str(whole(record, "het_job_id") or "")
    return ""


def _outcome(record: Mapping[str, Any]) -> str:
    return next((state for state in names(record, "job_state") if state not in FLAGS), "")


# --- dependencies ----------------------------------------------------------------------------------------------------


def dependencies_of(
    jobs: Sequence[Mapping[str, Any]], raw_ids: Mapping[str, str], unread: LeftOut, unseen: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """For each job (a row with `_after`, and arrays split into tasks) the jobs that must end first.

    They may be `unseen`. A job has none if it waits for anything else besides.
    """
    everyone = [*jobs, *_that_end_last(unseen, jobs)]
    present = [str(row["job"]) for row in everyone if row["state"] != SnapshotState.ENDED.value]
    known, tasks = set(present), dict[str, list[str]]()  # of an array, or components of a het job
    for name in present:
        if "_" in name or "+" in name:
            tasks.setdefault(re.split("[_+]", name)[0], []).append(name)
    chains = _chains(everyone)
    found = []
    for row in jobs:
        after: dict[str, None] = {}
        stated, others = str(row["_after"] or ""), dict[str, None]()
        if "?" in stated:
            others["alternatives of dependencies (`?`) are not simulated"] = None
        for item in re.split(r"[,?]", stated):
            text, _, state = item.strip().rstrip(")").partition("(")
            kind, _, ids = text.partition(":")
            if state == "fulfilled":
                continue
            if kind == "singleton":
                after |= dict.fromkeys(chains.get(str(row["job"]), ()))
            elif kind in _ENDS:
                for id in ids.split(":"):
                    base = id.partition("+")[0].removesuffix("_*")
                    name = raw_ids.get(base, base)
                    after |= dict.fromkeys(tasks.get(base) or ([name] if name in known else []))
            elif kind:
                others[f"dependencies of the kind `{kind}` are not simulated"] = None
        for reason in others:
            unread.add("job", str(row["job"]), reason)
        found.append([] if others else [name for name in after if name != row["job"]])
    return found


def _that_end_last(unseen: Sequence[Mapping[str, Any]], jobs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The unseen jobs without components whose limit is none longer than that of a component of `jobs`."""
    longest: dict[str, float] = {}
    for row in jobs:
        if row["het_job"] and row["state"] != SnapshotState.ENDED.value:
            longest[row["het_job"]] = max(_limit(row), longest.get(row["het_job"], 0.0))
    return [row for row in unseen if not row["het_job"] or _limit(row) > longest.get(row["het_job"], 0.0)]


def _limit(row: Mapping[str, Any]) -> float:
    return math.inf if row["limit"] is None else float(row["limit"])


def _chains(jobs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """For each job with `singleton` the jobs of its user and name before it, back to the last one with `singleton`.

    Components of a het job wait for the same jobs.
    """
    last: dict[tuple[str, str], list[str]] = {}
    of_whole: dict[str, tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    present = [row for row in jobs if row["state"] != SnapshotState.ENDED.value]
    for row in sorted(present, key=lambda row: (row["submitted"] or 0.0, _number(str(row["job"])))):
        name, before = str(row["job"]), last.setdefault((str(row["user"]), str(row["name"])), [])
        if "singleton" in str(row["_after"] or ""):
            whole = name.partition("+")[0]
            if whole not in of_whole:
                of_whole[whole] = tuple(before)
                before.clear()
            found[name] = of_whole[whole]
        before.append(name)
    return found


def _number(job: str) -> int:
    digits = re.match(r"\d+", job, re.ASCII)
    return -1 if digits is None else int(digits[0])
