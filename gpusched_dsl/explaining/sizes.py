"""The size of a problem, family by family, its class, and warnings about numbers that lie far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.analysis.curvature import ClassifiedTerm, classify
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Objective, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text

# Beyond this ratio within a constraint a solver's tolerances no longer mean the same for all its terms.
APART = 1e8
HELP = "choose units such that all numbers are within a few powers of ten of 1, or tighten large constants"
CLASSES = {
    "LP": "linear",
    "MILP": "linear, with integer variables",
    "QP": "convex and quadratic",
    "MIQP": "convex and quadratic, with integer variables",
    "convex": "",
    "MICP": "convex, with integer variables",
    "NLP": "nonconvex",
    "MINLP": "nonconvex, with integer variables",
}


@dataclass(frozen=True, eq=False)
class VariableSize:
    """Columns of a variable; `lower` and `upper` are its widest bounds; `auxiliary`: the compiler added it."""

    family: Family
    columns: int
    integer: int
    nonzeros: int
    lower: float
    upper: float
    auxiliary: bool


@dataclass(frozen=True, eq=False)
class ConstraintSize:
    """Rows of a constraint, the sizes of its smallest and largest coefficient, and of its sides; 0 where it has none.

    `worst` is the row whose coefficients lie furthest apart, `ratio` how far.
    """

    family: Family
    rows: int
    nonzeros: int
    smallest: float
    largest: float
    smallest_side: float
    largest_side: float
    worst: int
    ratio: float

    @property
    def apart(self) -> bool:
        return self.ratio > APART


def variable_sizes(problem: Problem) -> list[VariableSize]:
    """Return one entry per variable, in the order of declaration, auxiliary ones last."""
    used = np.bincount(problem.matrix.columns, minlength=problem.columns)
    return [
        VariableSize(
            f,
            f.size,
            int(problem.integer[f.slice].sum()),
            int(used[f.slice].sum()),
            float(problem.lower[f.slice].min(initial=np.inf)),
            float(problem.upper[f.slice].max(initial=-np.inf)),
            number >= len(problem.variables),
        )
        for number, f in enumerate(problem.column_families)
    ]


def constraint_sizes(problem: Problem) -> list[ConstraintSize]:
    """One for every constraint (each part of a chain), in the order of declaration."""
    small, large = _row_ranges(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(small > 0, large / small, 0.0)
    sides = np.abs(np.stack((problem.row_lower, problem.row_upper)))
    sides = np.where(np.isfinite(sides), sides, 0.0)
    found = []
    for family in problem.constraints:
        own = family.slice
        entries = slice(int(problem.matrix.starts[family.first]), int(problem.matrix.starts[family.stop]))
        some_sides = sides[:, own][sides[:, own] > 0]
        filled = small[own][small[own] > 0]
        worst = family.first + int(np.argmax(ratios[own])) if family.size else -1
        found.append(
            ConstraintSize(
                family,
                family.size,
                entries.stop - entries.start,
                float(filled.min(initial=np.inf)) if len(filled) else 0.0,
                float(large[own].max(initial=0.0)),
                float(some_sides.min()) if len(some_sides) else 0.0,
                float(some_sides.max()) if len(some_sides) else 0.0,
                worst,
                float(ratios[worst]) if family.size else 0.0,
            )
        )
    return found


def _row_ranges(problem: Problem) -> tuple[Floats, Floats]:
    """The sizes of the smallest and largest coefficient of each row that are not 0; 0 for rows without any."""
    matrix = problem.matrix
    small, large = np.zeros(problem.rows), np.zeros(problem.rows)
    sizes = np.abs(matrix.values)
    filled = np.flatnonzero(np.diff(matrix.starts))
    if len(filled):
        at = matrix.starts[filled]
        large[filled] = np.maximum.reduceat(sizes, at)
        small[filled] = np.minimum.reduceat(np.where(sizes > 0, sizes, np.inf), at)
    return np.where(np.isfinite(small), small, 0.0), large


def range_warnings(problem: Problem, constraints: Sequence[ConstraintSize]) -> list[Diagnostic]:
    """Return one warning for each constraint and objective with coefficients of very different size."""
    found = [_constraint(problem, c) for c in constraints if c.apart]
    return found + [w for o in problem.objectives if (w := _objective(problem, o)) is not None]


def _constraint(problem: Problem, size: ConstraintSize) -> Diagnostic:
    entries = slice(int(problem.matrix.starts[size.worst]), int(problem.matrix.starts[size.worst + 1]))
    columns, values = problem.matrix.columns[entries], np.abs(problem.matrix.values[entries])
    columns, values = columns[values > 0], values[values > 0]
    row = entry_name(size.family, size.worst)
    ends = [(int(columns[k]), float(values[k])) for k in (np.argmin(values), np.argmax(values))]
    return _range_warning(problem, f"`{row}`", ends, size.family.span)


def _objective(problem: Problem, objective: Objective) -> Diagnostic | None:
    costs = np.abs(objective.costs(problem.columns))
    used = np.flatnonzero(costs)
    if not len(used) or costs[used].max() <= APART * costs[used].min():
        return None
    ends = [(int(used[k]), float(costs[used[k]])) for k in (np.argmin(costs[used]), np.argmax(costs[used]))]
    return _range_warning(problem, f"`{objective.name}`" if objective.name else "the objective", ends, objective.span)


def _range_warning(problem: Problem, where: str, ends: list[tuple[int, float]], span: Span | None) -> Diagnostic:
    (small_at, small), (large_at, large) = ends
    names = [entry_name(problem.column_family(c), c) for c in (small_at, large_at)]
    return Diagnostic(
        "GSM3303",
        f"the coefficients of {where} differ by a factor of {large / small:.1g}",
        span,
        f"{short(small)} for {names[0]}, {short(large)} for {names[1]}",
        help=HELP,
        severity=Severity.WARNING,
    )


def model_class(problem: Problem) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the class, with exact reformulations applied, and a note on each term that none of them makes linear."""
    verdict = classify(problem)
    return verdict.kind, tuple(_note(t) for t in verdict.terms if t.shape != "linear")


def _note(term: ClassifiedTerm) -> Diagnostic:
    is_convex = term.shape == "convex"
    message = f"`{term.name}` is nonlinear, but convex" if is_convex else f"`{term.name}` is not convex: {term.why}"
    label = count_text(term.entries, "term") if term.entries > 1 else ""
    return Diagnostic("GSM3304", message, term.span, label, severity=Severity.NOTE)
