"""`test` blocks: solves and the results that are expected."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr, NamedArgument
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall(Node):
    """`highs`, `scip (gap = 0.01)`, `Greedy`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Solve(Statement):
    """`solve CP6 (node_rule = at_most, idle_penalty = 0.3[$]) with highs, scip (gap = 0);`."""

    scenario: Identifier
    settings: tuple[NamedArgument, ...] = ()
    methods: tuple[MethodCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Statement):
    """`expect total == 5.0 within 1e-6;` (`within`: absolute tolerance in the unit of the left side)."""

    condition: Expr
    tolerance: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test(TopLevelBlock):
    """Each `solve` is followed by the `expect`s that its answers must meet."""

    name: Identifier
    statements: tuple[Statement, ...]
    doc: str | None = None
