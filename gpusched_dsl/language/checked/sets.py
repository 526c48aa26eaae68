"""Set expressions."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.operations import ComparisonChain
from gpusched_dsl.language.checked.references import IndexRef


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet(TypedSet):
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange(TypedSet):
    """`low..high by step`, both included. Bounds may depend on earlier indices of the same index list."""

    low: TypedExpr
    high: TypedExpr
    step: TypedExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralSet(TypedSet):
    """Each row is one element, an expression per component."""

    rows: tuple[tuple[TypedExpr, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComprehensionSet(TypedSet):
    element: tuple[TypedExpr, ...]
    indexing: TypedIndexing


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedSetRef(ComprehensionSet):
    """`Pred[j]`, the elements of an indexed set at one index: those of `{ p : (i, p) in Pred where i == j }`."""

    name: str
    subscripts: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSet(ComprehensionSet):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperation(TypedSet):
    """`op` is `union`, `inter`, `diff` or `cross`."""

    op: str
    left: TypedSet
    right: TypedSet
