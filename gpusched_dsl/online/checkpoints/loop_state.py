"""What of a loop is its state, directly before a plan, and a loop with such a state.

At that time the last plan has done its work: its rates and charges have been applied, and the next plan replaces what
was computed for it. So neither its instance nor its allocations are in a state. Neither is what only reports read:
earlier steps, warnings, and where jobs were.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Final

from gpusched_dsl.online.checkpoints.codec import DamagedState, NotEncodable
from gpusched_dsl.online.checkpoints.data_codec import base_from, data_of
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external_run import ExternalLoop
from gpusched_dsl.online.loops.external_slots import ExternalSlotLoop
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.world import OF_JOBS

# By class, the attributes in a state; each has a form in `codec.py`.
STATE: Final[Mapping[type[SimulationLoop], tuple[str, ...]]] = {
    SimulationLoop: (
        "world", "current_plan", "past", "memory", "controllers", "events", "last_plan_time", "clock_seen",
    ),
    EventLoop: ("period",),
    SlotLoop: (
        "slot", "forgotten_slots", "first_planned_slot", "committed_until", "planned_until", "charged_until",
        "has_completions", "pending_events",
    ),
    ExternalLoop: ("_ids", "_contents", "forgotten", "_forgotten_done", "_forgets", "_measured"),
    ExternalSlotLoop: (
        "known_slots", "_shown", "_forgets_slots", "_is_ending", "_unplanned", "_repeated", "_repeating",
    ),
}  # fmt: skip
# The others: inputs of the run, what the next plan replaces, and what only reports read.
LEFT_OUT: Final = frozenset(
    (
        "setup", "online", "placement", "config", "planner", "fallback", "jobs_root", "places_root", "completion",
        "journal", "stop", "on_plan", "examine", "event_by_event", "look_ahead", "fast_replay", "most_idle",
        "live_clock", "carrier", "codes", "instance", "last_result", "columns", "allocated_jobs", "allocations",
        "plan_columns", "skipped", "unrecorded_result", "window", "_planned_base", "_pending_reasons",
        "_unreported", "_clock_time", "diagnostics",
    )
)  # fmt: skip
_APART: Final = frozenset(("base", "nodes", "steps", "forgotten_steps"))  # with a form of their own
LAST_STEPS: Final = 2  # that a loop reads


def state_of(loop: SimulationLoop, why: tuple[str, ...]) -> dict[str, Any]:
    """Return the state of a loop that is about to plan because of `why`, for `encode`. Raises NotEncodable."""
    names = _names(loop)
    unknown = vars(loop).keys() - {*names} - LEFT_OUT - _APART
    if unknown:
        raise NotEncodable(f"`{min(unknown)}` of the run")
    values = {name: getattr(loop, name) for name in names}
    values["world"] = copy(loop.world)
    values["world"].stretches = []
    outages = [
        {"since": one.since, "next": one.next, "down": one.down, "draws": [rng.bit_generator.state for rng in one.rngs]}
        for one in loop.nodes.outages
    ]
    return {
        "why": why,
        "step": loop.step_count,
        "time": loop.world.now,
        "values": values,
        "steps": [tuple(step) for step in loop.steps[-LAST_STEPS:]],
        "down": loop.nodes.down,
        "outages": outages,
        "data": data_of(loop.base),
    }


def set_state(loop: SimulationLoop, state: Mapping[str, Any]) -> None:
    """Give a loop at the beginning of the same run a state. Raises DamagedState, and DiagnosticError as a build does.

    A plan must follow: `plan_restored` of the loop.
    """
    values, names = state["values"], _names(loop)
    if values.keys() != {*names} or vars(values["world"]).keys() != vars(loop.world).keys():
        raise DamagedState("it is that of another kind of run")
    outages = loop.nodes.outages
    if len(outages) != len(state["outages"]):
        raise DamagedState("it has other outages")
    base, world = base_from(state["data"], loop.setup.base), values["world"]
    jobs = len(base.store.universes[loop.jobs_root].labels) if loop.jobs_root else 0
    if any(len(getattr(world, name)) != jobs for name in OF_JOBS):
        raise DamagedState(f"its values are not those of {jobs} jobs")
    loop.use_data(base)
    for name in names:
        setattr(loop, name, values[name])
    loop.steps = [RunStep(*step) for step in state["steps"]]
    loop.forgotten_steps = state["step"] - len(loop.steps)
    loop.nodes.down = state["down"]
    for own, given in zip(outages, state["outages"], strict=True):
        own.since, own.next, own.down = given["since"], given["next"], given["down"]
        for rng, draws in zip(own.rngs, given["draws"], strict=True):
            rng.bit_generator.state = draws


def _names(loop: SimulationLoop) -> tuple[str, ...]:
    return tuple(name for kind, names in STATE.items() if isinstance(loop, kind) for name in names)
