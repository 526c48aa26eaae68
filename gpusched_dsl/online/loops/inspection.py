"""The plan that holds at some time of a run, with what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.online.data.carry import CurrentPlan
from gpusched_dsl.online.loops.base import SimulationLoop, StepJournal
from gpusched_dsl.online.loops.branching import Loop, run_until
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.run_record import RunStep


@dataclass(frozen=True, eq=False)
class Moment:
    """A plan as it was made: `values` and `running`, the plan before, are in codes of `instance`, a part of the whole.

    `number` seeds draws; `slot` is the code of the slot that the time asked for lies in, None where there are no slots.
    """

    instance: Instance
    part: InstanceView
    values: Mapping[str, VariableValues]
    running: Mapping[str, VariableValues] | None
    step: RunStep
    number: int
    now: float  # in the unit of the world's clock
    policy_now: float  # as policies read it
    slot: int | None = None


def moment_at(loop: Loop, time: float) -> Moment | None:
    """The last plan that was made up to a time, for which the loop is driven there; None before the first.

    A plan of the loop's journal is read from it, others are made; nothing is recorded.
    """
    heard = _PlanRecorder(loop.journal, loop)
    loop.journal, loop.tell, loop.fast_replay = heard, heard.tell, None
    ended = run_until(loop, time)
    slot = None
    if isinstance(loop, SlotLoop):
        slot = loop.slot
        if not ended:
            loop.step()
    found = heard.found
    if found is None or slot is None or not isinstance(loop, SlotLoop):
        return found
    return replace(found, slot=slot - loop.planned)


class _PlanRecorder:
    """Stands between a loop and its journal: keeps what the newest plan was made of."""

    def __init__(self, journal: StepJournal | None, loop: SimulationLoop) -> None:
        self.journal, self.loop = journal, loop
        self.before: CurrentPlan | None = None
        self.found: Moment | None = None

    def recorded(self) -> Mapping[str, Any] | None:
        self.before = self.loop.standing
        return None if self.journal is None else self.journal.recorded()

    def write(self, step: Mapping[str, Any]) -> None:
        """Nothing is recorded."""

    def tell(self, driver: SimulationLoop) -> None:
        assert driver.instance is not None
        assert driver.part is not None
        assert driver.standing is not None
        self.found = Moment(
            driver.instance,
            driver.part,
            driver.inner(driver.standing.values, driver.part),
            None if self.before is None else driver.inner(self.before.values, driver.part),
            driver.steps[-1],
            driver.steps[-1].number,
            driver.steps[-1].time,
            driver.steps[-1].time / driver.policy_time,
        )


def job_in(moment: Moment, root: str, code: int) -> int | None:
    """The code in the moment's instance of a job of the whole run; None where it was not there."""
    kept: Codes = moment.part.kept[root]
    place = int(np.searchsorted(kept, code))
    return place if place < len(kept) and kept[place] == code else None
