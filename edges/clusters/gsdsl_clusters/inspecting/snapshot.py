"""A cluster and its jobs as two tables, the same whether they come from Slurm, Kubernetes or a trace.

Everything else reads only this: a new source is one reader, and a check against the past is the same code on an
earlier snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import polars as pl

Columns: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]


class SnapshotState(StrEnum):
    """The state of a job at the time of the snapshot. A `blocked` job must not start yet: it is held, waits for another
    job, for a time or for a reservation. `ended` includes failed and cancelled jobs; `outcome` tells them apart.
    """

    WAITING = "waiting"
    BLOCKED = "blocked"
    RUNNING = "running"
    ENDED = "ended"


# One row for each node. Lists are empty where the source states nothing.
NODE_COLUMNS: Columns = {
    "node": pl.String,
    "gpu_type": pl.String,  # "" if it is unknown
    "gpus": pl.Int32,
    "up": pl.Boolean,  # starts jobs
    "reason": pl.String,  # why it is not up
    "partitions": pl.List(pl.String),
    "features": pl.List(pl.String),
    "rack": pl.String,  # or switch; "" if it is unknown
    "cpus": pl.Float64,  # null if unknown, as memory
    "memory": pl.Float64,  # GiB
}

# One row for each job, in the order of the source. Times are in seconds since 1970 (UTC), null if unknown.
JOB_COLUMNS: Columns = {
    "job": pl.String,  # unique
    "state": pl.String,  # of `SnapshotState`
    "outcome": pl.String,  # how a job ended, in the words of the source; "" before
    "gpus": pl.Int32,  # on each node, if `nodes` is positive, else in all
    "nodes": pl.Int32,  # the number that it requests; 0: any number
    "gpu_types": pl.List(pl.String),  # the types that suit it; empty: any
    "features": pl.List(pl.String),  # a node needs all of them
    "allowed_nodes": pl.List(pl.String),  # names; empty: all
    "excluded_nodes": pl.List(pl.String),
    "partitions": pl.List(pl.String),  # empty: all
    "cpus": pl.Float64,  # on each node, null if unknown, as memory
    "memory": pl.Float64,  # GiB
    "user": pl.String,
    "team": pl.String,  # account of Slurm, namespace or queue of Kubernetes, virtual cluster of a trace
    "qos": pl.String,  # quality of service, or priority class
    "name": pl.String,
    "array": pl.String,  # the array that has it as a task, "" for none
    "het_job": pl.String,  # its het job, "" for none: components that wait start together
    "array_limit": pl.Int32,  # tasks of the array that may run at once, null: all
    "after": pl.List(pl.String),  # jobs that must end first
    "priority": pl.Float64,  # a larger one goes first; null if the source has none
    "submitted": pl.Float64,
    "eligible": pl.Float64,  # the first time at which it may start; null: when it is submitted
    "started": pl.Float64,
    "ended": pl.Float64,
    "duration": pl.Float64,  # s, how long it ran, or has run until now
    "limit": pl.Float64,  # s, the longest run; null: none
    "reason": pl.String,  # why it waits, in the words of the source
    "on_nodes": pl.List(pl.String),  # where it runs or ran, with `on_gpus`
    "on_gpus": pl.List(pl.Int32),
}

# Times in which nodes are not there for other jobs: reservations and maintenance.
RESERVATION_COLUMNS: Columns = {
    "reservation": pl.String,
    "nodes": pl.List(pl.String),
    "start": pl.Float64,
    "end": pl.Float64,
    "users": pl.List(pl.String),
    "teams": pl.List(pl.String),
    "maintenance": pl.Boolean,
}

# GPUs that jobs of one owner may use at once. A limit counts the jobs of its `team`, `qos` and `partition` only.
LIMIT_COLUMNS: Columns = {
    "scope": pl.String,  # `user`, `team`, `qos` or `partition`
    "owner": pl.String,  # its name; "" of `user` and `team` for each of them
    "gpu_type": pl.String,  # "" for all; a type counts the jobs that request this type alone
    "gpus": pl.Int32,
    "team": pl.String,  # "" for all, as `qos` and `partition`
    "qos": pl.String,
    "partition": pl.String,
}


@dataclass(frozen=True, eq=False)
class ClusterSnapshot:
    """Nodes, jobs, reservations and limits at the time `now` (seconds since 1970), with the columns of this file.

    `source` names what was read. If it states no nodes, they are inferred from the jobs, and `inferred` says how.
    `timezone` is the zone (IANA) in which times are shown; times of a source that is not `dated` count from its own
    start. Without `has_starts`, jobs that ended have a duration only. `unread` says in words what could not be read,
    once each, and `notes` what the nodes do not explain; `files` are the names of the files that were read, with their
    hashes. `driver_settings` are the entries of the section of a cluster file by which a driver reads the same cluster.
    """

    source: str
    now: float
    nodes: pl.DataFrame
    jobs: pl.DataFrame
    reservations: pl.DataFrame = field(default_factory=lambda: frame([], RESERVATION_COLUMNS))
    limits: pl.DataFrame = field(default_factory=lambda: frame([], LIMIT_COLUMNS))
    timezone: str = "UTC"
    dated: bool = True
    has_starts: bool = True
    inferred: str = ""
    unread: Sequence[str] = ()
    notes: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    driver_settings: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)  # parts that belong to teams, relative to each other
    priorities: Mapping[str, float] = field(default_factory=dict)  # of QOS
    pods: Mapping[str, int] = field(default_factory=dict)  # by job, equal ones that may share a node

    def __post_init__(self) -> None:
        """Raise ValueError for a table with other columns, types, or with a name that occurs twice."""
        tables = (
            ("nodes", self.nodes, NODE_COLUMNS),
            ("jobs", self.jobs, JOB_COLUMNS),
            ("reservations", self.reservations, RESERVATION_COLUMNS),
            ("limits", self.limits, LIMIT_COLUMNS),
        )
        for name, table, columns in tables:
            if dict(table.schema) != dict(pl.Schema(columns)):
                raise ValueError(f"the table of {name} has the columns {dict(table.schema)}")
        for name, names in (("node", self.nodes["node"]), ("job", self.jobs["job"])):
            if names.n_unique() != len(names):
                raise ValueError(f"a {name} occurs twice")

    def jobs_in(self, *states: SnapshotState) -> pl.DataFrame:
        """The jobs in these states."""
        return self.jobs.filter(pl.col("state").is_in([state.value for state in states]))


# What a column has where the source states nothing, besides "" for texts and [] for lists; else null.
_DEFAULTS: Mapping[str, object] = {"up": True, "maintenance": False, "nodes": 0}


def frame(rows: Sequence[Mapping[str, object]], columns: Columns) -> pl.DataFrame:
    """A table of rows, which may lack columns. Raises ValueError for another column."""
    if unknown := {name for row in rows for name in row} - set(columns):
        raise ValueError(f"unknown columns: {', '.join(sorted(unknown))}")
    return complete(pl.DataFrame(list(rows), schema=dict(columns), orient="row") if rows else pl.DataFrame(), columns)


def complete(table: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """A table with exactly these columns, in their order and types, and with defaults for missing values."""
    return pl.DataFrame([_column(table, name, kind) for name, kind in columns.items()])


def _column(table: pl.DataFrame, name: str, kind: pl.DataType | type[pl.DataType]) -> pl.Series:
    empty = pl.Series(name, [None] * table.height, dtype=kind)
    values = table[name].cast(kind) if name in table.columns else empty
    if isinstance(kind, pl.List):
        return values.fill_null([])
    default = "" if kind == pl.String else _DEFAULTS.get(name)
    return values if default is None else values.fill_null(default)
