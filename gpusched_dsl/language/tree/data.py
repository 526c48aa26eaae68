"""Data of a scenario from files and generators."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument, Text, UnitNode
from gpusched_dsl.language.tree.node import Identifier, Node, Statement


class DataColumn(Node, frozen=True, kw_only=True):
    """A column of a file: `seconds[s]`, `"On-demand ($/h)"[$/h]`; `function` is an aggregate such as `mean`."""

    name: str
    unit: UnitNode | None = None
    function: Identifier | None = None


class DataKey(Node, frozen=True, kw_only=True):
    """A key column `job`, or a derived key `slot(time, 15[min])` (`function` and `arguments`)."""

    column: str
    function: Identifier | None = None
    arguments: tuple[Expr, ...] = ()


class DataItem(Node, frozen=True, kw_only=True):
    """`exec_time[job, type] = seconds[s];` for a parameter; `Jobs = job;`, `F = (job, type);` for a set.

    For a set `keys` is empty and `columns` names its component columns; `function` `distinct` allows repeats.
    """

    target: Identifier
    keys: tuple[DataKey, ...]
    columns: tuple[DataColumn, ...]
    distinct: bool = False


class Data(Statement, frozen=True, kw_only=True):
    """`data "file.csv" { ... }`, with `table "jobs"` of a database, or `as philly (first = 100)`: in that format."""

    path: Text
    items: tuple[DataItem, ...]
    table: Text | None = None
    format: Identifier | None = None
    options: tuple[NamedArgument, ...] = ()


class Generate(Statement, frozen=True, kw_only=True):
    """`generate capacity_jobs (jobs = 40, seed = 1) { Jobs = job; deadline[job] = deadline[h]; }`."""

    generator: Identifier
    items: tuple[DataItem, ...]
    options: tuple[NamedArgument, ...] = ()
