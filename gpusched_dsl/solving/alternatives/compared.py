"""The columns by which solutions differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.checked import CheckedModel, CheckedVariable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CODE = "GSM4024"
INTEGERS = ("integer", "binary")


@dataclass(frozen=True, eq=False)
class Compared:
    """Two solutions are the same if these integer columns are equal, or become so by renaming interchangeable elements.

    `families` are variables, `columns` all of their columns, `family_of` the position in `families` of each.
    """

    problem: Problem
    families: tuple[Family, ...]
    columns: Ints
    family_of: Codes

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(family.name for family in self.families)

    def values(self, point: Floats) -> Ints:
        return np.rint(point[self.columns]).astype(np.int64)


def check_distinct(model: CheckedModel, names: Sequence[str] = ()) -> None:
    """Raise DiagnosticError (GSM4024) for unknown names, and if there are no integer variables to compare."""
    known = model.variables
    findings = [_unknown(name, list(known)) for name in names if name not in known]
    findings += [_continuous(known[name]) for name in names if name in known and known[name].kind not in INTEGERS]
    if findings:
        raise DiagnosticError(findings)
    if not any(variable.kind in INTEGERS for variable in known.values()):
        raise _not_told_apart(model.name)


def choose_compared(problem: Problem, model: CheckedModel, names: Sequence[str] = ()) -> Compared:
    """Compare the named variables; by default that of the placement, without one all integer variables.

    Raises DiagnosticError (GSM4024) as `check_distinct` does, and if the integer variables have no elements.
    """
    check_distinct(model, names)
    known = {family.name: family for family in problem.variables}
    chosen = [known[name] for name in names]
    if not chosen and model.placement is not None:
        placed = known[model.placement.variable]
        chosen = [placed] if placed.size and _is_integer(problem, placed) else []
    if not chosen:
        chosen = [family for family in problem.variables if family.size and _is_integer(problem, family)]
    if not chosen:
        raise _not_told_apart(problem.name)
    sizes = [family.size for family in chosen]
    columns = np.concatenate([np.arange(family.slice.start, family.slice.stop) for family in chosen])
    return Compared(problem, tuple(chosen), columns.astype(np.int64), np.repeat(np.arange(len(sizes)), sizes))


def _is_integer(problem: Problem, family: Family) -> bool:
    return bool(problem.integer[family.slice].all())


def _unknown(name: str, known: list[str]) -> Diagnostic:
    help = did_you_mean(name, known) or f"the variables are {', '.join(known)}"
    return Diagnostic(CODE, f"`{name}`, by which alternatives are to differ, is not a variable", help=help)


def _continuous(variable: CheckedVariable) -> Diagnostic:
    message = f"`{variable.name}`, by which alternatives are to differ, is not an integer variable"
    return Diagnostic(CODE, message, variable.span, help="name integer or binary variables")


def _not_told_apart(name: str) -> DiagnosticError:
    message = f"solutions of `{name}` cannot be told apart: it has no integer variables"
    help = "alternatives differ in integer or binary variables; continuous values may differ by any amount"
    return DiagnosticError([Diagnostic(CODE, message, help=help)])
