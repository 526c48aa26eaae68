"""Index lists `[j in Jobs where c]`, and the expressions with them: sets and aggregates."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.node import Identifier, Node


class Index(Node, frozen=True, kw_only=True):
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


class Indexing(Node, frozen=True, kw_only=True):
    """`[j in Jobs, (v, g) in Configs where condition]`, brackets included in the span when they are there."""

    indices: tuple[Index, ...]
    where: Expr | None = None


class Aggregate(Expr, frozen=True, kw_only=True):
    """`op` is one of `sum prod min max norm any all count argmin argmax`. `count[...]` may lack a body.

    `cumulative[j in Jobs] (task[j], gpus[j]) <= capacity` has a tuple for a body, and a `limit`.
    """

    op: str
    indexing: Indexing
    body: Expr | None
    limit: Expr | None = None


class SetLiteral(Expr, frozen=True, kw_only=True):
    """`{ n1, n2 }`, `{ ("a", 1), ("b", 2) }`, `{}`. In scenario data a bare Name item is an element label."""

    items: tuple[Expr, ...]


class Comprehension(Expr, frozen=True, kw_only=True):
    """`{ (v, g) : v in Types, g in 1..gpus[v] where c }`; a projection is a comprehension too."""

    element: Expr
    indexing: Indexing


class Range(Expr, frozen=True, kw_only=True):
    """`low..high`, both included, or `low..high by step`."""

    low: Expr
    high: Expr
    step: Expr | None = None
