"""From a text to a run: the online block, its scenario, the method and its fallback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from gpusched_dsl.compiling.build import check_solvable, choose_scenario, read_data
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checked_policy import CheckedMember, CheckedPolicy, CheckedPortfolio
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.loops.external_slots import ExternalSlotLoop
from gpusched_dsl.online.loops.setup import RunSetup, set_up
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.planners.controllers import controllers_of, with_controllers
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.program import ProgramPlanner
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.rollouts.generated import seeds_of
from gpusched_dsl.online.run_config import RunConfig, is_program
from gpusched_dsl.online.run_record import (
    BY_CONTROLLERS,
    BY_PROGRAM,
    BY_SIMULATION,
    BY_SLOT,
    BY_SOLVER,
    RECORDED,
    RunOutcome,
)
from gpusched_dsl.online.solver_options import check_solver_options
from gpusched_dsl.solving.methods import method_named

SHOWN = 80  # characters of a refused method


def online_named(workspace: Workspace, name: str | None, scenario: CheckedScenario) -> CheckedOnline:
    """The online block of that name for the model of a scenario, or the only one of the workspace.

    Raises DiagnosticError: GSM6019 there is none of that name, or none, or several.
    """
    blocks = workspace.onlines
    if name is None and len(blocks) == 1:
        name = next(iter(blocks))
    if name is None or name not in blocks:
        listed = ", ".join(f"`{n}`" for n in blocks)
        if name is not None:
            message = f"unknown online block `{name}`"
            help: str | None = did_you_mean(name, blocks)
        elif blocks:
            message, help = f"there are {len(blocks)} online blocks: {listed}", "choose one: `--online NAME`"
        else:
            message, help = "there is no online block to run", None
            help = f"write `online Name for {scenario.model.name} {{ arrive ...; replan on ...; carry ...; }}`"
        raise DiagnosticError([Diagnostic("GSM6019", message, help=help)])
    found = Diagnostics()
    online = check_online(workspace, blocks[name], found, scenario.model)
    found.raise_if_errors()
    assert online is not None
    return online


def run_scenario(workspace: Workspace, wanted: str | None, online: str | None, *, data_later: bool = False) -> str:
    """The scenario of that name, or the only sensible one for the online block; raises as `choose_scenario` does."""
    blocks = workspace.onlines
    models: list[str] = []
    for name in [online] if online is not None else blocks:
        block, seen = blocks.get(name), set[str]()
        while block is not None and block.model is None and block.extends is not None and block.name.text not in seen:
            seen.add(block.name.text)
            block = blocks.get(block.extends.text)
        if block is not None and block.model is not None:
            models.append(block.model.text)
    return choose_scenario(workspace, wanted, data_later=data_later, models=models)


def open_run(
    workspace: Workspace,
    config: RunConfig,
    *,
    journal: StepJournal | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_plan: Callable[[SimulationLoop], None] = lambda loop: None,
    external: bool = False,
) -> EventLoop | SlotLoop:
    """A loop that is ready to run; with `external`, one that events from outside drive.

    Raises DiagnosticError with everything wrong in text, data and names.
    """
    return loop_of(setup_of(workspace, config, external=external), journal=journal, stop=stop, on_plan=on_plan)


def setup_of(workspace: Workspace, config: RunConfig, *, external: bool = False) -> RunSetup:
    """The setup of a run. Raises DiagnosticError with everything wrong in text, data and names."""
    allowed = config.permissions
    name = run_scenario(workspace, config.scenario, config.online)
    found, _ = check_solvable(workspace, name, config.settings)
    block = online_named(workspace, config.online, found)
    check_solver_options(workspace, block, config)
    planner = planner_named(workspace, config.method, block, config)  # before the data: a process starts
    instance = read_data(workspace, found, permissions=allowed, replaced=config.replaced)
    instance.reader.forget()  # plans are made from what is bound
    spare = config.fallback or block.fallback
    _check_window(block)
    base = Base(instance, allowed.limits())
    fallback = None if spare is None else planner_named(workspace, spare, block, config)
    planner = _with_data(planner, base)
    fallback = None if fallback is None else _with_data(fallback, base)
    count = controllers_of(planner, block, base, config.controllers)
    planner = with_controllers(planner, count, block, base.limits)
    fallback = None if fallback is None else with_controllers(fallback, count, block, base.limits)
    return set_up(block, base, planner, fallback, config, external=external, controllers=count)


def loop_of(
    setup: RunSetup,
    *,
    journal: StepJournal | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_plan: Callable[[SimulationLoop], None] = lambda loop: None,
    fast: bool = True,
    event_loop: Callable[..., EventLoop] = EventLoop,
    clock: LiveClock | None = None,
) -> EventLoop | SlotLoop:
    """A loop at the beginning of a run, driven by events if it is `external`; without `fast`, no fast replay.

    `event_loop` makes the loop of a run by events that are simulated, `clock` reads the times of external events.
    """
    clock = clock or LiveClock()
    config, policy = setup.config, _policy_of(setup.planner)
    strict = config.refuses_broken
    verifies = strict or config.verify != "none"
    full, sample = strict or config.verify == "full", config.verify == "sample"
    examine = None
    if verifies:
        from gpusched_dsl.online.planners.verification import PlanCheck

        examine = PlanCheck(full, sample, strict)
    recorded = journal is not None or setup.external
    if setup.controllers > 1:
        against: tuple[str, ...] = (BY_CONTROLLERS,)
    elif policy is None:
        by_program, ahead = is_program(setup.planner.name), looks_ahead(setup)
        against = (BY_PROGRAM if by_program else BY_SIMULATION if ahead else BY_SOLVER,)
    else:
        against = (RECORDED,) if recorded else (BY_SLOT,) if setup.window is not None else ()
    if setup.window is not None and setup.external:
        return ExternalSlotLoop(setup, journal, stop, on_plan, examine, (RECORDED,), live_clock=clock)
    if setup.window is not None:
        return SlotLoop(setup, journal, stop, on_plan, examine, against)
    outlooks = None
    if looks_ahead(setup):
        from gpusched_dsl.online.rollouts.outlook import Outlooks

        outlooks = Outlooks()
    for planner in _portfolios(setup):
        futures = planner.portfolio.futures
        if futures is not None and futures.arrivals == "generated":
            seeds_of(setup.base.instance.scenario)
    if setup.external:
        loop: EventLoop = ExternalEventLoop(
            setup, journal, stop, on_plan, examine, against, look_ahead=outlooks, live_clock=clock
        )  # fmt: skip
    else:
        replay = None if against or policy is None or not fast else partial(_fast_replay, policy)
        loop = event_loop(setup, journal, stop, on_plan, examine, against, replay, look_ahead=outlooks)
        from gpusched_dsl.online.offered_load import warn_of_load

        warn_of_load(loop)
    for planner in _portfolios(setup):
        from gpusched_dsl.online.rollouts.outlook import check_arrivals

        check_arrivals(loop, planner.portfolio, planner.continuing or planner.members)
    return loop


def looks_ahead(setup: RunSetup) -> bool:
    """Whether a planner of a run simulates its plans."""
    return bool(_portfolios(setup))


def _portfolios(setup: RunSetup) -> list[PortfolioPlanner]:
    planners = (p.planner if isinstance(p, StatelessPlanner) else p for p in (setup.planner, setup.fallback))
    return [planner for planner in planners if isinstance(planner, PortfolioPlanner)]


def _policy_of(planner: Planner) -> CheckedPolicy | None:
    inner = planner.planner if isinstance(planner, StatelessPlanner) else planner
    return inner.policy if isinstance(inner, PolicyPlanner) else None


def _fast_replay(policy: CheckedPolicy, loop: EventLoop) -> RunOutcome | Sequence[str]:
    from gpusched_dsl.online.replay.fast_replay import fast_replay

    return fast_replay(loop, policy)


def _check_window(online: CheckedOnline) -> None:
    """Raise DiagnosticError for a window that cannot be run (GSM1621)."""
    window = online.window
    if window is None:
        return
    slots = online.base.sets[window.slots]
    if slots.root is None:
        message = f"`{slots.name}` consists of numbers, so a plan cannot select some of its elements"
        help = f"declare `set {slots.name} ordered;` and let the scenario give its elements"
        raise DiagnosticError([Diagnostic("GSM1621", message, window.span, help=help)])


def _with_data(planner: Planner, base: Base) -> Planner:
    return planner.with_data(base) if isinstance(planner, ProgramPlanner) else planner


def planner_named(workspace: Workspace, method: str, online: CheckedOnline, config: RunConfig) -> Planner:
    """A policy, a solver or a program as a planner.

    Raises DiagnosticError for unknown names, and GSM7021 for a program that the user has not named. A solver works in
    a process of its own, which begins to start: no crash of it ends the run.
    """
    if is_program(method):
        if method not in config.permissions.programs:
            raise DiagnosticError([refused_program(method)])
        return ProgramPlanner(method, online)
    found = method_named(workspace, method, online.base)
    if isinstance(found, CheckedPolicy):
        if found.portfolio is not None:
            return _portfolio_planner(workspace, found, found.portfolio, online, config)
        return PolicyPlanner(found, config.permissions)
    from gpusched_dsl.online.planners.solver import SolverPlanner
    from gsdsl_backends.isolation.backend import guard

    guard(found, everything=True)
    return SolverPlanner(found, config.permissions, config.for_solver)


def refused_program(method: str) -> Diagnostic:
    """Return GSM7021: a program is named where only policies and solvers are allowed."""
    message = f"`{method[:SHOWN]}` is not started: only the command line and Python code may name programs"
    return Diagnostic("GSM7021", message, help="name a policy or a solver")


def _portfolio_planner(
    workspace: Workspace, policy: CheckedPolicy, portfolio: CheckedPortfolio, online: CheckedOnline, config: RunConfig
) -> PortfolioPlanner:
    """Return a portfolio with the planners of its methods.

    Raises DiagnosticError for a block with a window (GSM7015), and for methods that are none of the model.
    """
    if online.window is not None:
        message = f"the portfolio `{policy.name}` cannot plan slot by slot, as `{online.name}` does"
        place = Label(portfolio.span, "of this portfolio")
        help = "run one of its policies, or a block that plans at events"
        raise DiagnosticError([Diagnostic("GSM7015", message, online.window.span, "", (place,), help=help)])

    def planners(members: Sequence[CheckedMember]) -> list[Planner]:
        return [_member_planner(workspace, member, online, config) for member in members]

    return PortfolioPlanner(
        policy, planners(portfolio.members), planners(portfolio.continuing), config.permissions.limits()
    )


def _member_planner(workspace: Workspace, member: CheckedMember, online: CheckedOnline, config: RunConfig) -> Planner:
    """Return the planner of a method of a portfolio; raise DiagnosticError at its name."""
    try:
        found = method_named(workspace, member.name, online.base)
    except DiagnosticError as error:
        if any(d.primary is not None for d in error.diagnostics):
            raise
        raise DiagnosticError([structs.replace(d, primary=member.span) for d in error.diagnostics]) from None
    if isinstance(found, CheckedPolicy) and found.portfolio is not None:
        message = f"`{member.name}` is a portfolio, and portfolios cannot contain portfolios"
        raise DiagnosticError(
            [Diagnostic("GSM1670", message, member.span, "a portfolio", help="name the policies that it follows")]
        )
    return planner_named(workspace, member.name, online, config)
