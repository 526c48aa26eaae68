"""The lower bound of a run: whether its way of charging allows one, and from which ways to run it follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.language.checked import Role
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.bounds.single_job import RunBound, least_costs
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, LoopClock
from gpusched_dsl.online.history import RunHistory, cost_of_jobs
from gpusched_dsl.online.replay.constancy import Constancy
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.world import DONE, FUTURE, TOLERANCE
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of
from gsdsl_backends.protocol import Monitor

PROBES = (0.75, 0.4, 0.001)  # at most so much of a job is left when its ways are looked at again
SAME = 1e-7  # relative: rates and times that differ by less are the same
BELOW = 1e-6  # relative: a job that cost less than its bound by more than this refutes it

OTHER_PRICES = "the run was charged less than the model plans: the block charges other prices or terms"
UNFINISHED = "jobs are unfinished, so the run does not have the cost of all jobs"
NEVER_CAME = "jobs arrive after the last slot: the model over the complete horizon contains them, the run does not"


# Roles that configurations and their rates depend on.
_READ: tuple[Role, ...] = ("node_type", "uses", "lasts", "costs", "node_rate", "node_price", "workers")


class NoBoundError(Exception):
    """Why there is no bound."""


def job_by_job_bound(history: RunHistory) -> RunBound:
    """The sum over jobs of the least that each costs by itself (`bound.py` has the proof), or why it proves nothing.

    It holds where jobs are charged for by their own rates, or whole nodes by their price, and nothing else is: rates
    are not negative, and a job never runs faster or cheaper later than it would from its start, which is looked at for
    all ways at several points of their work. True times count: `ends` and `stretch` of the world.
    """
    try:
        by_job = _least(history)
    except NoBoundError as why:
        return RunBound(None, str(why))
    except DiagnosticError as error:
        return RunBound(None, f"the ways to run cannot be listed: {error.diagnostics[0].message}")
    how = "each job separately, in its cheapest way or mixture of two ways"
    return RunBound(float(by_job.sum()), how, by_job, _slack(history))


def relaxation_bound(
    history: RunHistory, base: Base | None = None, most: int = 50_000_000, monitor: Monitor | None = None
) -> RunBound:
    """The linear relaxation of the model over all slots and jobs at once, with `base` or the data of the run.

    A bound of every plan that does all the work and knows all from the beginning, for runs in windows. It bounds what
    the run was charged where the block charges the terms of the model's objective at the prices of `base`, which has
    real values in place of expected ones (`real_values`). `most` is the most nonzeros that are tried; where the
    `monitor` stops it there is no bound.
    """
    from gpusched_dsl.compiling.lowering.ground import ground
    from gpusched_dsl.ir.solver_result import Status
    from gpusched_dsl.solving.solve import deadline_of, solve_problem

    base = base or history.outcome.base
    if has_unfinished_jobs(history):
        return RunBound(None, UNFINISHED)
    if (history.outcome.world.status == FUTURE).any():
        return RunBound(None, NEVER_CAME)
    try:
        with deadline_of(None, monitor):
            problem = ground(base.model, base.store, base.limits)
        if not problem.is_linear or len(problem.objectives) != 1 or problem.objectives[0].sense != "minimize":
            return RunBound(None, "the model over the complete horizon is not linear with one objective to minimise")
        if problem.size.nonzeros > most:
            return RunBound(None, f"the model over the complete horizon has {problem.size.nonzeros:,} nonzeros")
        solved = solve_problem(replace(problem, integer=np.zeros_like(problem.integer)), "highs", monitor=monitor)
        solved.close()
    except StoppedEarly:
        return RunBound(None, "the model over the complete horizon was not solved: interrupted")
    except DiagnosticError as error:
        return RunBound(None, f"the model over the complete horizon cannot be solved: {error.diagnostics[0].message}")
    if solved.status is not Status.OPTIMAL:
        return RunBound(None, f"the model over the complete horizon is {solved.status.value}")
    prices = "its own prices" if base is history.outcome.base else "real prices"
    found = RunBound(solved.objective, f"the linear relaxation of the model over the complete horizon, at {prices}")
    return RunBound(None, OTHER_PRICES) if found.is_refuted_by(history.outcome.total) else found


# --- inside ----------------------------------------------------------------------------------------------------------


def _least(history: RunHistory) -> Floats:
    outcome = history.outcome
    _refuse_other_charges(history)
    world = outcome.world
    refuse_unfinished(history)
    configurations = Configurations(history)
    time, rate = configurations.times_and_rates()
    done = np.flatnonzero(world.status == DONE)
    first = np.searchsorted(configurations.job, np.arange(len(world.status) + 1))
    if (np.diff(first)[done] == 0).any():
        raise NoBoundError("a job ran in a way that is not in the scenario")
    found = least_costs(first, time, rate * time, world.due - world.arrival, world.weight)
    by_job = np.zeros(len(world.status))
    by_job[done] = found[done]
    paid = cost_of_jobs(history)
    if (paid[done] < by_job[done] - BELOW * np.maximum(1.0, by_job[done])).any():
        raise NoBoundError("a job cost less than its ways at the start: rates change while it runs")
    return by_job


def refuse_unfinished(history: RunHistory) -> None:
    """Raise NoBoundError if some jobs are unfinished, or arrived from elsewhere."""
    if has_unfinished_jobs(history):
        raise NoBoundError(UNFINISHED)
    world = history.outcome.world
    if len(world.status) != len(history.outcome.base.all_codes(history.jobs_root)):
        raise NoBoundError("jobs arrived that are not in the scenario")


def _slack(history: RunHistory) -> float:
    """Return the possible savings of jobs by the tolerance of the clock in starts, ends and due dates."""
    world = history.outcome.world
    done = np.flatnonzero(world.status == DONE)
    lasted = np.maximum(world.end[done] - world.first_start[done], 1e-300)
    near = TOLERANCE * np.maximum(1.0, np.abs(world.end[done]))
    paid = cost_of_jobs(history)[done]
    with np.errstate(over="ignore"):
        saved = 4 * near * (paid / lasted + world.weight[done])
    return float(np.minimum(saved, np.abs(paid) + 4 * near * world.weight[done]).sum())


def has_unfinished_jobs(history: RunHistory) -> bool:
    """Whether some jobs are unfinished or still to come."""
    return bool(len(history.outcome.world.unfinished()))


def _refuse_other_charges(history: RunHistory) -> None:
    outcome = history.outcome
    online = outcome.online
    if online.window is not None:
        raise NoBoundError(
            "plans are computed slot by slot, with changing prices; use `--bound`, which relaxes the complete horizon"
        )
    if any(c.name not in outcome.quantities for c in online.charges):
        raise NoBoundError("the block states its own charges")
    if online.charges and online.charged == "":
        raise NoBoundError("only the charges of the block are counted")
    negative = [name for name, amount in outcome.world.ledger.totals.items() if amount < 0]
    if negative:
        raise NoBoundError(f"`{negative[0]}` is negative")


@dataclass(frozen=True, eq=False)
class _State:
    """The ways of all jobs at one time, one row each, without the single nodes of a kind: their pace and rates."""

    cluster: Cluster
    allocations: Allocations
    pace: Floats  # planned work by time
    rate: Floats  # the least money by time


@dataclass(eq=False)
class Configurations:
    """The ways of all jobs of the scenario, sorted by job."""

    history: RunHistory

    def __post_init__(self) -> None:
        outcome = self.history.outcome
        self.carrier = Carrier(outcome.online, outcome.base)
        self.part = outcome.base.part({})
        self.count = len(outcome.world.status)
        self.start = self._state(0.0, np.ones(self.count), np.zeros(self.count))

    @property
    def job(self) -> Ints:
        return self.start.allocations.job

    def times_and_rates(self) -> tuple[Floats, Floats]:
        """Return the real time of the complete job in each way, and money by time there."""
        world, start = self.history.outcome.world, self.start
        if (start.rate < 0).any():
            raise NoBoundError("some rates are negative")
        if (change := self._moves_with_time()) is not None:
            raise NoBoundError(f"the cost or the duration of a job may change with time: {change}")
        rng = np.random.default_rng(0)
        for most in PROBES:
            left = most * rng.uniform(0.5, 1.0, self.count)
            then = self._state(float(rng.uniform(0.0, max(world.now, 1.0))), left, rng.integers(0, 2, self.count))
            pairs = zip(start.cluster.ways, then.cluster.ways, strict=True)
            if not all(np.array_equal(one, other) for one, other in pairs):
                raise NoBoundError("the ways to run a job change after its start or with time")
            if (then.pace > start.pace * (1 + SAME)).any() or (then.rate < start.rate * (1 - SAME)).any():
                raise NoBoundError("a started job may run faster or at a lower rate than at its start")
        with np.errstate(divide="ignore"):
            time = world.ends[self.job] * world.stretch[self.job] / start.pace
        return time, start.rate

    def _moves_with_time(self) -> str | None:
        """Return which part of the ways to run may change with the clock, the present jobs or earlier plans."""
        online, root = self.history.outcome.online, self.history.jobs_root
        clock = Constancy(online.model, root, ("now",), own_clock=False)
        timed = [carry.target for carry in online.carries if clock.change_in(carry.value) is not None]
        still = Constancy(online.base, root, timed, own_clock=False)
        placement = online.base.placement
        assert placement is not None
        exprs = [expr for item in placement.all(*self._roles_read()) for expr in (item.value, item.of)]
        changes = [still.change_in(expr) for expr in (*exprs, online.speed) if expr is not None]
        changes.append(still.change_in_listed(online.base.variables[placement.variable].indexing))
        return next((change for change in changes if change is not None), None)

    def _roles_read(self) -> list[Role]:
        """Return the roles of times and rates: not `lasts` if `speed` states the pace and costs are rates."""
        outcome = self.history.outcome
        online = outcome.online
        reader = AllocationReader(online, outcome.base.store, outcome.base.limits, self.part)
        unread = online.speed is not None and not online.per_entry and not reader.costs_are_amounts
        return [role for role in _READ if not (unread and role == "lasts")]

    def _state(self, now: float, left: Floats, flags: Ints | Floats) -> _State:
        outcome, base = self.history.outcome, self.history.outcome.base
        raised = np.asarray(flags, dtype=np.float64)
        clock = LoopClock(now, left, outcome.world.work * (1.0 - left), raised, raised)
        store = base.instance_of(self.part, self.carrier.carried_values(self.part, clock, None)).store
        cluster = cluster_of(outcome.online.base, store, base.limits, tables=False)
        reader = AllocationReader(outcome.online, store, base.limits, self.part)
        allocations = reader.allocations_of(cluster.ways)
        work = outcome.world.work[allocations.job] * left[allocations.job]
        pace = np.where(np.isnan(allocations.speed), work / allocations.lasts, allocations.speed)
        return _State(cluster, allocations, pace, self._rate(cluster, allocations, reader))

    def _rate(self, cluster: Cluster, allocations: Allocations, reader: AllocationReader) -> Floats:
        """The least money by time, as `charging.rates` shares it out."""
        charged = self.history.outcome.online.charged
        if charged == "nodes":
            gpus = self.history.gpus[allocations.kind]
            if np.isnan(gpus).any():
                raise NoBoundError("the size of nodes depends on more than their type")
            return allocations.node_price * allocations.uses / gpus
        if charged == "" and reader.has_node_rates:
            return allocations.uses * _least_shares(cluster, allocations) / reader.hours
        return allocations.rate


def _least_shares(cluster: Cluster, allocations: Allocations) -> Floats:
    """Money by time of one GPU of a node, at the number of GPUs in use at which it is least; for each way.

    Where G GPUs of a node are in use, its jobs use at most G together, so each pays at least uses / G of its rate.
    """
    work = cluster.work
    gpus = np.arange(1, work.node_rate.shape[1])
    there = gpus <= (work.units // work.parts)[:, None]
    by_gpu = np.where(there, work.node_rate[:, 1:] / gpus, np.inf)
    least = np.minimum.accumulate(by_gpu[:, ::-1], axis=1)[:, ::-1]  # of this many GPUs or more
    needed = np.maximum(np.ceil(allocations.uses - 1e-9).astype(np.int64), 1)
    found: Floats = least[work.kind, needed - 1]
    return found
