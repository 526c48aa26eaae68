"""The roles of a placement as numbers: over any rows, times and money in one unit each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacementItem, Numeric, TypedExpr
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor
from gpusched_dsl.policies.workload import Floats


class Roles:
    """Evaluates the items of one placement. Times are in the unit of `lasts`, money in that of the objective."""

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        assert model.placement is not None, "the checker refuses policies for models without a placement"
        self.model, self.store, self.limits = model, store, limits
        self.placement = model.placement
        self.items = {item.role: item for item in reversed(self.placement.items)}  # of several, the first
        self.ev = Evaluator(model, store, limits)
        self.money = next((o.unit for o in model.objectives), DIMENSIONLESS)
        self.time = self._unit("lasts")
        self._factors: dict[tuple[str, str], float] = {}  # of roles in time or money: units are reckoned in fractions

    def _frame(self, columns: Sequence[Codes]) -> Frame:
        return Frame(len(columns[0]), dict(zip(self.placement.indices, columns, strict=True)))

    def _job_frame(self, job_at: int, jobs: Codes) -> Frame:
        return Frame(len(jobs), {self.placement.indices[job_at]: jobs})

    def _quantities(self, *roles: str) -> list[CheckedPlacementItem]:
        return [item for item in self.placement.items if item.role in roles]

    def _numbers(self, expr: TypedExpr, frame: Frame) -> Floats:
        return np.array(np.broadcast_to(self.ev.numbers(expr, frame), (frame.size,)), dtype=np.float64)

    def _capacity(self, item: CheckedPlacementItem, frame: Frame) -> Floats:
        return np.full(frame.size, np.inf) if item.of is None else self._numbers(item.of, frame)

    def _unit(self, role: str) -> Unit:
        item = self.items.get(role)
        if item is None or not isinstance(item.value.type, Numeric):
            return DIMENSIONLESS
        return item.unit or item.value.type.unit

    def _times(self, role: str, frame: Frame, otherwise: float) -> Floats:
        if role not in self.items:
            return np.full(frame.size, otherwise)
        return self._numbers(self.items[role].value, frame) * self.factor(role)

    def factor(self, role: str) -> float:
        """What numbers of a role in time are multiplied by: the unit of `lasts` in that of the role."""
        if (role, "time") not in self._factors:
            self._factors[role, "time"] = scale(self._unit(role), self.time)
        return self._factors[role, "time"]

    def _money(self, role: str, frame: Frame, *, per_time: bool = False) -> Floats:
        if role not in self.items:
            return np.zeros(frame.size)
        what = "rate" if per_time else "money"
        if (role, what) not in self._factors:
            unit = self._unit(role) * self.time if per_time else self._unit(role)
            self._factors[role, what] = scale(unit, self.money)
        return self._numbers(self.items[role].value, frame) * self._factors[role, what]

    def _rates(self, frame: Frame, time: Floats) -> Floats:
        """Money per time of each way: of `costs` in money, what it is on average."""
        if "costs" not in self.items:
            return np.zeros(frame.size)
        unit = self._unit("costs")
        if convertible(unit, self.money) and unit != DIMENSIONLESS:
            return self._money("costs", frame) / time
        return self._money("costs", frame, per_time=True)


def scale(source: Unit, target: Unit) -> float:
    """What numbers are multiplied by; 1 where a file has no units."""
    return float(factor(source, target)) if convertible(source, target) else 1.0
