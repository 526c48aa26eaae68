"""A snapshot from the accounting records of Slurm, `sacct --parsable2 --format=...`: jobs that ended, run and wait."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import polars as pl

from gpusched_dsl.data.formats.fields import SelectedRows
from gpusched_dsl.data.formats.moments import of_one_job, seconds_of, times_of
from gpusched_dsl.data.formats.shape import Raw, dropped_text
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.drivers.slurm.hostlist import expand
from gsdsl_clusters.formats.slurm import drop_steps, gpus_of, sacct_rows, types_of, with_hours
from gsdsl_clusters.inspecting.array_tasks import split_arrays
from gsdsl_clusters.inspecting.inferring import infer_nodes
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, ClusterSnapshot, SnapshotState, complete
from gsdsl_clusters.inspecting.stated_nodes import StatedNodes
from gsdsl_clusters.inspecting.together import blocked_together

_MORE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"node_list": ("NodeList",), "reason": ("Reason",), "constraints": ("Constraints",), "wanted_nodes": ("ReqNodes",)}
)
_RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_FED")
_BLOCKED = ("REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_COMPONENT = r"^(\d+)\+\d+$"
# Reasons of pending jobs that no free GPU would start.
_BLOCKED_BY = (
    "Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "BeginTime", "JobArrayTaskLimit",
    "JobHoldMaxRequeue", "Reservation",
)  # fmt: skip


def read_sacct(raw: Raw, zone: str = "UTC", separator: str = "|", stated: StatedNodes | None = None) -> ClusterSnapshot:
    """Read jobs with GPUs; the nodes are those `stated`, else those on which they ran, with the most GPUs that were
    in use at once.

    Times without an offset are on the clock of `zone`. The time of the snapshot is the latest that the records show.
    Raises Unreadable: GSM2011 without columns that are needed, GSM2018 without a job that can be used, GSM2030 for an
    unknown zone.
    """
    rows = sacct_rows(raw, separator, _MORE)
    drop_steps(rows)
    _put_states(rows)
    _put_times(rows, zone)
    _put_resources(rows)
    if not rows.frame.height:
        notes = tuple(dropped_text(each) for each in (*rows.dropped.values(), *rows.filtered.values()))
        message = f"no job with GPUs among the {count_text(rows.total, 'row')} of `{raw.name}`"
        raise Unreadable(
            Fault("GSM2018", message, notes=notes, help="add `ReqTRES` and `AllocTRES` to the format of sacct")
        )
    now = _latest(rows)
    jobs = blocked_together(_with_het_jobs(split_arrays(_columns(rows))))
    types, jobs = jobs["types"], complete(jobs, JOB_COLUMNS)
    nodes, how = infer_nodes(jobs, types) if stated is None else (stated.for_jobs(jobs, types), "")
    unread = [dropped_text(each) for each in rows.dropped.values()]
    return ClusterSnapshot(f"sacct: {raw.name}", now, nodes, jobs, timezone=zone, inferred=how, unread=unread)


def _put_states(rows: SelectedRows) -> None:
    status = rows["status"] if "status" in rows else pl.Series("status", ["COMPLETED"] * rows.frame.height)
    reason = rows["reason"] if "reason" in rows else pl.Series("reason", [None] * rows.frame.height, dtype=pl.String)
    states = {
        **dict.fromkeys(_RUNNING, SnapshotState.RUNNING.value),
        **dict.fromkeys(_WAITING, SnapshotState.WAITING.value),
        **dict.fromkeys(_BLOCKED, SnapshotState.BLOCKED.value),
    }
    state = status.replace_strict(states, default=SnapshotState.ENDED.value, return_dtype=pl.String)
    blocked = (state == SnapshotState.WAITING.value) & reason.is_in(_BLOCKED_BY).fill_null(False)
    outcome = status.set(state != SnapshotState.ENDED.value, "")
    rows.put(state.set(blocked, SnapshotState.BLOCKED.value).alias("state"), outcome.alias("outcome"))


def _put_times(rows: SelectedRows, zone: str) -> None:
    """Times in seconds since 1970; a row with a cell that is no time is left out."""
    rows.leave_out("no submission time", rows["submitted"].is_null(), column="Submit")
    names = [name for name in ("submitted", "started", "ended", "eligible") if name in rows]
    found = {name: times_of(rows[name], zone, "ymd") for name in names}
    elapsed = seconds_of(with_hours(rows["elapsed"]))[0] if "elapsed" in rows else None
    moments = {name: times.micros for name, times in found.items()}
    moments |= of_one_job({name: times for name, times in found.items() if name != "eligible"}, elapsed)
    for name, times in found.items():
        values = pl.Series(name, moments[name] / 1e6).set(~pl.Series(times.has_value), None)
        wrong = pl.Series(f"_{name} wrong", times.wrong | times.skipped)
        rows.put(rows[name].alias(f"_{name} text"), values, wrong)
    for name in names:
        rows.leave_out(f"{name} is not a time", rows[f"_{name} wrong"], column=name, text=rows[f"_{name} text"])
    for name, target, scale in (("elapsed", "duration", 1.0), ("limit", "limit", 60.0)):
        if name in rows:
            text = with_hours(rows[name].set(rows[name].is_in(["UNLIMITED", "Partition_Limit"]), None))
            rows.put(pl.Series(target, seconds_of(text, scale)[0], nan_to_null=True))
    started = rows["started"] if "started" in rows else pl.Series("started", [None] * rows.frame.height, pl.Float64)
    waits = rows["state"].is_in([SnapshotState.WAITING.value, SnapshotState.BLOCKED.value])
    rows.put(started.set(waits, None).alias("started"))  # of a pending job it is a forecast
    if "ended" in rows and "duration" in rows:
        backwards = (
            (rows["state"] == SnapshotState.ENDED.value) & (rows["ended"] < rows["started"]) & (rows["duration"] > 0)
        )
        rows.leave_out("its end is before its start", backwards.fill_null(False))
    rows.leave_out("runs without a start", (rows["state"] == SnapshotState.RUNNING.value) & rows["started"].is_null())


def _put_resources(rows: SelectedRows) -> None:
    """GPUs by node, and their types: allocated ones for the jobs that have run, else requested ones."""
    height = rows.frame.height
    given = [rows[name] for name in ("allocated", "requested_tres") if name in rows]
    resources = pl.select(pl.coalesce(*given, pl.lit(""))).to_series() if given else pl.Series([""] * height)
    wanted = pl.select(pl.coalesce(*given[::-1], pl.lit(""))).to_series() if given else resources
    cells = [rows[name].cast(pl.Int64, strict=False) for name in ("nnodes", "wanted_nodes") if name in rows]
    nodes = pl.select(pl.coalesce(resources.str.extract(r"(?:^|,)node=(\d+)", 1).cast(pl.Int64), *cells, pl.lit(1)))
    gpus, count = gpus_of(resources), nodes.to_series().clip(1)
    equal = gpus % count == 0
    rows.put(
        pl.Series("on each", (gpus // count).set(~equal, None)).fill_null(gpus).alias("gpus"),
        count.set(~equal, 0).alias("nodes"),
        gpus.alias("_all"),
        types_of(wanted).fill_null("").alias("types wanted"),
        types_of(resources).fill_null("").alias("types"),
    )
    for name, pattern in (("cpus", r"(?:^|,)cpu=(\d+)"), ("memory", r"(?:^|,)mem=([\d.]+[KMGTP]?)")):
        text = resources.str.extract(pattern, 1)
        value = _gibibytes(text) if name == "memory" else text.cast(pl.Float64, strict=False)
        rows.put((value / count).alias(name))
    rows.leave_out("no GPUs", rows["_all"] < 1, asked=True)


def _gibibytes(text: pl.Series) -> pl.Series:
    scale = {"K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2, "": 1 / 1024}
    number = text.str.extract(r"^([\d.]+)", 1).cast(pl.Float64, strict=False)
    return number * text.str.extract(r"([KMGTP]?)$", 1).replace_strict(scale, default=None, return_dtype=pl.Float64)


def _latest(rows: SelectedRows) -> float:
    """The latest time of the records: a submission, a start, an end, or the time until which a job has run."""
    ends = rows["ended"] if "ended" in rows else pl.Series([None], dtype=pl.Float64)
    until = rows["started"] + rows["duration"] if "duration" in rows else rows["started"]
    ran = until.filter(rows["state"] == SnapshotState.RUNNING.value)
    known = [rows["submitted"], rows["started"], ends.filter(rows["state"] == SnapshotState.ENDED.value), ran]
    return float(max(found for each in known if (found := each.max()) is not None))  # type: ignore[arg-type]


def _columns(rows: SelectedRows) -> pl.DataFrame:
    """The rows in the columns of a snapshot."""
    table = rows.frame
    texts = {"user": "user", "team": "account", "qos": "qos", "name": "name", "reason": "reason"}
    made = [pl.col(old).cast(pl.String).alias(new) for new, old in texts.items() if old in table.columns]
    if "reason" not in table.columns:
        made.append(pl.lit("").alias("reason"))
    priority = [pl.col("priority")] if "priority" in table.columns else []
    ended = pl.col("state") == SnapshotState.ENDED.value
    partitions = pl.col("vc").fill_null("").str.split(",") if "vc" in table.columns else pl.lit([], pl.List(pl.String))
    constraints = _all_of(table["constraints"]) if "constraints" in table.columns else None
    return table.select(
        pl.col("job").cast(pl.String),
        *(pl.col(n) for n in ("state", "outcome", "gpus", "nodes", "cpus", "memory", "submitted", "started")),
        *(pl.col(n) for n in ("eligible", "duration", "limit") if n in table.columns),
        *((pl.when(ended).then(pl.col("ended")).alias("ended"),) if "ended" in table.columns else ()),
        *made,
        *priority,
        pl.col("types wanted").str.split("|").list.eval(pl.element().filter(pl.element() != "")).alias("gpu_types"),
        "types",
        partitions.alias("partitions"),
        *(() if constraints is None else (constraints.alias("features"),)),
        *_places(table),
    )


def _with_het_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    """The het job of each component, `7+1`. A job `7` beside it is its first component, which has lost its `+0`."""
    het = jobs["job"].str.extract(_COMPONENT, 1)
    lacks_number = het.is_null() & jobs["job"].is_in(het.drop_nulls().implode())
    first = pl.format("{}+0", "job").is_in(jobs["job"].implode()).not_()
    return jobs.with_columns(
        pl.when(pl.Series(lacks_number) & first).then(pl.format("{}+0", "job")).otherwise("job").alias("job")
    ).with_columns(pl.col("job").str.extract(_COMPONENT, 1).fill_null("").alias("het_job"))


def _all_of(constraints: pl.Series) -> pl.Series:
    """Features that a job needs together: `a&b`; other forms are no features that a node must have."""
    joined = constraints.fill_null("").set(constraints.fill_null("").str.contains(r"[|\[\]()*]"), "")
    return joined.str.split("&").list.eval(pl.element().filter(pl.element() != ""))


def _places(table: pl.DataFrame) -> list[pl.Series]:
    """Where jobs run or ran, with the GPUs on each node; empty without a list of nodes."""
    if "node_list" not in table.columns:
        return []
    texts = table["node_list"].fill_null("").set(table["node_list"].is_in(["None assigned", "(null)"]), "")
    distinct = texts.unique(maintain_order=True)
    names = pl.Series("on_nodes", [_nodes_of(text) for text in distinct.to_list()], dtype=pl.List(pl.String))
    known = pl.DataFrame([distinct.alias("text"), names])
    on_nodes = pl.DataFrame({"text": texts}).join(known, on="text", how="left", maintain_order="left")["on_nodes"]
    count = on_nodes.list.len().to_numpy().astype(np.int64)
    owner = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    at = np.arange(len(owner)) - first[owner]
    gpus = table["_all"].to_numpy()
    each = gpus[owner] // count[owner] + (at < gpus[owner] % count[owner])  # divided as equally as possible
    split = pl.DataFrame({"owner": owner, "gpus": each}).group_by("owner", maintain_order=True).agg("gpus")
    on_gpus = pl.DataFrame({"owner": np.arange(len(count))}).join(split, on="owner", how="left", maintain_order="left")[
        "gpus"
    ]
    return [on_nodes.alias("on_nodes"), on_gpus.fill_null([]).alias("on_gpus")]


def _nodes_of(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ValueError:
        return ()
