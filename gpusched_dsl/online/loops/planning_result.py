"""A computed plan with its inputs, and its line in the record of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.gangs import gang_order
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked import CheckedPlacement
from gpusched_dsl.language.checked_online import CHANGES
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.run_record import RunStep
from gpusched_dsl.online.simulation.assignments import AllocationReader
from gpusched_dsl.online.simulation.world import PlanChanges, World
from gpusched_dsl.policies.plan import Plan


@dataclass(frozen=True, eq=False)
class PlanningResult:
    """A plan in codes of `instance`, a `part` of the run, with its inputs and its computing time.

    `running` is the previous plan, `why` are the events that required this one. `failure` is the first error of a
    solver. Of a plan from the journal, `plan_seconds` are those of its first computation.
    """

    plan: Plan
    instance: Instance
    part: InstanceView
    reader: AllocationReader
    running: PlanValues | None
    why: tuple[str, ...]
    failure: DiagnosticError | None
    plan_seconds: float
    build_seconds: float
    other_seconds: float
    known: Mapping[str, Floats] = field(default_factory=dict)  # of the jobs, as policies read it

    def selected_values(self, placement: CheckedPlacement) -> tuple[tuple[Codes, ...], Floats]:
        """Return the elements of the placement's family that are at least 1, in codes of the part, and their values.

        They are by job, those of gangs with slots also by slot; those of a gang are in the order of the plan.
        """
        family = self.plan.values.get(placement.variable)
        if family is None:
            return tuple(np.zeros(0, dtype=np.int64) for _ in placement.indices), np.zeros(0)
        chosen = family.values > CHOSEN
        columns = tuple(c[chosen] for c in family.codes)
        if placement.has_gangs:
            order = gang_order(placement, columns)
        else:
            order = np.argsort(columns[placement.position("job") or 0], kind="stable")
        return tuple(c[order] for c in columns), family.values[chosen][order]

    def step(self, number: int, world: World, changes: PlanChanges) -> RunStep:
        """Return the line of this plan in the record, after it was applied to the world."""
        plan = self.plan
        counts = {name: len(getattr(changes, name)) for name in CHANGES}
        return RunStep(
            number, world.now, self.why, plan.method, plan.status, len(world.present()), len(world.running),
            counts["start"], counts["resume"], counts["migration"], counts["resize"], counts["halt"], counts["boot"],
            self.plan_seconds, self.build_seconds, self.other_seconds, plan.objective, plan.bound,
        )  # fmt: skip
