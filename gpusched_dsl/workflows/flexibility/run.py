"""The flexibility of a cluster: the largest shed that enough days can keep, its cost, and the jobs that move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.build import Built, check_solvable
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.data.sources.settings_file import merge_settings
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.scenario import scenario_title
from gpusched_dsl.language.units import Unit, convertible, factor, parse_unit_text
from gpusched_dsl.reporting.flexibility import DayOffer, Flexibility, FlexibleDay
from gpusched_dsl.solving.variants.guarantee import guaranteed_amount
from gpusched_dsl.solving.variants.shed import Baseline, DayPlans, Shed, ShedProblem, plan_day, price_sheds
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.workflows.flexibility.asked import Day, FlexibilityConfig
from gpusched_dsl.workflows.flexibility.model import EventSlots, ShedModel, event_of, with_shed
from gpusched_dsl.workflows.flexibility.moves import Moves
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.solve import SolveConfig, solve_scenario
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions
from gsdsl_backends.registry import backend as registered_backend
from gsdsl_backends.registry import is_concurrent, proves, solver_names

KILOWATT = parse_unit_text("kW")


@dataclass(frozen=True, eq=False)
class _BuiltDay:
    """A day with its problem; `scenario` is that of the model without a shed."""

    day: Day
    scenario: SelectedScenario
    model: ShedModel
    built: Built
    event: EventSlots
    problem: ShedProblem


def solver_named(name: str, load: Callable[[str], Backend] = registered_backend) -> Backend:
    """Return a solver by name. Raises DiagnosticError: GSM4001 if it is no solver, or cannot be loaded."""
    if (name in solver_names() or is_concurrent(name)) and proves(name):
        return load(name)
    message = f"`{name}` is no solver with proofs: only such a solver finds the largest shed and its least cost"
    solvers = [solver for solver in solver_names() if proves(solver)]
    help = did_you_mean(name, solvers) or f"the solvers are {', '.join(solvers)}"
    raise DiagnosticError([Diagnostic("GSM4001", message, help=help)])


def flexibility(
    scenario: SelectedScenario,
    config: FlexibilityConfig,
    backend: Backend,
    options: SolveOptions,
    *,
    monitor: Monitor | None = None,
    listener: Listener | None = None,
    load: Callable[[str], Backend] = registered_backend,
) -> Flexibility:
    """Solve each day without the event, for the largest shed, and for each offer.

    `options` are those of every solve, with its time limit. If the monitor stops the work, days that were not
    finished count as days without a shed; so does a day whose solves raise, with a warning, if an earlier one was
    planned. `load` loads the solver that completes the plans of a policy. Raises DiagnosticError: GSM4025 for a model
    without a power by slot, GSM4026 for an event outside of the horizon, and as solvers and the data of days do.
    """
    observer, solver = listener or Listener(), VariantSolver(backend, monitor=monitor, options=options)
    model = scenario.scenario.model
    method = None if config.baseline is None else BaselineMethod(config.baseline, load, options, monitor)
    days: list[tuple[_BuiltDay, DayPlans]] = []
    warnings: list[Diagnostic] = []
    for number, day in enumerate(config.days, start=1):
        if solver.over:
            break
        observer.begin(f"day {number} of {len(config.days)}: {day.label}")
        with observer.working_context():
            built = _build_day(scenario, day, config)
            try:
                given = None if method is None else method.plan(built.scenario, built.problem.problem)
                plans = plan_day(built.problem, _columns_before(built), solver, given)
            except DiagnosticError as error:
                if not days:  # nothing is lost
                    raise
                warnings += _failure_warnings(error, day)
                plans = _failed_day(built.problem, error)
            days.append((built, plans))
    kilo = _kilowatts(days[0][0].model.unit) if days else 1.0
    most = np.array([plans.most for _, plans in days] + [0.0] * (len(config.days) - len(days)))
    amount = guaranteed_amount(most, config.probability)
    offers = _offers(config, amount * kilo)
    found: list[FlexibleDay] = []
    for number, (built, plans) in enumerate(days, start=1):
        observer.begin(f"offers on day {number} of {len(days)}: {built.day.label}")
        with observer.working_context():
            sheds: list[Shed] = []
            try:
                sheds = [] if solver.over else price_sheds(plans, offers / kilo, solver)
            except DiagnosticError as error:
                warnings += _failure_warnings(error, built.day)
            found.append(_flexible_day(built, plans, [] if solver.over else sheds, kilo))
    first = days[0][0] if days else None
    return Flexibility(
        model=model.name,
        scenario=scenario.scenario.name,
        title=model.name if _are_scenarios(config.days) else scenario_title(model.name, scenario.scenario.name),
        power="" if first is None else first.model.power,
        unit="kW" if first is None or convertible(first.model.unit, KILOWATT) else "",
        money=model.objectives[0].unit.text if model.objectives else "",
        event=config.event,
        slots=() if first is None else _event_labels(first),
        hours=None if first is None else first.event.hours,
        notice=config.notice,
        baseline=backend.name if config.baseline is None else config.baseline,
        probability=config.probability,
        offers=tuple(offers.tolist()),
        days=tuple(found),
        asked_days=len(config.days),
        backend=backend.name,
        options=options,
        warnings=tuple(warnings),
    )


def _failed_day(day: ShedProblem, error: DiagnosticError) -> DayPlans:
    """Return the plans of a day whose solves raised: none."""
    reason = str(error.diagnostics[0].message)
    return DayPlans(day, Status.LIMIT, reason, None, None, None, None, 0.0, None)


def _failure_warnings(error: DiagnosticError, day: Day) -> list[Diagnostic]:
    note = f"on the day `{day.label}`, whose solves ended with it"
    return [structs.replace(d, severity=Severity.WARNING, notes=(*d.notes, note)) for d in error.diagnostics]


def _are_scenarios(days: Sequence[Day]) -> bool:
    """Whether each day names its scenario."""
    return all(day.scenario is not None for day in days)


def _build_day(scenario: SelectedScenario, day: Day, config: FlexibilityConfig) -> _BuiltDay:
    """Check a day, extend its model, and build its problem; errors name the day."""
    try:
        return _checked_day(scenario, day, config)
    except DiagnosticError as error:
        if len(config.days) == 1:
            raise
        note = f"on the day `{day.label}`"
        raise DiagnosticError([structs.replace(d, notes=(*d.notes, note)) for d in error.diagnostics]) from error


def _checked_day(scenario: SelectedScenario, day: Day, config: FlexibilityConfig) -> _BuiltDay:
    workspace, settings = scenario.workspace, merge_settings([*scenario.settings.items(), *day.settings.items()])
    name = scenario.scenario.name if day.scenario is None else day.scenario
    if name not in workspace.scenarios and name not in workspace.models:
        message = f"unknown scenario `{name}`"
        help = f"the scenarios are {', '.join(f'`{n}`' for n in workspace.scenarios)}"
        raise DiagnosticError([Diagnostic("GSM6007", message, help=help)])
    checked, _ = check_solvable(workspace, name, settings)
    plain = structs.replace(scenario, scenario=checked, settings=settings)
    model = with_shed(workspace, checked.model, name, config.power)
    extended, _ = check_solvable(model.workspace, model.scenario, settings)
    selected = structs.replace(scenario, workspace=model.workspace, scenario=extended, settings=settings)
    built = selected.build()
    limits = built.permissions.limits()
    event = event_of(config.event, config.notice, extended.model, built.instance.store, model.slots, limits)
    [rows] = built.problem.constraint(model.rows)
    shed = built.problem.variable(model.shed)
    decisions = _decisions(extended.model, built.problem)
    problem = ShedProblem(built.problem, shed.first, np.arange(rows.first, rows.stop), event.slots, decisions)
    return _BuiltDay(day, plain, model, built, event, problem)


def _decisions(model: CheckedModel, problem: Problem) -> Ints:
    """Return the columns of the placement of jobs; none if they are not binary."""
    assert model.placement is not None
    family = problem.variable(model.placement.variable)
    binary = problem.integer[family.slice] & (problem.lower[family.slice] >= 0) & (problem.upper[family.slice] <= 1)
    return np.arange(family.first, family.stop) if binary.all() else np.zeros(0, dtype=np.int64)


def _columns_before(built: _BuiltDay) -> Ints:
    """Return the columns of decisions in slots before the notice."""
    early = built.event.before_notice
    found = [np.zeros(0, dtype=np.int64)]
    if early.any():
        slots = built.built.instance.store.universes[built.model.slots]
        for family in built.built.problem.variables:
            for component, codes in zip(family.domain.components, family.domain.columns(), strict=True):
                if component is slots:
                    found.append(family.first + np.flatnonzero(early[codes]))
    return np.unique(np.concatenate(found))


def _kilowatts(unit: Unit) -> float:
    """Return the factor from the unit of the power to kW; 1 for a power without a unit."""
    return float(factor(unit, KILOWATT)) if convertible(unit, KILOWATT) else 1.0


def _offers(config: FlexibilityConfig, amount: float) -> Floats:
    """Return the offers in kW, increasing."""
    if config.offers is not None:
        return np.unique(np.array(config.offers))
    return amount * np.arange(1, config.steps + 1) / config.steps if amount > 0 else np.zeros(0)


def _flexible_day(built: _BuiltDay, plans: DayPlans, sheds: Sequence[Shed], kilo: float) -> FlexibleDay:
    moves = Moves(built.built, built.model.slots) if sheds else None
    labels = tuple(str(label) for label in built.built.instance.store.universes[built.model.slots].labels)
    return FlexibleDay(
        label=built.day.label,
        scenario=built.day.scenario,
        settings=dict(built.day.settings),
        status=plans.status.value,
        reason=plans.reason,
        cost=plans.cost,
        slots=labels,
        power=None if plans.power is None else plans.power * kilo,
        most=plans.most * kilo,
        most_bound=None if plans.most_bound is None else plans.most_bound * kilo,
        offers=tuple(_day_offer(built, plans, shed, moves, kilo) for shed in sheds),
    )


def _day_offer(built: _BuiltDay, plans: DayPlans, shed: Shed, moves: Moves | None, kilo: float) -> DayOffer:
    assert plans.baseline is not None
    assert moves is not None
    return DayOffer(
        shed=shed.amount * kilo,
        cost=shed.cost,
        cost_lower=shed.cost_lower,
        price=None if shed.price is None else shed.price / kilo,
        relaxed_price=None if shed.relaxed_price is None else shed.relaxed_price / kilo,
        status=shed.status.value,
        power=built.problem.power(shed.moved) * kilo,
        moves=moves.between(plans.baseline, shed.moved),
    )


def _event_labels(built: _BuiltDay) -> tuple[str, ...]:
    labels = built.built.instance.store.universes[built.model.slots].labels
    return tuple(str(labels[at]) for at in np.flatnonzero(built.event.slots).tolist())


@dataclass(frozen=True, eq=False)
class BaselineMethod:
    """The method that makes the plans without the event; `load` loads the solver that completes plans of policies."""

    name: str
    load: Callable[[str], Backend]
    options: SolveOptions
    monitor: Monitor | None = None

    def plan(self, scenario: SelectedScenario, extended: Problem) -> Baseline:
        """Return the plan for a scenario as a point of its extended problem.

        A plan that violates the model is none. Raises DiagnosticError as `choose_method` and `solve_scenario` do.
        """
        method = choose_method(scenario.workspace, self.name, scenario.scenario.model, load=self.load)
        config = SolveConfig(scenario=scenario, method=method, options=self.options)
        solved = solve_scenario(config, monitor=self.monitor).solution
        solved.close()
        point = None
        if solved.point is not None and solved.status is not Status.BROKEN:
            point = _point_of(extended, solved.problem, solved.point)
        return Baseline(point, solved.status, solved.reason, None)


def _point_of(extended: Problem, problem: Problem, point: Floats) -> Floats:
    """The point with the same values of the variables in a problem with more variables; others are 0."""
    found = np.zeros(extended.columns)
    known = {family.name: family for family in extended.variables}
    for family in problem.variables:
        target = known[family.name]
        found[target.first + target.domain.locate(family.domain.columns())] = point[family.slice]
    return complete(extended.definitions, found)
