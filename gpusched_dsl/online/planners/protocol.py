"""The interface of planners: a plan of the current state, by policies and solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Bools, Floats, Ints

AS_BEFORE: Final = "as before"  # the method of a plan where none was found: what runs goes on


@dataclass(frozen=True, eq=False)
class Plan:
    """Values of variables in codes of the instance, and their origin.

    `again` are jobs (codes) and in how long each wants a new plan; `remembered` values of parameters of jobs that the
    policy keeps for its next plan. `objective` and `bound` are what the method claims, None where it claims nothing.
    """

    values: Mapping[str, VariableValues]
    method: str
    status: str = "feasible"
    seconds: float = 0.0
    objective: float | None = None
    bound: float | None = None
    again: VariableValues | None = None
    remembered: Mapping[str, VariableValues] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The controller of each job and node of an instance, and which of the K controllers plan now.

    `inputs` are the sets and parameters of the instance with values that are not derived.
    """

    job: Ints
    node: Ints
    plans: Bools
    inputs: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlanningRequest:
    """A request for one plan: `running` is the current plan, in codes of the instance, None before the first.

    `now` is in the unit of the clock of policies (that of their `now`); `number` counts plans and seeds draws.
    """

    instance: Instance
    now: float
    number: int
    seed: int
    running: Mapping[str, VariableValues] | None = None
    seconds: float | None = None  # time limit
    known: Mapping[str, Floats] = field(default_factory=dict)  # of the jobs, in the units of policies (`job_facts.py`)
    controllers: ControllerState | None = None  # of a run with several


class Planner(Protocol):
    """A policy or a solver, ready for any instance of one model."""

    @property
    def name(self) -> str: ...

    def plan(self, request: PlanningRequest) -> Plan | None:
        """A plan; None where none was found in time.

        Raises DiagnosticError where none can be asked for, or where a solver failed (`failures.OF_SOLVING`).
        """
        ...

    def fresh(self) -> Planner:
        """Return the same planner without knowledge of earlier plans."""
        ...

    def close(self) -> None:
        """Free the state kept from plan to plan."""
        ...
