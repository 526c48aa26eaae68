"""A plan in its model: variants in which one job has other elements of the placement, and the cost of plans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.explaining.relaxation import Relaxation, relaxations
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.variants import with_fixed, with_row
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.variants.solver import VariantSolver

RUNS = "(the job runs)"  # no author can write this name
NOTHING = 1e-6  # a change of cost is none below this share of the cost


class PlannedProblem:
    """A problem and a plan: `planned_values` are those of the placement's `family`, whose positions are elements."""

    problem: Problem
    family: Family
    planned_values: Floats
    solver: VariantSolver

    def others_as_planned(self, own: Codes, problem: Problem | None = None) -> Problem:
        """The problem with all elements but those of a job fixed as planned."""
        rest = np.ones(self.family.size, dtype=np.bool_)
        rest[own] = False
        columns = self.family.first + np.flatnonzero(rest)
        return with_fixed(self.problem if problem is None else problem, columns, self.planned_values[rest])

    def with_run(self, problem: Problem, allowed: Codes) -> Problem:
        """A variant with one row more: the job has one of these elements."""
        return with_row(problem, RUNS, self.family.first + allowed, 1.0, 1.0)

    def smallest_relaxation(self, variant: Problem) -> Relaxation | None:
        """Return the fewest rows of the problem that a variant without a solution violates; None if none are found."""
        if not variant.is_linear or self.solver.over:
            return None
        stated = np.arange(variant.rows) < self.problem.rows
        return min(relaxations(variant, stated, stated, self.solver), key=lambda one: len(one.rows), default=None)


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of a plan: the values of the objectives in order of priority, and of their terms."""

    objectives: tuple[tuple[str, float, str], ...]  # name, value, unit
    terms: tuple[tuple[str, float], ...]  # of the objective in money, the last

    @staticmethod
    def of(solved: Solution) -> Cost:
        objectives = tuple((o.name or "objective", float(o.value or 0.0), o.unit) for o in solved.objectives)
        named = solved.objectives[-1].terms if solved.objectives else ()
        terms = tuple((t.name, float(t.value)) for t in named if t.name is not None and t.value is not None)
        return Cost(objectives, terms if len(terms) > 1 else ())

    @property
    def total(self) -> float:
        return self.objectives[-1][1] if self.objectives else 0.0

    def changes(self, before: Cost) -> list[tuple[str, float, str]]:
        """By how much objectives and terms are higher than those of another plan, the same ones left out."""
        unit = self.objectives[-1][2] if self.objectives else ""
        found = [(n, v - b, u) for (n, v, u), (_, b, _) in zip(self.objectives, before.objectives, strict=True)]
        found += [(n, v - b, unit) for (n, v), (_, b) in zip(self.terms, before.terms, strict=True)]
        scale = max(1.0, *(abs(v) for _, v, _ in before.objectives)) if before.objectives else 1.0
        return [(n, v, u) for n, v, u in found if abs(v) > NOTHING * scale]

    def change_text(self, before: Cost) -> str:
        """`total +3 $ (tardiness +4 $, energy -1 $)`, or `costs the same`."""
        changes = self.changes(before)
        if not changes:
            return "costs the same"
        names = {name for name, _, _ in self.objectives}
        main = [f"{name} {_signed_text(value, unit)}" for name, value, unit in changes if name in names]
        terms = [f"{name} {_signed_text(value, unit)}" for name, value, unit in changes if name not in names]
        return ", ".join(main or ["total unchanged"]) + (f" ({', '.join(terms)})" if terms else "")


def _signed_text(value: float, unit: str) -> str:
    return ("+" if value > 0 else "") + with_unit(short(value), "" if unit == "1" else unit)
