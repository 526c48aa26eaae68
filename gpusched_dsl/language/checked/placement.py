"""The checked placement of a model: the roles of its variables in the cluster."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from gpusched_dsl.language.checked.base import IndexVar, TypedExpr
from gpusched_dsl.language.checked.references import IndexRef
from gpusched_dsl.language.checked.types import Element
from gpusched_dsl.language.source import Span

Role: TypeAlias = Literal[
    "job", "node", "node_type", "slot", "mode", "place_from_end", "family",
    "uses", "lasts", "costs", "due", "weight", "postponed", "idle", "node_price", "stock", "late", "node_rate",
    "user", "share", "quota", "workers", "rack", "across_nodes", "across_racks",
]  # fmt: skip


class CheckedPlacementItem(Struct, frozen=True):
    """`value` is in the unit that the item states."""

    role: Role
    span: Span
    value: TypedExpr
    of: TypedExpr | None = None


class CheckedPlacement(Struct, frozen=True):
    """The meaning of a family of variables in the cluster: binary, or with `workers` numbers of workers on nodes.

    `indices` are the variables of the family's index positions, bound in the items. A role has at most one item;
    only `uses` has several, one for each capacity. Of these, `item` and `value` return the first.
    """

    variable: str
    span: Span
    indices: tuple[IndexVar, ...]
    items: tuple[CheckedPlacementItem, ...]

    def all(self, *roles: Role) -> tuple[CheckedPlacementItem, ...]:
        """The items of some roles, in the order of the text."""
        return tuple(item for item in self.items if item.role in roles)

    def item(self, role: Role) -> CheckedPlacementItem | None:
        return next((item for item in self.items if item.role == role), None)

    def value(self, role: Role) -> TypedExpr | None:
        item = self.item(role)
        return None if item is None else item.value

    def index(self, role: Role) -> IndexVar | None:
        """The index that states a role; None if there is none, or if the role is stated by another expression."""
        value = self.value(role)
        return value.variable if isinstance(value, IndexRef) else None

    def position(self, role: Role) -> int | None:
        """The position of `index` among the indices of the family."""
        index = self.index(role)
        return None if index is None else self.indices.index(index)

    def root(self, role: Role) -> str:
        """The root set of the elements that state a role, "" if it is not stated by elements."""
        value = self.value(role)
        return value.type.root if value is not None and isinstance(value.type, Element) else ""

    @property
    def has_gangs(self) -> bool:
        """Whether a job may run on several nodes at once: its workers start, move and stop together."""
        return self.item("workers") is not None

    @property
    def places_root(self) -> str:
        """The root set of the places: nodes, or node types where decisions count the nodes of a type."""
        return self.root("node") or self.root("node_type")

    @property
    def kinds_root(self) -> str:
        """The root set of the node types, or of the nodes where no type is stated."""
        return self.root("node_type") or self.places_root
