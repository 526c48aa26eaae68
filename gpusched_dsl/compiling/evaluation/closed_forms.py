"""Expectations in closed form: means, minima and maxima of two lines in one random quantity, and events about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.random_parts import LinearForm, Literal, join, line_of, literals_of, number
from gpusched_dsl.compiling.evaluation.references import References
from gpusched_dsl.ir.arrays import Codes, Floats, spread
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.language.checked import Expected, Function, IfThenElse, TypedExpr

INF = float("inf")
FORMS = (
    "closed forms exist for means, `min` and `max` of two terms that are linear in one random quantity, `abs`, "
    "`if W > a then ... else ...` with such terms, and probabilities of comparisons joined by `and`, `or`, `not`",
    "the condition after `given` may only compare single random quantities with data: `given W > a and W <= b`",
)


@dataclass(frozen=True, eq=False)
class ConditionedElement:
    """low < W <= high in the rows of a frame, W the element at `position` of the random `name`."""

    name: str
    position: Codes
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Single(ConditionedElement):
    """`slope * W + rest` where the interval is given; without a random quantity `name` is empty and the slope 0."""

    slope: Floats
    rest: TypedExpr


class ClosedForms:
    """Finds the closed form of one expectation over the rows of a frame; methods give None where there is none."""

    def __init__(self, ev: References, expr: Expected, frame: Frame) -> None:
        self.ev = ev
        self.expr = expr
        self.frame = frame
        self._given = self._read_given()

    # --- values -------------------------------------------------------------------------------------------------------

    def values(self) -> Floats | None:
        """Return the value in every row, for bodies with values of all other parts."""
        body = self.expr.body
        line = line_of(body)
        if line is not None:
            return self.mean(line)
        if isinstance(body, IfThenElse):
            return self._choice(body)
        pair = pair_of(body)
        if pair is not None:
            return self._extreme(*pair)
        literals = literals_of(body)
        return None if literals is None else self._chance(literals)

    def mean(self, line: LinearForm) -> Floats | None:
        """The expectation of a line, of any number of random quantities."""
        if self._given is None:
            return None
        total = self.numbers(line.rest)
        for coefficient, reference in line.terms:
            one = self.single(LinearForm(((coefficient, reference),), number(0.0, reference.span)))
            assert one is not None
            total = total + one.slope * self.mean_of(one)
        return total

    def single(self, line: LinearForm) -> Single | None:
        """Return a line in one random element; None for several, or if the condition is unsupported."""
        found = self._by_element(line)
        if self._given is None or found is None or len(found) > 1:
            return None
        if not found:
            none = np.zeros(self.frame.size)
            return Single("", np.zeros(self.frame.size, dtype=np.int64), none - INF, none + INF, none, line.rest)
        ((name, position, slope),) = found
        low, high = self._bounds(name, position)
        return Single(name, position, low, high, slope, line.rest)

    def _by_element(self, line: LinearForm) -> list[tuple[str, Codes, Floats]] | None:
        """The slope of each random element of a line, without those that cancel; None when some are partly the same."""
        found: list[tuple[str, Codes, Floats]] = []
        for coefficient, reference in line.terms:
            position, slope = self.ev.random_position(reference, self.frame), self.numbers(coefficient)
            for at, (name, place, other) in enumerate(found):
                same = position == place if name == reference.name else np.zeros(1, dtype=np.bool_)
                if same.all():
                    found[at] = (name, place, other + slope)
                    break
                if same.any():
                    return None
            else:
                found.append((reference.name, position, slope))
        return [one for one in found if one[2].any()]

    def numbers(self, expr: TypedExpr) -> Floats:
        return spread(self.ev.numbers(expr, self.frame), self.frame.size)

    # --- minima and maxima of two lines -------------------------------------------------------------------------------

    def _extreme(self, smallest: bool, one: LinearForm, other: LinearForm) -> Floats | None:
        """E min(f, g) = E g + E min(f - g, 0) with f - g = slope W + rest, and in the same way for max."""
        gap = self.single(join("-", one, other, self.expr.span))
        base = self.mean(other)
        if gap is None or base is None:
            return None
        rest = self.numbers(gap.rest)
        return base + (self.below_zero(gap, rest) if smallest else -self.below_zero(negative(gap), -rest))

    def below_zero(self, gap: Single, rest: Floats) -> Floats:
        """E min(slope W + rest, 0)."""
        slope = gap.slope
        flat = slope == 0
        at = np.where(flat, 0.0, -rest / np.where(flat, 1.0, slope))
        rises = slope > 0
        if rises.all():
            mean = self.partial(gap, at) - at
        elif not rises.any():
            mean = self.excess(gap, at)
        else:
            mean = np.where(rises, self.partial(gap, at) - at, self.excess(gap, at))
        return np.where(flat, np.minimum(rest, 0.0), slope * mean)

    # --- the laws -----------------------------------------------------------------------------------------------------

    def mean_of(self, one: Single) -> Floats:
        return self.partial(one, np.full(self.frame.size, INF))

    def partial(self, one: Single, x: Floats) -> Floats:
        """E[min(W, x)] given low < W <= high."""
        return self._by_law(one, partial_given, x, one.low, one.high)

    def excess(self, one: Single, x: Floats) -> Floats:
        """E[max(W - x, 0)] given low < W <= high."""
        if np.isinf(one.low).all() and np.isinf(one.high).all():
            return self._by_law(one, lambda law, x: law.stop_loss(x), x)
        return self.mean_of(one) - self.partial(one, x)

    def _by_law(self, one: Single, function: Callable[..., Floats], *arrays: Floats) -> Floats:
        if not one.name:
            return np.zeros(self.frame.size)
        return self.ev.store.randoms[one.name].each(one.position, function, *arrays)

    # --- events -------------------------------------------------------------------------------------------------------

    def _chance(self, literals: tuple[Literal, ...]) -> Floats | None:
        """Return the probability that all conditions are true: the product over their random elements."""
        joint = self._joint(literals)
        if joint is None or self._given is None:
            return None
        result = np.ones(self.frame.size)
        for interval in joint:
            result = result * self._share(interval)
        return result

    def _choice(self, body: IfThenElse) -> Floats | None:
        """Return `if W > a then f else g` with lines f and g in W: E g, and f - g where the condition is true."""
        literals = literals_of(body.condition)
        then, otherwise = line_of(body.then), line_of(body.otherwise)
        joint = None if literals is None else self._joint(literals)
        if joint is None or len(joint) != 1 or then is None or otherwise is None:
            return None
        gap, base = self.single(join("-", then, otherwise, body.span)), self.mean(otherwise)
        if gap is None or base is None:
            return None
        (interval,) = joint
        if gap.name and (gap.name != interval.name or not np.array_equal(gap.position, interval.position)):
            return None
        share = self._share(interval)
        low, high = self._bounds(interval.name, interval.position)
        some = share > 0  # elsewhere what is given will do: it counts nothing
        inner = replace(
            gap,
            low=np.where(some, np.maximum(interval.low, low), low),
            high=np.where(some, np.minimum(interval.high, high), high),
        )
        return base + share * (gap.slope * self.mean_of(inner) + self.numbers(gap.rest))

    def _share(self, interval: ConditionedElement) -> Floats:
        """Return P(W in the interval), under the condition on W."""
        low, high = self._bounds(interval.name, interval.position)

        def share(law: Distribution, a: Floats, b: Floats, low: Floats, high: Floats) -> Floats:
            a, b = np.maximum(a, low), np.minimum(b, high)
            inside = np.where(a < b, law.survival(a) - law.survival(b), 0.0)
            return np.asarray(inside / (law.survival(low) - law.survival(high)))

        random = self.ev.store.randoms[interval.name]
        return random.each(interval.position, share, interval.low, interval.high, low, high)

    def _joint(self, literals: tuple[Literal, ...]) -> list[ConditionedElement] | None:
        """One interval for each random element; None when two may be the same in some rows and not in others."""
        joint: list[ConditionedElement] = []
        for literal in literals:
            new = self._interval(literal)
            if new is None:
                return None
            for at, old in enumerate(joint):
                same = old.position == new.position if old.name == new.name else np.zeros(1, dtype=np.bool_)
                if same.all():
                    joint[at] = replace(old, low=np.maximum(old.low, new.low), high=np.minimum(old.high, new.high))
                    break
                if same.any():
                    return None
            else:
                joint.append(new)
        return joint

    def _interval(self, literal: Literal) -> ConditionedElement | None:
        """A comparison `slope W + rest op 0` as an interval."""
        line, op = literal.line, literal.op
        found = self._by_element(line)
        if found is None or len(found) != 1 or (line.rest.decision and self.ev.store.point is None):
            return None
        ((name, position, slope),) = found
        rest = self.numbers(line.rest)
        flat = slope == 0
        at = -rest / np.where(flat, 1.0, slope)
        before = np.nextafter(at, -INF)  # so that W >= at is before < W
        lower = (slope > 0) == (op in (">", ">="))
        edge = np.where(lower == (op in (">", "<")), at, before)
        low, high = np.where(lower, edge, -INF), np.where(lower, INF, edge)
        if op == "==":
            low, high = before, at
        holds = {">": rest > 0, ">=": rest >= 0, "<": rest < 0, "<=": rest <= 0, "==": rest == 0}[op]
        return ConditionedElement(
            name, position, np.where(flat, np.where(holds, -INF, INF), low), np.where(flat, INF, high)
        )

    # --- what is given ------------------------------------------------------------------------------------------------

    def _read_given(self) -> list[ConditionedElement] | None:
        """The condition after `given` as intervals; raises DiagnosticError (GSM3104) where it cannot be true."""
        given = self.expr.given
        if given is None:
            return []
        literals = literals_of(given)
        joint = None if literals is None else self._joint(literals)
        for interval in joint or ():
            random = self.ev.store.randoms[interval.name]
            ends = interval.low, interval.high
            chance = random.each(interval.position, lambda law, low, high: law.chance(low, high), *ends)
            lost = ~(chance > 0) | (interval.low >= interval.high)
            message = "the condition after `given` has no probability"
            self.ev.refuse_where(lost, "GSM3104", message, given, self.frame, "never true")
        return joint

    def _bounds(self, name: str, position: Codes) -> tuple[Floats, Floats]:
        low, high = np.full(self.frame.size, -INF), np.full(self.frame.size, INF)
        for other in self._given or ():
            if other.name == name:
                same = other.position == position
                low = np.where(same, np.maximum(low, other.low), low)
                high = np.where(same, np.minimum(high, other.high), high)
        return low, high


def negative(one: Single) -> Single:
    """The same random element with the opposite slope."""
    return replace(one, slope=-one.slope)


def pair_of(body: TypedExpr) -> tuple[bool, LinearForm, LinearForm] | None:
    """Return `min` (True) or `max` of two lines; a line without random quantities is last in `min`, first in `max`.

    Data arguments are taken together; `abs(f)` is max(f, -f).
    """
    if not isinstance(body, Function) or body.name not in ("min", "max", "abs"):
        return None
    lines = [line_of(argument) for argument in body.arguments]
    found = [line for line in lines if line is not None]
    if len(found) < len(lines):
        return None
    if body.name == "abs":
        zero = LinearForm((), number(0.0, body.span))
        return False, found[0], join("-", zero, found[0], body.span)
    random = [line for line in found if line.terms]
    fixed = [line.rest for line in found if not line.terms]
    if len(random) + bool(fixed) != 2:
        return None
    if not fixed:
        return body.name == "min", random[0], random[1]
    decision = any(expr.decision for expr in fixed)
    rest = fixed[0]
    if len(fixed) > 1:
        rest = Function(span=body.span, type=body.type, decision=decision, name=body.name, arguments=tuple(fixed))
    own = LinearForm((), rest)
    # The second is the one whose expectation is added: with min(W, x) the mean of W, so that x stands once.
    return (True, own, random[0]) if body.name == "min" else (False, random[0], own)


def partial_given(law: Distribution, x: Floats, low: Floats, high: Floats) -> Floats:
    if np.isneginf(low).all() and np.isposinf(high).all():
        return law.partial_expectation(x)
    return law.partial_expectation_given(x, low, high)
