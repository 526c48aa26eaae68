"""Index lists `[j in Jobs where c]`, and the expressions with them: sets and aggregates."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.node import Identifier, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Node):
    """One iterator of an index list.

    `j in Jobs` names ("j",); `(v, g) in Configs` names ("v", "g") with `is_tuple`; `Types` alone names nothing.
    A name `_` ignores that component. In a tuple, a name that is known outside and an expression select: `fixed` has
    the expressions by component, their names are `_`.
    """

    names: tuple[Identifier, ...]
    is_tuple: bool
    domain: Expr
    fixed: tuple[Expr | None, ...] = ()

    def fixed_at(self, component: int) -> Expr | None:
        return self.fixed[component] if self.fixed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing(Node):
    """`[j in Jobs, (v, g) in Configs where condition]`, brackets included in the span when they are there."""

    indices: tuple[Index, ...]
    where: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Expr):
    """`op` is one of `sum prod min max norm any all count argmin argmax`. `count[...]` may lack a body.

    `cumulative[j in Jobs] (task[j], gpus[j]) <= capacity` has a tuple for a body, and a `limit`.
    """

    op: str
    indexing: Indexing
    body: Expr | None
    limit: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLiteral(Expr):
    """`{ n1, n2 }`, `{ ("a", 1), ("b", 2) }`, `{}`. In scenario data a bare Name item is an element label."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comprehension(Expr):
    """`{ (v, g) : v in Types, g in 1..gpus[v] where c }`; a projection is a comprehension too."""

    element: Expr
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Expr):
    """`low..high`, both included, or `low..high by step`."""

    low: Expr
    high: Expr
    step: Expr | None = None
