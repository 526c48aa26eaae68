"""A journal for the loop: the steps of an earlier process in order, then new steps are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusched_dsl.online.journal.errors import step_differs
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import JournalStep

if TYPE_CHECKING:
    from gpusched_dsl.online.loops.base import SimulationLoop


class JournalSteps:
    """Follows `StepJournal` of the loops. Steps of the loop count from 0, those of a journal from 1."""

    def __init__(self, journal: Journal, passed: int = 0) -> None:
        """`passed`: so many steps are not read, as the loop has a state after them."""
        self.journal = journal
        self._passed = passed

    @property
    def is_replaying(self) -> bool:
        """Whether there are recorded steps that the loop has not reached yet."""
        return self._passed < len(self.journal)

    def read_next(self) -> Mapping[str, Any] | None:
        """The next step as it was written; None when all were given."""
        if not self.is_replaying:
            return None
        self._passed += 1
        return step_data(self.journal.step(self._passed))

    def before_plan(self, loop: SimulationLoop, why: tuple[str, ...]) -> None:
        """Called by a loop that is about to plan, or to read the plan, because of `why`."""

    def write(self, step: Mapping[str, Any]) -> None:
        """Record a step that was planned, as `Journal.append` does. Raises GSM5107, GSM5109."""
        number, last_step = step["number"] + 1, self.journal.last_step
        if self.is_replaying or number != last_step + 1:
            how = f"the run makes its step {number} after step {min(self._passed, last_step)} of {len(self.journal)}"
            raise step_differs(self.journal.path, number, how)
        self.journal.append(
            JournalStep(number, step["time"], step["events"], {"why": step["why"], "plan": step["plan"]})
        )
        self._passed = number


class RecordedSteps(JournalSteps):
    """The steps of a journal that is only read: later steps are not recorded."""

    def write(self, step: Mapping[str, Any]) -> None:
        pass


def step_data(step: JournalStep) -> dict[str, Any]:
    """A step as the loop writes it."""
    return {"number": step.seq - 1, "time": step.time, "events": list(step.events), **step.decision}
