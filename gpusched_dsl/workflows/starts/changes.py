"""Changes that could start a waiting job earlier, and their application to a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.simulation.realisation import realisation_of
from gpusched_dsl.online.simulation.world import DONE, GONE, RUNNING

NO_JOBS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StartChange:
    """A change for a waiting job. `kind` is one of `KINDS`, `detail` states it for programs, `text` for readers.

    `data` returns the changed data. Jobs in `held` (codes) leave their nodes and the queue until the job has started,
    nodes in `recovered` are up, and `places` nodes are new.
    """

    kind: str
    text: str
    detail: Mapping[str, Any]
    data: Callable[[Base], Base] | None = None
    held: Ints = field(default_factory=NO_JOBS.copy)
    recovered: Ints = field(default_factory=NO_JOBS.copy)
    places: int = 0


KINDS = ("values", "weight", "way", "hold", "halt", "node", "recovery")


def have_ended(loop: EventLoop, jobs: Ints | None) -> bool:
    """Whether all of these jobs have ended; never without jobs."""
    return jobs is not None and bool((loop.world.status[jobs] >= DONE).all())


class ChangedRun:
    """A simulated run of which a change is in effect from now on, with a new plan at once.

    Raises DiagnosticError where the model does not allow the change, and as planning does.
    """

    def __init__(self, loop: EventLoop, change: StartChange, code: int, base: Base | None) -> None:
        """`base` are the changed data, None without a change of data."""
        self.loop, self.code = loop, code
        self._held = change.held
        self._arrival: Floats = np.zeros(0)
        world = loop.world
        if base is not None:
            loop.use_data(base)
            real = realisation_of(loop.online, base, loop.config.seed, loop.setup.slot_length)
            world.work[code] = real.work[code]
            if not isinstance(loop.online.ends, str):
                world.ends[code] = real.ends[code]
        if change.places:
            world.add_places(change.places, change.places if loop.setup.kinds_root == loop.places_root else 0)
        if len(change.recovered):
            loop.nodes.recover(loop.places_root, change.recovered)
        if len(self._held):
            self._hold()
        loop.decide(("change",))

    def finish(self, jobs: Ints | None = None) -> str:
        """Continue until the run is over, or until these jobs have ended; return why it is over, else ""."""
        loop, over = self.loop, ""
        while True:
            if len(self._held) and (over or loop.world.status[self.code] in (RUNNING, DONE, GONE)):
                if over in ("interrupt", "events"):
                    return over
                loop.world.release(self._held, self._arrival)
                self._held, over = NO_JOBS, ""
                loop.decide(("release",))
            if over or (not len(self._held) and have_ended(loop, jobs)):
                return over
            over = loop.step()

    def _hold(self) -> None:
        loop, world = self.loop, self.loop.world
        running = self._held[world.status[self._held] == RUNNING]
        if len(running):
            if world.halt_cost[running].any():
                world.ledger.add_jobs("halt", running, world.halt_cost[running])
            world.halt(running)
            loop.handle_departures()
        self._arrival = world.hold(self._held)
