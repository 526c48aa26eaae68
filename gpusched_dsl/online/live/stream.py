"""A live run from the source of events to the receiver of decisions, with or without a journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from gpusched_dsl.online.journal.chain import Json
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.live.lines import open_lines
from gpusched_dsl.online.live.session import LiveLoop, LiveRun
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.loops.step_journal import StepJournal


def run_live(
    loop_with: Callable[[StepJournal | None], LiveLoop],
    source: str,
    out: BinaryIO,
    *,
    name: str,
    clock: LiveClock,
    journal: Path | None = None,
    header: Mapping[str, Json] | None = None,
    resume: bool = True,
    report_from: int | None = None,
    defect: Defect = plain_defect,
) -> bool:
    """Read events from `source` (`-`, a file, a named pipe) to their end; return whether the run has ended.

    `loop_with` makes the loop, given where it finds recorded steps; `header` is what the run depends on (`header_of`);
    `defect` makes the diagnostic of an internal error. Every line of `out` is flushed. Raises DiagnosticError where the
    journal or the source cannot be opened, and where a record cannot be written; BrokenPipeError when nobody reads
    `out` any more.
    """

    def write(line: bytes) -> None:
        out.write(line)
        out.flush()

    with ExitStack() as held:
        record, steps = None, None
        if journal is not None:
            from gpusched_dsl.online.checkpoints.state_files import CheckpointedSteps
            from gpusched_dsl.online.journal.journal import Journal

            record = held.enter_context(Journal.open(journal, header or {}, resume=resume))
            steps = CheckpointedSteps(record)
        loop = loop_with(steps)
        lines = held.enter_context(open_lines(source))
        return LiveRun(loop, write, name, clock, record, report_from, defect).run(lines)
