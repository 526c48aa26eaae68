"""Plans of a loop as steps of a journal: recorded after they are computed, and read instead of computed again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.journal.plan_codec import plan_data, plan_from
from gpusched_dsl.policies.plan import Plan


class StepJournal(Protocol):
    """The interface of a journal for a loop: it returns recorded steps in order, then new steps are written."""

    def before_plan(self, loop: Any, why: tuple[str, ...]) -> None: ...  # a `SimulationLoop`, which imports this

    def read_next(self) -> Mapping[str, Any] | None: ...

    def write(self, step: Mapping[str, Any]) -> None: ...


def read_plan(journal: StepJournal, codes: PlanCodes, number: int, now: float, tolerance: float) -> Plan | None:
    """Return the recorded plan of step `number`, in codes of the run; None after the last recorded step.

    Raises DiagnosticError (GSM7003) for a step with another number or another time.
    """
    data = journal.read_next()
    if data is None:
        return None
    if data["number"] != number or abs(data["time"] - now) > tolerance:
        message = f"the journal does not match this run: its step {data['number']} is at {data['time']:g}"
        help = "the journal has other inputs or options; start a new journal"
        raise DiagnosticError([Diagnostic("GSM7003", message, help=help)])
    return plan_from(dict(data["plan"]), codes.types, codes.store.universes)


def step_of(
    plan: Plan, codes: PlanCodes, variables: Collection[str], number: int, now: float, why: tuple[str, ...]
) -> dict[str, Any]:
    """Return the recorded form of a plan in codes of the run, with the values of some of its variables."""
    recorded_plan = replace(plan, values={name: values for name, values in plan.values.items() if name in variables})
    data = plan_data(recorded_plan, codes.types, codes.store.universes)
    return {"number": number, "time": now, "why": list(why), "events": [], "plan": data}
