"""Expectations: in closed form where there is one, through the outcomes of finite laws where not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.closed_forms import FORMS, ClosedForms
from gpusched_dsl.compiling.evaluation.frames import Expansion, Frame, ranges
from gpusched_dsl.compiling.evaluation.free_variables import OUTCOME, SITUATION
from gpusched_dsl.compiling.evaluation.random_parts import is_random, push_inwards
from gpusched_dsl.compiling.evaluation.references import References
from gpusched_dsl.ir.arrays import Codes, Floats, unique
from gpusched_dsl.language.checked import Expected, RandomRef, TypedExpr, TypedIndexing
from gpusched_dsl.language.checking.walk import Part, children
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


class Outcomes(Struct, frozen=True, eq=False):
    """The rows of a frame multiplied by their outcomes, each with its probability.

    `grown.frame` binds `SITUATION` to the row it came from (counted from `first`, so that no two of them are confused)
    and `OUTCOME` to the number of the joint outcome. In the row r the random element `elements[i]` (for the pairs i
    with `rows[i] == r`, sorted) takes the value number `(outcome // strides[i]) % sizes[i]` of those from `starts[i]`.
    """

    grown: Expansion
    weights: Floats
    first: int
    keys: Codes
    elements: int
    strides: Codes
    sizes: Codes
    starts: Codes
    values: Floats

    def value(self, element: Codes, frame: Frame) -> Floats:
        """The values of random elements in the rows of a frame grown from `grown.frame`."""
        row = frame.columns[SITUATION] - self.first
        pair = np.searchsorted(self.keys, row * self.elements + element)
        place = (frame.columns[OUTCOME] // self.strides[pair]) % self.sizes[pair]
        return self.values[self.starts[pair] + place]


def outcomes(ev: References, expr: Expected, frame: Frame, first: int) -> Outcomes | None:
    """The outcomes of the random quantities in an expectation; None when one of them has no finite support.

    Raises DiagnosticError (GSM3001) when there are too many of them, GSM3002 for subscripts outside.
    """
    rows, elements = _involved_elements(ev, expr, frame)
    numbers = _Numbers(ev)
    keys = unique(rows * numbers.count + elements)
    rows, elements = keys // numbers.count, keys % numbers.count
    supports = [law.atoms for law in numbers.laws]
    law = numbers.law_of[elements]
    if any(supports[n] is None for n in unique(law).tolist()):
        return None
    found = [support if support is not None else (np.zeros(0), np.zeros(0)) for support in supports]
    starts = np.concatenate(([0], np.cumsum([len(values) for values, _ in found]))).astype(np.int64)
    sizes = np.diff(starts)[law]
    totals = np.exp(np.bincount(rows, weights=np.log(sizes), minlength=frame.size))
    ev.budget.frame(int(min(totals.sum() + 1, 2.0**62)), len(frame.columns) + 2, expr.span, "this expectation")
    place = ranges(np.bincount(rows, minlength=frame.size))
    strides, counts = np.ones(len(keys), dtype=np.int64), np.ones(frame.size, dtype=np.int64)
    ranked = [np.flatnonzero(place == rank) for rank in range(int(place.max(initial=-1)) + 1)]
    for pairs in ranked:  # the first, second, ... element of every row
        strides[pairs] = counts[rows[pairs]]
        counts[rows[pairs]] *= sizes[pairs]
    grown = Expansion(frame).repeat(counts)
    row, outcome = grown.parents(), ranges(counts)
    all_values = np.concatenate([np.zeros(0), *(values for values, _ in found)])
    all_weights = np.concatenate([np.zeros(0), *(weights for _, weights in found)])
    weights = np.ones(len(row))
    pair_of = np.full(frame.size, -1, dtype=np.int64)
    for pairs in ranked:
        pair_of[:] = -1
        pair_of[rows[pairs]] = pairs
        pair = pair_of[row]
        some = pair >= 0
        at = starts[law[pair[some]]] + (outcome[some] // strides[pair[some]]) % sizes[pair[some]]
        weights[some] *= all_weights[at]
    bound = grown.bind({SITUATION: row + first, OUTCOME: outcome})
    return Outcomes(bound, weights, first, keys, numbers.count, strides, sizes, starts[law], all_values)


class _Numbers:
    """All random elements of a model numbered through, and their laws."""

    def __init__(self, ev: References) -> None:
        self.first: dict[str, int] = {}
        self.laws = [law for random in ev.store.randoms.values() for law in random.laws]
        law_of, element, law = [np.zeros(0, dtype=np.int64)], 0, 0
        for name, random in ev.store.randoms.items():
            self.first[name] = element
            law_of.append(random.which + law)
            element, law = element + random.domain.size, law + len(random.laws)
        self.law_of = np.concatenate(law_of)
        self.count = max(element, 1)


def element_of(ev: References, expr: RandomRef, frame: Frame) -> Codes:
    """The number of the random element in each row, among all of the model."""
    first = 0
    for name, random in ev.store.randoms.items():
        if name == expr.name:
            break
        first += random.domain.size
    return first + ev.random_position(expr, frame)


def _involved_elements(ev: References, expr: Expected, frame: Frame) -> tuple[Codes, Codes]:
    """Pairs of a row and a random element that occurs in it."""
    rows, elements = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    parts: tuple[TypedExpr, ...] = (expr.body,) if expr.given is None else (expr.body, expr.given)
    for part in parts:
        for reference, around in _references(part, ()):
            grown = Expansion(frame)
            for indexing in around:
                more = ev.expand(grown.frame, indexing, expr.span)
                grown = Expansion(more.frame, grown.parents()[more.parents()])
            rows.append(grown.parents())
            elements.append(element_of(ev, reference, grown.frame))
    return np.concatenate(rows), np.concatenate(elements)


def _references(part: Part, around: tuple[TypedIndexing, ...]) -> Iterator[tuple[RandomRef, tuple[TypedIndexing, ...]]]:
    """Every reference to a random quantity with the index lists around it, without their random conditions."""
    if isinstance(part, Expected):
        return
    if isinstance(part, RandomRef):
        yield part, around
    indexing = getattr(part, "indexing", None)
    inside = around
    if isinstance(indexing, TypedIndexing):
        certain = tuple(c for c in indexing.conditions if not is_random(c))
        inside = (*around, structs.replace(indexing, conditions=certain))
    for child in children(part):
        yield from _references(child, inside)
