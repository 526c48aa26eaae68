"""Units as written, such as `$/(GPU*h)`."""

from __future__ import annotations

from gpusched_dsl.language.tree.node import Node


class UnitFactor(Node, frozen=True, kw_only=True):
    """`h`, `h^2` (exponent 2), or the `h` of `$/h` (exponent -1). `1` as in `1/h` has no factor."""

    symbol: str
    exponent: int


class UnitNode(Node, frozen=True, kw_only=True):
    """A unit as written, such as `$/(GPU*h)`; no factors means the unit `1`."""

    factors: tuple[UnitFactor, ...]
