"""A folder with a model of a cluster from a snapshot: scenarios, data, the cluster file and the next commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl

from gpusched_dsl.data.sources.writing import make_folder, write_text
from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.inspecting.cluster_file import cluster_file, driver_of
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.written_jobs import ANY_TYPE, NO_DEMAND, OTHER_TEAM, STAYS, WrittenJobs, written_jobs
from gsdsl_clusters.inspecting.written_rules import (
    WrittenLimits,
    WrittenWindow,
    guest_lines,
    label_set,
    quoted,
    window_lines,
    windows_of,
    written_limits,
)

NO_RACK, NO_TYPE = "no_rack", "gpu"
FILES = ("cluster.gsm", "now.gsm", "nodes.csv", "jobs.csv", "held.csv", "barred.csv", "cluster.toml", "README.md")


@dataclass(frozen=True)
class ModelFolder:
    """The texts of the files by name, and in words what of the snapshot they do not have."""

    files: Mapping[str, str]
    left_out: Sequence[str]

    def write(self, folder: Path) -> None:
        """Write all files. Raises DiagnosticError: GSM5610 if one exists, GSM6008 if one cannot be written."""
        check_free(folder, self.files)
        make_folder(folder)
        for name, text in self.files.items():
            write_text(folder / name, text)


def check_free(folder: Path, files: Iterable[str]) -> None:
    """Raise DiagnosticError (GSM5610) if a file would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise DiagnosticError([Diagnostic("GSM5610", f"`{folder}` is not a folder", help="choose another name")])
    if taken := [name for name in files if (folder / name).exists()]:
        message = f"`{folder}` has {', '.join(f'`{name}`' for name in taken)} already"
        help = "choose another folder: files that you may have changed are not overwritten"
        raise DiagnosticError([Diagnostic("GSM5610", message, help=help)])


def model_folder(snapshot: ClusterSnapshot, driver: str | None = None) -> ModelFolder:
    """The files of a cluster. `driver` names that of the cluster file, by default by the kind of the source.

    Raises DiagnosticError (GSM5611) without a node with GPUs.
    """
    snapshot = _plain(snapshot)
    nodes = snapshot.nodes.filter(pl.col("gpus") > 0)
    if not nodes.height:
        message = f"`{snapshot.source}` has no node with GPUs"
        raise DiagnosticError([Diagnostic("GSM5611", message, help="state the nodes: `--nodes 20x8:a100`")])
    down = nodes.filter(~pl.col("up") | _is_maintained(snapshot))["node"].to_list()
    jobs = written_jobs(snapshot, nodes, down)
    in_use = jobs.held.group_by("node").agg(pl.col("gpus").sum().alias("in_use"))
    nodes = nodes.join(in_use, on="node", how="left", maintain_order="left").with_columns(pl.col("in_use").fill_null(0))
    few = nodes.filter(pl.col("in_use") > pl.col("gpus"))
    nodes = nodes.with_columns(pl.max_horizontal("gpus", "in_use").alias("gpus"))
    teams = sorted({*snapshot.jobs["team"].to_list()} - {"", OTHER_TEAM})
    types = sorted({*nodes["gpu_type"].to_list()})
    limits = written_limits(snapshot.limits, teams, types)
    windows = windows_of(snapshot, nodes)
    left_out = [*jobs.left_out, *limits.left_out]
    if few.height:
        left_out.append(f"more GPUs were in use than known on {names_text(few['node'].to_list())}: written as in use")
    driver = driver or driver_of(snapshot)
    files = {
        "cluster.gsm": _cluster(snapshot, types, teams, jobs, limits, windows),
        "now.gsm": _now(snapshot, nodes, jobs, windows),
        "nodes.csv": _csv(nodes.select("node", "rack", "gpu_type", "gpus")),
        "jobs.csv": _csv(jobs.jobs),
    }
    if jobs.held.height:
        files["held.csv"] = _csv(jobs.held.select("job", "node", "workers"))
    if jobs.barred.height:
        files["barred.csv"] = _csv(jobs.barred.with_columns(pl.lit(1).alias("barred")))
    if driver is not None:
        partitions = sorted({each for row in nodes["partitions"].to_list() for each in row})
        demands = sorted({*jobs.barred["demand"].to_list()} & {*partitions})
        files["cluster.toml"] = cluster_file(
            driver, types, teams, partitions, demands, jobs.hours, snapshot.driver_settings, snapshot.priorities
        )
    files["README.md"] = _readme(snapshot, driver, jobs, left_out)
    return ModelFolder(files, left_out)


def _plain(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot with a type and a rack for each node, and with labels that the language can quote."""
    nodes = snapshot.nodes.with_columns(
        pl.when(pl.col(name) == "").then(pl.lit(other)).otherwise(name).alias(name)
        for name, other in (("gpu_type", NO_TYPE), ("rack", NO_RACK))
    )
    return replace(
        snapshot,
        nodes=nodes.with_columns(_quotable(pl.col(name)).alias(name) for name in ("node", "gpu_type", "rack")),
        jobs=snapshot.jobs.with_columns(_quotable(pl.col(name)).alias(name) for name in ("job", "team", "user")),
    )


def _quotable(column: pl.Expr) -> pl.Expr:
    """The language has no escapes in texts."""
    return column.str.replace_all('"', "'", literal=True).str.replace_all(r"\s", " ")


def _csv(table: pl.DataFrame) -> str:
    return table.write_csv()


def _date(snapshot: ClusterSnapshot, moment: float) -> list[str]:
    if not snapshot.dated:
        return []
    date = datetime.fromtimestamp(int(moment), ZoneInfo(snapshot.timezone)).isoformat(timespec="seconds")
    return [f"  calendar from {quoted(date)} in {quoted(snapshot.timezone)};", ""]


def _cluster(
    snapshot: ClusterSnapshot,
    types: Sequence[str],
    teams: Sequence[str],
    jobs: WrittenJobs,
    limits: WrittenLimits,
    windows: Sequence[WrittenWindow],
) -> str:
    shares = snapshot.shares
    maintenance = sum(window.maintenance for window in windows)
    rules = (
        ("one_rack = yes;", "all workers of a gang in one rack"),
        ("node_per_user = yes;", "a node serves one user at a time"),
        ("team_share = always;", "`part` of each type for a team; office_hours: on weekdays only"),
        ("team_limits = yes;", "limits of teams: team_gpus, team_type_gpus"),
        ("user_limits = yes;", "user_gpus"),
        ("rack_power = yes;", "power_limit, gpu_power"),
        ("emission_limit = constant;", "emission_rate, carbon"),
        ("maintenance = yes;", f"{count_text(maintenance, 'window')} read"),
        ("reservations = yes;", f"{count_text(len(windows) - maintenance, 'reservation')} read"),
        ("moving = yes;", "plans may halt and move running jobs"),
    )
    lines = [
        "# The cluster as it was read. Each rule of the house is a comment: remove `#` to switch it on.",
        'import "gsdsl:cluster/online.gsm";',
        "",
        f"scenario Cluster for Cluster {quoted('read from ' + snapshot.source.replace(chr(34), chr(39)))} {{",
        *_date(snapshot, snapshot.now),
        *(f"  # {rule:<28}# {meaning}" for rule, meaning in rules),
        "",
        f"  Types = {label_set(types)};",
        f"  Requests = {label_set([ANY_TYPE, *types])};",
        "  gpu_power[t in Types] = 0.4[kW];",
        f"  Teams = {label_set([*teams, OTHER_TEAM])};",
        "  share[t in Teams] = 1;",
        *(f"  share[{quoted(t)}] = {shares[t]:.6g};" for t in teams if shares.get(t, 1.0) not in (0.0, 1.0)),
        "  part[t in Teams, k in Types] = 1;  # such as 0.4, for team_share",
        "  power_limit[r in Racks] = 25[kW];",
        "  emission_rate = 32[kg/h];",
        "  carbon = 0.4[kg/kWh];",
        *limits.lines,
        '  data "nodes.csv" {',
        "    Nodes = node;",
        "    Racks = distinct(rack);",
        "    rack[node] = rack;",
        "    node_type[node] = gpu_type;",
        "    gpus[node] = gpus;",
        "  }",
        f"  Demands = {label_set(_demands(jobs))};",
        *(['  data "barred.csv" { barred[demand, node] = barred; }'] if jobs.barred.height else []),
        *window_lines(windows, teams),
        "  Jobs = {};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _is_maintained(snapshot: ClusterSnapshot) -> pl.Expr:
    """Whether a node is in maintenance now: its rule may be off."""
    present = snapshot.reservations.filter(
        (pl.col("start") <= snapshot.now) & (pl.col("end") > snapshot.now) & pl.col("maintenance")
    )
    return pl.col("node").is_in(present["nodes"].explode().drop_nulls().to_list())


def _closed_lines(jobs: WrittenJobs) -> list[str]:
    """Statements that start no jobs on the nodes that are down, also when the jobs that run there have ended."""
    if not jobs.closed:
        return []
    return [
        f"  Demands = {label_set([*_demands(jobs), STAYS])};",
        f"  barred[d in Demands, n in {label_set(jobs.closed)} where d != {quoted(STAYS)}] = 1;",
    ]


def _demands(jobs: WrittenJobs) -> list[str]:
    return [NO_DEMAND, *jobs.barred["demand"].unique(maintain_order=True)]


def _now(snapshot: ClusterSnapshot, nodes: pl.DataFrame, jobs: WrittenJobs, windows: Sequence[WrittenWindow]) -> str:
    name, what = ("Past", "jobs that have ended") if jobs.is_past else ("Now", "the jobs that run and wait")
    maintained = _is_maintained(snapshot)
    reason = pl.when(maintained & pl.col("up")).then(pl.lit("maintenance")).otherwise("reason").alias("reason")
    down = nodes.filter(~pl.col("up") | maintained).select("node", "in_use", reason).rows()
    lines = [
        f"# {what[0].upper()}{what[1:]}, with their limits of time as lengths." if not jobs.is_past
        else "# Jobs that have ended, with their lengths.",
        'import "cluster.gsm";',
        "",
        f"scenario {name} extends Cluster {quoted(what)} {{",
        *(_date(snapshot, jobs.start) if jobs.is_past else []),
        *(f"  gpus[{quoted(node)}] = {used};  # it starts no jobs{': ' * bool(why)}{' '.join(why.split())}"
          for node, used, why in ([] if jobs.is_past else down)),
        *_closed_lines(jobs),
        '  data "jobs.csv" {',
        "    Jobs = job;",
        "    submitted[job] = submitted[h];",
        "    team[job] = team;",
        "    user[job] = user;",
        "    qos[job] = qos;",
        "    partition[job] = partition;",
        "    needs[job] = needs;",
        "    workers[job] = workers;",
        "    per_node[job] = per_node;",
        "    gpu_type[job] = type;",
        "    demand[job] = demand;",
        "    exec_time[job] = hours[h];",
        "  }",
        *(['  data "held.csv" { held[job, node] = workers; }'] if jobs.held.height else []),
        *([] if jobs.is_past else guest_lines(windows, jobs.jobs)),
        "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _readme(snapshot: ClusterSnapshot, driver: str | None, jobs: WrittenJobs, left_out: Sequence[str]) -> str:
    choice = f"now.gsm --scenario {'Past' if jobs.is_past else 'Now'}"
    steps = [
        ("check now.gsm", count_text(jobs.jobs.height, "job")),
        (f"solve {choice} --method EASY", "which jobs start now, and where"),
        (f"run {choice} --methods EASY,FIFO,SlurmFairShare", "what queues would do with them"),
    ]
    if driver is not None:
        steps += [
            ("drive cluster.toml --check", "one look at the live cluster"),
            ("drive cluster.toml", "plan for it, without changing it"),
        ]
    lines = [f"# A model of {snapshot.source}", "", *(f"    gsdsl {step:<66} # {why}" for step, why in steps)]
    lines += ["", "Rules of the house are comments in `cluster.gsm`: switch one on, and run the commands again."]
    lines += [f"Jobs without a limit of time take {jobs.hours:.3g} h. Left out: {'; '.join(left_out) or 'nothing'}."]
    return "\n".join(lines) + "\n"
