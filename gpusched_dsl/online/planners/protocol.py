"""The interface of planners: a plan of the current state, by policies and solvers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.past import KeptValues
from gpusched_dsl.online.planners.variations import Variation
from gpusched_dsl.policies.plan import Plan

AS_BEFORE: Final = "as before"  # the method of a plan where none was found: what runs goes on
BROKEN: Final = "broken"  # the status of a plan that violates the model


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The controller of each job and node of an instance, and which of the K controllers plan now.

    `inputs` are the sets and parameters of the instance with values that are not derived.
    """

    job: Ints
    node: Ints
    plans: Bools
    inputs: frozenset[str]


class FutureCost(NamedTuple):
    """The cost of a plan in a simulated future; less is better, in this order.

    `stuck` jobs wait although nothing will happen. `money` has all charges until the end, and the least that the jobs
    left then can cost. `waiting` is the sum of the times from now to the ends of jobs: it decides where nothing costs.
    """

    stuck: float
    money: float
    waiting: float


@dataclass(frozen=True, slots=True)
class SimulatedFuture:
    """A future to simulate: until `horizon` (in the unit of the clock of policies; infinite: until all jobs end).

    By `seed` unknown quantities are drawn, and with `arrivals` jobs that arrive; None: present jobs take the planned
    times, and nodes neither fail nor recover. With `generated`, the jobs that arrive are those that the generators of
    the scenario draw by this seed. `real` is the future that comes: only the parts of a gap know it. With
    `replayed` the present jobs are not there: the first so many jobs of the run arrive again, from now on.
    """

    horizon: float
    seed: int | None = None
    arrivals: bool = False
    generated: int | None = None
    real: bool = False
    replayed: int = 0


class VariedRollout(Protocol):
    """One future, from a plan by a variation of a policy on."""

    @property
    def unchanged(self) -> Variation:
        """Return the policy itself."""
        ...

    def cost(self, variation: Variation) -> FutureCost:
        """Simulate the plan of now and all later ones by a variation."""
        ...

    def plan(self, variation: Variation) -> PlanValues:
        """Return the plan of now, in codes of the instance of the request."""
        ...


class FoundSchedule(NamedTuple):
    """The plan of now of a schedule that a search has found.

    `less` is what it costs: money, or the time of jobs where nothing costs money. `policy` has the rules by which it
    places jobs, and `queue` is where the search of the next plan goes on.
    """

    values: PlanValues
    less: float
    policy: str
    queue: object


class Outlook(Protocol):
    """The futures of a run at the time of a plan."""

    def expects_arrivals(self) -> bool:
        """Return whether further jobs are expected to arrive, from what has been seen."""
        ...

    def limit_effort(self, seconds: float) -> None:
        """End the simulations of this plan after so much work, in seconds of a reference machine."""
        ...

    def arrived(self) -> int:
        """Return how many jobs have arrived so far."""
        ...

    def ended(self) -> int:
        """Return how many of them have ended."""
        ...

    def cost(self, values: PlanValues, planner: Planner, future: SimulatedFuture) -> FutureCost:
        """Simulate a plan, in codes of the instance of the request, with all later plans by `planner`.

        Raises DiagnosticError as planning does, and GSM7016 where no arrivals can be drawn.
        """
        ...

    def varied(self, running: PlanValues | None, planner: Planner, future: SimulatedFuture) -> VariedRollout | None:
        """Return the simulation of variations of a policy; None for policies that rollouts on arrays cannot follow."""
        ...

    def best_schedules(
        self, planners: Sequence[Planner], future: SimulatedFuture, before: object, steps: int, rng: np.random.Generator
    ) -> Iterator[FoundSchedule]:
        """Yield schedules that cost less and less, by the rules of a planner, from the `queue` of the plan before on.

        None where compiled code cannot follow any of the planners.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlanningRequest:
    """A request for one plan: `running` is the current plan, in codes of the instance, None before the first.

    With a window, `before` is what ran in the slot before it, as values of its first slot: only jobs that still run.
    `now` is in the unit of the clock of policies (that of their `now`); `number` counts plans and seeds draws.
    """

    instance: Instance
    now: float
    number: int
    seed: int
    running: PlanValues | None = None
    before: PlanValues | None = None
    seconds: float | None = None  # time limit
    known: Mapping[str, Floats] = field(default_factory=dict)  # of the jobs, in the units of policies (`job_facts.py`)
    controllers: ControllerState | None = None  # of a run with several
    outlook: Outlook | None = None  # of a run whose planner looks ahead
    base: Base | None = None  # the data of the run, with all jobs that have arrived by events
    kept: Mapping[str, KeptValues] = field(default_factory=dict)  # accumulated values of `carry`, in codes of the run


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
