"""Planning of index lists: conditions become joins, so that a sum over a sparse set never visits the full product.

An index list is a set of *generators* of rows: its iterators, and those conditions that can bind variables rather than
merely filter: a membership `(j, v, g) in F`, an equality `i == k`, and equal values `zone[i] == zone[k]`. At each step
the planner takes the generator that keeps the fewest of the rows a plain product would make, joining it on whatever is
bound already; an iterator whose variables are all bound becomes a filter. With no condition that helps, iterators are
taken as written.

A condition that has no value in some row (a division by zero, a minimum over nothing) is put off: a condition before
it, or an empty set, may exclude that row. What has no value when all is bound is an error.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.dependent_sets import elements, range_ends
from gpusched_dsl.compiling.evaluation.frames import Expansion, Frame, all_of, ranges
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.grids import GridAxis
from gpusched_dsl.compiling.evaluation.index_domains import integer_labels, is_ascending
from gpusched_dsl.compiling.evaluation.matching import match_values
from gpusched_dsl.ir.arrays import Codes, Floats, Values
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
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

_MIRROR = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}


def expand(evaluator: BaseEvaluator, frame: Frame, indexing: TypedIndexing, span: Span) -> Expansion:
    """The frame grown by an index list: one row per combination that fulfils the conditions."""
    return _Plan(evaluator, frame, indexing, span).run()


@dataclass(slots=True)
class _Step:
    """A way to bind variables: `share` of the plain product it keeps, smaller is better."""

    share: float
    kind: str
    iterator: Iterator | None = None
    condition: TypedExpr | None = None
    variable: IndexVar | None = None
    value: TypedExpr | None = None


class _Plan:
    def __init__(self, evaluator: BaseEvaluator, frame: Frame, indexing: TypedIndexing, span: Span) -> None:
        self.ev = evaluator
        self.span = span
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
        for iterator in ready:
            bound = [v not in self.unbound for v in iterator.variables]
            # An iterator that is partly bound, or can be clipped, keeps less than its share of the product.
            helped = any(bound) or bool(self._clipping_conditions(iterator))
            steps.append(_Step(0.5 if helped else 1.0, "iterator", iterator=iterator))
        return min(steps, key=lambda s: s.share)  # the first of equals: iterators stay in their order

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
            codes = self.ev.codes(step.value, self.expansion.frame)
            self._bind({step.variable: np.broadcast_to(codes, (self.expansion.frame.size,))})
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

    def _drop(self, condition: TypedExpr | None) -> None:
        self.conditions = [c for c in self.conditions if c is not condition]

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
        if free_variables(domain) and not isinstance(domain, IntegerRange):
            self._iterate_dependent(iterator, domain)
            return
        clips = self._clipping_conditions(iterator)
        if isinstance(domain, IntegerRange) and (free_variables(domain) or clips):
            self._iterate_range(iterator, domain, clips)
            return
        known = self.ev.domain(domain)
        if any(v not in self.unbound for v in iterator.variables):
            refs = tuple(IndexRef(span=iterator.span, type=v.type, variable=v) for v in iterator.variables)
            self._join(refs, known)
        elif clips:
            self._iterate_clipped(iterator, known, clips)
        else:
            self._cross(iterator.variables, known)

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
        keys = tuple(np.broadcast_to(self.ev.codes(element[at], frame), (frame.size,)) for at in on)
        index = self.ev.join_index(domain, tuple(on))
        counts, starts = index.match(keys)
        self._allow(int(counts.sum()), len(fresh))
        rows = index.rows(counts, starts)
        columns = domain.columns()
        self.expansion = self.expansion.repeat(counts)
        self._bind({v: columns[at][rows] for v, at in fresh.items()})

    def _join_by_value(self, iterator: Iterator, condition: ComparisonChain, own: TypedExpr | None) -> None:
        left, right = condition.operands if own is condition.operands[0] else condition.operands[::-1]
        domain, frame = self.ev.domain(iterator.domain), self.expansion.frame
        columns = domain.columns()
        inner = Frame(domain.size, dict(zip(iterator.variables, columns, strict=True)))
        read = self.ev.numbers if isinstance(left.type, Numeric) else self.ev.values
        elements = np.broadcast_to(read(left, inner), (inner.size,))
        counts, rows = match_values(np.broadcast_to(read(right, frame), (frame.size,)), elements)
        self._allow(int(counts.sum()), len(iterator.variables))
        self.expansion = self.expansion.repeat(counts)
        self._bind({v: c[rows] for v, c in zip(iterator.variables, columns, strict=True)})
        self.iterators = [i for i in self.iterators if i is not iterator]

    def _iterate_range(self, iterator: Iterator, domain: IntegerRange, clips: list[tuple[str, TypedExpr]]) -> None:
        frame = self.expansion.frame
        low, high, step = range_ends(self.ev, domain, frame)
        if isinstance(step, int) and step == 1:
            for op, value in self._limits(clips, by_element=False):
                if op in (">=", ">"):
                    low = np.maximum(low, _first_above(value, strict=op == ">"))
                else:
                    high = np.minimum(high, _last_below(value, strict=op == "<"))
        counts = np.maximum(0, (high - low) // step + 1)
        self._allow(int(counts.sum()), 1)
        self.expansion = self.expansion.repeat(counts)
        steps = step if isinstance(step, int) else np.repeat(step, counts)
        self._bind({iterator.variables[0]: np.repeat(low, counts) + steps * ranges(counts)})

    def _iterate_clipped(self, iterator: Iterator, domain: Domain, clips: list[tuple[str, TypedExpr]]) -> None:
        """A one-dimensional ordered domain from a lower to an upper bound per row, by binary search."""
        self._allow(domain.size, 0)
        frame = self.expansion.frame
        codes = domain.columns()[0]
        first = np.zeros(frame.size, dtype=np.int64)
        stop = np.full(frame.size, domain.size, dtype=np.int64)
        elements = [c for c in clips if domain.components[0] is not None and isinstance(c[1].type, Element)]
        numbers = [c for c in clips if c not in elements]
        for values, limits in (
            (codes, self._limits(elements, by_element=True)),
            (integer_labels(domain, codes), self._limits(numbers, by_element=False)),
        ):
            for op, limit in limits:
                side: Literal["left", "right"] = "left" if op in (">=", "<") else "right"
                place = np.searchsorted(values, limit, side=side)
                if op in (">=", ">"):
                    first = np.maximum(first, place)
                else:
                    stop = np.minimum(stop, place)
        counts = np.maximum(0, stop - first)
        self._allow(int(counts.sum()), 1)
        self.expansion = self.expansion.repeat(counts)
        self._bind({iterator.variables[0]: codes[np.repeat(first, counts) + ranges(counts)]})

    def _limits(self, clips: list[tuple[str, TypedExpr]], *, by_element: bool) -> list[tuple[str, Values]]:
        """The bounds in every row, as codes or as numbers; those without a value in some row clip nothing."""
        frame, found = self.expansion.frame, []
        for op, bound in clips:
            with suppress(DiagnosticError):
                values = self.ev.codes(bound, frame) if by_element else self.ev.numbers(bound, frame)
                found.append((op, np.broadcast_to(values, (frame.size,))))
        return found

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

    def _clipping_conditions(self, iterator: Iterator) -> list[tuple[str, TypedExpr]]:
        """Conditions `h >= a`, `h < b` on the only variable of an ordered domain, with bound other sides."""
        if len(iterator.variables) != 1 or iterator.variables[0] not in self.unbound:
            return []
        variable, domain = iterator.variables[0], iterator.domain
        if not isinstance(domain, IntegerRange):
            if free_variables(domain) or not is_ascending(self.ev.domain(domain)):
                return []
        elif domain.step is not None:
            return []
        clips: list[tuple[str, TypedExpr]] = []
        for condition in self.conditions:
            if not isinstance(condition, ComparisonChain) or len(condition.ops) != 1 or condition.ops[0] not in _MIRROR:
                continue
            for left, op, right in (
                (condition.operands[0], condition.ops[0], condition.operands[1]),
                (condition.operands[1], _MIRROR[condition.ops[0]], condition.operands[0]),
            ):
                if (
                    isinstance(left, IndexRef)
                    and left.variable is variable
                    and op != "=="
                    and not free_variables(right) & self.unbound
                ):
                    clips.append((op, right))
        return clips

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


def _first_above(value: Floats, *, strict: bool) -> Codes:
    return _as_integers(np.floor(value) + 1 if strict else np.ceil(value))


def _last_below(value: Floats, *, strict: bool) -> Codes:
    return _as_integers(np.ceil(value) - 1 if strict else np.floor(value))


def _as_integers(value: Floats) -> Codes:
    """Return integral floats as integers; values beyond every index stay beyond it."""
    return np.clip(value, -(2.0**60), 2.0**60).astype(np.int64)


def _follow(expansion: Expansion, rows: Codes) -> Expansion:
    frame = expansion.frame.take(rows)
    return Expansion(frame, rows if expansion.parent is None else expansion.parent[rows])
