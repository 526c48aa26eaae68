"""Terms that no pass could reformulate and the target does not support: the cause, and backends that support them.

GSM3201   the target does not take the operation (or integer columns, or rows under a condition)
GSM3203   the target takes it where it is convex, and the half that is needed is not
GSM3206   the argument of a root or logarithm lies where the function has no value
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.convexity.bent import bent_entries
from gpusched_dsl.compiling.convexity.factored_terms import UNIT, FactoredTerms
from gpusched_dsl.compiling.convexity.reasons import reason
from gpusched_dsl.compiling.passes.native_products import native_products
from gpusched_dsl.compiling.passes.nonconvex import nonconvex_columns
from gpusched_dsl.compiling.passes.steps import (
    CONVEX_FORMS,
    INDICATOR,
    INTEGERS,
    QUADRATIC_OBJECTIVE,
    Analysis,
    Target,
)
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import Definition, Product, QuadraticForm
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

# What the backends of this package take beyond linear rows, for advice; `cvxpy` takes it without integers only.
KNOWN = (
    Target("scip", frozenset({INTEGERS, INDICATOR, "product", "power", "exp", "log", "abs"}) | CONVEX_FORMS),
    Target("cvxpy", frozenset({INTEGERS, "power", "exp", "log", "abs"}) | CONVEX_FORMS, convex=True),
)

OTHERWISE = ("not linear", "no pass makes it linear")


def refuse_valueless(analysis: Analysis) -> None:
    """Raises DiagnosticError (GSM3206) for roots and logarithms that have no value at any point within the bounds."""
    if not analysis.bounds.feasible:
        return
    found: list[Diagnostic] = []
    for definition in analysis.problem.definitions:
        low, high = analysis.bounds.of(definition.arguments)
        outside = np.flatnonzero(definition.entries_without_value(high))
        if len(outside):
            found.append(_no_value(analysis.problem, definition, int(outside[0]), low, high))
    if found:
        raise DiagnosticError(found)


def refuse_unsupported(analysis: Analysis, target: Target) -> None:
    """Raises DiagnosticError (GSM3201, GSM3203, GSM3206) if the problem has constructs that the target does
    not support.
    """
    problem = analysis.problem
    leftovers = _Leftovers(analysis, target)
    found = [r for d in problem.definitions if d.size for r in [leftovers.refusal(d)] if r is not None]
    if len(problem.conditions.rows) and not target.takes(INDICATOR):
        family = problem.row_family(int(problem.conditions.rows[0]))
        why = "rows with a condition need binary variables"
        found.append(_diagnostic("GSM3201", f"`{target.name}` does not support `{family.name}`", why, family.span, ()))
    if found:
        raise DiagnosticError(found)


class _Leftovers:
    """The refusals of one problem by one target."""

    def __init__(self, analysis: Analysis, target: Target) -> None:
        self.analysis, self.problem, self.target = analysis, analysis.problem, target

    @cached_property
    def terms(self) -> FactoredTerms:
        return FactoredTerms(self.problem)

    @cached_property
    def not_convex(self) -> Bools:
        """The columns of terms that are not convex, also not together with others."""
        return nonconvex_columns(self.analysis)[0]

    def refusal(self, definition: Definition) -> Diagnostic | None:
        """What is wrong with a definition; None if nothing is."""
        low, high = self.analysis.bounds.of(definition.arguments)
        target, operation = self.target, definition.operation
        # Of an argument that moves in steps the function must have all values, for a pass to read them off.
        steps = steps_of(definition.arguments, self.problem.integer) > 0
        outside = definition.entries_without_value(np.where(steps, low, high))
        if outside.any() and not target.takes(operation):
            return _no_value(self.problem, definition, int(np.flatnonzero(outside)[0]), low, high)
        if target.takes(operation) and not target.convex:
            return None
        if isinstance(definition, Product) and native_products(self.analysis, target, definition).all():
            return None
        if isinstance(definition, QuadraticForm) and target.takes(QUADRATIC_OBJECTIVE):
            return None
        bent = bent_entries(self.analysis, definition)
        if target.takes(operation) and not bent.any():
            return None
        if target.convex and target.takes(operation) | bool(CONVEX_FORMS & target.accepts) and bent.any():
            return self._bent(definition, bent)
        return self._not_taken(definition, bent)

    def _bent(self, definition: Definition, bent: Bools) -> Diagnostic:
        entry = int(np.flatnonzero(bent)[0])
        what = f"`{definition.name}` is not convex in this place, and `{self.target.name}` solves only convex problems"
        why, where = reason(self.analysis, definition, entry), _example(self.problem, definition, entry)
        return _diagnostic("GSM3203", what, why, definition.span, self._takers(definition), where)

    def _not_taken(self, definition: Definition, bent: Bools) -> Diagnostic | None:
        """A term that the target takes nowhere, or not here: in a constraint, or beside integers."""
        target, entry = self.target, int(np.flatnonzero(bent)[0]) if bent.any() else 0
        where, takers = _example(self.problem, definition, entry), self._takers(definition)
        what = f"`{target.name}` does not support `{definition.name}`"
        quadratic = bool(self.terms.factor[definition.results[entry]] == UNIT)
        usable = (
            {definition.operation, *CONVEX_FORMS} if target.convex else {QUADRATIC_OBJECTIVE} if quadratic else set()
        )
        if self.not_convex[definition.results].any():
            usable = set()
        if usable & target.alone:
            family = self.problem.column_family(int(np.argmax(self.problem.integer)))
            what += f" together with integer variables such as `{family.name}`"
            why = "without integer variables it supports this" + ("" if target.convex else " in an objective")
            return _diagnostic("GSM3201", what, why, definition.span, takers, where)
        if usable & target.accepts:
            if self._in_last_objective_only(definition):
                return None  # another term makes the objective not convex, and is named
            why = "it supports convex quadratics in the last objective only, not in constraints or inside of terms"
            return _diagnostic("GSM3201", what, why, definition.span, takers, where)
        words, why = definition.refusals.get(definition.operation, OTHERWISE)
        if isinstance(definition, Product):
            words = _factors(self.problem, definition) or words
        if quadratic and target.takes(QUADRATIC_OBJECTIVE) and bent.any():
            where = (*where, f"only convex quadratics are supported; {reason(self.analysis, definition, entry)}")
        return _diagnostic("GSM3201", f"{what}, {words}", why, definition.span, takers, where)

    def _in_last_objective_only(self, definition: Definition) -> bool:
        problem, read = self.problem, np.zeros(self.problem.columns, dtype=np.bool_)
        read[problem.matrix.columns] = True
        for other in problem.definitions:
            read[other.arguments.matrix.columns] = True
        for objective in problem.objectives[:-1]:
            read[np.flatnonzero(objective.costs(problem.columns))] = True
        return not read[definition.results].any()

    def _takers(self, definition: Definition) -> tuple[str, ...]:
        """The backends of this package that take the term."""
        scip, cvxpy = KNOWN
        takers = [scip.name] if scip.takes(definition.operation) else []
        if not self.problem.is_mip and not self.not_convex[definition.results].any():
            takers.append(cvxpy.name)
        return tuple(name for name in takers if name != self.target.name)


def _no_value(problem: Problem, definition: Definition, entry: int, low: Floats, high: Floats) -> Diagnostic:
    least = definition.domain_text(entry)
    return Diagnostic(
        "GSM3206",
        f"`{definition.name}` is undefined unless its argument is {least}",
        definition.span,
        f"the argument is between {low[entry] + 0.0:.6g} and {high[entry] + 0.0:.6g}",
        notes=_example(problem, definition, entry),
        help=f"bound its variables so that the argument is {least}",
    )


def _factors(problem: Problem, definition: Product) -> str:
    """Return which factors are neither 0/1 nor integer."""
    single = definition.arguments.single[: definition.starts[1]]
    declared = sum(f.size for f in problem.variables)
    names = [problem.column_family(int(c)).name for c in single if 0 <= c < declared and not problem.integer[c]]
    names = list(dict.fromkeys(names))
    if not names:
        return ""
    names_text = " and ".join(f"`{n}`" for n in names)
    return f"with continuous factors {names_text}" if len(names) > 1 else f"with continuous {names_text}"


def _example(problem: Problem, definition: Definition, entry: int) -> tuple[str, ...]:
    """Names one of several entries."""
    column = int(definition.results[entry])
    family = problem.column_family(column)
    index = family.index_of(column) if family.domain.arity else ()
    if definition.size == 1 or not index:
        return ()
    return (f"for example at `{', '.join(map(str, index))}`",)


def _diagnostic(
    code: str, message: str, why: str, span: Span | None, takers: tuple[str, ...], notes: tuple[str, ...] = ()
) -> Diagnostic:
    help = "choose a backend that supports integer variables, such as `highs` or `scip`"
    if takers:
        help = f"choose `{'` or `'.join(takers)}`: it supports this directly"
    return Diagnostic(code, message, span, why, notes=notes, help=help)
