"""Set expressions."""

from __future__ import annotations

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.operations import ComparisonChain
from gpusched_dsl.language.checked.references import IndexRef


class NamedSet(TypedSet, frozen=True, kw_only=True):
    name: str


class IntegerRange(TypedSet, frozen=True, kw_only=True):
    """`low..high by step`, both included. Bounds may depend on earlier indices of the same index list."""

    low: TypedExpr
    high: TypedExpr
    step: TypedExpr | None = None


class LiteralSet(TypedSet, frozen=True, kw_only=True):
    """Each row is one element, an expression per component."""

    rows: tuple[tuple[TypedExpr, ...], ...]


class ComprehensionSet(TypedSet, frozen=True, kw_only=True):
    element: tuple[TypedExpr, ...]
    indexing: TypedIndexing


class IndexedSetRef(ComprehensionSet, frozen=True, kw_only=True):
    """`Pred[j]`, the elements of an indexed set at one index: those of `{ p : (i, p) in Pred where i == j }`."""

    name: str
    subscripts: tuple[TypedExpr, ...]


class SliceSet(ComprehensionSet, frozen=True, kw_only=True):
    """`(i, k) in Links` with a known `k`: `{ i : (i, m) in Links where m == k }`.

    The index list has one iterator, over all components, and one condition per fixed component.
    """

    @property
    def domain(self) -> TypedSet:
        """The set of complete tuples."""
        return self.indexing.iterators[0].domain

    @property
    def fixed(self) -> tuple[TypedExpr | None, ...]:
        """The value of each component of the complete tuples; None for the free ones."""
        known = {}
        for condition in self.indexing.conditions:
            assert isinstance(condition, ComparisonChain)
            own, value = condition.operands
            assert isinstance(own, IndexRef)
            known[own.variable] = value
        return tuple(map(known.get, self.indexing.variables))

    @property
    def free(self) -> tuple[int, ...]:
        """The places of the free components."""
        return tuple(at for at, expr in enumerate(self.fixed) if expr is None)


class SetOperation(TypedSet, frozen=True, kw_only=True):
    """`op` is `union`, `inter`, `diff` or `cross`."""

    op: str
    left: TypedSet
    right: TypedSet
