"""The class of a problem, known before a solver is loaded, and the terms that are not linear or not convex.

First everything that passes make linear exactly is made linear: products of 0/1 columns leave a MILP. Of the remaining
definitions the needed halves are judged: `result >= f` is convex where f is, `result <= f` where f is concave. Terms
that are not convex one by one may be convex together, as `x^2 + 2 x y + y^2` (`passes/convex_forms.py`).

    nothing remains                              LP, or MILP with integer columns
    convex halves of quadratics                  QP, MIQP
    convex halves only                           convex, MICP
    a half that is not convex                    NLP, MINLP
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.convexity.reasons import reason
from gpusched_dsl.compiling.passes.nonconvex import nonconvex_columns
from gpusched_dsl.compiling.passes.nonlinear import passes
from gpusched_dsl.compiling.passes.steps import INTEGERS, Analysis, Target
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import Definition, Power, QuadraticForm
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

Key = tuple[str, Span | None]


@dataclass(frozen=True)
class ClassifiedTerm:
    """A nonlinear term: `shape` is `linear` (exactly, by passes), `convex` or `not convex`; `why` is the reason.

    `entries` counts its index tuples.
    """

    name: str
    shape: str
    why: str
    entries: int
    span: Span | None = None


@dataclass(frozen=True)
class ProblemClass:
    """`kind` is LP, QP, convex or NLP; with integer columns MILP, MIQP, MICP or MINLP. `terms` in the model's order."""

    kind: str
    terms: tuple[ClassifiedTerm, ...]

    @property
    def convex(self) -> bool:
        """Whether the problem is convex except for integrality."""
        return self.kind not in ("NLP", "MINLP")


def classify(problem: Problem) -> ProblemClass:
    """The class of a problem and a judgement of each of its nonlinear terms."""
    remaining = linearise_exactly(problem)
    analysis = Analysis(remaining)
    entries: dict[Key, int] = {}
    for definition in problem.definitions:
        key = definition.name, definition.span
        entries[key] = entries.get(key, 0) + definition.size
    classified: dict[Key, list[tuple[str, str]]] = {key: [("linear", "passes make it linear")] for key in entries}
    nonconvex, convex = nonconvex_columns(analysis)
    for definition in analysis.problem.definitions:
        if definition.size:
            key = definition.name, definition.span
            classified[key] = [
                *(j for j in classified.get(key, ()) if j[0] != "linear"),
                convexity_of(definition, analysis, nonconvex),
            ]
    terms = tuple(ClassifiedTerm(key[0], *max(found), entries.get(key, 0), key[1]) for key, found in classified.items())
    return ProblemClass(_kind(convex, terms), terms)


def linearise_exactly(problem: Problem) -> Problem:
    """The problem after every pass that applies and changes nothing but the form."""
    if problem.is_linear:
        return problem
    target = Target("any", frozenset({INTEGERS}))
    analysis = Analysis(problem)
    for reformulate in passes():
        if not reformulate.accepts(analysis, target):
            continue
        try:
            step = reformulate.apply(analysis, target)
        except DiagnosticError:  # a bound is missing: the term stays what it is
            continue
        if step.bound_error == 0 and all(note.error == 0 for note in step.notes):
            analysis = Analysis(step.problem, swept=True)
    return analysis.problem


def convexity_of(definition: Definition, analysis: Analysis, nonconvex: Bools) -> tuple[str, str]:
    """`convex` or `not convex` for the halves of a definition that are needed, and why not.

    `nonconvex` are the results that are not convex, also not together with other terms.
    """
    if not nonconvex[definition.results].any():
        return "convex", "its needed direction is convex"
    convex, concave = definition.convexity(*analysis.bounds.of(definition.arguments))
    down, up = analysis.directions.down[definition.results], analysis.directions.up[definition.results]
    entry = int(np.flatnonzero(nonconvex[definition.results])[0])
    if not convex[entry] and not concave[entry]:
        return "not convex", reason(analysis, definition, entry)
    return "not convex", _convexity_reason(bool(convex[entry]), bool(down[entry] and up[entry]))


def _convexity_reason(convex: bool, both: bool) -> str:
    if both:
        return "it occurs as an equality, which only affine functions allow"
    if convex:
        return "the function is convex, but larger values are better"
    return "the function is concave, but smaller values are better"


def _kind(remaining: Problem, terms: tuple[ClassifiedTerm, ...]) -> str:
    shapes = {t.shape for t in terms}
    is_mip = remaining.is_mip
    if "not convex" in shapes:
        return "MINLP" if is_mip else "NLP"
    if "convex" not in shapes:
        return "MILP" if is_mip else "LP"
    if all(_is_quadratic(d) for d in remaining.definitions if d.size):
        return "MIQP" if is_mip else "QP"
    return "MICP" if is_mip else "convex"


def _is_quadratic(definition: Definition) -> bool:
    return isinstance(definition, QuadraticForm) or (
        isinstance(definition, Power) and bool((definition.exponents == 2).all())
    )
