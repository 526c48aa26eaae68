"""`campaign` blocks: grids of solves and runs."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument, Text
from gpusched_dsl.language.tree.indexing import Index
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock


class Vary(Statement, frozen=True, kw_only=True):
    """`vary seed in 1..5;`, `vary (nodes, jobs) in { (2, 20), (4, 40) };`."""

    index: Index


class Exclude(Statement, frozen=True, kw_only=True):
    """`exclude size > 20 and method == highs;`."""

    condition: Expr


class GeneratorOptions(Statement, frozen=True, kw_only=True):
    """`generate capacity_jobs (jobs = 10 * size, seed = seed);`: of a generator or data format of the scenarios."""

    generator: Identifier
    options: tuple[NamedArgument, ...]


class DataPath(Statement, frozen=True, kw_only=True):
    """`data "jobs.csv" = trace;`: another file in place of one that the scenarios read."""

    path: Text
    value: Expr


class GridMethod(Node, frozen=True, kw_only=True):
    """`highs (gap = tolerance) as Exact`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()
    alias: Identifier | None = None


class GridRuns(Statement, frozen=True, kw_only=True):
    """`solve S with highs, Greedy;` or `run S, T online Rolling with Greedy;`; `verb` is `solve` or `run`."""

    verb: str
    scenarios: tuple[Identifier, ...]
    online: Identifier | None = None
    methods: tuple[GridMethod, ...] = ()


class Measure(Statement, frozen=True, kw_only=True):
    """`measure total, makespan;`: the columns of the exported results."""

    names: tuple[Identifier, ...]


class Campaign(TopLevelBlock, frozen=True, kw_only=True):
    """Statements are those above, and `Assign`, read as in a scenario."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    doc: str | None = None
