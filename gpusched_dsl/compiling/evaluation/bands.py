"""Band joins: comparisons of new indices with bound ones select ranges of sorted elements, without a full product.

A comparison is separated into `own op other`: `own` depends on the new variables only, `other` on bound variables only.
The elements are sorted by `own`; a binary search of `other` in every row gives the range of elements that fulfil the
comparison. Terms may have to change sides, as in `t - s < d[j]`. The result of the plain comparison may then differ by
rounding, so the range gets a margin, and the plain comparison filters its rows; integers need no margin and no filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from msgspec import Struct, field, structs

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.free_variables import Variables, free_variables
from gpusched_dsl.compiling.evaluation.store import MISSING, PAST
from gpusched_dsl.ir.arrays import Codes, Floats, Values
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Element,
    IndexRef,
    IndexVar,
    Negate,
    Numeric,
    Shift,
    TypedExpr,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MIRROR = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
_MARGIN = 1e-11  # of the magnitudes of all terms: far above the rounding of their sum
_EXACT = 2.0**52  # sums of integers below it are exact
_FAR = np.int64(1 << 60)


class Keys(Struct, frozen=True):
    """The own side of every element. `largest` bounds the sum of the magnitudes of its terms."""

    values: Values
    largest: float = 0.0
    integer: bool = False


class Limits(Struct, frozen=True):
    """The other side in every row. `margin` widens the range; only with `exact` is the comparison surely fulfilled."""

    values: Values
    margin: Floats | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Band(ABC):
    """A comparison `own op other` of new variables with bound ones."""

    condition: TypedExpr
    op: str

    def coefficient(self, variable: IndexVar) -> float | None:
        """The coefficient of the only own variable, if the own side has nothing else."""
        return None

    @abstractmethod
    def keys(self, ev: BaseEvaluator, elements: Frame) -> Keys:
        """The own side of every element."""

    @abstractmethod
    def limits(self, ev: BaseEvaluator, frame: Frame, keys: Keys) -> Limits:
        """The other side in every row of a frame."""


@dataclass(frozen=True, slots=True)
class CodeBand(Band):
    """A comparison of elements, as written."""

    own: TypedExpr
    other: TypedExpr

    def keys(self, ev: BaseEvaluator, elements: Frame) -> Keys:
        return Keys(_column(ev.codes(self.own, elements), elements))

    def limits(self, ev: BaseEvaluator, frame: Frame, keys: Keys) -> Limits:
        return Limits(_column(ev.codes(self.other, frame), frame))


class ScaledTerm(Struct, frozen=True):
    """A term of a sum."""

    scale: float
    value: TypedExpr

    def numbers(self, ev: BaseEvaluator, frame: Frame) -> Floats:
        values = ev.numbers(self.value, frame)
        return values if self.scale == 1 else self.scale * values


@dataclass(frozen=True, slots=True)
class NumberBand(Band):
    """A comparison of sums; `rearranged` if terms have changed sides."""

    own: tuple[ScaledTerm, ...]
    other: tuple[ScaledTerm, ...]
    rearranged: bool

    def keys(self, ev: BaseEvaluator, elements: Frame) -> Keys:
        terms = [t.numbers(ev, elements) for t in self.own]
        values = _column(_total(terms), elements)
        if not self.rearranged:
            return Keys(values)
        if not np.all(np.isfinite(values)):
            raise _Unusable
        return Keys(values, _magnitude(terms), all(map(_are_integers, terms)))

    def limits(self, ev: BaseEvaluator, frame: Frame, keys: Keys) -> Limits:
        terms = [t.numbers(ev, frame) for t in self.other]
        values = _column(_total(terms), frame)
        if not self.rearranged:
            return Limits(values, exact=not np.any(np.isnan(values)))
        if keys.integer and keys.largest + _magnitude(terms) < _EXACT and all(map(_are_integers, terms)):
            return Limits(values)
        sizes = keys.largest + _column(_total(map(np.abs, terms)), frame)
        finite = np.isfinite(sizes)
        return Limits(np.where(finite, values, 0.0), np.where(finite, _MARGIN * sizes, np.inf), exact=False)

    def coefficient(self, variable: IndexVar) -> float | None:
        if len(self.own) == 1 and isinstance(self.own[0].value, IndexRef) and self.own[0].value.variable is variable:
            return self.own[0].scale or None
        return None


@dataclass(frozen=True, slots=True)
class PlaceBand(Band):
    """A shifted element with new and bound parts, such as `s + d[j]`, compared with a bound element, by places.

    `own` and `other` are the offsets of `base`.
    """

    ordering: str
    base: TypedExpr
    base_is_own: bool
    own: tuple[TypedExpr, ...]
    other: tuple[TypedExpr, ...]
    limit: TypedExpr

    def keys(self, ev: BaseEvaluator, elements: Frame) -> Keys:
        places = [self._place_of_base(ev, elements)] if self.base_is_own else []
        return Keys(_column(_total([*places, *(ev.codes(e, elements) for e in self.own)]), elements))

    def limits(self, ev: BaseEvaluator, frame: Frame, keys: Keys) -> Limits:
        ordered = ev.store.sets[self.ordering].columns()[0]
        codes = _column(ev.codes(self.limit, frame), frame)
        places = [] if self.base_is_own else [self._place_of_base(ev, frame)]
        shift = _total([*places, *(ev.codes(e, frame) for e in self.other)])
        # Places before the first element and after the last one are equal among themselves: no range shows that.
        known = (codes != MISSING) & (codes != PAST)
        inside = np.searchsorted(ordered, codes, side="left")
        between = ordered[np.minimum(inside, len(ordered) - 1)] != codes
        values = np.where(known, inside - 0.5 * between, np.where(codes == PAST, len(ordered), -1.0)) - shift
        margin = np.where(known, 0.0, np.inf)
        return Limits(values, margin, exact=bool(known.all()))

    def _place_of_base(self, ev: BaseEvaluator, frame: Frame) -> Codes:
        ordered = ev.store.sets[self.ordering]
        columns = ordered.columns()[0]
        places = ordered.locate((_column(ev.codes(self.base, frame), frame),))
        if not ordered.size or np.any(places < 0) or np.any(np.diff(columns) <= 0):
            raise _Unusable
        return places


class _Unusable(Exception):
    """The elements cannot be sorted by their own side of a comparison."""


def _column(values: Values, frame: Frame) -> Values:
    return np.broadcast_to(values, (frame.size,))


def _total(parts: Iterable[Values]) -> Values:
    total: Values | None = None
    for part in parts:
        total = part if total is None else total + part
    return np.asarray(0.0) if total is None else total


def _magnitude(terms: Sequence[Values]) -> float:
    return sum(float(np.max(np.abs(t), initial=0.0)) for t in terms)


def _are_integers(values: Values) -> bool:
    return bool(np.all(np.rint(values) == values))


# --- separating ------------------------------------------------------------------------------------------------------


def band_of(ev: BaseEvaluator, condition: TypedExpr, own: Variables, unbound: Variables) -> Band | None:
    """The comparison as `own op other`; None if it cannot be separated or reads other unbound variables."""
    if not isinstance(condition, ComparisonChain) or len(condition.ops) != 1 or condition.ops[0] not in MIRROR:
        return None
    free = free_variables(condition)
    if free.isdisjoint(own) or free & (unbound - own):
        return None
    (left, right), op = condition.operands, condition.ops[0]
    for one, sign, two in ((left, op, right), (right, MIRROR[op], left)):
        if _is_own(one, own) and free_variables(two).isdisjoint(own):
            if op == "==":
                return None  # a join by equal values
            if isinstance(one.type, Element) and isinstance(two.type, Element):
                return CodeBand(condition, sign, one, two)
            if _is_number(one) and _is_number(two):
                return NumberBand(condition, sign, (ScaledTerm(1, one),), (ScaledTerm(1, two),), rearranged=False)
            return None
    if isinstance(left.type, Element) and isinstance(right.type, Element):
        for one, sign, two in ((left, op, right), (right, MIRROR[op], left)):
            if isinstance(one, Shift) and free_variables(two).isdisjoint(own):
                return _place_band(condition, sign, one, two, own)
        return None
    return _number_band(ev, condition, own) if _is_number(left) and _is_number(right) else None


def _is_number(expr: TypedExpr) -> bool:
    return isinstance(expr.type, Numeric | Element)


def _is_own(expr: TypedExpr, own: Variables) -> bool:
    free = free_variables(expr)
    return bool(free) and free <= own


def _place_band(condition: TypedExpr, op: str, shifted: Shift, limit: TypedExpr, own: Variables) -> PlaceBand | None:
    offsets = [shifted.offset]
    base = shifted.operand
    while isinstance(base, Shift) and base.ordering == shifted.ordering:
        offsets.append(base.offset)
        base = base.operand
    mine = tuple(e for e in offsets if _is_own(e, own))
    others = tuple(e for e in offsets if free_variables(e).isdisjoint(own))
    base_is_own = _is_own(base, own)
    if len(mine) + len(others) < len(offsets) or not (base_is_own or free_variables(base).isdisjoint(own)):
        return None
    return PlaceBand(condition, op, shifted.ordering, base, base_is_own, mine, others, limit)


def _number_band(ev: BaseEvaluator, condition: ComparisonChain, own: Variables) -> NumberBand | None:
    left, right = condition.operands
    mine: list[ScaledTerm] = []
    others: list[ScaledTerm] = []
    for term in (*_terms(ev, left, 1.0, own), *_terms(ev, right, -1.0, own)):
        if _is_own(term.value, own):
            mine.append(term)
        elif free_variables(term.value).isdisjoint(own):
            others.append(ScaledTerm(-term.scale, term.value))
        else:
            return None
    return NumberBand(condition, condition.ops[0], tuple(mine), tuple(others), rearranged=True)


def _terms(ev: BaseEvaluator, expr: TypedExpr, scale: float, own: Variables) -> list[ScaledTerm]:
    """The terms of a sum that has both new and bound variables; scalar factors multiply each of them."""
    free = free_variables(expr)
    if free.isdisjoint(own) or free <= own:
        return [ScaledTerm(scale, expr)]
    match expr:
        case Negate():
            return _terms(ev, expr.operand, -scale, own)
        case Arithmetic(op="+" | "-"):
            sign = scale if expr.op == "+" else -scale
            return [*_terms(ev, expr.left, scale, own), *_terms(ev, expr.right, sign, own)]
        case Arithmetic(op="*" | "/"):
            for factor, rest in ((expr.right, expr.left), (expr.left, expr.right)):
                if not free_variables(factor) and (expr.op == "*" or factor is expr.right):
                    with suppress(DiagnosticError):
                        value = ev.number(factor)
                        if value != 0 and np.isfinite(value):
                            return _terms(ev, rest, scale * value if expr.op == "*" else scale / value, own)
    return [ScaledTerm(scale, expr)]


# --- ranges of elements ----------------------------------------------------------------------------------------------


class SelectedRanges(Struct, frozen=True):
    """A range of sorted elements for every row; `order` has their places in the set, None if it is sorted.

    Every element of the ranges fulfils the `fulfilled_conditions`.
    """

    first: Codes
    counts: Codes
    order: Codes | None
    fulfilled_conditions: tuple[TypedExpr, ...]

    def places(self, size: int) -> Codes:
        """The places of the elements in their set, row by row, in the order of the set."""
        sorted_places = np.repeat(self.first, self.counts) + ranges(self.counts)
        if self.order is None:
            return sorted_places
        places: Codes = self.order[sorted_places]
        row = np.repeat(np.arange(len(self.counts), dtype=np.int64) * size, self.counts)
        places += row
        places.sort()
        places -= row
        return places


def select_ranges(
    ev: BaseEvaluator, variables: Sequence[IndexVar], domain: Domain, bands: Sequence[Band], frame: Frame
) -> SelectedRanges | None:
    """The smallest ranges of elements that bands on one sorting of the elements select; None without a usable band."""
    elements = Frame(domain.size, dict(zip(variables, domain.columns(), strict=True)))
    sortings = [_Sorting(None)]
    for band in bands:
        with suppress(DiagnosticError, _Unusable):  # a comparison without a value in some row selects nothing
            keys = band.keys(ev, elements)
            limits = band.limits(ev, frame, keys)
            if not any(sorting.adopts(band, keys.values, limits) for sorting in sortings):
                sortings.append(_Sorting(np.argsort(keys.values, kind="stable")))
                sortings[-1].adopts(band, keys.values, limits)
    selections = [sorting.ranges(domain.size, frame) for sorting in sortings if sorting.searches]
    return min(selections, key=lambda w: int(w.counts.sum()), default=None)


class _Search(Struct, frozen=True):
    """A comparison `keys op limits` with sorted keys."""

    condition: TypedExpr
    op: str
    keys: Values
    limits: Limits

    def place(self, side: int) -> Codes:
        """Where the elements begin that are not below the limits (side -1), or above them (side 1)."""
        values, margin = self.limits.values, self.limits.margin
        strict = self.op in ("<", ">") and (margin is None or not np.any(margin))
        if margin is not None:
            values = values + side * margin
        return np.searchsorted(self.keys, values, side="left" if (side < 0) != strict else "right")


class _Sorting(Struct, frozen=True):
    """An order of the elements of a set, and comparisons whose keys ascend in it."""

    order: Codes | None
    searches: list[_Search] = field(default_factory=list)

    def adopts(self, band: Band, keys: Values, limits: Limits) -> bool:
        """Add a comparison if its keys ascend or descend in this order."""
        arranged = keys if self.order is None else keys[self.order]
        steps = np.diff(arranged)
        if np.all(steps >= 0):
            self.searches.append(_Search(band.condition, band.op, arranged, limits))
        elif np.all(steps <= 0):
            mirrored = structs.replace(limits, values=-limits.values)
            self.searches.append(_Search(band.condition, MIRROR[band.op], -arranged, mirrored))
        else:
            return False
        return True

    def ranges(self, size: int, frame: Frame) -> SelectedRanges:
        first = np.zeros(frame.size, dtype=np.int64)
        stop = np.full(frame.size, size, dtype=np.int64)
        for search in self.searches:
            if search.op in (">=", ">", "=="):
                first = np.maximum(first, search.place(-1))
            if search.op in ("<=", "<", "=="):
                stop = np.minimum(stop, search.place(1))
        fulfilled = tuple(s.condition for s in self.searches if s.limits.exact)
        return SelectedRanges(first, np.maximum(0, stop - first), self.order, fulfilled)


# --- ranges of integers ----------------------------------------------------------------------------------------------


def clip_range(
    ev: BaseEvaluator, variable: IndexVar, bands: Sequence[Band], frame: Frame, low: Codes, high: Codes
) -> tuple[Codes, Codes, list[TypedExpr]]:
    """The ends of a range of integers per row, within what bands on its variable select; the fulfilled conditions."""
    fulfilled: list[TypedExpr] = []
    for band in bands:
        scale = band.coefficient(variable)
        if scale is None:
            continue
        with suppress(DiagnosticError):
            limits = band.limits(ev, frame, Keys(low, abs(scale) * _magnitude((low, high)), float(scale).is_integer()))
            op = band.op if scale > 0 else MIRROR[band.op]
            margin = 0.0 if limits.margin is None else limits.margin / abs(scale)
            values = limits.values / scale
            strict = limits.margin is None  # quotients of integers below 2**52 do not round to integers
            if op in (">=", ">", "=="):
                low = np.maximum(low, _first_above(values - margin, strict=strict and op == ">"))
            if op in ("<=", "<", "=="):
                high = np.minimum(high, _last_below(values + margin, strict=strict and op == "<"))
            if limits.exact:
                fulfilled.append(band.condition)
    return low, high, fulfilled


def _first_above(value: Floats, *, strict: bool) -> Codes:
    return _integers(np.floor(value) + 1 if strict else np.ceil(value))


def _last_below(value: Floats, *, strict: bool) -> Codes:
    return _integers(np.ceil(value) - 1 if strict else np.floor(value))


def _integers(value: Floats) -> Codes:
    """Return integral floats as integers; values beyond every index stay beyond it."""
    return np.clip(value, -float(_FAR), float(_FAR)).astype(np.int64)
