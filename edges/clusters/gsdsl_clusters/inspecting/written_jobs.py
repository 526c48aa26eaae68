"""The jobs of a snapshot as data of models/cluster: those that run and wait, else those that have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.together import whole_jobs

ANY_TYPE, NO_DEMAND, OTHER_TEAM = "any_type", "no_demand", "others"
STAYS = "stays_there"  # the demand of a job that runs on a node that starts no jobs
JOB_COLUMNS = (
    "job", "submitted", "team", "user", "qos", "partition", "needs", "workers", "per_node", "type", "demand", "hours"
)  # fmt: skip
MOST_PAST = 1000  # jobs that have ended, of a source in which none runs or waits
NONE = "none"  # the QOS of a job without one, and the partition of a job that may be in several
_LEAST_HOURS = 1 / 60  # of a running job that is at its limit
_DEFAULT_HOURS = 24.0
_PARTITION = (
    pl.when(pl.col("partitions").list.len() == 1)
    .then(pl.col("partitions").list.first())
    .otherwise(pl.lit(""))
    .alias("partition")
)
_DEMAND = ("partitions", "features", "allowed_nodes", "excluded_nodes", "several")


@dataclass(frozen=True, eq=False)
class WrittenJobs:
    """`jobs` has JOB_COLUMNS, `held` the workers of running jobs by node, `barred` the nodes that a demand excludes.

    `closed` are the nodes that start no jobs and have running ones. `start` is time 0 in seconds since 1970, `hours`
    how long a job takes that states no limit. `is_past` says that the jobs have ended. `left_out` says in words what is
    missing.
    """

    jobs: pl.DataFrame
    held: pl.DataFrame
    barred: pl.DataFrame
    closed: Sequence[str]
    start: float
    hours: float
    is_past: bool
    left_out: Sequence[str]


def written_jobs(snapshot: ClusterSnapshot, nodes: pl.DataFrame, down: Sequence[str] = ()) -> WrittenJobs:
    """The jobs on these nodes, in the order in which they were submitted. Nodes that are `down` start none."""
    notes: list[str] = []
    shares = snapshot.source.startswith("Kubernetes")  # pods of a job may be on one node
    hours = usual_hours(snapshot)
    waiting = snapshot.jobs_in(SnapshotState.WAITING)
    running = snapshot.jobs_in(SnapshotState.RUNNING)
    blocked = whole_jobs(snapshot.jobs_in(SnapshotState.BLOCKED))
    if blocked.height:
        notes.append(f"{_counted(blocked)} that must not start yet")
    if limited := waiting.filter(pl.col("array_limit").is_not_null()).height:
        notes.append(f"limits of arrays with {count_text(limited, 'waiting task')}")
    present = pl.concat([waiting["job"], running["job"], snapshot.jobs_in(SnapshotState.BLOCKED)["job"]]).to_list()
    free = ~pl.col("after").list.eval(pl.element().is_in(present)).list.any()
    waiting = _kept(waiting, free, "{} waiting for the end of others", notes)
    ended = snapshot.jobs_in(SnapshotState.ENDED).filter(pl.col("duration") > 0, pl.col("submitted").is_not_null())
    is_past = not waiting.height and not running.height and ended.height > 0
    if is_past:
        waiting = ended.sort("submitted").tail(MOST_PAST)
        if waiting.height < ended.height:
            notes.append(f"{count_text(ended.height - waiting.height, 'job')} that ended before the last {MOST_PAST}")
    start = float(waiting["submitted"].min()) if is_past else snapshot.now  # type: ignore[arg-type]
    waiting = _in_pods(_without_het_jobs(waiting, is_past, notes), snapshot.pods)
    queued, barred = _queued(waiting, nodes, hours, snapshot.now, is_past, shares, notes)
    begun, held = _running(running, nodes, hours, notes)
    on_closed = held.filter(pl.col("node").is_in(list(down)))
    stays = pl.col("job").is_in(on_closed["job"].to_list())
    begun = begun.with_columns(pl.when(stays).then(pl.lit(STAYS)).otherwise("demand").alias("demand"))
    barred = pl.concat([barred, _of_partitions(nodes, barred["demand"].unique().to_list())])
    jobs = pl.concat([begun, queued]).sort("_moment", maintain_order=True, nulls_last=True)
    since = ((pl.col("_moment").fill_null(start) - start) / 3600.0).round(6)
    jobs = jobs.with_columns(
        since.alias("submitted"),
        pl.col("hours").round(6).clip(1e-6),
        (pl.col("workers").clip(1) if shares else pl.lit(1, pl.Int64)).alias("per_node"),
        *(pl.when(pl.col(n) == "").then(pl.lit(other)).otherwise(n).alias(n)
          for n, other in (("team", OTHER_TEAM), ("user", "unknown"), ("qos", NONE), ("partition", NONE))),
    )  # fmt: skip
    closed = on_closed["node"].unique(maintain_order=True).to_list()
    return WrittenJobs(jobs.select(JOB_COLUMNS), held, barred, closed, start, hours, is_past, notes)


def _without_het_jobs(jobs: pl.DataFrame, is_past: bool, notes: list[str]) -> pl.DataFrame:
    """The jobs without those whose components start together: one that ended with GPUs in one component is a job."""
    leaves = pl.col("het_job") != ""
    if is_past:
        leaves &= pl.len().over("het_job") > 1
    left_out = whole_jobs(jobs.filter(leaves))
    if left_out.height:
        notes.append(f"{_counted(left_out, 'het job')}, whose components start together")
    return jobs.filter(~leaves)


def _counted(jobs: pl.DataFrame, noun: str = "job") -> str:
    """`2 jobs (7, 9)`."""
    return f"{count_text(jobs.height, noun)} ({names_text(jobs['job'].to_list())})"


def _in_pods(jobs: pl.DataFrame, pods: Mapping[str, int]) -> pl.DataFrame:
    """The jobs, with their equal pods as workers: a pod has all of its GPUs on one node."""
    number = pl.col("job").replace_strict(dict(pods), default=0, return_dtype=pl.Int32)
    divided = (pl.col("nodes") == 0) & (number > 0)
    return jobs.with_columns(
        pl.when(divided).then(pl.col("gpus") // number).otherwise("gpus").alias("gpus"),
        pl.when(divided).then(number).otherwise("nodes").alias("nodes"),
    )


def usual_hours(snapshot: ClusterSnapshot) -> float:
    """The length that nine of ten jobs did not exceed; 24 h without a history."""
    found = snapshot.jobs_in(SnapshotState.ENDED).filter(pl.col("duration") > 0)["duration"].quantile(0.9)
    return _DEFAULT_HOURS if found is None else max(found / 3600.0, _LEAST_HOURS)


def _queued(
    jobs: pl.DataFrame, nodes: pl.DataFrame, hours: float, now: float, is_past: bool, shares: bool, notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Jobs that wait, and the nodes that their demands exclude. If it `shares`, pods of a job may be on one node."""
    types = nodes["gpu_type"].unique().to_list()
    # a type of a past job may be that of GPUs whose nodes were not named
    known = pl.col("gpu_types").list.eval(pl.element().is_in(types)).list.all()
    jobs = _kept(jobs, pl.col("gpus") > 0, "{} without GPUs", notes)
    jobs = _kept(jobs, known.fill_null(True), "{} of a type of GPU that no node has", notes)
    several = pl.when(pl.col("gpu_types").list.len() > 1).then("gpu_types").otherwise(pl.lit([], pl.List(pl.String)))
    jobs = jobs.with_columns(several.alias("several"))
    keys = [pl.col(name).list.join("\x1f").alias(f"_{name}") for name in _DEMAND]
    jobs = jobs.with_columns(keys)
    names = [f"_{name}" for name in _DEMAND]
    distinct = jobs.unique(names, keep="first", maintain_order=True)
    excluded = [_excluded(row, nodes) for row in distinct.select(_DEMAND).iter_rows(named=True)]
    labels = _labels(distinct, excluded)
    met = pl.Series("met", [len(found) < nodes.height for found in excluded], dtype=pl.Boolean)
    table = distinct.select(names).with_columns(pl.Series("demand", labels, dtype=pl.String), met)
    jobs = jobs.join(table, on=names, how="left", maintain_order="left")
    jobs = _kept(jobs, pl.col("met"), "{} whose demands no node meets", notes)
    nodes_of = pl.Series("node", excluded, dtype=pl.List(pl.String))
    jobs = _with_room(jobs, nodes, dict(zip(labels, excluded, strict=True)), shares, notes)
    barred = pl.DataFrame([pl.Series("demand", labels, dtype=pl.String), nodes_of, met])
    barred = barred.filter("met", pl.col("demand") != NO_DEMAND).select("demand", "node")
    barred = barred.explode("node", keep_nulls=False, empty_as_null=False)
    later = pl.when(pl.col("eligible") > now).then("eligible")  # it must not start before
    longest = pl.col("duration") if is_past else pl.col("limit").fill_null(hours * 3600.0)
    return jobs.select(
        "job", "team", "user", "qos", _PARTITION,
        (pl.col("gpus") * pl.col("nodes").clip(1)).cast(pl.Int64).alias("needs"),
        pl.col("nodes").cast(pl.Int64).alias("workers"),
        pl.when(pl.col("gpu_types").list.len() == 1).then(pl.col("gpu_types").list.first()).otherwise(pl.lit(ANY_TYPE))
        .alias("type"),
        "demand",
        (longest / 3600.0).alias("hours"),
        (pl.col("submitted") if is_past else pl.max_horizontal("submitted", later)).alias("_moment"),
    ), barred  # fmt: skip


def _with_room(
    jobs: pl.DataFrame, nodes: pl.DataFrame, excluded: Mapping[str, Sequence[str]], shares: bool, notes: list[str]
) -> pl.DataFrame:
    """The jobs for which all nodes that suit are large enough if they are up and free: the others would never start."""
    kind = pl.when(pl.col("gpu_types").list.len() == 1).then(pl.col("gpu_types").list.first()).otherwise(pl.lit(""))
    keys = ["demand", "_kind", "gpus", "nodes"]
    jobs = jobs.with_columns(kind.alias("_kind"))
    sizes = jobs.select(keys).unique(maintain_order=True)
    room = []
    for demand, wanted, each, workers in sizes.iter_rows():
        suits = nodes.filter(
            ~pl.col("node").is_in(list(excluded[demand])), pl.lit(wanted == "") | (pl.col("gpu_type") == wanted)
        )
        most = suits["gpus"] if workers == 0 else (suits["gpus"] // each).clip(0, workers if shares else 1)
        room.append(bool(most.sum() >= (workers or each)))
    jobs = jobs.join(sizes.with_columns(pl.Series("_room", room, dtype=pl.Boolean)), on=keys, maintain_order="left")
    return _kept(jobs, pl.col("_room"), "{} larger than all nodes that suit", notes)


def _of_partitions(nodes: pl.DataFrame, known: Sequence[str]) -> pl.DataFrame:
    """The nodes that each other partition excludes: jobs that come later may be in any."""
    others = nodes["partitions"].explode(empty_as_null=False, keep_nulls=False).unique().sort()
    rows = [
        (name, node)
        for name in others.filter(~others.is_in(known)).to_list()
        for node in _excluded({key: [name] if key == "partitions" else [] for key in _DEMAND}, nodes)
    ]
    return pl.DataFrame(rows, schema={"demand": pl.String(), "node": pl.String()}, orient="row")


def _kept(jobs: pl.DataFrame, keep: pl.Expr, why: str, notes: list[str]) -> pl.DataFrame:
    kept = jobs.select(keep.fill_null(False)).to_series()
    if not kept.all():
        notes.append(why.format(_counted(jobs.filter(~kept))))
    return jobs.filter(kept)


def _excluded(demand: dict[str, list[str]], nodes: pl.DataFrame) -> list[str]:
    """The nodes that one demand excludes."""
    bad = pl.lit(False)
    if demand["partitions"]:
        named = pl.col("partitions").list.len() > 0
        bad |= named & (pl.col("partitions").list.set_intersection(demand["partitions"]).list.len() == 0)
    if demand["features"]:
        wanted = list(dict.fromkeys(demand["features"]))
        bad |= pl.col("features").list.set_intersection(wanted).list.len() < len(wanted)
    if demand["allowed_nodes"]:
        bad |= ~pl.col("node").is_in(demand["allowed_nodes"])
    if demand["several"]:
        bad |= ~pl.col("gpu_type").is_in(demand["several"])
    bad |= pl.col("node").is_in(demand["excluded_nodes"])
    return nodes.filter(bad)["node"].to_list()


def _labels(distinct: pl.DataFrame, excluded: Sequence[Sequence[str]]) -> list[str]:
    """A name for each demand: that of the partition where it is all of it."""
    found = []
    for number, (row, nodes) in enumerate(zip(distinct.select(_DEMAND).iter_rows(named=True), excluded, strict=True)):
        only = len(row["partitions"]) == 1 and not any(row[name] for name in _DEMAND[1:])
        found.append(NO_DEMAND if not nodes else row["partitions"][0] if only else f"demand_{number + 1}")
    return found


def _running(
    jobs: pl.DataFrame, nodes: pl.DataFrame, hours: float, notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Jobs that run, and their workers by node: one on each if all have equally many GPUs, else one for each GPU."""
    names = nodes["node"].to_list()
    gpus = pl.col("on_gpus").list
    placed = (gpus.len() > 0) & (gpus.min() > 0) & pl.col("on_nodes").list.eval(pl.element().is_in(names)).list.all()
    jobs = _kept(jobs, placed, "{} running on nodes that are not known", notes)
    equal = gpus.min() == gpus.max()
    left = pl.col("limit").fill_null(hours * 3600.0) - pl.col("duration").fill_null(0.0)
    table = jobs.select(
        "job", "team", "user", "qos", _PARTITION,
        gpus.sum().cast(pl.Int64).alias("needs"),
        pl.when(equal).then(gpus.len()).otherwise(0).cast(pl.Int64).alias("workers"),
        pl.lit(ANY_TYPE).alias("type"),
        pl.lit(NO_DEMAND).alias("demand"),
        (left / 3600.0).clip(_LEAST_HOURS).alias("hours"),
        pl.col("submitted").alias("_moment"),
    )  # fmt: skip
    rows = jobs.select("job", pl.col("on_nodes").alias("node"), pl.col("on_gpus").alias("gpus"), equal.alias("equal"))
    rows = rows.explode("node", "gpus", keep_nulls=False, empty_as_null=False)
    workers = pl.when("equal").then(1).otherwise("gpus").alias("workers")
    return table, rows.select("job", "node", workers, "gpus")
