"""The plan of a policy for slots: values of the families of variables that it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpusched_dsl.compiling.lowering.fixing import VariableValues


@dataclass(frozen=True, eq=False)
class SlottedPlan:
    """`values` fix the families of variables that the policy decides; `outside` are those that the model has no element
    for.

    `statistics` count what went wrong: jobs that were not started or end after the last slot, values that the model
    has no variable for (a job that trains when it must have ended), loads above what nodes take, slots whose serving
    nodes may not be the cheapest.
    """

    values: Mapping[str, VariableValues]
    statistics: Mapping[str, float]
    stopped: bool = False
    outside: Mapping[str, VariableValues] = field(default_factory=dict)
