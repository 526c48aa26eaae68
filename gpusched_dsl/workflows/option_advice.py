"""Finds the choice of an option of the model under which a plan that breaks its constraints satisfies them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.passes.rewriting import without_rows
from gpusched_dsl.ir.deadline import StoppedEarly, limit
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver


class Declared(Protocol):
    """A declaration of a model; two models of one file have the same one if it stands at the same place."""

    @property
    def span(self) -> Span: ...


def find_fitting_setting(
    built: Built,
    plan: Mapping[str, VariableValues],
    problem: Problem,
    broken: Collection[str],
    solver: VariantSolver,
) -> str | None:
    """Return `NAME=VALUE` of an option with which the plan satisfies the model; None if none is found in time.

    `broken` are names of constraints that the plan violates. Choices that only remove constraints, one of these among
    them, come first, as they need no other problem than that of the plan, `problem`. For the others the data are read
    again, from those of the first build.
    """
    relaxed: list[tuple[bool, str, frozenset[str]]] = []
    others: list[tuple[str, str]] = []
    own = built.scenario.model
    for name, choice, model in _choices(built):
        without = _removed_constraints(own, model)
        if not without:
            others.append((name, choice))
        elif not without.isdisjoint(broken):
            relaxed.append((not _are_same(own.objectives, model.objectives), f"{name}={choice}", without))
    for _, setting, without in sorted(relaxed, key=lambda one: one[0]):  # first those with the same objectives
        if _decide(_without_constraints(problem, without), solver) is Feasibility.FEASIBLE:
            return setting
    for name, choice in others:
        if solver.over:
            return None
        try:
            with limit(solver.clock.remaining_seconds):
                other = built.with_settings({name: choice})
                problem = ground(other.scenario.model, other.instance.store, other.permissions.limits(), plan)
                verdict = _decide(problem, solver)
        except StoppedEarly:
            return None
        except DiagnosticError:  # data or plan do not fit the model of that choice
            continue
        if verdict is Feasibility.FEASIBLE:
            return f"{name}={choice}"
    return None


def _decide(problem: Problem, solver: VariantSolver) -> Feasibility:
    return solver.decide(replace(problem, objectives=()))[0]


def _choices(built: Built) -> Iterator[tuple[str, str, CheckedModel]]:
    """Yield the other choices of each option, with the model that has only this one changed."""
    model = built.scenario.model
    for name, choices in model.option_choices.items():
        for choice in choices:
            if choice == model.options[name]:
                continue
            try:
                yield name, choice, built.check_with({name: choice}).model
            except DiagnosticError:
                continue


def _removed_constraints(model: CheckedModel, other: CheckedModel) -> frozenset[str]:
    """The constraints without which `model` allows what `other` allows; none if they differ in more than these."""
    kinds: list[tuple[Mapping[str, Declared], Mapping[str, Declared]]] = [
        (model.constraints, other.constraints),
        (model.variables, other.variables),
        (model.lets, other.lets),
        (model.params, other.params),
        (model.sets, other.sets),
        (model.randoms, other.randoms),
    ]
    for own, others in kinds:
        if not own.keys() >= others.keys() or not _are_same([own[name] for name in others], list(others.values())):
            return frozenset()
    return frozenset(model.constraints.keys() - other.constraints.keys())


def _are_same(some: Sequence[Declared], others: Sequence[Declared]) -> bool:
    return [one.span for one in some] == [one.span for one in others]


def _without_constraints(problem: Problem, names: Collection[str]) -> Problem:
    gone = np.zeros(problem.rows, dtype=np.bool_)
    for family in problem.constraints:
        gone[family.slice] = family.name in names
    return without_rows(problem, gone)[0]
