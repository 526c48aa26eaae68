"""The evaluator's layer for sets: set expressions and index lists as domains, membership, groups for joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from gpusched_dsl.compiling.evaluation import dependent_sets as dependent
from gpusched_dsl.compiling.evaluation import joins
from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Expansion, Frame, JoinIndex, covers_universe
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.grids import GridAxis
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.sparse_bodies import SparseBody
from gpusched_dsl.compiling.evaluation.store import MISSING, ValueStore, is_element
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component, Domain, IntervalDomain, Packing, ProductDomain, ScalarDomain, TupleDomain
from gpusched_dsl.language.checked import (
    CheckedModel,
    ComprehensionSet,
    IndexedSetRef,
    IndexVar,
    IntegerRange,
    Iterator,
    LiteralSet,
    NamedSet,
    SetOperation,
    SliceSet,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span


class Sets(BaseEvaluator):
    """Set expressions over the values of the layer above."""

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        super().__init__(model, store, limits)
        self._domains: dict[int, tuple[TypedSet, Domain]] = {}
        self._needs: dict[int, tuple[TypedExpr, frozenset[IndexVar]]] = {}
        self._join_indexes: dict[tuple[int, tuple[int, ...]], tuple[Domain, JoinIndex]] = {}
        self._products: dict[tuple[int, ...], ProductDomain] = {}  # by identity of the factors
        self._index_domains: dict[str, Domain] = {}

    def expand(self, frame: Frame, indexing: TypedIndexing, span: Span, body: TypedExpr | None = None) -> Expansion:
        """The frame grown by an index list; of the rows at which `body` is 0, some or all may be left out."""
        sparse = None if body is None or not body.decision else SparseBody(self, frame, indexing, body)
        return joins.expand(self, frame, indexing, span, sparse)

    def domain(self, expr: TypedSet) -> Domain:
        """The elements of a set expression that depends on no index."""
        if isinstance(expr, NamedSet):
            return self.store.sets[expr.name]
        known = self._domains.get(id(expr))
        if known is None:
            known = (expr, getattr(self, f"_set_{type(expr).__name__}")(expr))
            self._domains[id(expr)] = known
        return known[1]

    def forget(self) -> None:
        """Drop cached sets after a change of the store."""
        self._domains.clear()
        self._products.clear()
        self._index_domains.clear()
        self._join_indexes.clear()

    def _set_IntegerRange(self, expr: IntegerRange) -> Domain:
        bounds = [self._bound(b) for b in (expr.low, expr.high)]
        step = 1 if expr.step is None else self._bound(expr.step)
        if step <= 0:
            assert expr.step is not None
            raise self.failure("GSM3007", "the step of a range must be positive", expr.step.span, f"is {step}")
        return IntervalDomain(bounds[0], bounds[1], step)

    def _bound(self, expr: TypedExpr) -> int:
        value = int(self.codes(expr, EMPTY_FRAME).reshape(-1)[0])
        if value == MISSING:
            raise self.failure("GSM3007", "a range needs integers", expr.span, f"is {self.number(expr):g}")
        return value

    def _set_LiteralSet(self, expr: LiteralSet) -> Domain:
        components = tuple(map(self.store.component, expr.types))
        columns = tuple(
            np.array([int(self.element_codes(row[at], EMPTY_FRAME)[0]) for row in expr.rows], dtype=np.int64)
            for at in range(len(expr.types))
        )
        return sorted_tuples(components, columns, keep_order=True)

    def _set_ComprehensionSet(self, expr: ComprehensionSet) -> Domain:
        grown = self.expand(EMPTY_FRAME, expr.indexing, expr.span).frame
        columns = tuple(self.element_codes(e, grown) for e in expr.element)
        return sorted_tuples(tuple(map(self.store.component, expr.types)), columns, keep_order=True)

    def _set_IndexedSetRef(self, expr: IndexedSetRef) -> Domain:
        _, columns = dependent.indexed_elements(self, expr, EMPTY_FRAME)
        return TupleDomain(tuple(map(self.store.component, expr.types)), columns)

    def tuples_of(self, expr: IndexedSetRef) -> Domain:
        """All tuples of indices and elements of an indexed set."""
        return self.store.sets[expr.name]

    def _set_SliceSet(self, expr: SliceSet) -> Domain:
        _, columns = dependent.slice_rows(self, expr, EMPTY_FRAME)
        return TupleDomain(tuple(map(self.store.component, expr.types)), columns)

    def _set_SetOperation(self, expr: SetOperation) -> Domain:
        left, right = self.domain(expr.left), self.domain(expr.right)
        if expr.op == "cross":
            return ProductDomain((left, right))
        size = left.size + right.size if expr.op == "union" else left.size
        self.budget.frame(size, left.arity, expr.span, "this set")
        if expr.op == "union":
            both = tuple(np.concatenate(pair) for pair in zip(left.columns(), right.columns(), strict=True))
            return sorted_tuples(left.components, both, keep_order=True)
        inside = right.locate(left.columns()) >= 0
        keep = inside if expr.op == "inter" else ~inside
        return TupleDomain(left.components, tuple(c[keep] for c in left.columns()))

    def contains(self, expr: TypedSet, codes: Sequence[Codes], frame: Frame) -> Bools:
        """Whether the tuple in each row is in the set, which may depend on the row."""
        from gpusched_dsl.compiling.evaluation import membership

        if not free_variables(expr):
            if len(codes[0]) <= membership.MOST_BY_FORMULA and membership.waits(self, expr):
                found = membership.contains_by_formula(self, expr, codes)
                if found is not None:
                    return found
            domain = self.domain(expr)
            if covers_universe(domain):
                return is_element(codes[0])
            return domain.locate(codes) >= 0
        return dependent.contains(self, expr, codes, frame)

    def in_index_list(self, indexing: TypedIndexing, frame: Frame) -> Bools:
        """Return whether the tuple in each row is in an index list with all indices bound by the frame.

        Each set and each condition is evaluated only where all those before it are fulfilled.
        """
        found = np.ones(frame.size, dtype=np.bool_)
        for iterator in indexing.iterators:
            found = self._and_in(found, frame, partial(self._in_iterator, iterator))
        for condition in indexing.conditions:
            found = self._and_in(found, frame, partial(self.mask, condition))
        return found

    def _in_iterator(self, iterator: Iterator, frame: Frame) -> Bools:
        return self.contains(iterator.domain, [frame.columns[v] for v in iterator.variables], frame)

    @staticmethod
    def _and_in(found: Bools, frame: Frame, test: Callable[[Frame], Bools]) -> Bools:
        if found.all():
            return test(frame)
        if len(frame.axes) > 1:  # selected rows are no grid any more, and are slower unless some rows have no value
            try:
                return found & test(frame)
            except DiagnosticError:
                pass
        rows = np.flatnonzero(found)
        result = np.zeros(frame.size, dtype=np.bool_)
        result[rows] = test(frame.take(rows))
        return result

    def index_domain(self, indexing: TypedIndexing, span: Span, *, conditions: bool = True) -> Domain:
        """The index tuples of a declaration, in the order of its iterators."""
        if not indexing.iterators:
            return ScalarDomain()
        independent = not any(free_variables(i.domain) for i in indexing.iterators)
        if independent and not (conditions and indexing.conditions):
            factors = tuple(self.domain(i.domain) for i in indexing.iterators)
            return factors[0] if len(factors) == 1 else self._product(factors)
        if not conditions:
            indexing = TypedIndexing(indexing.iterators)
        frame = self.expand(EMPTY_FRAME, indexing, span).frame
        columns = tuple(np.broadcast_to(frame.columns[v], (frame.size,)) for v in indexing.variables)
        components = tuple(self.store.component(v.type) for v in indexing.variables)
        return sorted_tuples(components, columns, order=self.order_keys(indexing, columns))

    def _product(self, factors: tuple[Domain, ...]) -> Domain:
        """The same object for the same factors, as places in it are remembered."""
        key = tuple(map(id, factors))
        if key not in self._products:
            self._products[key] = ProductDomain(factors)
        return self._products[key]

    def order_keys(self, indexing: TypedIndexing, columns: tuple[Codes, ...]) -> tuple[Codes, ...]:
        """Per iterator the place of its element in its own set: the order in which the author listed the indices."""
        keys: list[Codes] = []
        at = 0
        for iterator in indexing.iterators:
            part = columns[at : at + len(iterator.variables)]
            at += len(iterator.variables)
            keys.extend(part if free_variables(iterator.domain) else (self.domain(iterator.domain).locate(part),))
        return tuple(keys)

    def domain_frame(self, indexing: TypedIndexing, domain: Domain) -> Frame:
        """The frame with one row per tuple of a declaration's domain."""
        variables = indexing.variables
        if not variables:
            return EMPTY_FRAME
        axes: list[GridAxis] = []
        for factor in domain.factors if isinstance(domain, ProductDomain) else (domain,):
            axes.append(GridAxis(variables[: factor.arity], factor.columns(), factor.size))
            variables = variables[factor.arity :]
        return Frame.grid(axes)

    def join_index(self, domain: Domain, on: tuple[int, ...]) -> JoinIndex:
        """Return the tuples of a domain grouped by some components, computed once per domain."""
        known = self._join_indexes.get((id(domain), on))
        if known is None:
            columns = domain.columns()
            known = (domain, JoinIndex(tuple(columns[at] for at in on)))
            self._join_indexes[id(domain), on] = known
        return known[1]


def sorted_tuples(
    components: tuple[Component, ...],
    columns: Sequence[Codes],
    *,
    keep_order: bool = False,
    order: Sequence[Codes] | None = None,
) -> TupleDomain:
    """The domain of the distinct tuples in some columns.

    `keep_order`: first occurrences in the given order; `order`: distinct already, sorted by these key columns.
    """
    columns = tuple(np.ascontiguousarray(c) for c in columns)
    if keep_order and len(columns[0]):
        _, first = np.unique(Packing.of(columns).keys(columns), return_index=True)
        if len(first) < len(columns[0]):
            rows = np.sort(first)
            columns = tuple(c[rows] for c in columns)
    if order is not None and len(columns[0]):
        keys = Packing.of(order).keys(order)
        if not np.all(np.diff(keys) > 0):
            rows = np.argsort(keys, kind="stable")
            columns = tuple(c[rows] for c in columns)
    return TupleDomain(components, columns)
