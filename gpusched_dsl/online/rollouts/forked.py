"""Rollouts by copies of the run: exact for every block and policy, and as slow as the run itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.checked import TypedLaw
from gpusched_dsl.online.loops.branching import fork
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import FutureCost, Plan, Planner, PlanningRequest, SimulatedFuture
from gpusched_dsl.online.rollouts.terminal import TerminalValue
from gpusched_dsl.online.simulation.node_availability import NodeAvailability
from gpusched_dsl.online.simulation.world import DONE, FUTURE, GONE


@dataclass(frozen=True)
class _GivenPlan:
    """A planner with one plan."""

    plan_values: Mapping[str, VariableValues]
    name: str = "given"

    def plan(self, request: PlanningRequest) -> Plan:
        return Plan(self.plan_values, self.name)

    def fresh(self) -> _GivenPlan:
        return self

    def close(self) -> None:
        pass


def forked_cost(
    loop: EventLoop,
    values: Mapping[str, VariableValues],
    planner: Planner,
    future: SimulatedFuture,
    terminal: TerminalValue,
) -> FutureCost:
    """Simulate a plan, in codes of the present part, and later plans by `planner`, on a copy of the run.

    `terminal` is over the jobs that are present now. Raises DiagnosticError as planning does.
    """
    other = without_real_future(loop, future)
    present, now, before = other.world.present(), other.world.now, _money(other)
    until = now + future.horizon * loop.setup.policy_time
    other.planner = _GivenPlan(values)
    EventLoop.decide(other, ("lookahead",))
    continuing = planner.fresh()
    try:
        other.planner = continuing
        over = ""
        while not over and other.next_time() <= until:
            checkpoint()
            over = EventLoop.step(other)
    finally:
        continuing.close()
    world = other.world
    if not over:
        other.advance(until)
    open_ = np.flatnonzero((world.status[present] != DONE) & (world.status[present] != GONE))
    jobs = present[open_]
    rest = terminal.costs(open_, world.remaining()[jobs], world.now, world.due[jobs], world.weight[jobs])
    ends = np.where(world.status[present] == DONE, world.end[present], world.now)
    stuck = float(len(open_)) if over else 0.0
    return FutureCost(stuck, _money(other) - before + float(rest.sum()), float((ends - now).sum()))


def without_real_future(loop: EventLoop, future: SimulatedFuture) -> EventLoop:
    """Return an independent copy of a run in which nothing of the real future is left.

    No further job arrives. What is unknown is drawn again, given what has been seen; without a seed jobs take the
    planned times, and nodes stay as they are. Events from outside are simulated. A `real` future is left as it is.
    """
    other = EventLoop.__new__(EventLoop)
    other.__dict__.update(loop.__dict__)
    other.look_ahead = None
    other = fork(other, 0 if future.seed is None else future.seed)
    other.fallback, other.controllers = None, None
    world, online = other.world, other.online
    if future.real:
        world.ends, world.stretch = loop.world.ends.copy(), loop.world.stretch.copy()
        other.nodes = deepcopy(loop.nodes)
        return other
    world.arrival[world.status == FUTURE] = np.inf
    planned = np.maximum(world.work, world.done)
    if future.seed is None or not isinstance(online.ends, str):
        world.ends = planned
    if future.seed is None or not isinstance(online.stretch, TypedLaw):
        world.stretch = np.where(world.done > 0, world.stretch, 1.0)
    if future.seed is None:
        down = other.nodes.down
        other.nodes = NodeAvailability(())
        other.nodes.down = down
    return other


def _money(loop: EventLoop) -> float:
    quantities = loop.setup.quantities
    return float(sum(v for name, v in loop.world.ledger.totals.items() if name not in quantities))
