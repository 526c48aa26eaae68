"""Expectations: in closed form where there is one, through the outcomes of finite laws where not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.compiling.evaluation.closed_forms import FORMS, ClosedForms, Single, pair_of
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import OUTCOME
from gpusched_dsl.compiling.evaluation.outcomes import Outcomes, element_of, outcomes
from gpusched_dsl.compiling.evaluation.random_parts import Line, joined, number, pushed
from gpusched_dsl.compiling.evaluation.store import RandomLaws
from gpusched_dsl.compiling.lowering.affine import Affine, constant
from gpusched_dsl.compiling.lowering.auxiliaries import Making, shortened
from gpusched_dsl.ir.definitions import PartialExpectation, unary_starts
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats
from gpusched_dsl.language.checked import Core, Expected, Function, RandomRef
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.lowering.linear import Linearizer


class Expectations:
    """Values of expectations, in the service of an `Evaluator`; `around` are the outcomes that are gone through."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        self.around: list[Outcomes] = []
        self._pushed: dict[int, tuple[Expected, Core]] = {}
        self._situations = 0

    def inwards(self, core: Expected) -> Core:
        """The expectation of as little as possible; worked out once for each."""
        known = self._pushed.get(id(core))
        if known is None:
            known = self._pushed[id(core)] = (core, pushed(core))
        return known[1]

    def values(self, core: Expected, frame: Frame) -> Floats:
        """The expectation in every row.

        Raises DiagnosticError: GSM3104 a condition without probability, GSM3106 no closed form and no finite law,
        GSM3001 too many outcomes.
        """
        inner = self.inwards(core)
        if not isinstance(inner, Expected) or inner.body is not core.body:
            return self.ev.numbers(inner, frame)
        found = ClosedForms(self.ev, core, frame).values()
        if found is not None:
            return found
        situation = self.through(core, frame)
        if situation is None:
            raise self.no_form(core)
        return self._mean(core, frame, situation)

    def through(self, core: Expected, frame: Frame) -> Outcomes | None:
        """The outcomes of its random quantities; None when some are not finite."""
        found = outcomes(self.ev, core, frame, self._situations)
        self._situations += frame.size
        return found

    def random(self, core: RandomRef, frame: Frame) -> Floats:
        """The value of a random quantity in the outcome of each row."""
        return self.around[-1].value(element_of(self.ev, core, frame), frame)

    def _mean(self, core: Expected, frame: Frame, found: Outcomes) -> Floats:
        weights = self.weights(core, frame, found)
        self.around.append(found)
        try:
            values = self.ev.numbers(core.body, found.grown.frame)
        finally:
            self.around.pop()
        total = np.bincount(found.grown.parents(), weights=weights * values, minlength=frame.size)
        return total.astype(np.float64, copy=False)

    def weights(self, core: Expected, frame: Frame, found: Outcomes) -> Floats:
        """The probability of each outcome, given the condition; raises DiagnosticError (GSM3104) if that has none."""
        if core.given is None:
            return found.weights
        self.around.append(found)
        try:
            weights = found.weights * self.ev.mask(core.given, found.grown.frame)
        finally:
            self.around.pop()
        parents = found.grown.parents()
        total = np.bincount(parents, weights=weights, minlength=frame.size)
        message = "the condition after `given` has no probability"
        self.ev.refuse_where(total <= 0, "GSM3104", message, core.given, frame, "never true")
        return np.asarray(weights / total[parents])

    def no_form(self, core: Expected) -> DiagnosticError:
        return self.ev.failure(
            "GSM3106",
            f"this has no closed form as an expectation: `{shortened(core.body.span.text)}`",
            core.body.span,
            "a law in it is continuous",
            notes=FORMS,
            help="write it with such terms, or give samples: `empirical(...)` and `discrete(...)` need no closed form",
        )


def expected(linear: Linearizer, core: Expected, frame: Frame) -> Affine:
    """An expectation with decisions as an affine expression, with definitions where it is no line in them.

    Forms: affine expressions; `min` and `max` of two lines in one random quantity (E[min(W, x)] as a definition);
    anything at all where the laws are finite. Raises as `Expectations.values`.
    """
    ev = linear.ev
    inner = ev.expectations.inwards(core)
    if not isinstance(inner, Expected) or inner.body is not core.body:
        return linear.affine(inner, frame)
    pair = pair_of(core.body)
    if pair is not None:
        found = _Extreme(linear, core, *pair).affine(frame)
        if found is not None:
            return found
    situation = ev.expectations.through(core, frame)
    if situation is None:
        raise ev.expectations.no_form(core)
    weights = ev.expectations.weights(core, frame, situation)
    ev.expectations.around.append(situation)
    try:
        body = linear.affine(core.body, situation.grown.frame)
    finally:
        ev.expectations.around.pop()
    return body.scaled(weights).summed(situation.grown.parents(), frame.size, frozenset((OUTCOME,)))


class _Extreme:
    """E min(f, g) = E g + E min(f - g, 0) of two lines, with f - g = s W + r: s data, r affine in decisions.

    With x = -r / s and G(x) = E min(W, x): E min(s W + r, 0) is s G(x) + r where s > 0, and s E W - s G(x) where s < 0;
    for `max` it is the other way round. So G appears with the sign of a convex or concave term as it should.
    """

    def __init__(self, linear: Linearizer, core: Expected, smallest: bool, one: Line, other: Line) -> None:
        self.linear = linear
        self.core = core
        self.smallest = smallest
        self.one, self.other = one, other
        self.gap = joined("-", one, other, core.span)

    def affine(self, frame: Frame) -> Affine | None:
        if not frame.size:  # without rows there are no laws to look at
            return constant(0, np.zeros(0))
        gap = ClosedForms(self.linear.ev, self.core, frame).single(self.gap)
        if gap is None:
            return None
        flat, sloped = np.flatnonzero(gap.slope == 0), np.flatnonzero(gap.slope != 0)
        if not len(flat):
            return self._sloped(frame)
        result = self._flat(frame.take(flat)).spread(flat, frame.size)
        return result + self._sloped(frame.take(sloped)).spread(sloped, frame.size) if len(sloped) else result

    def _flat(self, frame: Frame) -> Affine:
        """Where f and g hold the random quantity alike: only the rest is compared."""
        core, name = self.core, "min" if self.smallest else "max"
        rests = (self.one.rest, self.other.rest)
        rest = Function(span=core.span, type=core.type, decision=core.decision, name=name, arguments=rests)
        return constant(frame.size, self._mean(frame)) + self.linear.affine(rest, frame)

    def _sloped(self, frame: Frame) -> Affine:
        forms, gap = self._gap(frame)
        rising = (gap.slope > 0) == self.smallest
        means = np.where(rising, 0.0, gap.slope * forms.mean_of(gap))
        result = constant(frame.size, self._mean(frame) + means) + self.linear.affine(self.other.rest, frame)
        if rising.any():
            result = result + self.linear.affine(gap.rest, frame).scaled(rising.astype(np.float64))
        column = self.linear.nonlinear.define(self.core, frame, self._definition)
        return result + column.scaled(np.where(rising, gap.slope, -gap.slope))

    def _mean(self, frame: Frame) -> Floats:
        """The expectation of the random part of g."""
        mean = ClosedForms(self.linear.ev, self.core, frame).mean(replace(self.other, rest=number(0.0, self.core.span)))
        assert mean is not None
        return mean

    def _gap(self, frame: Frame) -> tuple[ClosedForms, Single]:
        forms = ClosedForms(self.linear.ev, self.core, frame)
        gap = forms.single(self.gap)
        assert gap is not None
        return forms, gap

    def _definition(self, frame: Frame) -> tuple[str, Making]:
        """G(x) of every row of a frame."""
        _, gap = self._gap(frame)
        laws, which = conditioned(self.linear.ev.store.randoms[gap.name], gap)
        at = self.linear.affine(gap.rest, frame).scaled(-1.0 / gap.slope)
        arguments, starts = self.linear.nonlinear.as_affines(at), unary_starts(frame.size)
        name = f"E({shortened(self.core.body.span.text)})"
        return "expectation", lambda results: PartialExpectation(
            results, starts, arguments, self.core.span, name, which, laws
        )


def conditioned(random: RandomLaws, gap: Single) -> tuple[tuple[Distribution, ...], Codes]:
    """The laws of the rows given low < W <= high: the distinct ones, and which of them each row has."""
    rows = np.column_stack((random.which[gap.position].astype(np.float64), gap.low, gap.high))
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    laws = tuple(random.given(int(at), low, high) for at, low, high in distinct.tolist())
    return laws, which.reshape(-1).astype(np.int64)
