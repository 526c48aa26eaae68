"""`campaign` blocks: grids of solves and runs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument, Text
from gpusched_dsl.language.tree.indexing import Index
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Vary(Statement):
    """`vary seed in 1..5;`, `vary (nodes, jobs) in { (2, 20), (4, 40) };`."""

    index: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude(Statement):
    """`exclude size > 20 and method == highs;`."""

    condition: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorOptions(Statement):
    """`generate capacity_jobs (jobs = 10 * size, seed = seed);`: of a generator or data format of the scenarios."""

    generator: Identifier
    options: tuple[NamedArgument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPath(Statement):
    """`data "jobs.csv" = trace;`: another file in place of one that the scenarios read."""

    path: Text
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMethod(Node):
    """`highs (gap = tolerance) as Exact`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()
    alias: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRuns(Statement):
    """`solve S with highs, Greedy;` or `run S, T online Rolling with Greedy;`; `verb` is `solve` or `run`."""

    verb: str
    scenarios: tuple[Identifier, ...]
    online: Identifier | None = None
    methods: tuple[GridMethod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Statement):
    """`measure total, makespan;`: the columns of the exported results."""

    names: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign(TopLevelBlock):
    """Statements are those above, and `Assign`, read as in a scenario."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    doc: str | None = None
