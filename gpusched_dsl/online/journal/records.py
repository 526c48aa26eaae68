"""The content of a journal: the steps of a run and the external events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusched_dsl.online.journal.chain import Json


@dataclass(frozen=True, slots=True)
class JournalStep:
    """Step `seq` (from 1) of a run: its time since the start, its events, its decision."""

    seq: int
    time: float
    events: Sequence[Json]
    decision: Json

    def difference_from(self, time: float, events: Sequence[Json]) -> str | None:
        """Return the difference of another time or other events from this step; None if there is none."""
        if self.time != time:
            return f"its time is {self.time!r} in the journal, but {time!r} now"
        for number, (recorded, now) in enumerate(zip(self.events, events, strict=False), 1):
            if recorded != now:
                return f"its event {number} is {recorded} in the journal, but {now} now"
        if len(self.events) != len(events):
            return f"it has {len(self.events)} events in the journal, but {len(events)} now"
        return None


@dataclass(frozen=True, slots=True)
class External:
    """An event from outside: `time` is when it applies; events of one `batch` were handed to the run together."""

    id: str
    time: float
    content: Json
    batch: int = 0
