"""Forgets the slots of a live run that passed long ago, so that it can run for years.

Once `2 * KEPT` slots have passed, all but the last `KEPT` are removed from the data, directly before a plan. Plans and
costs do not change: a plan reads the slots of its window, and a run whose block could read slots of long ago keeps all.
The number of passed slots alone decides, so a run that is resumed forgets at the same steps.
"""

from __future__ import annotations

from gpusched_dsl.language.checked import (
    CheckedModel,
    Constant,
    Element,
    ElementWithLabel,
    Executed,
    NamedSet,
    ParamRef,
    Shift,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import accumulated_names
from gpusched_dsl.online.data.part_values import PartValues
from gpusched_dsl.online.loops.forgetting import parts_without_charges

KEPT = 20_000  # of five minutes: ten weeks
REACH = 10  # a part of `KEPT` slots so large may be looked back to


def reads_passed_slots(online: CheckedOnline, base: Base, root: str) -> bool:
    """Whether something that is evaluated on all data of the run may depend on slots that passed long ago.

    Those are aggregates over all slots, positions in their order, slots as values, draws by slot, and long shifts.
    """
    model = online.model
    if any(_is_slot(param.type, root) for param in base.model.params.values()):
        return True
    if any(_is_slot(v.type, root) for random in model.randoms.values() for v in random.indexing.variables):
        return True
    values = _PassedSlots(model, base, root)
    if not all(map(values.stay, parts_without_charges(online))):
        return True
    # The value of the first kept slot may read one that is not kept, and reaches later slots with the next plans.
    accumulated = accumulated_names(online)
    by_slot = [
        carry
        for carry in online.carries
        if carry.target in accumulated and any(_is_slot(v.type, root) for v in carry.variables)
    ]
    return any(isinstance(part, Shift) for carry in by_slot for part in walk(carry.value))


class _PassedSlots(PartValues):
    """Which values are the same without the slots of long ago, for slots that are not close to them."""

    def __init__(self, model: CheckedModel, base: Base, root: str, *, executed: bool = False) -> None:
        super().__init__(model, base.input_names, {root})
        self._base, self._root, self._executed = base, root, executed

    def stay(self, part: Part, *, in_data: bool = False) -> bool:
        match part:
            case Executed(body=body, half_life=half_life):  # its slots are those since the last plan
                inside = _PassedSlots(self.model, self._base, self._root, executed=True)
                return inside.stay(body) and (half_life is None or self.stay(half_life))
            case ParamRef(name="committed"):
                return True
            case ElementWithLabel() if self.is_cut(part.type):
                return False
            case Shift(offset=Constant(value=offset)) if self.is_cut(part.operand.type):
                return abs(offset) <= KEPT // REACH and self.stay(part.operand, in_data=in_data)
            case NamedSet() if self._executed and not in_data:
                return True
        return super().stay(part, in_data=in_data)


def _is_slot(kind: object, root: str) -> bool:
    return isinstance(kind, Element) and kind.root == root
