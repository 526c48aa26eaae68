"""The charges that an `online` block states: added to the ledger of a run, by job and node."""

from __future__ import annotations

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.simulation.charging import charge, plan_store
from gpusched_dsl.online.simulation.ledger import Ledger


def charge_plan(
    setup: RunSetup,
    base: Base,
    result: PlanningResult,
    values: dict[str, VariableValues],
    ledger: Ledger,
    times: float,
    slots: tuple[str, Codes] | None,
) -> None:
    """Add the stated charges of a plan, whose `values` are in codes of its part.

    `times` is a span of time for rates and 1 for amounts. Only the given `slots` are charged, by default all.
    """
    online = setup.online
    store = plan_store(online, result.instance.store, values, base.limits, slots)
    for stated in online.charges:
        factor = times * number_factor(setup.amount(stated), setup.money)  # 1 for other quantities than money
        charge(
            stated, online, store, base.limits, result.part, ledger, factor, setup.jobs_root, setup.places_root
        )  # fmt: skip
