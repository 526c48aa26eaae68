"""Why the plan of a policy violates its model: the rows, the jobs, and the option with which it satisfies the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.passes.rewriting import without_rows
from gpusched_dsl.explaining.conflict_diagnostics import MOST_CHANGES, relaxation_text
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.propagation import contradiction
from gpusched_dsl.explaining.relaxation import Relaxation, relaxations
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.activity import CERTAIN
from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.ir.deadline import Deadline, StoppedEarly, limit
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel, Element
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver
from gsdsl_backends.protocol import Backend

LARGE = 1_000_000  # nonzeros
MANY_ROWS = 10_000  # from so many on, single constraints are relaxed before all rows together
TIMES = 3.0  # the seconds of the linear relaxation of a large problem, as a multiple of those of the other methods
LISTED_JOBS = 5  # names in a warning
WHY_SECONDS = 10.0  # to find the rows that a plan violates
OPTION_SECONDS = 5.0  # to find an option of the model with which it violates none


def broken_plan_warning(
    built: Built, policy: CheckedPolicy, decision: Plan, problem: Problem, backend: Backend
) -> Diagnostic:
    """Name the violated rows, the jobs left out, and an option without violations if one exists."""
    found = violated_rows(problem, backend, WHY_SECONDS)
    notes = tuple(note for note in (found.note, *_notes_on_jobs(built, decision)) if note)
    setting = (
        find_fitting_setting(built, decision.values, problem, found.families, VariantSolver(backend, OPTION_SECONDS))
        if found.families
        else None
    )
    if setting is None:
        help = "choose options of the model that fit the policy, or another policy"
    else:
        help = f"the plan satisfies the model with `--set {setting}`; or choose another policy"
    return Diagnostic(
        "GSM4015",
        f"the plan of `{policy.name}` violates constraints of the model",
        policy.span,
        "this policy",
        notes=notes,
        help=help,
        severity=Severity.WARNING,
    )


def _notes_on_jobs(built: Built, decision: Plan) -> tuple[str, str]:
    """Notes that name the jobs that the plan runs where the model has no element, and those that it leaves out."""
    placement = built.scenario.model.placement
    at = None if placement is None else placement.position("job")
    if placement is None or at is None or placement.variable not in decision.values:
        return "", ""
    name, variables = placement.variable, built.scenario.model.variables[placement.variable].indexing.variables
    job_type = variables[at].type
    if not isinstance(job_type, Element):
        return "", ""
    from gpusched_dsl.reporting.comparison import LEFT_OUT, MISPLACED

    store = built.instance.store
    labels = store.universes[job_type.root].labels
    outside, misplaced = decision.outside.get(name), ""
    codes = decision.values[name].codes[at]
    if outside is not None:
        components = [store.component(variable.type) for variable in variables]
        first = [
            code[0] if component is None else component.labels[code[0]]
            for component, code in zip(components, outside.codes, strict=True)
        ]
        names, element = _names(np.unique(outside.codes[at]), labels), f"`{name}[{','.join(map(str, first))}]`"
        misplaced = f"{MISPLACED} {names} where the model does not permit it: there is no {element}"
        codes = np.concatenate([codes, outside.codes[at]])
    out = np.setdiff1d(store.sets[job_type.root].columns()[0], codes)
    return misplaced, f"{LEFT_OUT} {_names(out, labels)}" if len(out) else ""


def _names(codes: Ints, labels: Sequence[object]) -> str:
    """Return the first few labels, and how many more there are."""
    names = ", ".join(f"`{labels[code]}`" for code in codes[:LISTED_JOBS].tolist())
    return f"{names} and {len(codes) - LISTED_JOBS:,} more" if len(codes) > LISTED_JOBS else names


class Declared(Protocol):
    """A declaration of a model; two models of one file have the same one if it stands at the same place."""

    @property
    def span(self) -> Span: ...


def find_fitting_setting(
    built: Built,
    plan: PlanValues,
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


@dataclass(frozen=True, eq=False)
class ViolatedRows:
    """A note that names rows, empty if none are found, and the families of these rows."""

    note: str
    families: frozenset[str]


def violated_rows(problem: Problem, backend: Backend | str, seconds: float) -> ViolatedRows:
    """Name rows of an infeasible problem; each of the methods, the most informative first, has so many seconds. Of a
    large problem only propagation and the linear relaxation, which has `TIMES` as many: HiGHS exceeds its time limit in
    the presolve of large problems with integers, by minutes.

    Where the plan contradicts bounds of variables, these are named: no relaxation of rows helps.
    """
    crossed = np.flatnonzero(problem.lower - problem.upper > CERTAIN * np.maximum(1.0, np.abs(problem.lower)))
    if len(crossed):
        return ViolatedRows(_bounds_note(problem, crossed), frozenset())
    large = problem.matrix.nonzeros > LARGE
    found = () if large or problem.rows < MANY_ROWS else _relaxations_of_one(problem, backend, seconds)
    if not found and not large:
        found = _relaxations(problem, backend, seconds)
    if found:
        return _of_relaxations(problem, found)
    rows = _contradictory_rows(problem, max(seconds, 1.0))
    if len(rows):
        return _of_rows(problem, rows)
    linear = replace(problem, integer=np.zeros_like(problem.integer))
    return _of_relaxations(problem, _relaxations(linear, backend, max(TIMES * seconds if large else seconds, 1.0)))


def _contradictory_rows(problem: Problem, seconds: float) -> Codes:
    """The rows by which propagation ends in a contradiction, the last one first; none if it finds none."""
    nothing = np.zeros(0, np.int64)
    trace = contradiction(Elements(problem), Deadline(seconds)) if problem.is_linear else None
    if trace is None:
        return nothing
    rows = np.flatnonzero(trace.elements.of("row", trace.reasons()[0]))
    last = nothing if trace.row is None else np.array([trace.row])
    return np.concatenate((last, rows[~np.isin(rows, last)]))


def _relaxations(problem: Problem, backend: Backend | str, seconds: float) -> tuple[Relaxation, ...]:
    everything = np.ones(problem.rows, dtype=np.bool_)
    return relaxations(problem, everything, everything, VariantSolver(backend, seconds))


def _relaxations_of_one(problem: Problem, backend: Backend | str, seconds: float) -> tuple[Relaxation, ...]:
    """The relaxations of a single constraint, if one suffices; those with the fewest rows are tried first."""
    solver, nothing = VariantSolver(backend, seconds), np.zeros(problem.rows, dtype=np.bool_)
    for family in sorted(problem.constraints, key=lambda family: family.size):
        if solver.over:
            break
        rows = nothing.copy()
        rows[family.slice] = True
        found = relaxations(problem, rows, nothing, solver)
        if found:
            return found
    return ()


def _of_relaxations(problem: Problem, found: tuple[Relaxation, ...]) -> ViolatedRows:
    note = f"the smallest relaxation: {relaxation_text(problem, found[0])}" if found else ""
    names = {problem.row_family(row).name for relaxation in found for row in relaxation.rows.tolist()}
    return ViolatedRows(note, frozenset(names))


def _bounds_note(problem: Problem, columns: Codes) -> str:
    column = int(columns[0])
    family = problem.column_family(column)
    least, most = (with_unit(short(float(side[column])), family.unit) for side in (problem.lower, problem.upper))
    rest = f"; the same holds for {len(columns) - 1:,} more" if len(columns) > 1 else ""
    name = entry_name(family, column)
    return f"the plan contradicts the bounds of `{name}`, which must be at least {least} and at most {most}{rest}"


def _of_rows(problem: Problem, rows: Codes) -> ViolatedRows:
    names = [f"`{entry_name(problem.row_family(row), row)}`" for row in rows[:MOST_CHANGES].tolist()]
    rest = len(rows) - len(names)
    more = f" and {rest:,} more" if rest else ""
    families = frozenset(problem.row_family(row).name for row in rows.tolist())
    verb = "cannot be satisfied" if len(rows) == 1 else "cannot be satisfied together"
    return ViolatedRows(f"with this plan {', '.join(names)}{more} {verb}", families)
