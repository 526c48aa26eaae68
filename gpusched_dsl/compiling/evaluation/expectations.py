"""Expectations: in closed form where there is one, through the outcomes of finite laws where not."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.closed_forms import FORMS, ClosedForms
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.outcomes import Outcomes, element_of, outcomes
from gpusched_dsl.compiling.evaluation.random_parts import push_inwards
from gpusched_dsl.compiling.evaluation.references import References
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.checked import Expected, RandomRef, TypedExpr
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.shortening import shorten


class Expectations:
    """Values of expectations, in the service of the evaluator; `around` are the outcomes that are gone through."""

    def __init__(self, ev: References) -> None:
        self.ev = ev
        self.around: list[Outcomes] = []
        self._pushed: dict[int, tuple[Expected, TypedExpr]] = {}
        self._situations = 0

    def push_inwards(self, expr: Expected) -> TypedExpr:
        """The expectation of as little as possible; worked out once for each."""
        known = self._pushed.get(id(expr))
        if known is None:
            known = self._pushed[id(expr)] = (expr, push_inwards(expr))
        return known[1]

    def values(self, expr: Expected, frame: Frame) -> Floats:
        """The expectation in every row.

        Raises DiagnosticError: GSM3104 a condition without probability, GSM3106 no closed form and no finite law,
        GSM3001 too many outcomes.
        """
        inner = self.push_inwards(expr)
        if not isinstance(inner, Expected) or inner.body is not expr.body:
            return self.ev.numbers(inner, frame)
        found = ClosedForms(self.ev, expr, frame).values()
        if found is not None:
            return found
        situation = self.through(expr, frame)
        if situation is None:
            raise self.no_form(expr)
        return self._mean(expr, frame, situation)

    def through(self, expr: Expected, frame: Frame) -> Outcomes | None:
        """The outcomes of its random quantities; None when some are not finite."""
        found = outcomes(self.ev, expr, frame, self._situations)
        self._situations += frame.size
        return found

    def random(self, expr: RandomRef, frame: Frame) -> Floats:
        """The value of a random quantity in the outcome of each row."""
        return self.around[-1].value(element_of(self.ev, expr, frame), frame)

    def _mean(self, expr: Expected, frame: Frame, found: Outcomes) -> Floats:
        weights = self.weights(expr, frame, found)
        self.around.append(found)
        try:
            values = self.ev.numbers(expr.body, found.grown.frame)
        finally:
            self.around.pop()
        total = np.bincount(found.grown.parents(), weights=weights * values, minlength=frame.size)
        return total.astype(np.float64, copy=False)

    def weights(self, expr: Expected, frame: Frame, found: Outcomes) -> Floats:
        """The probability of each outcome, given the condition; raises DiagnosticError (GSM3104) if that has none."""
        if expr.given is None:
            return found.weights
        self.around.append(found)
        try:
            weights = found.weights * self.ev.mask(expr.given, found.grown.frame)
        finally:
            self.around.pop()
        parents = found.grown.parents()
        total = np.bincount(parents, weights=weights, minlength=frame.size)
        message = "the condition after `given` has no probability"
        self.ev.refuse_where(total <= 0, "GSM3104", message, expr.given, frame, "never true")
        return np.asarray(weights / total[parents])

    def no_form(self, expr: Expected) -> DiagnosticError:
        return self.ev.failure(
            "GSM3106",
            f"this expectation has no closed form: `{shorten(expr.body.span.text)}`",
            expr.body.span,
            "it contains a continuous distribution",
            notes=FORMS,
            help="write it with such terms, or use samples: `empirical(...)` and `discrete(...)` need no closed form",
        )
