"""Data of a scenario from files and generators."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument, Text
from gpusched_dsl.language.tree.node import Identifier, Node, Statement
from gpusched_dsl.language.tree.units import UnitNode


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumn(Node):
    """A column of a file: `seconds[s]`, `"On-demand ($/h)"[$/h]`; `function` is an aggregate such as `mean`."""

    name: str
    unit: UnitNode | None = None
    function: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey(Node):
    """A key column `job`, or a derived key `slot(time, 15[min])` (`function` and `arguments`)."""

    column: str
    function: Identifier | None = None
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataItem(Node):
    """`exec_time[job, type] = seconds[s];` for a parameter; `Jobs = job;`, `F = (job, type);` for a set.

    For a set `keys` is empty and `columns` names its component columns; `function` `distinct` allows repeats.
    """

    target: Identifier
    keys: tuple[DataKey, ...]
    columns: tuple[DataColumn, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Data(Statement):
    """`data "file.csv" { ... }`, with `table "jobs"` of a database, or `as philly (first = 100)`: in that format."""

    path: Text
    items: tuple[DataItem, ...]
    table: Text | None = None
    format: Identifier | None = None
    options: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Statement):
    """`generate capacity_jobs (jobs = 40, seed = 1) { Jobs = job; deadline[job] = deadline[h]; }`."""

    generator: Identifier
    items: tuple[DataItem, ...]
    options: tuple[NamedArgument, ...] = ()
