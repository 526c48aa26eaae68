"""Costs that the objective and the placement state in two ways: told where they say the same and mean another amount.

The objective is what a solver minimises. Policies, schedules and runs read the roles of the placement. A term of the
objective is taken for the same quantity as a role if it has an amount at each element of the plan where the role has
one, and each is between half and twice that of the role. If none of these terms agrees, one of the two is wrong.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Problem, Term
from gpusched_dsl.ir.tolerances import CHOSEN, FEASIBILITY, ROUNDING
from gpusched_dsl.language.checked import CheckedModel, Role
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label, Severity
from gpusched_dsl.language.text.numbers import number_text, percent_text, with_unit
from gpusched_dsl.language.units import convertible, factor, parse_unit_text
from gpusched_dsl.reporting.placement import Placement

CODE = "GSM4037"
ALIKE = 2.0  # amounts that differ by this factor at most are taken for the same quantity


def differing_costs(
    model: CheckedModel,
    store: ValueStore,
    problem: Problem,
    point: Floats,
    placed: Placement,
    limits: MemoryLimits | None = None,
) -> tuple[Diagnostic, ...]:
    """Return a warning (GSM4037) for each of cost and tardiness that the objective and the placement state differently.

    Raises DiagnosticError as evaluation does.
    """
    declared = model.placement
    if declared is None or not problem.objectives or not placed.rows:
        return ()
    family = store.variables[declared.variable]
    chosen = np.flatnonzero(point[family.first : family.first + family.domain.size] > CHOSEN)
    terms = _Terms(model, problem, point, family.first + chosen)
    cost, unit = placed.columns.get("cost"), placed.units.get("cost", "")
    if cost is not None:
        own = parse_unit_text(unit)
        if convertible(own, terms.unit):
            terms.compare(cost * float(factor(own, terms.unit)), "costs")
    late, weight = placed.columns.get("late"), declared.value("weight")
    if late is not None and weight is not None and declared.item("late") is None and not declared.has_gangs:
        evaluator = PlacementEvaluator(model, store, limits or MemoryLimits())
        if convertible(unit_in(weight) * evaluator.time, terms.unit):
            frame = evaluator.frame([codes[chosen] for codes in family.domain.columns()])
            price = evaluator.money_of("weight", frame, per_time=True)
            terms.compare(price * late, "weight")
    return tuple(terms.found)


class _Terms:
    """The amounts of the terms of the first objective at the elements of a plan."""

    def __init__(self, model: CheckedModel, problem: Problem, point: Floats, columns: Codes) -> None:
        self.model, self.unit = model, model.objectives[0].unit
        self.found: list[Diagnostic] = []
        self.terms = problem.objectives[0].terms
        costs = np.zeros(problem.columns)
        self.amounts = []
        for term in self.terms:
            costs[term.columns] = term.coefficients
            self.amounts.append(np.abs(costs[columns] * point[columns]))
            costs[term.columns] = 0.0

    def compare(self, stated: Floats, role: Role) -> None:
        """Compare what a role states with the terms that mean the same; warn if none of them agrees."""
        item = self.model.placement.item(role) if self.model.placement is not None else None
        counts = stated > ROUNDING * max(1.0, float(stated.max(initial=0.0)))
        if item is None or not counts.any():
            return
        alike: list[tuple[float, Term]] = []
        for term, amounts in zip(self.terms, self.amounts, strict=True):
            ours, theirs = amounts[counts], stated[counts]
            if (np.abs(ours - theirs) <= FEASIBILITY * np.maximum(1.0, theirs)).all():
                return
            if ((ours * ALIKE >= theirs) & (ours <= ALIKE * theirs)).all():
                alike.append((float(amounts.sum()), term))
        total = float(stated.sum())
        for amount, term in sorted(alike, key=lambda pair: abs(pair[0] - total))[:1]:
            name = f"`{term.name}` of the objective" if term.name else "the objective"
            unit = "" if str(self.unit) == "1" else str(self.unit)
            texts = [with_unit(number_text(value), unit) for value in (amount, total)]
            share = percent_text(abs(total - amount) / max(abs(amount), abs(total)))
            message = f"{name} says {texts[0]}, `{role}` of the placement {texts[1]}: they differ by {share}"
            help = "solvers minimise the objective; policies and runs read the placement: let both state the same"
            labels = (Label(item.span, "of the placement"),)
            self.found.append(
                Diagnostic(CODE, message, term.span, "of the objective", labels, help=help, severity=Severity.WARNING)
            )
