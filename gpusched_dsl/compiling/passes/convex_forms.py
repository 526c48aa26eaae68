"""Sums of terms that are convex together, though not one by one, as one convex function.

    sum of c_ij x_i x_j, a positive semidefinite form      ->  a quadratic form
    sqrt(such a sum)                                       ->  a norm
    quadratic / affine, as `x^2 / y` and `x / (a - x)`     ->  sums of squares over the denominator (`forms.divide`)
    x log(x), x log(x / y), y log(1 + x / y) with `-`      ->  relative entropies
    y exp(x / y)                                           ->  the perspective of the exponential
    log(sum of exp)                                        ->  log-sum-exp

A row, an objective or an argument is looked at as a whole, with all coefficients that meet in it, and only where it
gains from one direction. Of a sum that is convex in the wanted direction, one new column with the function takes the
place; the affine rest that multiplying out leaves stays in the sum. What nobody reads any more is taken away.

Takes products (and roots and logarithms) that are not convex by themselves, for targets that take the new function;
for targets that take quadratic objectives, all squares and products of an objective. Leaves what is not convex, which
a target may take as it is. Points are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.analysis.bounds import Bounds
from gpusched_dsl.compiling.convexity.bent import bent_entries
from gpusched_dsl.compiling.convexity.composed import logs_of_sums, norms
from gpusched_dsl.compiling.convexity.factored_terms import (
    EXPONENTIAL,
    LOGARITHM,
    RECIPROCAL,
    UNIT,
    FactoredTerms,
)
from gpusched_dsl.compiling.convexity.forms import Form, entropies, perspectives, quadratics, quotients
from gpusched_dsl.compiling.convexity.groups import TermGroups, groups_of
from gpusched_dsl.compiling.convexity.readers import Readers, Rewriting
from gpusched_dsl.compiling.passes.expectation_forms import scale
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.removing import without_columns, without_unread
from gpusched_dsl.compiling.passes.rewriting import index_of_rows
from gpusched_dsl.compiling.passes.steps import (
    CONVEX_FORMS,
    QUADRATIC_OBJECTIVE,
    Analysis,
    Note,
    PassResult,
    Target,
    compose_numberings,
)
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.definitions import (
    Definition,
    ExponentialPerspective,
    LogSumExp,
    Norm,
    Power,
    Product,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
    Unary,
)
from gpusched_dsl.ir.domains import Domain, IntervalDomain, ScalarDomain
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.shortening import shorten

ROUNDS = 4  # a function that is recognised may have arguments with others inside

Recogniser = Callable[[TermGroups, FactoredTerms, Bounds], Form]


class Part(Struct, frozen=True):
    """A kind of part of a sum: its function, what it becomes, what it is called, and what is done with it."""

    function: int
    made: type[Definition]
    recognise: Recogniser
    called: str
    did: str


QUADRATIC = Part(
    UNIT, QuadraticForm, lambda groups, terms, _: quadratics(groups, terms), "the quadratic terms",
    "convex together: one quadratic form",
)  # fmt: skip
PARTS = (
    QUADRATIC,
    Part(RECIPROCAL, QuadraticOverLinear, quotients, "the quotients", "squares over a linear expression"),
    Part(LOGARITHM, RelativeEntropy, entropies, "the entropies", "relative entropies"),
    Part(EXPONENTIAL, ExponentialPerspective, perspectives, "the exponentials", "exponentials of quotients, scaled"),
)


class ConvexForms:
    """Products, powers, logarithms and exponentials -> convex functions of several arguments."""

    name: ClassVar[str] = "convex_forms"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return bool((CONVEX_FORMS | {QUADRATIC_OBJECTIVE}) & target.accepts) and any(
            d.size for d in analysis.problem.definitions
        )

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        steps: list[PassResult] = []
        if _any_unread_product(analysis.problem):
            steps.append(_without_results(PassResult(analysis.problem), analysis.problem, (Product,)))
            analysis = Analysis(steps[0].problem, swept=True)
        for _ in range(ROUNDS):
            step = _Round(analysis, target).step()
            if step is None:
                break
            steps.append(step)
            analysis = Analysis(step.problem, swept=True)
        return _chain(steps) if steps else PassResult(analysis.problem)


class _Round:
    """One look at all sums."""

    def __init__(self, analysis: Analysis, target: Target) -> None:
        self.analysis, self.target, self.problem = analysis, target, analysis.problem
        self.terms, self.readers = FactoredTerms(self.problem), Readers.of(analysis)
        self.builder = ProblemBuilder(self.problem)
        self.rewriting = Rewriting(self.readers)
        self.open: Bools = np.ones(self.readers.count, dtype=np.bool_)
        self.before: dict[int, list[Definition]] = {}  # new definitions, by the owner of the sums that read them
        self.asked = np.zeros(self.problem.columns, dtype=np.bool_)
        for definition in self.problem.definitions:
            if definition.size:
                self.asked[definition.results[bent_entries(analysis, definition)]] = True

    def step(self) -> PassResult | None:
        """The problem after one round; None if nothing was found."""
        composed = [self._compose(number) for number in range(len(self.problem.definitions))]
        if self.target.takes(QUADRATIC_OBJECTIVE):
            self._take_objective()
        for part in PARTS:
            if self.target.takes(part.made.op):
                self._take(part, self.asked, self.open)
        if not self.builder.notes:
            return None
        step = self.builder.step()
        changed = self.rewriting.apply_to(replace(step.problem, definitions=self.problem.definitions))
        definitions: list[Definition] = []
        first = self.readers.first_definition
        for number, definition in enumerate(changed.definitions):
            definitions += self.before.get(first + number, ())
            definitions += composed[number] or [definition]
        for owner in range(first):
            definitions += self.before.get(owner, ())
        return _without_results(
            structs.replace(step, problem=replace(changed, definitions=tuple(definitions))), self.problem
        )

    # --- whole terms -------------------------------------------------------------------------------------------------

    def _compose(self, number: int) -> list[Definition] | None:
        """What takes the place of a definition of roots or logarithms; None if it stays."""
        definition = self.problem.definitions[number]
        asked = self.asked[definition.results] & ~self.analysis.directions.up[definition.results]
        if not asked.any():
            return None
        if isinstance(definition, Power) and self.target.takes(Norm.op):
            entries, made = norms(self.terms, definition, asked)
            did = "a Euclidean norm"
        elif isinstance(definition, Unary) and self.target.takes(LogSumExp.op):
            entries, made = logs_of_sums(self.terms, definition, asked)
            did = "the logarithm of a sum of exponentials"
        else:
            return None
        if not len(entries):
            return None
        self.builder.notes.append(Note(ConvexForms.name, definition.name, did, len(entries), span=definition.span))
        kept = np.ones(definition.size, dtype=np.bool_)
        kept[entries] = False
        first = self.readers.owner.searchsorted(self.readers.first_definition + number)
        arguments = np.flatnonzero(~kept[definition.entry_of])
        self.open[first + arguments] = False
        return [made, definition.take(np.flatnonzero(kept))] if kept.any() else [made]

    # --- parts of sums -----------------------------------------------------------------------------------------------

    def _take_objective(self) -> None:
        """All squares and products of the last objective: earlier ones become rows when they have been reached."""
        every = np.ones(self.problem.columns, dtype=np.bool_)
        last = self.readers.first_definition - 1
        inside = (self.readers.owner == last) & (last >= self.readers.first_objective)
        self._take(QUADRATIC, every, self.open & inside)

    def _take(self, part: Part, asked: Bools, open_readers: Bools) -> None:
        """Take the parts of a kind that have a column that is asked for."""
        groups = groups_of(self.readers, self.terms, part.function, asked, open_readers, ~self.rewriting.gone)
        if not groups.count:
            return
        form = part.recognise(groups, self.terms, self.analysis.bounds)
        self.rewriting.drop(groups.take(form.accepted).entries)
        self.rewriting.add_affines(groups.readers[form.rest_of], scale(form.rest, groups.signs[form.rest_of]))
        owners = self.readers.owner[groups.readers]
        for owner in unique(owners[form.accepted]).tolist():  # families of the model, not their entries
            accepted = form.accepted[owners[form.accepted] == owner]
            name, span = self._name(groups.take(accepted), owner, part)
            entries = np.flatnonzero(owners[form.groups] == owner)
            if len(entries):
                self._add(form.definition.take(entries), groups, form.groups[entries], owner, name, span)
            self.builder.notes.append(
                Note(ConvexForms.name, name, part.did, len(accepted), columns=len(entries), span=span)
            )

    def _add(
        self, definition: Definition, groups: TermGroups, of: Codes, owner: int, name: str, span: Span | None
    ) -> None:
        """Add columns for the entries, and read them in the sums of groups `of`."""
        readers = groups.readers[of]
        family, _ = self.readers.source(owner)
        results = self.builder.add_columns(
            f"{family}.{definition.op}", self._index(owner, readers), -np.inf, np.inf, False, definition.values, span,
            doc=name,
        )  # fmt: skip
        made = replace(definition, results=results, span=span, name=name)
        self.before.setdefault(owner, []).append(made)
        self.rewriting.add(readers, results, groups.signs[of])

    def _index(self, owner: int, readers: Codes) -> Domain:
        if owner < self.readers.first_objective and len(unique(readers)) == len(readers):
            return index_of_rows(self.problem.constraints[owner], readers)
        return ScalarDomain() if len(readers) == 1 else IntervalDomain(1, len(readers))

    def _name(self, groups: TermGroups, owner: int, part: Part) -> tuple[str, Span | None]:
        """The term as it is written where there is one, else the sum that it is a part of."""
        columns = self.readers.matrix.columns[groups.entries]
        sources = [d for d in self.problem.definitions if np.isin(d.results, columns).any()]
        family, span = self.readers.source(owner)
        if len(sources) > 1:
            return f"{part.called} of {family}", span
        written = sources[0].span
        return sources[0].name if written is None else shorten(written.text), written


def _any_unread_product(problem: Problem) -> bool:
    """Whether a product is unused, as in a problem whose objectives were removed."""
    products = [d.results for d in problem.definitions if isinstance(d, Product) and d.size]
    if not products:
        return False
    read = np.zeros(problem.columns, dtype=np.bool_)
    read[problem.matrix.columns] = read[problem.conditions.columns] = True
    for definition in problem.definitions:
        read[definition.arguments.matrix.columns] = True
    for term in (t for o in problem.objectives for t in o.terms):
        read[term.columns] = True
    return not read[np.concatenate(products)].all()


def _without_results(
    step: PassResult, before: Problem, kinds: tuple[type[Definition], ...] = (Definition,)
) -> PassResult:
    """Return the step without definitions of these kinds that nothing reads any more, and without their columns.

    There may be many: a quadratic form of n variables is stated as n^2 / 2 products.
    """
    smaller = without_unread(step, kinds)
    given = np.zeros(step.problem.columns, dtype=np.bool_)
    for definition in step.problem.definitions:
        given[definition.results] = True
    for definition in smaller.problem.definitions:
        given[definition.results] = False
    kept = np.flatnonzero(~given)
    numbers = np.where(given, -1, np.cumsum(~given) - 1)

    def invert(point: Floats) -> Floats:
        full = np.zeros(len(given))
        full[kept] = point
        return step.invert(full)

    return structs.replace(
        smaller,
        problem=without_columns(smaller.problem, given, np.zeros(len(given))),
        invert=invert,
        map_start=lambda point: step.map_start(point)[kept],
        columns=numbers[: before.columns],
    )


def _chain(steps: Sequence[PassResult]) -> PassResult:
    """Several steps as one; none of them renumbers rows."""

    def map_start(point: Floats) -> Floats:
        for step in steps:
            point = step.map_start(point)
        return point

    def invert(point: Floats) -> Floats:
        for step in reversed(steps):
            point = step.invert(point)
        return point

    columns = steps[0].columns
    for step in steps[1:]:
        columns = compose_numberings(columns, step.columns)
    notes = tuple(note for step in steps for note in step.notes)
    return PassResult(steps[-1].problem, notes, invert, map_start, columns=columns)
