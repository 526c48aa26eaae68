"""The record of a run: one line for each plan, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.simulation.world import World


class RunStep(NamedTuple):
    """One plan. Times in the unit of the world's clock, seconds by the wall clock.

    `plan_seconds` is what making the plan took, `build_seconds` making its instance, `other_seconds` all the rest since
    the plan before. `why` are the events that asked for it.
    """

    number: int
    time: float
    why: tuple[str, ...]
    method: str
    status: str
    jobs: int
    placed: int
    started: int
    resumed: int
    migrated: int
    resized: int
    halted: int
    booted: int
    plan_seconds: float
    build_seconds: float
    other_seconds: float
    objective: float | None
    bound: float | None


class BrokenPlans(NamedTuple):
    """How many plans of a run violate the model, in how many rows and bounds together, and the worst of them.

    `text` is the worst row, `excess` by how much it is violated, in its unit (0 if unknown), `relative` the same
    divided by its magnitude; `method` made that plan, at `time`. `refused` counts the plans that took no effect.
    """

    plans: int
    rows: int
    text: str
    excess: float
    relative: float
    method: str
    time: float
    refused: int = 0


# Why a run is planned event by event, whatever its data: nothing that an author would look for.
BY_SOLVER = "a solver computes every plan"
BY_PROGRAM = "a program decides every plan"
BY_SIMULATION = "plans are compared in simulated futures"
BY_SLOT = "plans are computed slot by slot"
BY_CONTROLLERS = "several controllers plan"
RECORDED = "every plan is recorded, or events are external"
MOVED = "running jobs may be moved: the policy has no `keep running`"
CHOSEN = "each plan chooses the types of nodes"
EXPECTED = frozenset((BY_SOLVER, BY_PROGRAM, BY_SIMULATION, BY_SLOT, BY_CONTROLLERS, RECORDED, MOVED, CHOSEN))


@dataclass(frozen=True, eq=False)
class RunOutcome:
    """A run that has ended: the world as it is then, its steps, and why it ended.

    `ended` is `finished`, `horizon` (slots are over), `interrupt`, `error`, `stuck` (jobs wait and nothing will
    happen) or `events` (the most events). `unit` names the unit of all times; `money` that of the total.
    `event_by_event` has the reasons why there was no fast replay, each the end of `... because`. `broken` counts the
    plans that violate the model; it is None if there are none.
    """

    online: CheckedOnline
    base: Base
    world: World
    steps: tuple[RunStep, ...]
    ended: str
    unit: str
    money: str
    slot_length: float = 0.0
    events: int = 0
    quantities: Mapping[str, str] = field(default_factory=dict)  # charges that are no money: their units
    warnings: tuple[Diagnostic, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    event_by_event: tuple[str, ...] = ()
    broken: BrokenPlans | None = None

    @property
    def clock(self) -> RunClock:
        """The clock for readers: dates, if the scenario has a calendar."""
        return RunClock(self.unit, self.base.store.calendar)

    @property
    def total(self) -> float:
        """All that was charged in money."""
        return sum(v for name, v in self.world.ledger.totals.items() if name not in self.quantities)
