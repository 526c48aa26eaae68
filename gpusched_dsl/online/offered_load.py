"""The load that the jobs of a run offer, and the warning of a method that plans each decision alone under it.

The objective of one decision must price waiting, and no price of waiting is right when jobs queue for long: the plan of
least cost per decision may then cost several times as much over the run as a plain queue does.

Job j needs at least need[j] GPU hours to be done in time: the least of all mixtures of its ways that end by its due
time, a linear problem of two rows (`bounds/single_job.py`). Over the jobs that arrive at a or later and are due by d,

    load(a, d) = sum of need[j] / (GPUs * (d - a)),

and where it is above 1, no method has all of them done in time. The load is the largest of all a and d between which
more jobs than nodes arrive and are due. A job that no way has done in time counts as due at its earliest end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.checked import Numeric
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.bounds.single_job import least_costs
from gpusched_dsl.online.data.carry import Carrier, LoopClock
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.planners.controllers import ControllersPlanner
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.program import ProgramPlanner
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.policies.placement_reader import cluster_of

CODE = "GSM7009"
HIGH = 0.8  # from this share of the GPU hours on, jobs queue for long
MOST_STARTS = 500  # arrivals that are tried as the begin of an interval
CERTAIN = 1e30  # money by time of tardiness: a job is in time wherever it can be
LATER = 1 + 1e-9  # relative: the earliest end of a job counts as in time


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The largest load of any interval: `value` is 1 where jobs need all GPU hours. Times in the unit of the clock."""

    value: float
    begin: float
    end: float
    jobs: int


NO_LOAD = OfferedLoad(0.0, 0.0, 0.0, 0)


def warn_of_load(loop: SimulationLoop) -> None:
    """Warn where a method that plans each decision alone runs under load; silent where the load is unknown."""
    setup = loop.setup
    if setup.external or setup.window is not None or not setup.jobs_root or not plans_alone(setup.planner):
        return
    try:
        load = offered_load(setup)
    except DiagnosticError:
        return  # the first plan reports what is wrong with the data
    if load.value <= HIGH:
        return
    message = (
        f"`{setup.planner.name}` minimises the cost of one decision, and the run is under load: {load.jobs} jobs "
        f"that arrive and are due between {load.begin:.3g} and {load.end:.3g} {loop.unit} need {load.value:.0%} of the "
        "GPU hours"
    )
    help = "compare the totals of whole runs with those of queues, such as `--methods ATC,EDF`"
    loop.warn(CODE, message, help=help)


def plans_alone(planner: Planner) -> bool:
    """Whether a planner chooses the plan with the least cost of one decision: a solver, a search, a recursion."""
    inner = planner.planner if isinstance(planner, StatelessPlanner) else planner
    if isinstance(inner, ControllersPlanner):
        inner = inner.inner[0]
    if isinstance(inner, ProgramPlanner):
        return False  # how a program plans is not known
    if isinstance(inner, PortfolioPlanner):
        return False
    return _searches(inner.policy) if isinstance(inner, PolicyPlanner) else True


def _searches(policy: CheckedPolicy) -> bool:
    return bool(policy.repeat is not None or policy.moves or policy.prices) or any(
        stage.verb == "admit" for stage in policy.stages
    )


def offered_load(setup: RunSetup) -> OfferedLoad:
    """The load of the jobs of a scenario. Raises DiagnosticError where the placement cannot be read."""
    online, base = setup.online, setup.base
    part, arrival = base.part({}), setup.realisation.arrival
    nothing = np.zeros(len(arrival))
    clock = LoopClock(0.0, np.ones(len(arrival)), nothing, nothing, nothing)
    store = base.instance_of(part, Carrier(online, base).carried_values(part, clock, None)).store
    cluster = cluster_of(online.base, store, base.limits, tables=False)
    work, lasts = cluster.work, setup.placement.value("lasts")
    if lasts is None or not len(work.job):
        return NO_LOAD
    if cluster.type_at is None:
        uses, capacity = work.size / work.parts, float(work.units[work.node_kind].sum()) / work.parts
    else:  # any node may have any type: shares of nodes
        uses, capacity = work.size / work.units[work.kind], float(len(work.node_kind))
    if setup.placement.has_gangs:
        read = PlacementEvaluator(online.base, store, base.limits)
        uses = uses * read.gang_workers(read.frame(cluster.ways))
    to_clock = number_factor(lasts.type.unit, setup.clock) if isinstance(lasts.type, Numeric) else 1.0
    time, due, came = work.time * to_clock, work.due * to_clock, arrival[cluster.jobs]
    fastest = np.full(len(due), np.inf)
    np.minimum.at(fastest, work.job, time)
    counted = np.isfinite(came) & np.isfinite(due) & np.isfinite(fastest) & (work.weight > 0)
    due = np.maximum(due, came + fastest * LATER)
    has = np.where(counted, due - np.where(counted, came, 0.0), np.inf)
    need = least_costs(work.first_way, time, uses * time, has, np.full(len(due), CERTAIN))
    return largest_load(came[counted], due[counted], need[counted], capacity, len(work.node_kind))


def largest_load(came: Floats, due: Floats, need: Floats, capacity: float, nodes: int) -> OfferedLoad:
    """The largest load of intervals that begin with an arrival and end at a due time, with more jobs than nodes."""
    if len(came) <= nodes or capacity <= 0:
        return NO_LOAD
    order = np.argsort(due, kind="stable")
    came, due, need = came[order], due[order], need[order]
    begins = np.unique(came)
    if len(begins) > MOST_STARTS:
        begins = begins[np.linspace(0, len(begins) - 1, MOST_STARTS).astype(np.int64)]
    best = NO_LOAD
    for begin in begins.tolist():
        inside = came >= begin
        count = np.cumsum(inside)
        load = np.cumsum(np.where(inside, need, 0.0)) / (capacity * np.maximum(due - begin, 1e-300))
        load[count <= nodes] = 0.0
        last = int(np.argmax(load))
        if load[last] > best.value:
            best = OfferedLoad(float(load[last]), begin, float(due[last]), int(count[last]))
    return best
