"""Runs a scenario over time with one or several methods, and returns the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gpusched_dsl.backends.interrupt import Control, CtrlC
from gpusched_dsl.backends.protocol import Silent
from gpusched_dsl.compiling.build import check_solvable, choose_scenario
from gpusched_dsl.ir.deadline import READING, StoppedEarly, limit, stage
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.run_bound import OTHER_PRICES, UNFINISHED, has_unfinished_jobs, relaxation_bound
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.protocol import AS_BEFORE
from gpusched_dsl.online.planners.verification import CODE as BROKEN_PLAN
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.reporting.runs.comparison import RunComparison, RunRow
from gpusched_dsl.reporting.runs.result import RunResult

Tell = Callable[[SimulationLoop], None]  # hears of the run at its beginning and after every plan
Stop = Callable[[], bool]


def run_method(
    workspace: Workspace,
    config: RunConfig,
    *,
    stop: Stop | None = None,
    tell: Tell | None = None,
    warnings: Sequence[Diagnostic] = (),
    note: Callable[[str], None] | None = None,
) -> RunResult:
    """Run to the end, or until Ctrl-C or `stop`, which is called before each event and during planning.

    The plan at hand is dropped then. `note` hears of the journal that is resumed. Raises DiagnosticError with
    everything wrong in text, data and names, and as planning and the journal do; KeyboardInterrupt at Ctrl-C before
    the run has begun, and at the second one.
    """
    try:
        return _run_method(workspace, config, Control(), stop=stop, tell=tell, warnings=warnings, note=note)
    except StoppedEarly:
        raise KeyboardInterrupt from None


def _run_method(
    workspace: Workspace,
    config: RunConfig,
    control: Control,
    *,
    stop: Stop | None,
    tell: Tell | None,
    warnings: Sequence[Diagnostic],
    note: Callable[[str], None] | None = None,
) -> RunResult:
    """As `run_method`; raises Stopped at Ctrl-C before the run has begun. A later Ctrl-C stops the `control`."""
    samples, began = CostSamples(), time.perf_counter()

    def hear(driver: SimulationLoop) -> None:
        samples(driver)
        if tell is not None:
            tell(driver)

    def stopping() -> bool:
        return control.stopping or (stop is not None and stop())

    with limit(), stage(READING):
        setup = setup_of(workspace, config)
        about = _about(workspace, setup, warnings)
    with CtrlC(control):
        outcome, about = _drive(setup, about, stopping, hear, tell, note)
    about = replace(about, seconds=time.perf_counter() - began)
    if config.verify == "full" and "instants" in outcome.extra:
        with CtrlC(control):
            driver = loop_of(setup, stop=stopping, tell=hear, fast=False)
            outcome, about = _verified(outcome, about, driver)
    result = RunResult(outcome, about, samples)
    if config.bound and outcome.online.window is not None:
        with CtrlC(control):
            result = replace(result, given_bound=relaxation_bound(result.reading, monitor=_StopMonitor(stopping)))
    return result


def _drive(
    setup: RunSetup, about: RunInfo, stop: Stop, hear: Tell, tell: Tell | None, note: Callable[[str], None] | None
) -> tuple[RunOutcome, RunInfo]:
    """Run to the end, recorded in the journal if there is one; also return the warnings of the run."""
    config = setup.config
    with ExitStack() as held:
        recorder = None
        if config.journal is not None:
            from gpusched_dsl.online.journal.recorder import Recorder

            setup = setup.stateless()  # a run that is resumed knows no more of earlier plans than the journal
            recorder = held.enter_context(Recorder(config.journal, setup, about, replay=config.replay))
            if note is not None and (line := recorder.opening()):
                note(line)
        driver = loop_of(setup, journal=None if recorder is None else recorder.steps, stop=stop, tell=hear)
        if tell is not None:
            tell(driver)
        outcome, broke = _to_its_end(driver)
        about = replace(about, warnings=(*about.warnings, *broke))
        if recorder is not None:
            about = replace(about, resumed_steps=recorder.resumed, warnings=(*about.warnings, *recorder.findings()))
            recorder.close_with(outcome)
    return outcome, about


def _verified(outcome: RunOutcome, about: RunInfo, driver: EventLoop | SlotLoop) -> tuple[RunOutcome, RunInfo]:
    """Drive a fast replay again event by event; where they disagree, the second outcome is the result."""
    from gpusched_dsl.workflows.replay_verification import disagreement

    planned, broke = _to_its_end(driver)
    if planned.ended == "interrupt":
        return outcome, about
    finding = disagreement(outcome, planned)
    told = tuple(warning for warning in planned.warnings if warning.code == BROKEN_PLAN)
    told += () if finding is None else (finding,)
    about = replace(about, warnings=(*about.warnings, *broke, *told))
    return (outcome if finding is None else planned), about


class _StopMonitor(Silent):
    """The monitor of a solver that ends when somebody wants to stop."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    @property
    def stop_requested(self) -> bool:
        return self._stop()


def run_methods(
    workspace: Workspace,
    methods: Sequence[str],
    config: RunConfig,
    *,
    stop: Stop | None = None,
    tell: Tell | None = None,
    warnings: Sequence[Diagnostic] = (),
    begin: Callable[[str], None] | None = None,
) -> RunComparison:
    """Run the same scenario with each method in turn: the realised random quantities are equal for all of them.

    What a method is refused for stands in its row; where all are refused, DiagnosticError is raised. After Ctrl-C and
    `stop`, the rows that are there are kept, that of the method that ran among them. Raises KeyboardInterrupt as
    `run_method` where there is no row yet, and ValueError for a journal, which is that of one run.
    """
    if config.journal is not None:
        raise ValueError("a journal records one run: give each method a separate journal")
    rows: list[RunRow] = []
    relaxed: RunBound | None = None  # the same for all methods
    control = Control()
    for method in methods:
        if begin is not None:
            begin(method)
        own = replace(config, method=method, bound=config.bound and relaxed is None)
        try:
            result = _run_method(workspace, own, control, stop=stop, tell=tell, warnings=warnings)
        except StoppedEarly:
            if not rows:
                raise KeyboardInterrupt from None
            break
        except DiagnosticError as error:
            rows.append(RunRow(method, None, tuple(error.diagnostics)))
            continue
        if own.bound and result.bound.value is not None:
            relaxed = result.bound
        elif relaxed is not None:
            result = replace(
                result, given_bound=RunBound(None, UNFINISHED) if has_unfinished_jobs(result.reading) else relaxed
            )
        rows.append(RunRow(method, result))
        if result.ended == "interrupt" or control.stopping:
            break
    if relaxed is not None and any(r.result is not None and relaxed.refuted_by(r.result.total) for r in rows):
        other = RunBound(None, OTHER_PRICES)
        rows = [r if r.result is None else replace(r, result=replace(r.result, given_bound=other)) for r in rows]
    if all(row.result is None for row in rows):
        raise DiagnosticError([d for row in rows for d in row.findings])
    return RunComparison(tuple(rows), interrupted=len(rows) < len(methods))


def _to_its_end(driver: EventLoop | SlotLoop) -> tuple[RunOutcome, tuple[Diagnostic, ...]]:
    """Return the outcome and the error that ended the run; raise DiagnosticError if there was no decision before it."""
    try:
        outcome = driver.run()
    except DiagnosticError as error:
        if not driver.steps:
            raise
        return driver.outcome("error"), tuple(error.diagnostics)
    if driver.failures and all(step.method == AS_BEFORE for step in outcome.steps):
        raise DiagnosticError([failures.first for failures in driver.failures.values()])
    return outcome, ()


def _about(workspace: Workspace, setup: RunSetup, warnings: Sequence[Diagnostic]) -> RunInfo:
    config, instance = setup.config, setup.base.instance
    name = choose_scenario(workspace, config.scenario)
    _, told = check_solvable(workspace, name, config.settings)
    options: dict[str, Any] = {
        "seed": config.seed,
        "time_limit": config.time_limit,
        "gap": config.gap,
        "threads": config.threads,
        "solver_options": dict(config.solver_options),
        "most_events": config.most_events,
    }
    return RunInfo(
        method=config.method,
        fallback=None if setup.fallback is None else setup.fallback.name,
        scenario=instance.scenario.name or "",
        settings=dict(config.settings),
        options=options,
        inputs_sha256={**workspace.sha256, **instance.inputs},
        warnings=(*warnings, *told, *instance.notes),
    )
