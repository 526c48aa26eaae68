"""Evaluates the items of a placement on elements of its family, with one unit of time and one of money."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacementItem,
    IndexVar,
    Numeric,
    Role,
    TextType,
    TypedExpr,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.money import costs_are_amounts, money_unit
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, number_factor


def type_codes(ev: Evaluator, node_type: TypedExpr, frame: Frame) -> tuple[Codes, tuple[str, ...]]:
    """Return the type of each row as a code; where types are texts, also the text of each code."""
    if not isinstance(node_type.type, TextType):
        return np.broadcast_to(ev.codes(node_type, frame), (frame.size,)), ()
    texts = np.broadcast_to(ev.values(node_type, frame), (frame.size,)).astype(str)
    distinct, codes = np.unique(texts, return_inverse=True)
    return codes.reshape(-1), tuple(distinct.tolist())


class PlacementEvaluator:
    """Times are in the unit of `lasts`, money is in that of `money_unit`.

    Roles that are not stated are zero.
    """

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        assert model.placement is not None, "callers test this"
        self.model, self.store, self.limits = model, store, limits
        self.placement = model.placement
        self.ev = Evaluator(model, store, limits)
        self.money = money_unit(model)
        self.time = self.unit("lasts")
        self._targets = {"time": self.time, "money": self.money, "money per time": self.money / self.time}
        self._factors: dict[tuple[Role, str], float] = {}  # units are fractions, and plans are frequent

    def frame(self, columns: Sequence[Codes]) -> Frame:
        """Elements of the family, from their index codes."""
        return Frame(len(columns[0]), dict(zip(self.placement.indices, columns, strict=True)))

    def capacity(self, item: CheckedPlacementItem, frame: Frame) -> Floats:
        return np.full(frame.size, np.inf) if item.of is None else self.ev.number_column(item.of, frame)

    def unit(self, role: Role) -> Unit:
        value = self.placement.value(role)
        return value.type.unit if value is not None and isinstance(value.type, Numeric) else DIMENSIONLESS

    def times(self, role: Role, frame: Frame, otherwise: float) -> Floats:
        """The times of a role, `otherwise` if it is not stated."""
        value = self.placement.value(role)
        return np.full(
            frame.size, otherwise if value is None else self.ev.numbers(value, frame) * self.time_factor(role)
        )

    def time_factor(self, role: Role) -> float:
        """The factor from the unit of a role to that of `lasts`."""
        return self._factor(role, "time")

    def money_of(self, role: Role, frame: Frame, *, per_time: bool = False) -> Floats:
        """Money, or money per time."""
        value = self.placement.value(role)
        if value is None:
            return np.zeros(frame.size)
        target = "money per time" if per_time else "money"
        return self.ev.number_column(value, frame) * self._factor(role, target)

    @cached_property
    def costs_are_amounts(self) -> bool:
        """Whether `costs` is an amount of money, not money per time."""
        return costs_are_amounts(self.unit("costs"))

    def rates(self, frame: Frame, times: Floats) -> Floats:
        """Money per time of each element. If `costs` is an amount of money, it is divided by the time."""
        if self.costs_are_amounts:
            return self.money_of("costs", frame) / times
        return self.money_of("costs", frame, per_time=True)

    def counting_indices(self, item: CheckedPlacementItem) -> list[IndexVar]:
        """The indices in a `node_rate` that are not the job, the node or its type: the number of GPUs in use."""
        known = [self.placement.index("job"), self.placement.index("node"), self.placement.index("node_type")]
        return [v for v in free_variables(item.value) if v not in known]

    # --- gangs -------------------------------------------------------------------------------------------------------

    def gang_workers(self, frame: Frame) -> Ints:
        """The workers of the job of each element, on all nodes together. Raises DiagnosticError (GSM3020)."""
        item = self.placement.item("workers")
        assert item is not None, "callers test this"
        found = self.ev.number_column(item.value, frame)
        whole = np.rint(found)
        wrong = ~((whole >= 1) & (np.abs(found - whole) <= ROUNDING))
        if wrong.any():
            message = f"`workers` must be an integer of at least 1, it is {float(found[wrong][0]):g}"
            raise DiagnosticError([Diagnostic("GSM3020", message, item.value.span, "number of workers")])
        return whole.astype(np.int64)

    def gang_factors(self, frame: Frame) -> tuple[Floats, Floats]:
        """The factors of `lasts` of jobs on several nodes of one rack, and on several racks.

        Raises DiagnosticError (GSM3020) for a factor below 1.
        """
        nodes = self._slowdown("across_nodes", frame, np.ones(frame.size))
        return nodes, self._slowdown("across_racks", frame, nodes)

    def racks(self, frame: Frame) -> Codes | None:
        """The rack of each element as a code, None if the placement states none."""
        value = self.placement.value("rack")
        return None if value is None else type_codes(self.ev, value, frame)[0]

    def _slowdown(self, role: Role, frame: Frame, otherwise: Floats) -> Floats:
        item = self.placement.item(role)
        if item is None:
            return otherwise
        found = self.ev.number_column(item.value, frame)
        wrong = ~((found >= 1.0) & np.isfinite(found))
        if wrong.any():
            message = f"`{role}` must be at least 1, it is {float(found[wrong][0]):g}"
            raise DiagnosticError([Diagnostic("GSM3020", message, item.value.span, "factor of `lasts`")])
        return found

    def _factor(self, role: Role, target: str) -> float:
        if (role, target) not in self._factors:
            self._factors[role, target] = number_factor(self.unit(role), self._targets[target])
        return self._factors[role, target]
