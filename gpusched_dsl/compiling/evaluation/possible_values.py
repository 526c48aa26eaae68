"""Possible values of data expressions: proves without a table of all rows that no row of it has an error.

A sum over a sparse variable may leave out the rows where the variable is absent (see `sparse_bodies.py`) if the data of
those rows has finite values and no errors. Each index variable has a set of codes that contains all of its codes.
Expressions of one index variable, or of few combinations, are evaluated at all of them. Larger ones are bounded by the
bounds of their parts. What cannot be proven is unknown, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.grids import GridAxis
from gpusched_dsl.compiling.evaluation.on_demand import waits_for
from gpusched_dsl.compiling.evaluation.store import as_codes, is_element
from gpusched_dsl.compiling.evaluation.zero_reads import ends_of, is_of_tuples
from gpusched_dsl.ir.arrays import Codes, Values, spread, unique
from gpusched_dsl.ir.domains import Domain, ProductDomain, ScalarDomain
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Element,
    Function,
    IfThenElse,
    IndexedSetRef,
    IndexVar,
    IntegerRange,
    Iterator,
    LetRef,
    Logic,
    Membership,
    Negate,
    Numeric,
    ParamRef,
    Reduction,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checking.clock_functions import CLOCK_RANGES
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MOST_COMBINATIONS = 1 << 16  # of index codes at which an expression of several variables is evaluated
MOST_INTEGERS = 1 << 20  # of the range of an index

Sizes = tuple[float, float]  # the smallest and the largest absolute value; both are finite


class PossibleValues:
    """What data expressions can be where index variables have any of some codes; None: unknown, or an error."""

    def __init__(self, ev: BaseEvaluator, codes: Mapping[IndexVar, Codes]) -> None:
        self.ev = ev
        self._codes = codes

    def with_codes(self, codes: Mapping[IndexVar, Codes]) -> PossibleValues:
        """Return the same with the codes of further variables."""
        return PossibleValues(self.ev, {**self._codes, **codes})

    # --- index lists --------------------------------------------------------------------------------------------------

    def inside_list(self, indexing: TypedIndexing) -> PossibleValues | None:
        """Return the values inside an index list; None if a set or a condition of it might have an error."""
        inside: PossibleValues = self
        for iterator in indexing.iterators:
            columns = inside._columns(iterator.domain)
            if columns is None:
                return None
            inside = inside.with_codes(dict(zip(iterator.variables, columns, strict=True)))
        if not all(map(inside.is_known, indexing.conditions)):
            return None
        for condition in indexing.conditions:
            inside = inside._fulfilling(condition)
        return inside

    def _fulfilling(self, condition: TypedExpr) -> PossibleValues:
        """Return the values where a condition on a single index is true."""
        needed = self.ev.needs(condition)
        mask = self._evaluate(condition) if len(needed) == 1 else None
        if mask is None:
            return self
        (variable,) = needed
        codes = self._codes[variable]
        return self.with_codes({variable: codes[spread(np.asarray(mask, dtype=np.bool_), len(codes))]})

    def _columns(self, domain: TypedSet) -> Sequence[Codes] | None:
        """The codes of each component of a set."""
        if not free_variables(domain):
            return [unique(column) for column in self.ev.domain(domain).columns()]
        if isinstance(domain, IndexedSetRef) and self.has_index(domain):
            return [unique(c) for c in self.ev.tuples_of(domain).columns()[len(domain.subscripts) :]]
        if isinstance(domain, IntegerRange) and domain.step is None:
            ends = [self.codes(end) for end in (domain.low, domain.high)]
            if ends[0] is None or ends[1] is None or not (len(ends[0]) and len(ends[1])):
                return None
            low, high = int(ends[0].min()), int(ends[1].max())
            if all(is_element(end).all() for end in ends if end is not None) and high - low < MOST_INTEGERS:
                return [np.arange(low, high + 1, dtype=np.int64)]
        return None

    def has_index(self, expr: IndexedSetRef) -> bool:
        """Whether an indexed set has every index that its subscripts can be."""
        declared = self.ev.model.sets[expr.name]
        return self.are_inside(self.ev.index_domain(declared.indexing, declared.span), expr.subscripts)

    # --- values -------------------------------------------------------------------------------------------------------

    def codes(self, expr: TypedExpr) -> Codes | None:
        """Return codes that include all that an expression can have as a subscript."""
        values = self._evaluate(expr)
        if values is not None:
            return unique(np.atleast_1d(as_codes(values)))
        if isinstance(expr, ParamRef) and (values := self._param(expr)) is not None:
            return unique(as_codes(values)) if values.dtype != object else None
        if isinstance(expr, Arithmetic) and expr.op in "+-" and not expr.decision:
            left, right = self.codes(expr.left), self.codes(expr.right)
            if left is None or right is None or not (len(left) and len(right)):
                return None
            right = right if expr.op == "+" else -right
            low, high = int(left.min() + right.min()), int(left.max() + right.max())
            return np.arange(low, high + 1, dtype=np.int64) if 0 <= high - low < MOST_INTEGERS else None
        return None

    def sizes(self, expr: TypedExpr) -> Sizes | None:
        """Return the smallest and the largest absolute value of an expression if all its values are finite."""
        if expr.decision:
            return None
        values = self._evaluate(expr)
        if values is not None:
            return _sizes_of(values)
        match expr:
            case ParamRef():
                if waits_for(self.ev.store.params, expr.name):
                    return self._formula_sizes(expr)
                values = self._param(expr)
                return None if values is None or not isinstance(expr.type, Numeric) else _sizes_of(values)
            case LetRef():
                let = self.ev.model.lets[expr.name]
                inside = self.called(let.indexing, expr.subscripts)
                return None if inside is None else inside.sizes(let.value)
            case Negate():
                return self.sizes(expr.operand)
            case Arithmetic():
                return _combined(expr.op, self.sizes(expr.left), self.sizes(expr.right))
            case Function(name="abs"):
                return self.sizes(expr.arguments[0])
            case Function(name="min" | "max"):
                return _either([self.sizes(argument) for argument in expr.arguments])
            case Function(name="floor" | "ceil" | "round"):
                inner = self.sizes(expr.arguments[0])
                return None if inner is None else (0.0, inner[1] + 1.0)
            case Function(name=name) if name in CLOCK_RANGES:
                return self._clock_sizes(name, expr.arguments[0])
            case IfThenElse() if self.is_known(expr.condition):
                return _either([self.sizes(expr.then), self.sizes(expr.otherwise)])
            case Reduction(op="sum"):
                return self._sum_sizes(expr)
        return None

    def _clock_sizes(self, name: str, time: TypedExpr) -> Sizes | None:
        """Return the range of a function of the clock if all times have a date."""
        inner, calendar = self.sizes(time), self.ev.store.calendar
        if inner is None or calendar is None:
            return None
        both = np.array([-inner[1], inner[1]])
        return CLOCK_RANGES[name] if bool(calendar.has_date(both).all()) else None

    def is_known(self, expr: TypedExpr) -> bool:
        """Whether a condition on data has a value in every row."""
        if expr.decision:
            return False
        if self._evaluate(expr) is not None:
            return True
        match expr:
            case ComparisonChain():
                return self._are_comparable(expr.operands)
            case Logic():
                return all(map(self.is_known, expr.operands))
            case Membership():
                known = not free_variables(expr.domain) or (
                    isinstance(expr.domain, IndexedSetRef) and self.has_index(expr.domain)
                )
                return known and all(self.codes(e) is not None for e in expr.element)
            case ParamRef():
                return self._param(expr) is not None
        return False

    def _are_comparable(self, operands: Sequence[TypedExpr]) -> bool:
        kinds = {type(o.type) for o in operands}
        if kinds == {Element}:
            return all(self.codes(o) is not None for o in operands)
        if Element in kinds and len(kinds) > 1:  # elements as numbers or texts
            return False
        return all(
            self._evaluate(o) is not None or self.sizes(o) is not None
            if isinstance(o.type, Numeric)
            else isinstance(o, ParamRef) and self._param(o) is not None
            for o in operands
        )

    def _evaluate(self, expr: TypedExpr) -> Values | None:
        """The values at all combinations of the codes, if these are few."""
        needed = sorted(self.ev.needs(expr), key=lambda v: v.span.start)
        if expr.decision or any(v not in self._codes for v in needed):
            return None
        if len(needed) > 1 and math.prod(len(self._codes[v]) for v in needed) > MOST_COMBINATIONS:
            return None
        axes = [GridAxis((v,), (self._codes[v],), len(self._codes[v])) for v in needed]
        try:
            return self.ev.values(expr, Frame.grid(axes) if axes else EMPTY_FRAME)
        except DiagnosticError:
            return None

    def _param(self, expr: ParamRef) -> Values | None:
        """All values of a parameter, if it has one at all subscripts."""
        if waits_for(self.ev.store.params, expr.name):
            return None
        param = self.ev.store.params[expr.name]
        return param.values if self.are_inside(param.domain, expr.subscripts) else None

    def _formula_sizes(self, expr: ParamRef) -> Sizes | None:
        """The sizes of a derived parameter that is computed when it is first read: of all its values."""
        declared = self.ev.model.params[expr.name]
        if declared.value is None or declared.recursive or declared.bounds or declared.within is not None:
            return None
        if declared.kind == "binary" or self.called(declared.indexing, expr.subscripts) is None:
            return None
        inside = PossibleValues(self.ev, {}).inside_list(declared.indexing)
        return None if inside is None else inside.sizes(declared.value)

    def _sum_sizes(self, expr: Reduction) -> Sizes | None:
        inside = self.inside_list(expr.indexing)
        body = None if inside is None else inside.sizes(expr.body)
        if inside is None or body is None:
            return None
        return _finite(0.0, body[1] * math.prod(len(inside._codes[v]) for v in expr.indexing.variables))

    def called(self, indexing: TypedIndexing, subscripts: Sequence[TypedExpr]) -> PossibleValues | None:
        """Return the values inside a called `let` or parameter; None if it might not exist at some subscripts."""
        known = self._all_codes(subscripts)
        if known is None or indexing.conditions or any(free_variables(i.domain) for i in indexing.iterators):
            return None
        if known and not are_combinations_inside(self.ev.index_domain(indexing, indexing.iterators[0].span), known):
            return None
        return PossibleValues(self.ev, dict(zip(indexing.variables, known, strict=True)))

    # --- subscripts ---------------------------------------------------------------------------------------------------

    def are_inside(self, domain: Domain, subscripts: Sequence[TypedExpr]) -> bool:
        """Whether all combinations of the codes of some subscripts are in a domain."""
        if isinstance(domain, ScalarDomain):
            return True
        codes = self._all_codes(subscripts)
        return codes is not None and are_combinations_inside(domain, codes)

    def _all_codes(self, subscripts: Sequence[TypedExpr]) -> list[Codes] | None:
        codes = [self.codes(s) for s in subscripts]
        known = [c for c in codes if c is not None]
        return known if len(known) == len(codes) else None

    def exist_or_read_zero(self, indexing: TypedIndexing, indexed: Domain, subscripts: Sequence[TypedExpr]) -> bool:
        """Whether a variable with an index list has a value, perhaps 0, at all combinations of its subscripts.

        `indexed` is the domain without the `where` condition (see `References.variable_position`).
        """
        if not any(map(is_of_tuples, indexing.iterators)):
            return self.are_inside(indexed, subscripts)
        codes = self._all_codes(subscripts)
        if codes is None:
            return False
        own = PossibleValues(self.ev, dict(zip(indexing.variables, codes, strict=True)))
        return all(own._exists_or_reads_zero(i) for i in indexing.iterators)

    def _exists_or_reads_zero(self, iterator: Iterator) -> bool:
        domain, own = iterator.domain, [self._codes[v] for v in iterator.variables]
        if is_of_tuples(iterator):
            if isinstance(domain, IndexedSetRef) and not self.has_index(domain):
                return False
            ends = ends_of(self.ev, self.ev.model, domain)
            return all(
                bool((is_element(codes) & (low <= codes) & (codes <= high)).all())
                for codes, (low, high) in zip(own, ends, strict=True)
            )
        return not free_variables(domain) and are_combinations_inside(self.ev.domain(domain), own)


def are_combinations_inside(domain: Domain, codes: Sequence[Codes]) -> bool:
    """Whether all combinations of some codes, one list for each component, are surely in a domain."""
    if isinstance(domain, ProductDomain):
        at = 0
        for factor in domain.factors:
            if not are_combinations_inside(factor, codes[at : at + factor.arity]):
                return False
            at += factor.arity
        return True
    count = math.prod(map(len, codes))
    if domain.arity > 1 and count > min(MOST_COMBINATIONS, domain.size):
        return False
    columns = [c.reshape(-1) for c in np.meshgrid(*codes, indexing="ij")]
    return not count or bool((domain.locate(columns) >= 0).all())


def _sizes_of(values: Values) -> Sizes | None:
    if values.dtype == object:
        return None
    if not values.size:
        return 0.0, 0.0
    low, high = float(values.min()), float(values.max())
    return _finite(max(low, -high, 0.0), max(abs(low), abs(high)))


def _finite(low: float, high: float) -> Sizes | None:
    return (low, high) if math.isfinite(high) else None


def _either(parts: Sequence[Sizes | None]) -> Sizes | None:
    known = [part for part in parts if part is not None]
    return (min(p[0] for p in known), max(p[1] for p in known)) if len(known) == len(parts) else None


def _combined(op: str, left: Sizes | None, right: Sizes | None) -> Sizes | None:
    """The sizes of `left op right`; products keep away from where they are not finite, or are rounded to 0."""
    if left is None or right is None:
        return None
    if op in "+-":
        return _finite(0.0, left[1] + right[1])
    if op == "*":
        low = left[0] * right[0]
        return _finite(low if low > 1e-300 else 0.0, left[1] * right[1])
    if op == "/" and right[0] > 0.0:
        low = left[0] / right[1]
        return _finite(low if low > 1e-300 else 0.0, left[1] / right[0])
    return None
