"""`test` blocks: solves and the results that are expected."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock


class MethodCall(Node, frozen=True, kw_only=True):
    """`highs`, `scip (gap = 0.01)`, `Greedy`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()


class Solve(Statement, frozen=True, kw_only=True):
    """`solve CP6 (node_rule = at_most, idle_penalty = 0.3[$]) with highs, scip (gap = 0);`."""

    scenario: Identifier
    settings: tuple[NamedArgument, ...] = ()
    methods: tuple[MethodCall, ...] = ()


class Expect(Statement, frozen=True, kw_only=True):
    """`expect total == 5.0 within 1e-6;` (`within`: absolute tolerance in the unit of the left side)."""

    condition: Expr
    tolerance: Expr | None = None


class Test(TopLevelBlock, frozen=True, kw_only=True):
    """Each `solve` is followed by the `expect`s that its answers must meet."""

    name: Identifier
    statements: tuple[Statement, ...]
    doc: str | None = None
