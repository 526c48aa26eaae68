"""Divides the gap of a run into its parts, by two more runs that look ahead, or have longer windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from gpusched_dsl.language.checked_policy import CheckedMember, CheckedPolicy, CheckedPortfolio
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.gap_parts import MEANINGS, UNDIVIDED, GapParts
from gpusched_dsl.online.bounds.run_bound import has_unfinished_jobs
from gpusched_dsl.online.data.real_values import real_values
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.solving.methods import method_named

CODE = "GSM7017"
QUEUES = ("ATC", "EDF", "SRTF", "FIFO")  # that continue simulated plans
OF_WINDOWS = (
    "saved by windows that end with the run",
    "then saved by knowing later jobs and real values",
    UNDIVIDED,
)


def gap_parts(
    workspace: Workspace, config: RunConfig, result: RunResult, stop: Callable[[], bool]
) -> GapParts | Diagnostic:
    """Return the parts of the gap of a run with this configuration, or a warning with the reason why there are none."""
    try:
        return _parts(workspace, config, result, stop)
    except DiagnosticError as error:
        first = error.diagnostics[0]
        return _none(f"a run that looks ahead failed ({first.code}): {first.message}", first.help or "run it again")


def _parts(
    workspace: Workspace, config: RunConfig, result: RunResult, stop: Callable[[], bool]
) -> GapParts | Diagnostic:
    bound, in_windows = result.bound, result.outcome.online.window is not None
    if result.ended != ("horizon" if in_windows else "finished"):
        return _none("the run did not finish all jobs", "the totals of unfinished runs cannot be compared")
    if bound.value is None:
        return _none(f"there is no bound: {bound.how}", "see `gsdsl run --bound`")
    if config.controllers > 1 or (result.outcome.online.jobs_root == "" and not in_windows):
        return _none("several controllers plan", "run it without `--controllers`")
    config = replace(config, journal=None, replay=False, bound=False, verify="none")
    if in_windows:
        variants: Iterator[RunSetup] = _with_long_windows(workspace, config, result)
        methods: tuple[str, ...] = (result.method,)
        what, help, meanings = "with longer windows", "run it again, or without `--why-gap`", OF_WINDOWS
    else:
        setup = setup_of(workspace, config)
        portfolio = _looking_ahead(workspace, setup, config)
        if isinstance(portfolio, Diagnostic):
            return portfolio
        planners = (replace(portfolio.fresh(), knows_future=informed) for informed in (False, True))
        variants = (replace(setup, planner=planner) for planner in planners)
        methods = tuple(dict.fromkeys(p.name for p in (*portfolio.members, *portfolio.continuing)))
        what, help, meanings = "that looks ahead", "run it again", MEANINGS
    totals: list[float] = []
    for variant in variants:
        try:
            outcome = loop_of(variant, stop=stop, fast=False).run()
        finally:
            variant.planner.close()
        if outcome.ended != result.ended:
            return _none(f"a run {what} ended early: {outcome.ended}", help)
        if in_windows and has_unfinished_jobs(RunHistory(outcome)):
            return _none(f"a run {what} did not finish all jobs", help)
        totals.append(outcome.total)
    return GapParts(result.total, totals[0], totals[1], bound.value, methods, meanings)


def _with_long_windows(workspace: Workspace, config: RunConfig, result: RunResult) -> Iterator[RunSetup]:
    """Yield two variants of a run in windows: each window ends with the run.

    Both plan with the method of the run, at the same times. The first one knows what the run knew; the second one also
    knows all later jobs and, in place of expected values, the real ones (`online/data/real_values.py`). A job that has
    not arrived is never executed, even if a plan has it.
    """
    real = real_values(result.outcome.online, result.outcome.base)
    informed = replace(config, replaced={**(config.replaced or {}), **real})
    for foresees in (False, True):
        setup = setup_of(workspace, informed if foresees else config)
        if foresees:
            carries = tuple(carry for carry in setup.online.carries if carry.target not in real)
            setup = replace(setup, online=structs.replace(setup.online, carries=carries))
        assert setup.window is not None
        window = replace(setup.window, lookahead=setup.window.horizon, foresees=foresees)
        yield replace(setup, window=window, planner=setup.planner.fresh())


def _looking_ahead(workspace: Workspace, setup: RunSetup, config: RunConfig) -> PortfolioPlanner | Diagnostic:
    """Return a portfolio of the method of a run and of queues, or the method itself if it is one."""
    if isinstance(setup.planner, PortfolioPlanner):
        return setup.planner
    queues = _queues(workspace, setup)
    if not queues:
        return _none("no queue applies to the model", "state `lasts` in the placement")
    planners = [PolicyPlanner(policy, config.permissions) for policy in queues]
    members = [setup.planner, *(p for p in planners if p.name != setup.planner.name)]
    span = setup.online.span
    stated = CheckedPortfolio(
        span,
        tuple(CheckedMember(planner.name, span) for planner in members),
        continuing=tuple(CheckedMember(planner.name, span) for planner in planners),
    )
    policy = structs.replace(queues[0], name=f"{setup.planner.name}, looking ahead", portfolio=stated)
    return PortfolioPlanner(policy, members, planners, config.permissions.limits())


def _queues(workspace: Workspace, setup: RunSetup) -> Sequence[CheckedPolicy]:
    found = []
    for name in QUEUES:
        try:
            method = method_named(workspace, name, setup.online.base)
        except DiagnosticError:
            continue
        if isinstance(method, CheckedPolicy) and method.portfolio is None:
            found.append(method)
    return found


def _none(reason: str, help: str) -> Diagnostic:
    return Diagnostic(CODE, f"the gap has no parts: {reason}", help=help, severity=Severity.WARNING)
