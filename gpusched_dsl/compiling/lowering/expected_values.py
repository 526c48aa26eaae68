"""Expectations with decisions as affine expressions, with definitions where they are not linear in the decisions."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.closed_forms import ClosedForms, Single, pair_of
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import OUTCOME
from gpusched_dsl.compiling.evaluation.random_parts import LinearForm, join, number
from gpusched_dsl.compiling.evaluation.store import RandomLaws
from gpusched_dsl.compiling.lowering.affine import Affine, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader
from gpusched_dsl.compiling.lowering.auxiliaries import Making
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.definitions import PartialExpectation, unary_starts
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.language.checked import Expected, Function
from gpusched_dsl.language.text.shortening import shorten


def lower_expectation(linear: AffineReader, nonlinear: Nonlinear, expr: Expected, frame: Frame) -> Affine:
    """An expectation with decisions as an affine expression, with definitions where it is no line in them.

    Forms: affine expressions; `min` and `max` of two lines in one random quantity (E[min(W, x)] as a definition);
    anything at all where the laws are finite. Raises as `Expectations.values`.
    """
    ev = linear.ev
    inner = ev.expectations.push_inwards(expr)
    if not isinstance(inner, Expected) or inner.body is not expr.body:
        return linear.affine(inner, frame)
    pair = pair_of(expr.body)
    if pair is not None:
        found = _ExpectedMinimum(linear, nonlinear, expr, *pair).affine(frame)
        if found is not None:
            return found
    situation = ev.expectations.through(expr, frame)
    if situation is None:
        raise ev.expectations.no_form(expr)
    weights = ev.expectations.weights(expr, frame, situation)
    ev.expectations.around.append(situation)
    try:
        body = linear.affine(expr.body, situation.grown.frame)
    finally:
        ev.expectations.around.pop()
    return body.scale(weights).sum_rows(situation.grown.parents(), frame.size, frozenset((OUTCOME,)))


class _ExpectedMinimum:
    """E min(f, g) = E g + E min(f - g, 0) of two lines, with f - g = s W + r: s data, r affine in decisions.

    With x = -r / s and G(x) = E min(W, x): E min(s W + r, 0) is s G(x) + r where s > 0, and s E W - s G(x) where s < 0;
    for `max` it is the other way round. So G appears with the sign of a convex or concave term as it should.
    """

    def __init__(
        self,
        linear: AffineReader,
        nonlinear: Nonlinear,
        expr: Expected,
        smallest: bool,
        one: LinearForm,
        other: LinearForm,
    ) -> None:
        self.linear = linear
        self.nonlinear = nonlinear
        self.expr = expr
        self.smallest = smallest
        self.one, self.other = one, other
        self.gap = join("-", one, other, expr.span)

    def affine(self, frame: Frame) -> Affine | None:
        if not frame.size:  # without rows there are no laws to look at
            return constant(0, np.zeros(0))
        gap = ClosedForms(self.linear.ev, self.expr, frame).single(self.gap)
        if gap is None:
            return None
        flat, sloped = np.flatnonzero(gap.slope == 0), np.flatnonzero(gap.slope != 0)
        if not len(flat):
            return self._sloped_minimum(frame)
        result = self._flat_minimum(frame.take(flat)).spread(flat, frame.size)
        return result + self._sloped_minimum(frame.take(sloped)).spread(sloped, frame.size) if len(sloped) else result

    def _flat_minimum(self, frame: Frame) -> Affine:
        """Compare f and g without the random quantity if both have the same multiple of it."""
        expr, name = self.expr, "min" if self.smallest else "max"
        rests = (self.one.rest, self.other.rest)
        rest = Function(span=expr.span, type=expr.type, decision=expr.decision, name=name, arguments=rests)
        return constant(frame.size, self._mean(frame)) + self.linear.affine(rest, frame)

    def _sloped_minimum(self, frame: Frame) -> Affine:
        forms, gap = self._gap(frame)
        rising = (gap.slope > 0) == self.smallest
        means = np.where(rising, 0.0, gap.slope * forms.mean_of(gap))
        result = constant(frame.size, self._mean(frame) + means) + self.linear.affine(self.other.rest, frame)
        if rising.any():
            result = result + self.linear.affine(gap.rest, frame).scale(rising.astype(np.float64))
        column = self.nonlinear.define(self.expr, frame, self._definition)
        return result + column.scale(np.where(rising, gap.slope, -gap.slope))

    def _mean(self, frame: Frame) -> Floats:
        """The expectation of the random part of g."""
        mean = ClosedForms(self.linear.ev, self.expr, frame).mean(
            structs.replace(self.other, rest=number(0.0, self.expr.span))
        )
        assert mean is not None
        return mean

    def _gap(self, frame: Frame) -> tuple[ClosedForms, Single]:
        forms = ClosedForms(self.linear.ev, self.expr, frame)
        gap = forms.single(self.gap)
        assert gap is not None
        return forms, gap

    def _definition(self, frame: Frame) -> tuple[str, Making]:
        """G(x) of every row of a frame."""
        _, gap = self._gap(frame)
        laws, which = condition(self.linear.ev.store.randoms[gap.name], gap)
        at = self.linear.affine(gap.rest, frame).scale(-1.0 / gap.slope)
        arguments, starts = self.nonlinear.as_affines(at), unary_starts(frame.size)
        name = f"E({shorten(self.expr.body.span.text)})"
        return "expectation", lambda results: PartialExpectation(
            results, starts, arguments, self.expr.span, name, which, laws
        )


def condition(random: RandomLaws, gap: Single) -> tuple[tuple[Distribution, ...], Codes]:
    """The laws of the rows given low < W <= high: the distinct ones, and which of them each row has."""
    rows = np.column_stack((random.which[gap.position].astype(np.float64), gap.low, gap.high))
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    laws = tuple(random.conditioned_law(int(at), low, high) for at, low, high in distinct.tolist())
    return laws, which.reshape(-1).astype(np.int64)
