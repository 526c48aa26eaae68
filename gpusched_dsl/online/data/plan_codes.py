"""Values of variables in codes of the complete run, and in codes of a part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.language.checked import ValueType
from gpusched_dsl.policies.plan import Plan

OF_JOBS = ""  # the name of values by job, in `types`


@dataclass(frozen=True, eq=False)
class PlanCodes:
    """Translates values between the codes of a run and those of its parts.

    `types` are the index types of each variable; `store` is that of the whole run.
    """

    types: Mapping[str, tuple[ValueType, ...]]
    store: ValueStore

    def components(self, name: str) -> tuple[Component, ...]:
        return tuple(self.store.component(kind) for kind in self.types[name])

    def inner(self, name: str, given: VariableValues, part: InstanceView) -> VariableValues:
        """The values in codes of a part, without those that are not in it."""
        components = self.components(name)
        codes = part.inner_codes(components, given.codes)
        inside = np.ones(len(given.values), dtype=np.bool_)
        for component, column in zip(components, codes, strict=True):
            inside &= (column >= 0) | (component is None)
        return VariableValues(tuple(c[inside] for c in codes), given.values[inside])

    def outer(self, name: str, given: VariableValues, part: InstanceView) -> VariableValues:
        """Values of a part in codes of the run."""
        return VariableValues(part.outer_codes(self.components(name), given.codes), given.values)

    def all_inner(self, values: PlanValues, part: InstanceView) -> dict[str, VariableValues]:
        return {name: self.inner(name, given, part) for name, given in values.items()}

    def plan_inner(self, plan: Plan, part: InstanceView) -> Plan:
        """A plan in codes of a part."""
        return replace(
            plan,
            values=self.all_inner(plan.values, part),
            again=None if plan.again is None else self.inner(OF_JOBS, plan.again, part),
            remembered={name: self.inner(OF_JOBS, given, part) for name, given in plan.remembered.items()},
        )

    def plan_outer(self, plan: Plan, part: InstanceView) -> Plan:
        """A plan in codes of the run."""
        return replace(
            plan,
            values={name: self.outer(name, given, part) for name, given in plan.values.items()},
            again=None if plan.again is None else self.outer(OF_JOBS, plan.again, part),
            remembered={name: self.outer(OF_JOBS, given, part) for name, given in plan.remembered.items()},
        )
