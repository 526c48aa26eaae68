"""A run that events of a program drive: the public face of the live loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusched_dsl.online.live.messages import AnyEvent, Decided
    from gpusched_dsl.online.loops.external_slots import AnyExternalLoop


class LiveEventLoop:
    """A run that `Model.live` returns. Times are numbers of its clock, in its `unit`."""

    __slots__ = ("_loop",)

    def __init__(self, loop: AnyExternalLoop) -> None:
        self._loop = loop

    def __repr__(self) -> str:
        return f"<LiveEventLoop {self._loop.online.name} at {self.now:g} {self.unit}>"

    def on_event(self, event: AnyEvent | Mapping[str, Any]) -> tuple[Decided, ...]:
        """Apply an event and plan if it requires that; return the decisions.

        A dictionary has the keys of a line of a live run; `version` and `id` are optional. Numbers may be those of
        NumPy, and values by subscripts may have tuples as keys. An identical event with a known id changes nothing. The
        default of its time, also for past times, is now. Raises DiagnosticError for an event that does not fit or
        cannot be planned for, and for a known id with another event (GSM5206); then nothing has changed.
        """
        return tuple(self._loop.on_event(event))

    @property
    def now(self) -> float:
        """The time of the last event."""
        return self._loop.now

    @property
    def unit(self) -> str:
        """The unit of the clock."""
        return self._loop.unit

    @property
    def decision(self) -> Decided | None:
        """The last decision without jobs that do not run any more; None before the first plan."""
        return self._loop.decision()

    def finish(self) -> dict[str, Any]:
        """Return the cost of the run so far, and the number of finished jobs."""
        return self._loop.finish()
