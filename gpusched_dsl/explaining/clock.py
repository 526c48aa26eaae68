"""The time limit of an explanation, and the request of a user to end it with its results."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gpusched_dsl.backends.protocol import Monitor, Silent

# No single sub-problem may take more than this share of what is left, but each gets at least so many seconds.
SHARE = 0.3
LEAST_SECONDS = 1.0


class SearchStopped(Exception):
    """The time is over, or the user requests the results so far."""


@dataclass(eq=False)
class SearchClock:
    """`limit` in seconds from now on, None for no limit; `monitor` may ask to stop."""

    limit: float | None = None
    monitor: Monitor = field(default_factory=Silent)
    began: float = field(default_factory=time.perf_counter)
    interrupted: bool = False
    abandoned: bool = False  # a second Ctrl-C left a solver running

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def remaining_seconds(self) -> float | None:
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    @property
    def over(self) -> bool:
        return self.interrupted or self.monitor.stop_requested or self.remaining_seconds == 0.0

    def check(self) -> None:
        """Raise Stopped when there is no time left."""
        if self.over:
            raise SearchStopped

    def share(self, of_rest: float = SHARE) -> float | None:
        """Seconds for one sub-problem."""
        rest = self.remaining_seconds
        return None if rest is None else min(rest, max(LEAST_SECONDS, of_rest * rest))
