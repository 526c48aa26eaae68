"""Rollouts by copies of the run: exact for every block and policy, and as slow as the run itself."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked import TypedLaw
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.loops.branching import fork
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import FutureCost, Planner, PlanningRequest, SimulatedFuture
from gpusched_dsl.online.rollouts.terminal import TerminalValue
from gpusched_dsl.online.simulation.node_availability import NodeAvailability
from gpusched_dsl.online.simulation.world import DONE, FUTURE, World
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.plan import Plan


@dataclass(frozen=True)
class _GivenPlan:
    """A planner with one plan."""

    plan_values: PlanValues
    name: str = "given"

    def plan(self, request: PlanningRequest) -> Plan:
        return Plan(self.plan_values, self.name)

    def fresh(self) -> _GivenPlan:
        return self

    def close(self) -> None:
        pass


def forked_cost(
    loop: EventLoop,
    values: PlanValues,
    planner: Planner,
    future: SimulatedFuture,
    terminal: TerminalValue,
) -> FutureCost:
    """Simulate a plan, in codes of the present part, and later plans by `planner`, on a copy of the run.

    `terminal` is over the jobs that are present now; where others are there at the end, it is computed then. Raises
    DiagnosticError as planning does.
    """
    other = without_real_future(loop, future)
    present, now, before = other.world.present(), other.world.now, _money(other)
    until = now + future.horizon * loop.setup.policy_time
    other.planner = _GivenPlan(values)
    EventLoop.decide(other, ("lookahead",))
    continuing = planner.fresh()
    try:
        other.planner = continuing
        over = other.run_to(until)
    finally:
        continuing.close()
    world = other.world
    jobs = world.present()
    due, weight = world.due[jobs], world.weight[jobs]
    at = np.flatnonzero(np.isin(present, jobs))
    if len(at) < len(jobs):
        at = np.arange(len(jobs))
        terminal, own_due, own_weight = _terminal_at_end(other)
        unknown = np.isinf(due) & (weight == 0)  # not in a plan yet
        due, weight = np.where(unknown, own_due, due), np.where(unknown, own_weight, weight)
    rest = terminal.costs(at, world.remaining()[jobs], world.now, due, weight)
    return future_cost(world, present, now, over, _money(other) - before, rest)


def future_cost(world: World, present: Ints, began: float, over: str, money: float, rest: Floats) -> FutureCost:
    """Return the cost of a future at its end, from the jobs that were `present` when it `began`.

    `over`: why it ended before its horizon, else "". `rest` are the terminal values of the jobs that are present now.
    """
    ends = np.where(world.status[present] == DONE, world.end[present], world.now)
    stuck = float(len(rest)) if over else 0.0
    return FutureCost(stuck, money + float(rest.sum()), float((ends - began).sum()))


def _terminal_at_end(loop: EventLoop) -> tuple[TerminalValue, Floats, Floats]:
    """Return the terminal values of the present jobs, their due times, and the prices of their tardiness by time."""
    _, request = loop.request()
    model, limits, world = request.instance.scenario.model, loop.base.limits, loop.world
    work = cluster_of(model, request.instance.store, limits, tables=False).work
    lasts, clock = PlacementEvaluator(model, request.instance.store, limits).time, loop.setup.clock
    hours = number_factor(lasts, clock)
    terminal = TerminalValue.of(work, world.remaining()[world.present()], lasts, clock)
    return terminal, world.now + work.due * hours, work.weight / hours


def without_real_future(loop: EventLoop, future: SimulatedFuture) -> EventLoop:
    """Return an independent copy of a run in which nothing of the real future is left.

    No further job arrives. What is unknown is drawn again, given what has been seen; without a seed jobs take the
    planned times, and nodes stay as they are. Events from outside are simulated. A `real` future is left as it is.
    """
    other = fork(loop, 0 if future.seed is None else future.seed, EventLoop)
    other.look_ahead, other.fallback, other.controllers = None, None, None
    world, online = other.world, other.online
    if future.real:
        world.ends, world.stretch = loop.world.ends.copy(), loop.world.stretch.copy()
        other.nodes = deepcopy(loop.nodes)
        return other
    if future.generated is None:  # else those that arrive were drawn
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
