"""The current plan at some time of a run, with its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.online.loops.branching import Loop, run_until
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.run_record import RunStep


@dataclass(frozen=True, eq=False)
class Moment:
    """A computed plan: `values` and `running`, the previous plan, are in codes of `instance`, a part of the run.

    `number` seeds draws; `slot` is the code of the slot that the time asked for lies in, None where there are no slots.
    """

    instance: Instance
    part: InstanceView
    values: PlanValues
    running: PlanValues | None
    step: RunStep
    number: int
    now: float  # in the unit of the world's clock
    policy_now: float  # as policies read it
    slot: int | None = None
    known: Mapping[str, Floats] = field(default_factory=dict)  # of the jobs, as policies read it
    notes: tuple[str, ...] = ()  # of the plan


def moment_at(loop: Loop, time: float) -> Moment | None:
    """Return the last plan up to a time, to which the loop advances; None before the first."""
    ended = run_until(loop, time)
    slot = None
    if isinstance(loop, SlotLoop):
        slot = loop.slot
        if not ended:
            loop.step()
    return latest_moment(loop, slot)


def latest_moment(loop: Loop, slot: int | None = None) -> Moment | None:
    """Return the last plan of a loop; None before the first."""
    result = loop.last_result
    if result is None:
        return None
    step = loop.steps[-1]
    return Moment(
        instance=result.instance,
        part=result.part,
        values=result.plan.values,
        running=result.running,
        step=step,
        number=step.number,
        now=step.time,
        policy_now=step.time / loop.setup.policy_time,
        slot=slot - loop.first_planned_slot if slot is not None and isinstance(loop, SlotLoop) else None,
        known=result.known,
        notes=result.plan.notes,
    )


def job_in(moment: Moment, root: str, code: int) -> int | None:
    """Return the code in the moment's instance of a job of the run; None if it was not present."""
    jobs: Codes = moment.part.kept[root]
    place = int(np.searchsorted(jobs, code))
    return place if place < len(jobs) and jobs[place] == code else None
