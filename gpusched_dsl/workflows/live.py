"""Runs live: builds the loop, its clock and the header of its journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal.chain import Json
from gpusched_dsl.online.journal.header import header_of
from gpusched_dsl.online.live.clock import LiveClock, live_clock, start_of
from gpusched_dsl.online.live.stream import run_live
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig


@dataclass(frozen=True, eq=False)
class LiveParts:
    """What a live run consists of: its setup, the header of its journal, its clock."""

    setup: RunSetup
    header: Mapping[str, Json]
    clock: LiveClock

    @property
    def name(self) -> str:
        return self.setup.online.name

    def make_loop(self, steps: StepJournal | None) -> AnyExternalLoop:
        """A loop at the beginning of the run, which finds recorded steps in `steps`."""
        loop = loop_of(self.setup, journal=steps, clock=self.clock)
        assert isinstance(loop, AnyExternalLoop)
        return loop


def live_parts(workspace: Workspace, config: RunConfig, *, start: str | None = None) -> LiveParts:
    """Check and read everything for a live run; `start` is the date at time 0. Raises DiagnosticError."""
    setup = setup_of(workspace, config, external=True).stateless()
    unit, instance = setup.clock, setup.base.instance
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
        start=start,
    )  # fmt: skip
    calendar = instance.store.calendar
    date = start_of(start) if start is not None else calendar.date(0.0) if calendar is not None else None
    if calendar is not None and date is not None and date != calendar.date(0.0):
        calendar = None  # the run starts at another time than the calendar
    return LiveParts(setup, header, live_clock(unit, str(setup.clock), date, calendar))


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
    warnings of the run at the end. Raises DiagnosticError with all
    errors in text, data and names, and as `run_live` does.
    """
    parts = live_parts(workspace, config, start=start)
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
