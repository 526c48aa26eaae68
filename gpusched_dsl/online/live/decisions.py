"""The decision of a step as a record for the receiver of a live run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from msgspec import UNSET

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.checked import Element
from gpusched_dsl.online.data.past import CurrentPlan
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.live.clock import LiveClock
from gpusched_dsl.online.live.messages import Decided, Entry, LaterSlot, SlotTime
from gpusched_dsl.online.run_record import RunStep


def decision_of(
    step: RunStep, plan: CurrentPlan, variables: Set[str], codes: PlanCodes, violation: str = ""
) -> Decided:
    """Return the record of a step with the values of some variables of its plan, and what that plan violates."""
    entries = {name: _entries(name, plan.values[name], codes) for name in sorted(variables & plan.values.keys())}
    return Decided(
        step=step.number + 1, time=step.time, why=list(step.why), method=step.method, status=step.status,
        seconds=step.plan_seconds, objective=step.objective, bound=step.bound, entries=entries,
        violation=violation or UNSET,
    )  # fmt: skip


def _entries(name: str, values: VariableValues, codes: PlanCodes) -> list[Entry]:
    labels = decode(codes.components(name), values.codes) if values.codes else [()] * len(values.values)
    return [Entry(list(k), v) for k, v in zip(labels, values.values.tolist(), strict=True)]


# --- slots -----------------------------------------------------------------------------------------------------------


def in_slot(plan: CurrentPlan, slots: str, slot: int, variables: Set[str], codes: PlanCodes) -> CurrentPlan:
    """Return the values of some variables of a plan in one slot, and those without a slot; zeros are left out."""
    found = {}
    for name in variables & plan.values.keys():
        values = plan.values[name]
        kept: Bools = values.values != 0
        at = _slot_place(name, slots, codes)
        if at is not None:
            kept = kept & (values.codes[at] == slot)
        found[name] = VariableValues(tuple(c[kept] for c in values.codes), values.values[kept])
    return CurrentPlan(found)


def differ(one: CurrentPlan, other: CurrentPlan, slots: str, codes: PlanCodes) -> bool:
    """Return whether two plans, each of one slot, differ in more than the slot."""
    if one.values.keys() != other.values.keys():
        return True
    return any(_by_key(n, v, slots, codes) != _by_key(n, other.values[n], slots, codes) for n, v in one.values.items())


def _by_key(name: str, values: VariableValues, slots: str, codes: PlanCodes) -> dict[tuple[int, ...], float]:
    at = _slot_place(name, slots, codes)
    columns = [column.tolist() for place, column in enumerate(values.codes) if place != at]
    keys: Sequence[tuple[int, ...]] = list(zip(*columns, strict=True)) if columns else [()] * len(values.values)
    return dict(zip(keys, values.values.tolist(), strict=True))


def later_slots(
    plan: CurrentPlan, variable: str, slots: str, first: int, until: int, codes: PlanCodes,
    start_of: Callable[[int], float], clock: LiveClock,
) -> Iterator[LaterSlot]:  # fmt: skip
    """Yield the slots after `first` and before `until` in which the placement differs from that in the slot before."""
    before = in_slot(plan, slots, first, {variable}, codes)
    for slot in range(first + 1, until):
        now = in_slot(plan, slots, slot, {variable}, codes)
        if differ(now, before, slots, codes):
            at = slot_time(slot, slots, codes, start_of(slot), clock)
            given = now.values.get(variable)
            entries = [] if given is None else _entries(variable, given, codes)
            yield LaterSlot(slot=at.slot, time=at.time, date=at.date, entries=entries)
        before = now


def slot_time(slot: int, slots: str, codes: PlanCodes, time: float, clock: LiveClock) -> SlotTime:
    """Return the label, the start and the date of a slot that begins at a time."""
    return SlotTime(slot=codes.store.universes[slots].labels[slot], time=time, date=clock.date(time) or UNSET)


def _slot_place(name: str, slots: str, codes: PlanCodes) -> int | None:
    kinds = enumerate(codes.types[name])
    return next((at for at, kind in kinds if isinstance(kind, Element) and kind.root == slots), None)
