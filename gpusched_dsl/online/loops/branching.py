"""A run at some time, and independent copies of it with the unknown quantities drawn again.

At that time the ends of running jobs, the speeds of jobs that have not started and the failures of nodes are unknown.
The draws of a copy are conditional on the observations until then. Future jobs are those of the scenario.
"""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from typing import TypeVar

from gpusched_dsl.language.checked import TypedLaw
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.simulation.realisation import redraw

Loop = EventLoop | SlotLoop
L = TypeVar("L", bound=SimulationLoop)


def run_until(loop: Loop, time: float) -> str:
    """Process all events up to a time, plans included, and advance to it; return why the run is over earlier, else "".

    A loop of slots stops at the start of the slot that contains the time. It has processed the events until then, and
    has not planned yet.
    """
    near = loop.world.tolerance() + 1e-9 * max(1.0, abs(time))
    if isinstance(loop, SlotLoop):
        while loop.slot < loop.window.horizon and loop.start_of(loop.slot + 1) <= time + near:
            if ended := loop.step():
                return ended
        loop.observe_events()
        return ""
    return loop.run_to(time, near)


def independent_copy(loop: SimulationLoop, kind: type[L], seed: int) -> L:
    """Return a copy as a loop of a kind: nothing of it is recorded or reported, and its draws have another seed.

    What was drawn before, and the nodes, are those of the loop.
    """
    if type(loop) is kind:
        other = copy(loop)
    else:
        other = kind.__new__(kind)
        vars(other).update(vars(loop))
    other.world = deepcopy(loop.world)
    other.config = replace(loop.config, seed=seed)
    other.journal = other.examine = None
    if isinstance(other, EventLoop):
        other.fast_replay = None
    other.stop, other.on_plan = (lambda: False), (lambda loop: None)
    other.memory, other.diagnostics, other.steps = loop.memory.copy(), loop.diagnostics.copy(), list(loop.steps)
    return other


def fork(loop: L, seed: int, kind: type[L] | None = None) -> L:
    """Return an independent copy, by default of the same kind, in which all that is unknown is drawn again."""
    other = independent_copy(loop, kind or type(loop), seed)
    world = other.world
    world.ends, world.stretch = redraw(
        loop.online, loop.base, world.ends, world.stretch, world.done, world.done > 0, seed
    )
    other.nodes = loop.nodes.redraw(world.now, seed)
    return other


def is_drawn(loop: SimulationLoop) -> bool:
    """Whether any real quantity is random."""
    online = loop.online
    return isinstance(online.ends, str) or isinstance(online.stretch, TypedLaw) or bool(loop.nodes.outages)
