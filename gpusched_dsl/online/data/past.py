"""The past of a run that `carry` reads: the last plan, what was executed of it, and accumulated values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct, field, structs

from gpusched_dsl.compiling.evaluation.store import Param
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Bools, Codes, Values
from gpusched_dsl.ir.domains import ScalarDomain


class CurrentPlan(Struct, frozen=True, eq=False):
    """Values of variables of a plan, in codes of the complete run; all others are 0."""

    values: PlanValues = field(default_factory=dict)

    def without(self, variable: str, kept: Bools) -> CurrentPlan:
        """Return the plan with only the `kept` values of a variable."""
        values = self.values[variable]
        remaining = VariableValues(tuple(c[kept] for c in values.codes), values.values[kept])
        return CurrentPlan({**self.values, variable: remaining})


class ExecutedTime(Struct, frozen=True, eq=False):
    """A span of time since the last plan with the decisions in effect in it; with a window, the executed `slots`."""

    times: float
    plan: CurrentPlan
    slots: Codes | None = None


class KeptValues(Struct, frozen=True, eq=False):
    """The values of a parameter in the last plan, for the elements that a plan has had; in codes of the run."""

    columns: tuple[Codes, ...]
    values: Values

    def over(self, given: Param) -> Values:
        """Return all values of the parameter: `given` ones for elements without a last value."""
        if isinstance(given.domain, ScalarDomain):
            return self.values
        found: Values = given.values.copy()
        at = given.domain.locate(self.columns)
        found[at[at >= 0]] = self.values[at >= 0]
        return found


class Past(Struct, frozen=True, eq=False):
    """The last plan with the jobs that ended since, the time of the plan, and the accumulated values in it."""

    plan: CurrentPlan
    time: float
    kept: Mapping[str, KeptValues] = field(default_factory=dict)
    executed: tuple[ExecutedTime, ...] = ()

    def after(self, times: float, plan: CurrentPlan) -> Past:
        """Return the past with another span of time, in which these decisions were in effect."""
        spans = self.executed
        if spans and spans[-1].plan is plan:
            spans, times = spans[:-1], spans[-1].times + times
        return structs.replace(self, executed=(*spans, ExecutedTime(times, plan)))

    def without(self, variable: str, kept: Bools) -> Past:
        """Return the past with only the `kept` values of a variable of the plan."""
        return structs.replace(self, plan=self.plan.without(variable, kept))

    def translated(
        self,
        plan: Callable[[PlanValues], PlanValues],
        columns: Callable[[str, tuple[Codes, ...]], tuple[Codes, ...]],
    ) -> Past:
        """Return the past in other codes, without elements that have none.

        `columns` translates the index of a parameter, to -1 for elements without a code.
        """
        executed = tuple(structs.replace(e, plan=CurrentPlan(plan(e.plan.values))) for e in self.executed)
        kept = {}
        for name, values in self.kept.items():
            codes = columns(name, values.columns)
            inside = np.ones(len(values.values), dtype=np.bool_)
            for column in codes:
                inside &= column != -1
            kept[name] = KeptValues(tuple(c[inside] for c in codes), values.values[inside])
        return Past(CurrentPlan(plan(self.plan.values)), self.time, kept, executed)
