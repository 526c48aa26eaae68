"""The `placement` of a model: the meaning of its variables in the cluster."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.node import Identifier, Node, Statement
from gpusched_dsl.language.tree.units import UnitNode


class PlacementItem(Node, frozen=True, kw_only=True):
    """`job j;`, `uses g of gpus[v];`, `costs price[v] in $/h;`, `lasts exec_time[j, v, g];`."""

    role: Identifier
    value: Expr
    of: Expr | None = None
    unit: UnitNode | None = None


class PlacementDecl(Statement, frozen=True, kw_only=True):
    variable: Identifier
    indices: tuple[Identifier, ...]
    items: tuple[PlacementItem, ...]
