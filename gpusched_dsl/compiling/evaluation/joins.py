"""Planning of index lists: conditions become joins, so that a sum over a sparse set never visits the full product.

An index list is a set of *generators* of rows: its iterators, and those conditions that can bind variables rather than
merely filter: a membership `(j, v, g) in F`, an equality `i == k`, and equal values `zone[i] == zone[k]`. At each step
the planner takes the generator that keeps the fewest of the rows a plain product would make, joining it on whatever is
bound already; an iterator whose variables are all bound becomes a filter. With no condition that helps, iterators are
taken as written.

Where all that is wanted is the sum of a body over sparse variables, an iterator visits only the elements at which some
of these variables exist (see `sparse_bodies.py`): fewer rows, in the same order.

A condition that has no value in some row (a division by zero, a minimum over nothing) is put off: a condition before
it, or an empty set, may exclude that row. What has no value when all is bound is an error.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.bands import Band, band_of, clip_range, select_ranges
from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.dependent_sets import elements, range_ends
from gpusched_dsl.compiling.evaluation.frames import Expansion, Frame, all_of, ranges
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.grids import GridAxis
from gpusched_dsl.compiling.evaluation.sparse_bodies import SparseBody
from gpusched_dsl.compiling.evaluation.store import as_codes
from gpusched_dsl.ir.arrays import Codes, spread
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import (
    ComparisonChain,
    Element,
    IndexRef,
    IndexVar,
    IntegerRange,
    Iterator,
    Logic,
    Membership,
    Numeric,
    SliceSet,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

_SAMPLE = 256  # rows on which the shares of comparisons are measured


def expand(
    evaluator: BaseEvaluator, frame: Frame, indexing: TypedIndexing, span: Span, body: SparseBody | None = None
) -> Expansion:
    """The frame grown by an index list: one row per combination that fulfils the conditions.

    Rows at which `body` is 0 may be left out.
    """
    return _Plan(evaluator, frame, indexing, span, body).run()


class _Step(Struct):
    """A way to bind variables: `share` of the plain product it keeps, smaller is better."""

    share: float
    kind: str
    iterator: Iterator | None = None
    condition: TypedExpr | None = None
    variable: IndexVar | None = None
    value: TypedExpr | None = None


class _Plan:
    def __init__(
        self,
        evaluator: BaseEvaluator,
        frame: Frame,
        indexing: TypedIndexing,
        span: Span,
        body: SparseBody | None = None,
    ) -> None:
        self.ev = evaluator
        self.span = span
        self.body = body
        self.expansion = Expansion(frame)
        self.iterators = list(indexing.iterators)
        self.conditions = [c for condition in indexing.conditions for c in _pairs(condition)]
        self.unbound = set(indexing.variables)
        self.put_off: list[TypedExpr] = []

    def run(self) -> Expansion:
        self._filter()
        while self.iterators:
            self._take(self._best())
            self._filter()
        return self.expansion

    # --- choosing ----------------------------------------------------------------------------------------------------

    def _best(self) -> _Step:
        steps: list[_Step] = []
        for condition in self.conditions:
            if all(condition is not other for other in self.put_off):
                steps.extend(self._binding_steps(condition))
        ready = [i for i in self.iterators if not free_variables(i.domain) & self.unbound]
        if not steps and len(ready) == 1:
            return _Step(1.0, "iterator", iterator=ready[0])
        sample = self._sample()
        steps.extend(_Step(self._share(i, sample), "iterator", iterator=i) for i in ready)
        best = min(steps, key=lambda s: s.share)  # the first of equals: iterators stay in their order
        return self._prefer_smaller(best, steps) if best.kind == "iterator" else best

    def _sample(self) -> Frame:
        frame = self.expansion.frame
        if frame.size <= _SAMPLE:
            return frame
        return frame.take(np.linspace(0, frame.size - 1, _SAMPLE).astype(np.int64))

    def _share(self, iterator: Iterator, sample: Frame) -> float:
        """The share of the product of an iterator that comparisons keep, measured on some rows."""
        if isinstance(iterator.domain, SliceSet) or any(v not in self.unbound for v in iterator.variables):
            return 0.5
        bands = self._bands(iterator)
        if not bands:
            return 1.0
        if self._clips_ends(iterator, bands):
            assert isinstance(iterator.domain, IntegerRange)
            with suppress(DiagnosticError):
                low, high, _ = range_ends(self.ev, iterator.domain, sample)
                first, last, _ = clip_range(self.ev, iterator.variables[0], bands, sample, low, high)
                return _count_integers(first, last) / max(_count_integers(low, high), 1.0)
            return 0.5
        domain = self.ev.domain(iterator.domain)
        self._allow(domain.size, 0)
        selected = select_ranges(self.ev, iterator.variables, domain, bands, sample)
        return 1.0 if selected is None else float(selected.counts.sum()) / max(sample.size * domain.size, 1)

    def _prefer_smaller(self, best: _Step, steps: list[_Step]) -> _Step:
        """An iterator of fewer elements than the best, if the best can then use one more comparison."""
        assert best.iterator is not None
        own = frozenset(best.iterator.variables)
        waiting = {
            variable
            for condition in self.conditions
            if band_of(self.ev, condition, own, own) is not None
            for variable in free_variables(condition) & self.unbound - own
        }
        if not waiting:
            return best
        others = [s for s in steps if s.kind == "iterator" and s.iterator is not None]
        smaller = [s for s in others if waiting & set(s.iterator.variables) and not free_variables(s.iterator.domain)]  # type: ignore[union-attr]
        return min([best, *smaller], key=self._growth)

    def _growth(self, step: _Step) -> float:
        """How many rows a step makes of one."""
        assert step.iterator is not None
        return step.share * self._plain_size(step.iterator)

    def _binding_steps(self, condition: TypedExpr) -> list[_Step]:
        if isinstance(condition, ComparisonChain) and condition.ops == ("==",):
            found = [
                _Step(0.1, "equality", condition=condition, variable=variable, value=value)
                for variable, value in self._equalities(condition)
            ]
            return found or self._value_steps(condition)
        if isinstance(condition, Membership) and not condition.negated:
            return self._membership_steps(condition)
        return []

    def _equalities(self, condition: ComparisonChain) -> list[tuple[IndexVar, TypedExpr]]:
        found = []
        for left, right in (condition.operands, condition.operands[::-1]):
            if (
                isinstance(left, IndexRef)
                and left.variable in self.unbound
                and self._one_kind(left.type, right.type)
                and not free_variables(right) & self.unbound
                and self._iterator_ready(left.variable)
            ):
                found.append((left.variable, right))
        return found

    def _value_steps(self, condition: ComparisonChain) -> list[_Step]:
        """`zone[i] == zone[k]` where only one iterator of the left side is missing: its elements by their value."""
        for left, right in (condition.operands, condition.operands[::-1]):
            wanted = free_variables(left)
            if not wanted or free_variables(right) & self.unbound or not self._comparable(left.type, right.type):
                continue
            for iterator in self.iterators:
                if wanted <= set(iterator.variables) <= self.unbound and not free_variables(iterator.domain):
                    return [_Step(0.3, "value", iterator=iterator, condition=condition, value=left)]
        return []

    @staticmethod
    def _comparable(left: object, right: object) -> bool:
        return left == right or (isinstance(left, Numeric) and isinstance(right, Numeric))

    @staticmethod
    def _one_kind(left: object, right: object) -> bool:
        return left == right if isinstance(left, Element) else isinstance(left, Numeric) and isinstance(right, Numeric)

    def _iterator_ready(self, variable: IndexVar) -> bool:
        """Whether the variable's own iterator can serve as a filter once the variable is bound."""
        return any(variable in i.variables for i in self.iterators)

    def _membership_steps(self, condition: Membership) -> list[_Step]:
        if free_variables(condition.domain):
            return []
        new = [e.variable for e in condition.element if isinstance(e, IndexRef) and e.variable in self.unbound]
        others = [e for e in condition.element if not (isinstance(e, IndexRef) and e.variable in self.unbound)]
        if not new or len(set(new)) < len(new) or free_variables(tuple(others)) & self.unbound:
            return []
        domain = self.ev.domain(condition.domain)
        if any(
            isinstance(v.type, Element) != (u is not None)
            for v, u in zip(
                (e.variable for e in condition.element if isinstance(e, IndexRef)),
                (u for e, u in zip(condition.element, domain.components, strict=True) if isinstance(e, IndexRef)),
                strict=True,
            )
        ):
            return []
        product = 1.0
        for iterator in self.iterators:
            if set(iterator.variables) & set(new):
                product *= max(1, self._plain_size(iterator))
        kept = domain.size / max(product, 1.0)
        if len(others):
            kept = min(kept, 0.4)
        return [_Step(kept, "membership", condition=condition)]

    def _plain_size(self, iterator: Iterator) -> int:
        if not free_variables(iterator.domain):
            return self.ev.domain(iterator.domain).size
        return 1  # unknown before it is reached; never a reason to prefer another way

    # --- taking ------------------------------------------------------------------------------------------------------

    def _take(self, step: _Step) -> None:
        try:
            self._bind_by(step)
        except DiagnosticError:
            if step.condition is None:
                raise
            self.put_off.append(step.condition)
            return
        self._settle_bound_iterators()

    def _bind_by(self, step: _Step) -> None:
        if step.kind == "equality":
            assert step.variable is not None
            assert step.value is not None
            values = self.ev.values(step.value, self.expansion.frame)
            codes = as_codes(values)
            self._bind({step.variable: spread(codes, self.expansion.frame.size)})
            if np.array_equal(values, codes):  # a value that is an integer but for rounding is not equal to it
                self._drop(step.condition)
        elif step.kind == "membership":
            assert isinstance(step.condition, Membership)
            self._join(step.condition.element, self.ev.domain(step.condition.domain))
            self._drop(step.condition)
        elif step.kind == "value":
            assert isinstance(step.condition, ComparisonChain)
            assert step.iterator is not None
            self._join_by_value(step.iterator, step.condition, step.value)
            self._drop(step.condition)
        else:
            assert step.iterator is not None
            self._iterate(step.iterator)
            self.iterators = [i for i in self.iterators if i is not step.iterator]

    def _drop(self, *conditions: TypedExpr | None) -> None:
        self.conditions = [c for c in self.conditions if all(c is not other for other in conditions)]

    def _bind(self, columns: dict[IndexVar, Codes]) -> None:
        self.expansion = self.expansion.bind(columns)
        self.unbound -= set(columns)

    def _settle_bound_iterators(self) -> None:
        """Check only the membership of iterators whose variables are bound by a condition."""
        for iterator in list(self.iterators):
            if any(v in self.unbound for v in iterator.variables) or free_variables(iterator.domain) & self.unbound:
                continue
            self.iterators.remove(iterator)
            frame = self.expansion.frame
            codes = tuple(frame.columns[v] for v in iterator.variables)
            self.expansion = self.expansion.filter(self.ev.contains(iterator.domain, codes, frame))

    def _filter(self) -> None:
        """Apply every condition with all variables bound."""
        for condition in list(self.conditions):
            if free_variables(condition) & self.unbound:
                continue
            try:
                mask = self.ev.mask(condition, self.expansion.frame)
            except DiagnosticError:
                if not self.iterators:
                    raise
                continue
            self._drop(condition)
            self.expansion = self.expansion.filter(mask)

    def _iterate(self, iterator: Iterator) -> None:
        domain = iterator.domain
        if isinstance(domain, SliceSet) and not free_variables(domain.domain):
            self._join(_element(iterator, domain), self.ev.domain(domain.domain))
            return
        if free_variables(domain) and not isinstance(domain, IntegerRange):
            self._iterate_dependent(iterator, domain)
            return
        bands = self._bands(iterator)
        if self._clips_ends(iterator, bands):
            assert isinstance(domain, IntegerRange)
            self._iterate_range(iterator, domain, bands)
            return
        known = self.ev.domain(domain)
        if any(v not in self.unbound for v in iterator.variables):
            refs = tuple(IndexRef(span=iterator.span, type=v.type, variable=v) for v in iterator.variables)
            self._join(refs, known)
        elif bands:
            self._iterate_window(iterator, known, bands)
        elif not self._iterate_needed(iterator, self.expansion.frame.size * known.size):
            self._cross(iterator.variables, known)

    def _iterate_needed(self, iterator: Iterator, rows: int) -> bool:
        """Visit only the elements at which the body can be nonzero, if that saves most of so many rows."""
        if self.body is None or free_variables(iterator.domain):
            return False
        domain = self.ev.domain(iterator.domain)
        found = self.body.needed_rows(self.expansion.frame, iterator, domain, rows)
        if found is None:
            return False
        self._allow(found.count, len(iterator.variables))
        parent, places = found.rows()
        self.expansion = _follow(self.expansion, parent)
        self._bind({v: c[places] for v, c in zip(iterator.variables, domain.columns(), strict=True)})
        return True

    def _cross(self, variables: tuple[IndexVar, ...], domain: Domain) -> None:
        size = self.expansion.frame.size
        self._allow(size * domain.size, len(variables))
        self.expansion = self.expansion.cross(GridAxis(variables, domain.columns(), domain.size))
        self.unbound -= set(variables)

    def _join(self, element: tuple[TypedExpr, ...], domain: Domain) -> None:
        """Bind the unbound plain variables of `element` to the tuples of `domain` that agree with the rest."""
        fresh = {
            e.variable: at for at, e in enumerate(element) if isinstance(e, IndexRef) and e.variable in self.unbound
        }
        on = [at for at in range(len(element)) if at not in fresh.values()]
        if not on:
            self._cross(tuple(fresh), domain)
            return
        frame = self.expansion.frame
        keys = tuple(spread(self.ev.codes(element[at], frame), frame.size) for at in on)
        index = self.ev.join_index(domain, tuple(on))
        counts, starts = index.match(keys)
        self._allow(int(counts.sum()), len(fresh))
        columns = domain.columns()
        if index.takes_all_in_order(counts, starts):
            # The columns of the relation itself, by which values over it are found without a search.
            same = {e.variable: at for at, e in enumerate(element) if at in on and isinstance(e, IndexRef)}
            self.expansion = self.expansion.repeat(counts)
            self._bind({v: columns[at] for v, at in (fresh | same).items()})
            return
        rows = index.rows(counts, starts)
        self.expansion = self.expansion.repeat(counts)
        self._bind({v: columns[at][rows] for v, at in fresh.items()})

    def _join_by_value(self, iterator: Iterator, condition: ComparisonChain, own: TypedExpr | None) -> None:
        from gpusched_dsl.compiling.evaluation.matching import match_values

        left, right = condition.operands if own is condition.operands[0] else condition.operands[::-1]
        domain, frame = self.ev.domain(iterator.domain), self.expansion.frame
        columns = domain.columns()
        inner = Frame(domain.size, dict(zip(iterator.variables, columns, strict=True)))
        read = self.ev.numbers if isinstance(left.type, Numeric) else self.ev.values
        elements = np.broadcast_to(read(left, inner), (inner.size,))
        counts, rows = match_values(spread(read(right, frame), frame.size), elements)
        self._allow(int(counts.sum()), len(iterator.variables))
        self.expansion = self.expansion.repeat(counts)
        self._bind({v: c[rows] for v, c in zip(iterator.variables, columns, strict=True)})
        self.iterators = [i for i in self.iterators if i is not iterator]

    @staticmethod
    def _clips_ends(iterator: Iterator, bands: list[Band]) -> bool:
        """Whether an iterator is a range of integers whose ends comparisons move."""
        if not isinstance(iterator.domain, IntegerRange):
            return False
        return bool(free_variables(iterator.domain)) or any(
            band.coefficient(iterator.variables[0]) is not None for band in bands
        )

    def _iterate_range(self, iterator: Iterator, domain: IntegerRange, bands: list[Band]) -> None:
        frame, variable = self.expansion.frame, iterator.variables[0]
        low, high, step = range_ends(self.ev, domain, frame)
        first, high, fulfilled = clip_range(self.ev, variable, bands, frame, low, high)
        low = low - (low - first) // step * step
        counts = np.maximum(0, (high - low) // step + 1)
        if self._iterate_needed(iterator, int(np.sum(counts))):
            return
        self._drop(*fulfilled)
        self._allow(int(counts.sum()), 1)
        self.expansion = self.expansion.repeat(counts)
        steps = step if isinstance(step, int) else np.repeat(step, counts)
        self._bind({variable: np.repeat(low, counts) + steps * ranges(counts)})

    def _iterate_window(self, iterator: Iterator, domain: Domain, bands: list[Band]) -> None:
        """The elements that comparisons select in every row."""
        self._allow(domain.size, 0)
        selected = select_ranges(self.ev, iterator.variables, domain, bands, self.expansion.frame)
        if selected is None:
            if not self._iterate_needed(iterator, self.expansion.frame.size * domain.size):
                self._cross(iterator.variables, domain)
            return
        if self._iterate_needed(iterator, int(selected.counts.sum())):
            return
        self._allow(int(selected.counts.sum()), len(iterator.variables))
        places = selected.places(domain.size)
        self.expansion = self.expansion.repeat(selected.counts)
        self._bind({v: c[places] for v, c in zip(iterator.variables, domain.columns(), strict=True)})
        self._drop(*selected.fulfilled_conditions)

    def _iterate_dependent(self, iterator: Iterator, domain: TypedSet) -> None:
        """A set that depends on earlier indices; components that are bound already must agree."""
        frame = self.expansion.frame
        parent, columns = elements(self.ev, domain, frame)
        found = dict(zip(iterator.variables, columns, strict=True))
        agree = [v for v in iterator.variables if v not in self.unbound]
        if agree:
            rows = np.flatnonzero(all_of([found[v] == frame.columns[v][parent] for v in agree]))
            parent, found = parent[rows], {v: c[rows] for v, c in found.items()}
        self.expansion = _follow(self.expansion, parent)
        self._bind(found)

    def _bands(self, iterator: Iterator) -> list[Band]:
        """The comparisons of an iterator's variables, all unbound, with bound ones."""
        own = frozenset(iterator.variables)
        if not own <= self.unbound or (
            free_variables(iterator.domain) and not isinstance(iterator.domain, IntegerRange)
        ):
            return []
        found = (band_of(self.ev, condition, own, frozenset(self.unbound)) for condition in self.conditions)
        return [band for band in found if band is not None]

    def _allow(self, rows: int, new: int) -> None:
        columns = len(self.expansion.frame.columns) + new
        self.ev.budget.frame(rows, columns, self.span, "this index list")


def _pairs(condition: TypedExpr) -> list[TypedExpr]:
    """A conjunction as its parts, a chained comparison as pairs."""
    if isinstance(condition, Logic) and condition.op == "and":
        return [p for operand in condition.operands for p in _pairs(operand)]
    if isinstance(condition, ComparisonChain) and len(condition.ops) > 1:
        return [
            ComparisonChain(span=condition.span, type=condition.type, operands=condition.operands[i : i + 2], ops=(op,))
            for i, op in enumerate(condition.ops)
        ]
    return [condition]


def _element(iterator: Iterator, domain: SliceSet) -> tuple[TypedExpr, ...]:
    """The complete tuple of an iterator over a slice."""
    free = (IndexRef(span=iterator.span, type=v.type, variable=v) for v in iterator.variables)
    return tuple(next(free) if fixed is None else fixed for fixed in domain.fixed)


def _count_integers(first: Codes, last: Codes) -> float:
    """How many integers ranges have in all."""
    return float(np.maximum(0, last - first + 1).sum())


def _follow(expansion: Expansion, rows: Codes) -> Expansion:
    frame = expansion.frame.take(rows)
    return Expansion(frame, rows if expansion.parent is None else expansion.parent[rows])
