"""Runs with a journal: recorded as they go on, resumed after they were killed, or planned again and compared."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.checkpoints.state_files import CheckpointedSteps
from gpusched_dsl.online.journal.header import header_of
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.steps import step_data
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome

COMPLETE = ("finished", "horizon", "stuck", "events")  # ends after which no step can follow


class Recorder(AbstractContextManager["Recorder"]):
    """The journal of a run before its start; `steps` is that of its loop, whose setup is `stateless`.

    Raises DiagnosticError (GSM51..) where the journal cannot be that of this run, or be read or written.
    """

    def __init__(self, path: Path, setup: RunSetup, info: RunInfo, *, replay: bool = False) -> None:
        header = header_of(
            online=setup.online.name,
            model=setup.online.base.name,
            scenario=info.scenario,
            method=info.method,
            inputs_sha256=info.inputs_sha256,
            seed=setup.config.seed,
            settings=info.settings,
            options={**info.options, "fallback": info.fallback},
        )
        self.path, self.replay = path, replay
        self.journal = Journal.open(path, header)
        self.resumed = 0 if replay else len(self.journal)
        self.steps = StepComparison(self.journal) if replay else CheckpointedSteps(self.journal)

    def start_message(self) -> str:
        """Return the message before the run; `""` for a new journal."""
        known = count_text(len(self.journal), "plan")
        if self.replay:
            return f"computing the {known} of {self.path} again"
        return f"resuming: {known} from {self.path}" if len(self.journal) or self.journal.finished else ""

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return a warning if recomputed plans differ from the recorded ones."""
        if not isinstance(self.steps, StepComparison) or not self.steps.differences:
            return ()
        differences = self.steps.differences
        message = f"{count_text(len(differences), 'plan differs', 'plans differ')} from the journal `{self.path}`"
        help = "time limits and versions of solvers change plans; otherwise the same inputs give the same plans"
        return (Diagnostic("GSM5110", message, notes=tuple(differences[:3]), help=help, severity=Severity.WARNING),)

    def close_with(self, outcome: RunOutcome) -> None:
        """Record the result of a finished run."""
        if not self.replay and outcome.ended in COMPLETE and not self.journal.finished:
            self.journal.finish({"ended": outcome.ended, "time": outcome.world.now, "total": outcome.total})

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.journal.close()


class StepComparison:
    """Steps that are planned again, each compared with the recorded one; `differences` has the differences."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.differences: list[str] = []
        self.compared_count = 0

    def read_next(self) -> None:
        return None

    def before_plan(self, loop: SimulationLoop, why: tuple[str, ...]) -> None:
        """Nothing is saved: the run is recorded already."""

    def write(self, step: Mapping[str, Any]) -> None:
        number = step["number"] + 1
        if number > len(self.journal):
            return
        self.compared_count += 1
        known = step_data(self.journal.step(number))
        if known["time"] != step["time"]:
            self.differences.append(f"plan {number} is at {step['time']:g}, in the journal at {known['time']:g}")
        elif plan_of(known) != plan_of(step):
            self.differences.append(f"plan {number}, at {step['time']:g}: other decisions")


def plan_of(step: Mapping[str, Any]) -> Any:
    """The decisions of a step as they are read back from JSON, in an order of their own."""
    values = {name: sorted(zip(*columns, strict=True), key=repr) for name, columns in step["plan"]["values"].items()}
    return step["plan"]["method"], {name: rows for name, rows in values.items() if rows}
