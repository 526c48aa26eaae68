"""The decision of a step as a record for the receiver of a live run."""

from __future__ import annotations

from collections.abc import Set

from msgspec import UNSET

from gpusched_dsl.ir.domains import decode
from gpusched_dsl.online.data.past import CurrentPlan
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.live.messages import Decided, Entry
from gpusched_dsl.online.run_record import RunStep


def decision_of(
    step: RunStep, plan: CurrentPlan, variables: Set[str], codes: PlanCodes, violation: str = ""
) -> Decided:
    """Return the record of a step with the values of some variables of its plan, and what that plan violates."""
    entries = {}
    for name in sorted(variables & plan.values.keys()):
        values = plan.values[name]
        labels = decode(codes.components(name), values.codes) if values.codes else [()] * len(values.values)
        entries[name] = [Entry(list(k), v) for k, v in zip(labels, values.values.tolist(), strict=True)]
    return Decided(
        step=step.number + 1, time=step.time, why=list(step.why), method=step.method, status=step.status,
        seconds=step.plan_seconds, objective=step.objective, bound=step.bound, entries=entries,
        violation=violation or UNSET,
    )  # fmt: skip
