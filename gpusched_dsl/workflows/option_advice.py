"""Finds the choice of an option of the model under which a plan that breaks its constraints satisfies them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from gpusched_dsl.backends.protocol import Backend
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.explaining.clock import SearchClock
from gpusched_dsl.explaining.oracle import Feasibility, decide
from gpusched_dsl.ir.deadline import StoppedEarly, limit
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def find_fitting_setting(
    built: Built, plan: Mapping[str, VariableValues], broken: Collection[str], backend: Backend, clock: SearchClock
) -> str | None:
    """Return `NAME=VALUE` of an option with which the plan satisfies the model; None if none is found in time.

    `broken` are names of constraints that the plan violates: only choices that change or remove one of them are tried.
    The data are read again, from those of the first build.
    """
    for name, choice in _choices_that_change(built, broken):
        try:
            with limit(clock.remaining_seconds):
                other = built.with_settings({name: choice})
                problem = ground(other.scenario.model, other.instance.store, other.permissions.limits(), plan)
                verdict, _ = decide(replace(problem, objectives=()), backend, clock)
        except StoppedEarly:
            return None
        except DiagnosticError:  # data or plan do not fit the model of that choice
            continue
        if verdict is Feasibility.FEASIBLE:
            return f"{name}={choice}"
        if clock.over:
            return None
    return None


def _choices_that_change(built: Built, broken: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the choices of single options that change one of the constraints."""
    model = built.scenario.model
    for name, choices in model.option_choices.items():
        for choice in choices:
            if choice == model.options[name]:
                continue
            try:
                other = built.check_with({name: choice}).model
            except DiagnosticError:
                continue
            if any(other.constraints.get(row) != model.constraints.get(row) for row in broken):
                yield name, choice
