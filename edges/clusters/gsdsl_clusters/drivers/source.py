"""The cluster as the source of a live run: waits, observes, and hands out events as lines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gsdsl_clusters.drivers.events import Content, EventMaker
from gsdsl_clusters.drivers.protocol import ClusterUnavailable, DrivenCluster, Observation

_encode = msgspec.json.Encoder().encode


@dataclass
class ClusterLines:
    """Implements `LineSource`. Each round waits `interval` seconds, observes the cluster, hands out the events of the
    observation, and calls `settled` with it when they are all planned for.

    `to_clock` turns seconds since 1970 into the time of the run. `extra` adds events that do not come from jobs or
    nodes to those of an observation. After `rounds` observations, or if `stop` returns True, the lines end.
    """

    cluster: DrivenCluster
    maker: EventMaker
    interval: float
    to_clock: Callable[[float], float]
    settled: Callable[[Observation], None]
    observed: Callable[[Observation, float], None]
    unavailable: Callable[[str], None]
    extra: Callable[[Observation, list[Content], float], list[Content]] = lambda observation, contents, now: contents
    rounds: int | None = None
    stop: Callable[[], bool] = lambda: False
    now: Callable[[], float] = time.time
    sleep: Callable[[float], object] = time.sleep
    number: int = 0
    rounds_done: int = 0
    contents: dict[str, Content] = field(default_factory=dict)  # events of this round, by id
    _queue: deque[bytes] = field(default_factory=deque)
    _fresh: Observation | None = None
    _due: float | None = None

    def next(self) -> bytes | None:
        """Wait for the next event; None at the end of the run."""
        while not self._queue:
            if self._fresh is not None:
                self.settled(self._fresh)
                self._fresh = None
            if self.stop() or (self.rounds is not None and self.rounds_done >= self.rounds):
                return None
            self._wait()
            if self.stop():
                return None
            self._observe()
        self.number += 1
        return self._queue.popleft()

    def is_ready(self) -> bool:
        return bool(self._queue)

    def peek(self) -> bytes | None:
        return self._queue[0] if self._queue else None

    def _wait(self) -> None:
        if self._due is not None:
            while (left := self._due - self.now()) > 0 and not self.stop():
                self.sleep(min(left, 0.5, self.interval))
        self._due = self.now() + self.interval

    def _observe(self) -> None:
        self.rounds_done += 1
        try:
            observation = self.cluster.observe()
        except ClusterUnavailable as failure:
            self.unavailable(str(failure))
            return
        now = self.now()
        self.observed(observation, now)
        contents = self.extra(observation, self.maker.events(observation, now), now)
        self.contents = {content["id"]: content for content in contents}
        self._queue.extend(_line(content, self.to_clock) for content in contents)
        self._fresh = observation


def _line(content: Content, to_clock: Callable[[float], float]) -> bytes:
    timed: dict[str, Any] = {**content, "time": to_clock(content["time"])}
    return _encode(timed)
