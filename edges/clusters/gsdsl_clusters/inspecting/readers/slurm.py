"""A snapshot of a Slurm cluster, from what its commands print: nodes, jobs, reservations, limits and the history."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import polars as pl

from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.data.sources.json_keys import decode_distinct
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.gres import read_gpus
from gsdsl_clusters.drivers.slurm.hostlist import expand
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, date
from gsdsl_clusters.inspecting.array_tasks import split_arrays
from gsdsl_clusters.inspecting.inferring import infer_nodes
from gsdsl_clusters.inspecting.queue_simulation import counted_by
from gsdsl_clusters.inspecting.readers.left_out import LeftOut
from gsdsl_clusters.inspecting.readers.sacct import read_sacct
from gsdsl_clusters.inspecting.readers.slurm_documents import (
    COMMANDS,
    VARIABLES,
    SlurmDocuments,
    live_documents,
    no_jobs_fault,
)
from gsdsl_clusters.inspecting.readers.slurm_jobs import SlurmRecords, dependencies_of
from gsdsl_clusters.inspecting.readers.slurm_shares import shares_of
from gsdsl_clusters.inspecting.readers.slurm_text import date_of, job_records, lines_of, node_records
from gsdsl_clusters.inspecting.snapshot import (
    JOB_COLUMNS,
    LIMIT_COLUMNS,
    NODE_COLUMNS,
    RESERVATION_COLUMNS,
    ClusterSnapshot,
    SnapshotState,
    complete,
    frame,
)
from gsdsl_clusters.inspecting.together import blocked_together

_WAIT = 120.0  # s for each command: a history of weeks takes longer than a list of jobs


def read_live_slurm(limits: FileLimits, zone: str = "UTC", commands: Commands | None = None) -> ClusterSnapshot:
    """Run the commands of Slurm. Raises Unreadable (GSM5603) without jobs."""
    documents = live_documents(commands or Commands(None, _WAIT, VARIABLES))
    found = read_slurm(documents, "slurm", limits, now=time.time())
    return replace(found, timezone=zone)


def read_slurm(
    documents: SlurmDocuments, source: str, limits: FileLimits, *, zone: str = "UTC", now: float | None = None
) -> ClusterSnapshot:
    """A snapshot from documents. Dates without an offset are in UTC if the saved clock says so, else in `zone`.

    `now` is by default the time at which the documents were saved, else the latest that they show. Raises Unreadable:
    GSM5603 without jobs and history, GSM20xx for a document that is too large.
    """
    saved = documents.text("date.txt")
    clock = re.fullmatch(r"(\d+) ([+-]\d{4})\s*", saved)
    text_zone = "UTC" if now is not None or (clock is not None and clock[2] == "+0000") else zone
    unread: list[str] = []
    if clock is not None and clock[2] != "+0000" and zone == "UTC":
        unread.append(f"dates were saved on a clock of {clock[2]} and are read in UTC: state `--timezone`")
    if now is None and clock is None and saved.strip():
        unread.append("`date.txt` is not the output of `date '+%s %z'`: the time is the latest that the jobs show")
    raw_jobs = _records(documents, ("jobs.json", "jobs.txt"), limits, lambda text: job_records(text, text_zone))
    raw_nodes = _records(documents, ("nodes.json", "sinfo.json", "nodes.txt"), limits, node_records)
    history, why = _history(documents, text_zone, limits)
    if raw_jobs is None and history is None:
        raise no_jobs_fault(documents, source)
    moment = now if now is not None else float(clock[1]) if clock is not None else _latest(raw_jobs or (), history)
    records = SlurmRecords(moment, _racks(documents))
    for node in raw_nodes or ():
        records.add_node(node)
    for job in raw_jobs or ():
        records.add_job(job)
    records.leave_out_parts()
    live = _job_table(records)
    if history is not None:
        old = history.jobs.filter(~pl.col("job").is_in(live["job"].implode()))
        past = old if raw_jobs is None else old.filter(pl.col("state") == SnapshotState.ENDED.value)
        live = pl.concat([past, live])
        unread += [f"history: {text}" for text in history.unread]
    else:
        unread.append(f"no history, so nothing is checked against the past: {why}")
    if raw_jobs is None:
        unread.append(f"the present jobs are those of the history: {documents.failures.get('jobs.json', 'no jobs')}")
    nodes, inferred = frame(records.node_rows(), NODE_COLUMNS), ""
    if not nodes.height:
        nodes, inferred = infer_nodes(live)
        unread.append(f"no nodes with GPUs: {documents.failures.get('nodes.txt', 'none is listed')}")
    left = records.unread
    reservations = _reservations(documents, text_zone, left)
    nodes = _open_after(nodes, reservations, records.maintained, moment)
    limit_rows = _of_jobs(_limits(documents, left), live)
    parts = list(lines_of(documents.text("partitions.txt"), "PartitionName"))
    if len({part.get("PriorityTier", "1") for part in parts}) > 1:
        unread.append("priority tiers of partitions: the queue is ordered by the priority of jobs alone")
    if _waits_in_reservation(live):
        unread.append("jobs that wait in a reservation are not simulated: they are shown as blocked")
    unread += _missing(documents)
    return ClusterSnapshot(
        f"Slurm: {source}" if source != "slurm" else "Slurm", moment, nodes, live, reservations, limit_rows,
        timezone=zone, inferred=inferred, unread=[*unread, *left.texts()], files=documents.hashes,
        shares=shares_of(_table(documents.text("assoc.txt"))),
        priorities={
            row["Name"]: float(row["Priority"]) for row in _table(documents.text("qos.txt"))
            if row.get("Name") and row.get("Priority", "").isdigit()
        },
    )  # fmt: skip


def _open_after(
    nodes: pl.DataFrame, reservations: pl.DataFrame, maintained: Collection[str], moment: float
) -> pl.DataFrame:
    """The nodes; those that are down only for a maintenance that is known are up: it closes them until its end."""
    present = reservations.filter((pl.col("start") <= moment) & (pl.col("end") > moment) & pl.col("maintenance"))
    known = pl.col("node").is_in(set(maintained) & set(present["nodes"].explode().to_list()))
    return nodes.with_columns(up=pl.col("up") | known)


def _records(
    documents: SlurmDocuments, files: Sequence[str], limits: FileLimits, of_text: Callable[[str], list[dict[str, Any]]]
) -> Sequence[Any] | None:
    """The records of the first document that can be read; None without any."""
    for name in files:
        if name not in documents.texts:
            continue
        if name.endswith(".txt"):
            return of_text(documents.text(name))
        limits.allow_json(documents.texts[name], name)
        try:
            document = decode_distinct(documents.texts[name])
        except (ValueError, RecursionError) as failure:
            documents.failures[name] = f"no JSON: {failure}"
            continue
        found = document.get("jobs" if name.startswith("jobs") else "nodes") if isinstance(document, dict) else None
        if isinstance(found, list):
            return found
        errors = document.get("errors") if isinstance(document, dict) else None
        documents.failures[name] = f"Slurm reports {str(errors)[:120]}" if errors else "another JSON"
    return None


def _history(documents: SlurmDocuments, zone: str, limits: FileLimits) -> tuple[ClusterSnapshot | None, str]:
    """The jobs of sacct, or why there are none."""
    if "sacct.txt" not in documents.texts:
        return None, documents.failures.get("sacct.txt", "sacct printed nothing")
    try:
        return read_sacct(Raw("sacct", documents.texts["sacct.txt"], limits=limits), zone), ""
    except Unreadable as failure:
        return None, str(failure)


def _latest(jobs: Sequence[Any], history: ClusterSnapshot | None) -> float:
    """The latest submission that the jobs show, or time of the history."""
    found = [0.0 if history is None else history.now]
    for job in jobs:
        with suppress(UnknownJson, AttributeError):  # the record is left out later
            found.append(date(job, "submit_time") or 0.0)
    return max(found)


def _job_table(records: SlurmRecords) -> pl.DataFrame:
    """The jobs, with arrays as tasks and the jobs after which they come."""
    if not records.jobs:
        return frame([], JOB_COLUMNS)
    table = pl.DataFrame(
        records.jobs, schema={**dict(JOB_COLUMNS), "_after": pl.String}, orient="row", infer_schema_length=None
    )
    table = split_arrays(table.with_columns(pl.col("reason").fill_null("")))
    rows = table.select("job", "state", "user", "name", "submitted", "limit", "het_job", "_after").to_dicts()
    after = dependencies_of(rows, records.raw_ids, records.unread, records.unseen)
    table = table.with_columns(pl.Series("after", after, dtype=pl.List(pl.String)))
    return complete(blocked_together(table), JOB_COLUMNS)


def _waits_in_reservation(jobs: pl.DataFrame) -> bool:
    waits = (pl.col("state") == SnapshotState.BLOCKED.value) & (pl.col("reason") == "Reservation")
    return jobs.filter(waits).height > 0


def _racks(documents: SlurmDocuments) -> dict[str, str]:
    """The leaf switch of each node."""
    found: dict[str, str] = {}
    for values in lines_of(documents.text("topology.txt"), "SwitchName"):
        if values.get("Level", "0") != "0" or values.get("Switches"):
            continue
        try:
            found |= dict.fromkeys(expand(values.get("Nodes", "")), values["SwitchName"])
        except ValueError:
            continue
    return found


def _reservations(documents: SlurmDocuments, zone: str, left: LeftOut) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for values in lines_of(documents.text("reservations.txt"), "ReservationName"):
        name = values["ReservationName"]
        try:
            nodes = list(expand(values.get("Nodes", "")))
            start, end = date_of(values.get("StartTime", ""), zone), date_of(values.get("EndTime", ""), zone)
        except ValueError as failure:
            left.add("reservation", name, str(failure))
            continue
        if not nodes or start is None or end is None:
            left.add("reservation", name, "it has no nodes, or no times")
            continue
        flags = values.get("Flags", "").split(",")
        if {"DAILY", "WEEKLY", "HOURLY", "WEEKDAY", "WEEKEND"} & set(flags):
            left.add("reservation", name, "it repeats, and only the next time is known")
        rows.append({
            "reservation": name, "nodes": nodes, "start": start, "end": end, "users": _names(values.get("Users", "")),
            "teams": _names(values.get("Accounts", "")), "maintenance": "MAINT" in flags,
        })  # fmt: skip
    return frame(rows, RESERVATION_COLUMNS)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _limits(documents: SlurmDocuments, left: LeftOut) -> pl.DataFrame:
    """GPU limits of QOS, of each user and account within a QOS, of partitions by their QOS, and of associations."""
    rows: list[dict[str, Any]] = []
    of_partitions: dict[str, list[str]] = {}
    for part in lines_of(documents.text("partitions.txt"), "PartitionName"):
        if part.get("QoS"):
            of_partitions.setdefault(part["QoS"], []).append(part["PartitionName"])
    for row in _table(documents.text("qos.txt")):
        name = row.get("Name", "")
        for key, scope in (("GrpTRES", "qos"), ("MaxTRESPU", "user"), ("MaxTRESPA", "team")):
            for kind, most in _gpu_limits(row.get(key, ""), f"QOS {name}", left):
                limit = {"scope": scope, "owner": name if scope == "qos" else "", "gpu_type": kind, "gpus": most}
                rows.append(limit if scope == "qos" else {**limit, "qos": name})
                for partition in of_partitions.get(name, ()):
                    if scope == "qos":
                        rows.append({**limit, "scope": "partition", "owner": partition})
                    else:
                        rows.append({**limit, "partition": partition})
    associations = _table(documents.text("assoc.txt"))
    parents = {row.get("ParentName", "") for row in associations if not row.get("User")}
    for row in associations:
        account, user = row.get("Account", ""), row.get("User", "")
        for kind, most in _gpu_limits(row.get("GrpTRES", ""), f"account {account}", left):
            limit = {"gpu_type": kind, "gpus": most, "partition": row.get("Partition", "")}
            if user:
                rows.append({**limit, "scope": "user", "owner": user, "team": account})
            elif account in parents:
                left.add("limit", f"account {account}", "limits of accounts with accounts below them are not simulated")
            else:
                rows.append({**limit, "scope": "team", "owner": account})
    return frame(rows, LIMIT_COLUMNS).unique(maintain_order=True)


def _of_jobs(limits: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """The limits that count at least one job: a site has limits of many accounts that do not use GPUs."""
    kept = [
        any(jobs.select(counted.fill_null(False).any()).item() for _, counted in counted_by(limit, jobs))
        for limit in limits.iter_rows(named=True)
    ]
    return limits.filter(pl.Series(kept, dtype=pl.Boolean))


def _table(text: str) -> list[dict[str, str]]:
    """The rows of `sacctmgr --parsable2`, by the names in its first line."""
    lines = [line.split("|") for line in text.splitlines() if line.strip()]
    return [dict(zip(lines[0], cells, strict=False)) for cells in lines[1:]]


def _gpu_limits(text: str, whose: str, left: LeftOut) -> list[tuple[str, int]]:
    """The limits of GPUs in `cpu=64,gres/gpu=8,gres/gpu:a100=4`: type ("" for all) and number."""
    found = []
    for item in text.split(","):
        if not item.startswith("gres/gpu"):
            continue
        try:
            one = read_gpus(item)
        except ValueError as failure:
            left.add("limit", whose, str(failure))
            continue
        if one.slices:
            left.add("limit", whose, "limits of slices of GPUs are not simulated")
        else:
            found.append((one.kind, one.count))
    return found


def _missing(documents: SlurmDocuments) -> list[str]:
    """What else was not there, in one sentence for all with the same reason."""
    what = {"partitions.txt": "partitions", "reservations.txt": "reservations", "qos.txt": "limits of QOS",
            "assoc.txt": "limits of accounts"}  # fmt: skip
    by_reason: dict[str, list[str]] = {}
    for name, words in what.items():
        if name in documents.failures:
            program = COMMANDS[name].split()[0]
            why = documents.failures[name].removeprefix(f"`{COMMANDS[name]}` ")
            by_reason.setdefault(f"{program} {why}" if why != documents.failures[name] else why, []).append(words)
    return [f"{', '.join(words)}: {why}" for why, words in by_reason.items()]
