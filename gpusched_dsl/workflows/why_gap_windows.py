"""Divides the gap of a run in windows into its parts, by two more runs whose windows end with the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.gap_parts import GapParts
from gpusched_dsl.online.bounds.run_bound import has_unfinished_jobs
from gpusched_dsl.online.data.real_values import real_values
from gpusched_dsl.online.history import RunHistory
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.reporting.runs.result import RunResult

MEANINGS = (
    "saved by windows that end with the run",
    "then saved by knowing later jobs and real values",
    "the rest above the bound",
)


def gap_parts_of_windows(
    workspace: Workspace, config: RunConfig, result: RunResult, bound: float, stop: Callable[[], bool]
) -> GapParts | str:
    """Return the parts of the gap of a run in windows, or why there are none.

    Both runs plan with the method of the run, at the same times, but each window ends with the run. The first one knows
    what the run knew; the second one also knows all later jobs and, in place of expected values, the real ones
    (`online/data/real_values.py`). A job that has not arrived is never executed, even if a plan has it. Raises
    DiagnosticError as planning does.
    """
    real = real_values(result.outcome.online, result.outcome.base)
    informed = replace(config, replaced={**(config.replaced or {}), **real})
    totals = []
    for foresees in (False, True):
        setup = setup_of(workspace, informed if foresees else config)
        if foresees:
            carries = tuple(carry for carry in setup.online.carries if carry.target not in real)
            setup = replace(setup, online=structs.replace(setup.online, carries=carries))
        outcome = _run_with_long_windows(setup, foresees, stop)
        if outcome.ended != "horizon":
            return f"a run with longer windows ended early: {outcome.ended}"
        if has_unfinished_jobs(RunHistory(outcome)):
            return "a run with longer windows did not finish all jobs"
        totals.append(outcome.total)
    return GapParts(result.total, totals[0], totals[1], bound, (result.method,), MEANINGS)


def _run_with_long_windows(setup: RunSetup, foresees: bool, stop: Callable[[], bool]) -> RunOutcome:
    assert setup.window is not None
    window = replace(setup.window, lookahead=setup.window.horizon, foresees=foresees)
    planner = setup.planner.fresh()
    try:
        return loop_of(replace(setup, window=window, planner=planner), stop=stop, fast=False).run()
    finally:
        planner.close()
