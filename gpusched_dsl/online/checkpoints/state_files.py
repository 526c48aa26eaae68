"""The states of a run as files beside its journal: written as the run goes on, found and checked by a reader.

A state is that before a recorded plan, whose digest it has: so it belongs to this journal, to the record of all that
came before, and to the inputs in its header. States can be lost or deleted at any time: a reader then repeats more
of the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.online.checkpoints.codec import DamagedState, NotEncodable, decode, encode, pack, unpack
from gpusched_dsl.online.checkpoints.loop_state import state_of
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.steps import JournalSteps
from gpusched_dsl.version import __version__

if TYPE_CHECKING:
    from gpusched_dsl.online.loops.base import SimulationLoop

EVERY: Final = 128  # plans between two states
MOST_FILES: Final = 24  # of a run: then those whose neighbours are closest go
ENDING: Final = "-states"  # of the folder
UNUSABLE, UNWRITABLE = "GSM5430", "GSM5431"


@dataclass(frozen=True)
class StateFiles:
    """The folder with the states of a journal; a file is named by the number of plans before it."""

    folder: Path

    @staticmethod
    def of(journal: Path) -> StateFiles:
        return StateFiles(journal.with_name(journal.name + ENDING))

    def steps(self) -> list[int]:
        """The numbers of recorded plans before each state, ascending."""
        with suppress(OSError):
            return sorted(int(path.stem) for path in self.folder.glob("*.state") if path.stem.isdecimal())
        return []

    def path(self, step: int) -> Path:
        return self.folder / f"{step:09d}.state"

    def write(self, step: int, about: Mapping[str, Any], content: bytes) -> None:
        """Write a state completely or not at all, and keep at most `MOST_FILES`. Raises OSError."""
        self.folder.mkdir(exist_ok=True)
        new = self.path(step).with_suffix(".new")
        new.write_bytes(pack(about, content))
        os.replace(new, self.path(step))
        steps = self.steps()
        while len(steps) > MOST_FILES:
            gaps = [after - before for before, after in zip(steps, steps[2:], strict=False)]
            self.path(steps.pop(1 + gaps.index(min(gaps)))).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the states of an earlier journal of this name."""
        with suppress(OSError):
            for path in (*self.folder.glob("*.state"), *self.folder.glob("*.new")):
                path.unlink(missing_ok=True)

    def read(self, step: int, journal: Journal) -> SavedState:
        """Return the state before plan `step` (from 0) of a journal.

        Raises DamagedState for a file that is not that, DiagnosticError as the journal does.
        """
        try:
            about, content = unpack(self.path(step).read_bytes())
        except OSError as failure:
            raise DamagedState(failure.strerror or str(failure)) from failure
        if about.get("gsdsl") != __version__:
            raise DamagedState(f"gsdsl {about.get('gsdsl')} wrote it, this is {__version__}")
        try:
            is_own = about["plan"] == journal.step_digest(step + 1).hex()
            is_own &= not about["events"] or about["event"] == journal.event_digest(about["events"]).hex()
        except (KeyError, IndexError, TypeError):
            is_own = False
        if not is_own:
            raise DamagedState("it belongs to another journal")
        return SavedState(step, about["events"], decode(content))


@dataclass(frozen=True)
class SavedState:
    """The state before plan `step` (from 0), when the first `events` records of events had been applied."""

    step: int
    events: int
    values: Mapping[str, Any]

    @property
    def time(self) -> float:
        """The time of the plan."""
        return float(self.values["time"])


class CheckpointedSteps(JournalSteps):
    """The steps of a journal that is written, with states of the run beside it."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.files = StateFiles.of(journal.path)
        if not len(journal):
            self.files.clear()
        last = max((step for step in self.files.steps() if step < len(journal)), default=0)
        self._next: int | None = last + EVERY  # the plan before which the next state is saved
        self._saved: tuple[int, int, bytes, SimulationLoop] | None = None  # the numbers of plans and events before
        journal.on_write = self._write_saved

    def before_plan(self, loop: SimulationLoop, why: tuple[str, ...]) -> None:
        """Save the state of a loop if it is time to; it is written once the plan is recorded."""
        if self._next is None or self.is_replaying or loop.step_count < self._next:
            return
        try:
            content = encode(state_of(loop, why), loop.setup.kept_variables)
        except NotEncodable:  # readers repeat such a run from its beginning
            self._saved = self._next = None
            return
        self._saved = loop.step_count, loop.events, content, loop

    def _write_saved(self) -> None:
        """Write the state before a plan that is now recorded, with the events that led to it."""
        if self._saved is None or self._saved[0] >= len(self.journal):
            return
        (step, applied, content, loop), self._saved = self._saved, None
        if loop.events != applied:  # these records have events of after the plan
            return
        events = self.journal.event_count
        about = {
            "gsdsl": __version__,
            "plan": self.journal.step_digest(step + 1).hex(),
            "events": events,
            "event": self.journal.event_digest(events).hex() if events else None,
        }
        try:
            self.files.write(step, about, content)
            self._next = step + EVERY
        except OSError as failure:
            self._next = None
            message = f"states of this run cannot be saved in `{self.files.folder}`: {failure.strerror or failure}"
            help = "the run and its journal are complete; `estimate` and `why` take longer without states"
            loop.diagnostics.warn_once(Diagnostic(UNWRITABLE, message, help=help, severity=Severity.WARNING))
