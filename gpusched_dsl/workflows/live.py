"""Runs live: builds the loop, its clock and the header of its journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from gpusched_dsl.compiling.build import check_solvable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.scenarios.calendars import START
from gpusched_dsl.language.scenarios.scenario import states_calendar
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal.chain import Json
from gpusched_dsl.online.journal.header import header_of
from gpusched_dsl.online.live.clock import LiveClock, live_clock, start_of
from gpusched_dsl.online.live.stream import run_live
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, run_scenario, setup_of
from gpusched_dsl.online.run_config import RunConfig


@dataclass(frozen=True, eq=False)
class LiveParts:
    """What a live run consists of: its setup, the header of its journal, its clock.

    `warnings` are those of the scenario and its data.
    """

    setup: RunSetup
    header: Mapping[str, Json]
    clock: LiveClock
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.setup.online.name

    def make_loop(self, steps: StepJournal | None) -> AnyExternalLoop:
        """A loop at the beginning of the run, which finds recorded steps in `steps`."""
        loop = loop_of(self.setup, journal=steps, clock=self.clock)
        assert isinstance(loop, AnyExternalLoop)
        return loop


def with_start(workspace: Workspace, config: RunConfig, start: str | None, *, has_zone: bool = True) -> RunConfig:
    """Return the configuration with the date at time 0, if its time zone is known; see `live_parts`."""
    if start is None:
        return config
    name = run_scenario(workspace, config.scenario, config.online)
    if not (has_zone and start_of(start).tzinfo is not None) and not states_calendar(workspace, name):
        return config
    return replace(config, settings={**config.settings, START: start})


def live_parts(
    workspace: Workspace, config: RunConfig, *, start: str | None = None, has_zone: bool = True
) -> LiveParts:
    """Check and read everything for a live run. Raises DiagnosticError.

    `start` is the date at time 0, by default that of the scenario's calendar. Its offset is the time zone where the
    scenario states none, unless `has_zone` is False.
    """
    has_calendar = states_calendar(workspace, run_scenario(workspace, config.scenario, config.online))
    date = None if start is None else start_of(start)
    dated = with_start(workspace, config, start, has_zone=has_zone)
    setup = setup_of(workspace, dated, external=True).stateless()
    instance = setup.base.instance
    calendar = instance.store.calendar
    if calendar is not None:
        date = calendar.date(0.0)
    header = header_of(
        online=setup.online.name,
        model=setup.online.base.name,
        scenario=instance.scenario.name or None,
        method=config.method,
        inputs_sha256={**workspace.sha256, **instance.inputs},
        seed=config.seed,
        settings=config.settings,
        options={
            "time_limit": config.time_limit, "most_events": config.most_events, "gap": config.gap,
            "threads": config.threads, "fallback": config.fallback,
        },
        live=True,
        start=None if date is None else date.isoformat(),
    )  # fmt: skip
    _, warnings = check_solvable(workspace, instance.scenario.name, dated.settings)
    clock = live_clock(setup.clock, date, calendar if has_calendar else None)
    return LiveParts(setup, header, clock, (*warnings, *instance.notes))


def run_live_loop(
    workspace: Workspace,
    source: str,
    out: BinaryIO,
    config: RunConfig,
    *,
    start: str | None = None,
    report_from: int | None = None,
    defect: Defect = plain_defect,
    report: Callable[[Sequence[Diagnostic]], None] = lambda warnings: None,
) -> bool:
    """Read events from `source` and write decisions to `out` until the events end; return whether the run has ended.

    `start` is the date at time 0; `defect` makes the diagnostic of an internal error. `report` gets the
    warnings of the scenario first, and those of the run at the end. Raises DiagnosticError with all
    errors in text, data and names, and as `run_live` does.
    """
    parts = live_parts(workspace, config, start=start)
    report(parts.warnings)
    loops: list[AnyExternalLoop] = []

    def make(steps: StepJournal | None) -> AnyExternalLoop:
        loops.append(parts.make_loop(steps))
        return loops[-1]

    has_ended = run_live(
        make, source, out, name=parts.name, clock=parts.clock, journal=config.journal,
        header=parts.header, report_from=report_from, defect=defect,
    )  # fmt: skip
    for loop in loops:
        report(loop.warnings())
    return has_ended
