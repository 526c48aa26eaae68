"""Runs a scenario over time with one or several methods, and several seeds, and returns the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gpusched_dsl.compiling.build import check_solvable
from gpusched_dsl.ir.deadline import READING, StoppedEarly, limit, stage
from gpusched_dsl.ir.log import log
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text, seconds_text
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.run_bound import OTHER_PRICES, UNFINISHED, has_unfinished_jobs, relaxation_bound
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.data.real_values import with_real_values
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import loop_of, online_named, run_scenario, setup_of
from gpusched_dsl.online.planners.protocol import AS_BEFORE
from gpusched_dsl.online.planners.violations import VIOLATED
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_config import RunConfig, is_program
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.solver_options import unread_options, uses_solver
from gpusched_dsl.reporting.runs.comparison import RunComparison, RunTrial
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.seeds import SeedComparison
from gpusched_dsl.reporting.runs.summary import title
from gpusched_dsl.solving.option_checks import check_options
from gpusched_dsl.workflows.trials import run_in_turn
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import StopMonitor

Tell = Callable[[SimulationLoop], None]  # called at the start of a run and after every plan
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

    The unfinished plan is dropped then. `note` is called with a remark if a journal is resumed. Raises DiagnosticError
    with all errors in text, data and names, and as planning and the journal do; KeyboardInterrupt at Ctrl-C before the
    run has begun, and at the second Ctrl-C.
    """
    try:
        return _run_method(workspace, config, Control(), stop=stop, tell=tell, warnings=warnings, note=note)
    except StoppedEarly:
        raise KeyboardInterrupt from None


@dataclass(frozen=True, eq=False)
class _SharedBounds:
    """Bounds of the total and of the mean completion time: the same for all methods."""

    total: RunBound
    completion: RunBound | None


def _run_method(
    workspace: Workspace,
    config: RunConfig,
    control: Control,
    *,
    stop: Stop | None,
    tell: Tell | None,
    warnings: Sequence[Diagnostic],
    note: Callable[[str], None] | None = None,
    known: _SharedBounds | None = None,
) -> RunResult:
    """Do the work of `run_method`; raise StoppedEarly at Ctrl-C before the run begins; later it stops `control`.

    `known` are bounds that another method has proved for the same scenario.
    """
    samples, start = CostSamples(), time.perf_counter()

    def observe(loop: SimulationLoop) -> None:
        samples(loop)
        if tell is not None:
            tell(loop)

    def wants_to_stop() -> bool:
        return control.stop_requested or (stop is not None and stop())

    with limit(), stage(READING):
        setup = setup_of(workspace, config)
        info = _run_info(workspace, setup, warnings)
    with CtrlC(control):
        outcome, info = _drive(setup, info, wants_to_stop, observe, tell, note)
    info = replace(info, seconds=time.perf_counter() - start)
    if config.verify == "full" and "instants" in outcome.extra:
        with CtrlC(control):
            loop = loop_of(setup, stop=wants_to_stop, on_plan=observe, fast=False)
            outcome, info = _verify_replay(outcome, info, loop)
    result = RunResult(outcome, info, samples)
    if config.is_bounded and known is not None:
        unfinished = has_unfinished_jobs(result.history)
        result = replace(
            result,
            given_bound=RunBound(None, UNFINISHED) if unfinished else known.total,
            completion_bound=None if unfinished else known.completion,
        )
    elif config.is_bounded and outcome.online.window is not None:
        with CtrlC(control):
            base = with_real_values(workspace, config, outcome.online, outcome.base)
            bound = relaxation_bound(result.history, base, monitor=StopMonitor(wants_to_stop))
        result = replace(result, given_bound=bound)
    elif config.is_bounded:
        from gpusched_dsl.online.bounds.capacity_bound import capacity_bounds

        with CtrlC(control):
            bounds = capacity_bounds(result.history, wants_to_stop)
        result = replace(result, given_bound=bounds.total, completion_bound=bounds.completion)
    if config.why_gap:
        from gpusched_dsl.workflows.why_gap import gap_parts

        with CtrlC(control):
            parts = gap_parts(workspace, config, result, wants_to_stop)  # the result remains without them
        if isinstance(parts, Diagnostic):
            result = replace(result, run_info=replace(info, warnings=(*info.warnings, parts)))
        else:
            result = replace(result, gap_parts=parts)
    log(
        f"{title(result)}: {result.ended}, {count_text(len(outcome.steps), 'plan')}, after {seconds_text(info.seconds)}"
    )
    return result


def _drive(
    setup: RunSetup, info: RunInfo, stop: Stop, observe: Tell, tell: Tell | None, note: Callable[[str], None] | None
) -> tuple[RunOutcome, RunInfo]:
    """Run to the end, recorded in the journal if there is one; also return the warnings of the run."""
    config = setup.config
    with ExitStack() as stack:
        recorder = None
        if config.journal is not None:
            from gpusched_dsl.online.journal.recorder import Recorder

            setup = setup.stateless()  # a resumed run knows earlier plans only from the journal
            recorder = stack.enter_context(Recorder(config.journal, setup, info, replay=config.replay))
            if note is not None and (line := recorder.start_message()):
                note(line)
        loop = loop_of(setup, journal=None if recorder is None else recorder.steps, stop=stop, on_plan=observe)
        if tell is not None:
            tell(loop)
        try:
            outcome, errors = _run_to_end(loop)
        finally:
            if is_program(setup.planner.name):
                setup.planner.close()
        info = replace(info, warnings=(*info.warnings, *errors))
        if recorder is not None:
            info = replace(info, resumed_steps=recorder.resumed, warnings=(*info.warnings, *recorder.diagnostics()))
            recorder.close_with(outcome)
    return outcome, info


def _verify_replay(outcome: RunOutcome, info: RunInfo, loop: EventLoop | SlotLoop) -> tuple[RunOutcome, RunInfo]:
    """Simulate a fast replay again by events; if the outcomes differ, return that of the simulation."""
    from gpusched_dsl.workflows.replay_verification import disagreement

    simulated, errors = _run_to_end(loop)
    if simulated.ended == "interrupt":
        return outcome, info
    difference = disagreement(outcome, simulated)
    added = tuple(warning for warning in simulated.warnings if warning.code == VIOLATED)
    added += () if difference is None else (difference,)
    info = replace(info, warnings=(*info.warnings, *errors, *added))
    return (replace(outcome, broken=simulated.broken) if difference is None else simulated), info


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

    The row of a refused method has the diagnostics; if all methods are refused, DiagnosticError is raised. After Ctrl-C
    and `stop`, the finished rows and the row of the current method are kept. Raises KeyboardInterrupt as `run_method`
    does if there is no row yet, and DiagnosticError (GSM6002) for a journal, which records one run.
    """
    if config.journal is not None:
        check_options("run", {"journal", "methods"})
    known: _SharedBounds | None = None  # of the first method that has a bound
    control = Control()
    with_solver, without_options = _methods_with_solver(workspace, methods, config), replace(config, solver_options={})
    if methods and not with_solver:
        raise DiagnosticError(unread_options(methods, config))

    def run(method: str) -> RunTrial:
        nonlocal known
        if begin is not None:
            begin(method)
        own = replace(config if method in with_solver else without_options, method=method)
        result = _run_method(workspace, own, control, stop=stop, tell=tell, warnings=warnings, known=known)
        if config.is_bounded and known is None and result.bound.value is not None:
            known = _SharedBounds(result.bound, result.completion_bound)
        return RunTrial(method, result)

    rows = run_in_turn(
        methods,
        run,
        lambda method, diagnostics: RunTrial(method, None, diagnostics),
        lambda trial: trial.status == "interrupt" or control.stop_requested,
    )
    in_windows = any(r.result is not None and r.result.outcome.online.window is not None for r in rows)
    if (
        in_windows
        and known is not None
        and any(r.result is not None and known.total.is_refuted_by(r.result.total) for r in rows)
    ):
        other = RunBound(None, OTHER_PRICES)
        rows = [
            r if r.result is None else replace(r, result=replace(r.result, given_bound=other, gap_parts=None))
            for r in rows
        ]
    if all(row.result is None for row in rows):
        raise DiagnosticError([d for row in rows for d in row.diagnostics])
    return RunComparison(tuple(rows), interrupted=len(rows) < len(methods))


def run_seeds(
    workspace: Workspace,
    methods: Sequence[str],
    config: RunConfig,
    seeds: Sequence[int],
    *,
    stop: Stop | None = None,
    tell: Tell | None = None,
    warnings: Sequence[Diagnostic] = (),
    begin: Callable[[str], None] | None = None,
) -> SeedComparison:
    """Run every method once for each seed; at one seed, the random quantities are equal for all methods.

    Ctrl-C and `stop` keep the runs so far. Raises as `run_methods` does, KeyboardInterrupt before the first run.
    """
    rows: list[RunTrial] = []
    interrupted = False
    for seed in seeds:
        own, each = replace(config, seed=seed), partial(_begin_at, begin, seed)
        try:
            found = run_methods(workspace, methods, own, stop=stop, tell=tell, warnings=warnings, begin=each)
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
        else:
            rows += [replace(row, seed=seed) for row in found.rows]
            interrupted = found.interrupted or any(row.status == "interrupt" for row in found.rows)
        if interrupted:
            break
    return SeedComparison(tuple(rows), interrupted, len(methods))


def _begin_at(begin: Callable[[str], None] | None, seed: int, method: str) -> None:
    if begin is not None:
        begin(f"{method}, seed {seed}")


def _methods_with_solver(workspace: Workspace, methods: Sequence[str], config: RunConfig) -> set[str]:
    """Return the methods that read options of solvers; all of them if there are no options."""
    if not config.solver_options:
        return set(methods)
    name = run_scenario(workspace, config.scenario, config.online)
    scenario, _ = check_solvable(workspace, name, config.settings)
    online = online_named(workspace, config.online, scenario)
    return {method for method in methods if uses_solver(workspace, online, method, config.fallback)}


def with_read_options(workspace: Workspace, config: RunConfig) -> RunConfig:
    """Return the configuration without options of solvers if no solver plans, so that they are not refused."""
    is_read = config.method in _methods_with_solver(workspace, [config.method], config)
    return config if is_read else replace(config, solver_options={})


def _run_to_end(loop: EventLoop | SlotLoop) -> tuple[RunOutcome, tuple[Diagnostic, ...]]:
    """Return the outcome and the error that ended the run; raise DiagnosticError if there was no decision before it."""
    try:
        outcome = loop.run()
    except DiagnosticError as error:
        if not loop.steps:
            raise
        return loop.outcome("error"), tuple(error.diagnostics)
    if loop.diagnostics.failures and all(step.method == AS_BEFORE for step in outcome.steps):
        raise DiagnosticError([failures.first for failures in loop.diagnostics.failures.values()])
    return outcome, ()


def _run_info(workspace: Workspace, setup: RunSetup, warnings: Sequence[Diagnostic]) -> RunInfo:
    config, instance = setup.config, setup.base.instance
    name = run_scenario(workspace, config.scenario, config.online)
    _, scenario_warnings = check_solvable(workspace, name, config.settings)
    options: dict[str, Any] = {
        "seed": config.seed,
        "time_limit": config.time_limit,
        "gap": config.gap,
        "threads": config.threads,
        "solver_options": dict(config.solver_options),
        "most_events": config.most_events,
        **({"controllers": setup.controllers} if setup.controllers > 1 else {}),
        **({"without": sorted(config.without)} if config.without else {}),
    }
    return RunInfo(
        method=config.method,
        fallback=None if setup.fallback is None else setup.fallback.name,
        scenario=instance.scenario.name or "",
        settings=dict(config.settings),
        options=options,
        inputs_sha256={**workspace.sha256, **instance.inputs},
        warnings=(*warnings, *scenario_warnings, *instance.notes),
    )
