"""Expectations: in closed form where there is one, through the outcomes of finite laws where not."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.closed_forms import FORMS, ClosedForms
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.outcomes import Outcomes, element_of, outcomes
from gpusched_dsl.compiling.evaluation.random_parts import pushed
from gpusched_dsl.compiling.evaluation.references import References
from gpusched_dsl.ir.matrix import Floats
from gpusched_dsl.language.checked import Expected, RandomRef, TypedExpr
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.shortening import shortened


class Expectations:
    """Values of expectations, in the service of the evaluator; `around` are the outcomes that are gone through."""

    def __init__(self, ev: References) -> None:
        self.ev = ev
        self.around: list[Outcomes] = []
        self._pushed: dict[int, tuple[Expected, TypedExpr]] = {}
        self._situations = 0

    def inwards(self, core: Expected) -> TypedExpr:
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
