"""The `placement` of a model: the meaning of its variables in the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.node import Identifier, Node, Statement
from gpusched_dsl.language.tree.units import UnitNode


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementItem(Node):
    """`job j;`, `uses g of gpus[v];`, `costs price[v] in $/h;`, `lasts exec_time[j, v, g];`."""

    role: Identifier
    value: Expr
    of: Expr | None = None
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementDecl(Statement):
    variable: Identifier
    indices: tuple[Identifier, ...]
    items: tuple[PlacementItem, ...]
