"""Terms that no pass could reformulate and the target does not support: the cause, and backends that support them.

GSM3201   the target does not take the operation (or integer columns, or rows under a condition)
GSM3203   the target takes it where it is convex, and the half that is needed is not
GSM3206   the argument of a root or logarithm lies where the function has no value
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Analysis, Target
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import Definition, Product
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

# What the backends of this package take beyond linear rows, for advice.
KNOWN = (
    Target("scip", frozenset({INTEGERS, INDICATOR, "product", "power", "exp", "log", "abs"})),
    Target("cvxpy", frozenset({INTEGERS, "power", "exp", "log", "abs"}), convex=True),
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
    found = [r for d in problem.definitions if d.size for r in [_refusal(analysis, d, target)] if r is not None]
    if len(problem.conditions.rows) and not target.takes(INDICATOR):
        family = problem.row_family(int(problem.conditions.rows[0]))
        why = "rows with a condition need binary variables"
        found.append(_diagnostic("GSM3201", f"`{target.name}` does not support `{family.name}`", why, family.span, ()))
    if found:
        raise DiagnosticError(found)


def _refusal(analysis: Analysis, definition: Definition, target: Target) -> Diagnostic | None:
    low, high = analysis.bounds.of(definition.arguments)
    operation = definition.operation
    # Of an argument that moves in steps the function must have all values, for a pass to read them off.
    steps = steps_of(definition.arguments, analysis.problem.integer) > 0
    outside = definition.entries_without_value(np.where(steps, low, high))
    if outside.any() and not target.takes(operation):
        return _no_value(analysis.problem, definition, int(np.flatnonzero(outside)[0]), low, high)
    if target.takes(operation) and not target.convex:
        return None
    bent = bent_entries(analysis, definition)
    if target.takes(operation) and not bent.any():
        return None
    takers = tuple(t.name for t in KNOWN if t.takes(operation) and not (t.convex and bent.any()))
    takers = tuple(name for name in takers if name != target.name)
    entry = int(np.flatnonzero(bent)[0]) if bent.any() else 0
    where = _example(analysis.problem, definition, entry)
    if target.takes(operation):
        what = f"`{definition.name}` is not convex in this place, and `{target.name}` solves only convex problems"
        return _diagnostic("GSM3203", what, _bend(analysis, definition, entry), definition.span, takers, where)
    words, why = definition.refusals.get(operation, OTHERWISE)
    if isinstance(definition, Product):
        words = _factors(analysis.problem, definition) or words
    what = f"`{target.name}` does not support `{definition.name}`, {words}"
    return _diagnostic("GSM3201", what, why, definition.span, takers, where)


def bent_entries(analysis: Analysis, definition: Definition) -> Bools:
    """Return the entries with a needed half that is not convex."""
    convex, concave = definition.convexity(*analysis.bounds.of(definition.arguments))
    results = definition.results
    bent: Bools = (analysis.directions.down[results] & ~convex) | (analysis.directions.up[results] & ~concave)
    return bent


def _bend(analysis: Analysis, definition: Definition, entry: int) -> str:
    convex, concave = definition.convexity(*analysis.bounds.of(definition.arguments))
    if not (convex[entry] or concave[entry]):
        return "it is neither convex nor concave"
    shape, wrong = ("convex", "larger") if convex[entry] else ("concave", "smaller")
    result = definition.results[entry]
    if analysis.directions.down[result] and analysis.directions.up[result]:
        return f"it is {shape}, but it occurs as an equality: both directions are needed"
    return f"it is {shape}, but {wrong} values of it are better"


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
