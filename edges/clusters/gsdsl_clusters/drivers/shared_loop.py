"""A simulated run on a cluster that left-out work shares, and on which jobs may not run everywhere.

At its recorded times left-out work takes its GPUs, whatever runs there: what does not fit any more is halted, the job
that has started last first. A job that has to wait for others is in no plan. No plan puts a job on a node that
its demands exclude: it goes to another node with enough free GPUs, or it waits, and the plan is made again without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints, Values
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, LoopClock
from gpusched_dsl.online.data.past import KeptValues, Past
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import Planner, PlanningRequest
from gpusched_dsl.online.planners.violations import rows_broken_for_certain
from gpusched_dsl.online.simulation.assignments import AllocationReader
from gpusched_dsl.online.simulation.world import RUNNING
from gpusched_dsl.policies.plan import Plan
from gsdsl_clusters.drivers.observed_plans import gpus_of_rows
from gsdsl_clusters.drivers.occupancy import Occupancy
from gsdsl_clusters.drivers.precedence import Precedence

MOST_PLANS = 50  # for one time, each without further jobs that found no node


@dataclass(frozen=True, eq=False)
class SharedCluster:
    """`occupied` is what left-out work takes, its times by the clock of the run. `capacity` has the GPUs of each node.

    `parameter` gives them to plans; without it ("") a node of which any GPU is taken is down. `excluded[j, n]`: job j
    must not run on node n. With `checkpoints`, halted jobs keep their progress. `waits`: which jobs wait for others.
    """

    occupied: Occupancy
    capacity: Floats
    parameter: str
    excluded: Bools
    checkpoints: bool = False
    waits: Precedence = field(default_factory=Precedence)


@dataclass(eq=False)
class SharedLoop(EventLoop):
    """`interruptions` counts how often a job was halted for left-out work."""

    shared: SharedCluster = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.taken: Floats = np.zeros(len(self.shared.capacity))
        self.hidden: Ints = np.zeros(0, dtype=np.int64)
        self.interruptions = 0
        self._next = 0  # the next change of what is occupied
        self.planner = ObedientPlanner(self.planner, self)
        self.fallback = None if self.fallback is None else ObedientPlanner(self.fallback, self)
        self._take_occupied()

    def __copy__(self) -> SharedLoop:
        """A copy for a simulated future, which does not know what left-out work will take."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._next = len(self.shared.occupied.times)
        other.carrier = _SharedCarrier(other, self.base)
        return other

    def use_data(self, base: Base) -> None:
        super().use_data(base)
        self.carrier = _SharedCarrier(self, base)

    def plan_elements(self) -> dict[str, Codes]:
        found = super().plan_elements()
        blocked = self.shared.waits.blocked(self.world.present(), self.world.status == RUNNING)
        if len(self.hidden) or len(blocked):
            found[self.jobs_root] = np.setdiff1d(found[self.jobs_root], np.concatenate((self.hidden, blocked)))
        return found

    def next_time(self) -> float:
        until = super().next_time()
        if self._next < len(self.shared.occupied.times) and len(self.world.present()):
            until = min(until, max(float(self.shared.occupied.times[self._next]), self.world.now))
        return until

    def process_events(self) -> list[str]:
        why = super().process_events()
        return [*why, "change"] if self._take_occupied() else why

    def _take_occupied(self) -> bool:
        """Apply what left-out work occupies by now; return whether that has changed."""
        times, now = self.shared.occupied.times, self.world.now + self.world.tolerance()
        due = int(np.searchsorted(times, now, side="right"))
        if due <= self._next:
            return False
        self._next, before = due, self.taken
        self.taken = self.shared.occupied.gpus[due - 1]
        self.events += 1
        is_full = self.left < 1 if self.shared.parameter else self.taken > 0
        self.nodes.recover(self.places_root, np.flatnonzero(~is_full & (self.taken < before)))
        self.nodes.fail(self.places_root, np.flatnonzero(is_full))
        usable = self.left if self.shared.parameter else np.full(len(self.taken), np.inf)
        self._halt_what_does_not_fit(np.where(is_full, 0.0, usable))
        return True

    @property
    def left(self) -> Floats:
        """The GPUs of each node that left-out work does not occupy."""
        return np.maximum(self.shared.capacity - self.taken, 0.0)

    def _halt_what_does_not_fit(self, left: Floats) -> None:
        world = self.world
        used = np.bincount(world.parts.place, weights=world.parts.uses, minlength=len(left))
        halted: list[int] = []
        for node in np.flatnonzero(used > left + 1e-9).tolist():
            on = np.flatnonzero(world.parts.place == node)
            for row in on[np.argsort(-world.since[world.parts.job[on]], kind="stable")].tolist():
                if used[node] <= left[node] + 1e-9:
                    break
                halted.append(int(world.parts.job[row]))
                used[node] -= world.parts.uses[row]
        if halted:
            jobs = np.unique(np.array(halted, dtype=np.int64))
            world.halt(jobs)
            if not self.shared.checkpoints:
                world.done[jobs] = 0.0
            self.interruptions += len(jobs)
            self.handle_departures()


class _SharedCarrier(Carrier):
    """Carries what is left of the GPUs of each node, beside what the online block carries."""

    def __init__(self, loop: SharedLoop, base: Base) -> None:
        super().__init__(loop.online, base)
        self._loop = loop

    def carried_values(
        self,
        part: InstanceView,
        clock: LoopClock,
        past: Past | None,
        kept: Mapping[str, KeptValues] | None = None,
        onto: InstanceView | None = None,
    ) -> dict[str, KnownValues]:
        loop, found = self._loop, super().carried_values(part, clock, past, kept, onto)
        name, seen = loop.shared.parameter, onto or part

        def left(domain: Domain) -> Values:
            [nodes] = seen.outer_codes(domain.components, domain.columns())
            full = loop.shared.capacity[nodes]
            return np.where(loop.left[nodes] < 1, full, loop.left[nodes])  # of a node that is down none counts

        return {**found, name: KnownValues(left)} if name and loop.taken.any() else found


@dataclass
class ObedientPlanner:
    """A planner whose plans use no excluded node. It asks again without the jobs for which no node was found; these get
    what its last plan leaves free, in the order of the jobs.
    """

    planner: Planner
    loop: SharedLoop

    @property
    def name(self) -> str:
        return self.planner.name

    def fresh(self) -> ObedientPlanner:
        return replace(self, planner=self.planner.fresh())

    def close(self) -> None:
        self.planner.close()

    def plan(self, request: PlanningRequest) -> Plan | None:
        loop, part = self.loop, loop_part(self.loop)
        plan = self.planner.plan(request)
        if plan is None or not loop.shared.excluded.any():
            return plan
        inner, now = part, request
        misplaced: list[_Rows] = []
        for _ in range(MOST_PLANS):
            plan, wrong = self._obey(plan, inner, now)
            if wrong is None:
                break
            misplaced.append(wrong)
            hidden = np.unique(np.concatenate([rows.jobs for rows in misplaced]))
            inner, now = self._without(hidden, request)
            if not inner.kept[loop.jobs_root].size:
                plan = replace(plan, values=_no_rows(plan.values))
                break
            again = self.planner.plan(now)
            if again is None:
                return None
            plan = again
        else:
            plan, _ = self._obey(plan, inner, now)
        plan = loop.codes.plan_inner(loop.codes.plan_outer(plan, inner), part)
        return self._fill(plan, misplaced, part, request) if misplaced else plan

    def _without(self, hidden: Ints, request: PlanningRequest) -> tuple[InstanceView, PlanningRequest]:
        self.loop.hidden = hidden
        try:
            part, found = self.loop.request()
        finally:
            self.loop.hidden = np.zeros(0, dtype=np.int64)
        return part, replace(found, seconds=request.seconds, number=request.number)

    def _obey(self, plan: Plan, part: InstanceView, request: PlanningRequest) -> tuple[Plan, _Rows | None]:
        """Move jobs on excluded nodes to others; return also the rows for which there is none: they are dropped."""
        rows = self._rows(plan, part, request)
        if rows is None:
            return plan, None
        wrong = self.loop.shared.excluded[rows.jobs, rows.nodes] & (rows.values > 0.5)
        if not wrong.any():
            return plan, None
        kept = rows.take(~wrong)
        moved = self._place(rows.take(wrong), kept)
        found = self._plan_of(plan, kept.of_complete(moved, rows), part)
        if len(moved.jobs) and rows_broken_for_certain(request.instance, found) is not None:
            moved = moved.take(np.zeros(len(moved.jobs), dtype=np.bool_))
            found = self._plan_of(plan, kept.of_complete(moved, rows), part)
        left = rows.take(np.isin(rows.jobs, rows.jobs[wrong]) & ~np.isin(rows.jobs, moved.jobs))
        return found, left if len(left.jobs) else None

    def _fill(self, plan: Plan, misplaced: Sequence[_Rows], part: InstanceView, request: PlanningRequest) -> Plan:
        """Put jobs that were dropped on nodes that are still free."""
        rows = self._rows(plan, part, request)
        dropped = misplaced[0]
        for more in misplaced[1:]:
            dropped = dropped.with_rows(more)
        if rows is None:
            rows = dropped.take(np.zeros(len(dropped.jobs), dtype=np.bool_))
        placed = self._place(dropped.take(np.argsort(dropped.jobs, kind="stable")), rows)
        if not len(placed.jobs):
            return plan
        found = self._plan_of(plan, rows.with_rows(placed), part)
        return plan if rows_broken_for_certain(request.instance, found) is not None else found

    def _rows(self, plan: Plan, part: InstanceView, request: PlanningRequest) -> _Rows | None:
        """The rows of the placement in codes of the run; None without any, and where nodes are not named."""
        loop, placement = self.loop, self.loop.placement
        given = plan.values.get(placement.variable)
        job_at, node_at = placement.position("job"), placement.position("node")
        if given is None or job_at is None or node_at is None or not len(given.values):
            return None
        outer = loop.codes.outer(placement.variable, given, part)
        if not loop.shared.parameter:
            uses = np.full(len(given.values), np.inf)  # no other node has so many GPUs
        else:
            reader = AllocationReader(loop.online, request.instance.store, loop.base.limits, part)
            uses = gpus_of_rows(reader, given.codes, given.values)
        return _Rows(outer.codes, outer.values, uses, job_at, node_at)

    def _place(self, rows: _Rows, others: _Rows) -> _Rows:
        """The rows that fit on allowed nodes beside others, one after the other: where the job runs, else best fit.

        The rows of a gang are on different nodes, and all of them fit or none.
        """
        loop = self.loop
        up = loop.nodes.are_up(loop.places_root, np.arange(len(loop.left)))
        free = np.where(up, loop.left, 0.0)
        free -= np.bincount(others.nodes, weights=others.uses, minlength=len(free))
        nodes, fits = rows.nodes.copy(), np.zeros(len(rows.jobs), dtype=np.bool_)
        for job in dict.fromkeys(rows.jobs.tolist()):
            usable = ~loop.shared.excluded[job] & up
            usable[others.nodes[others.jobs == job]] = False
            mine, left = np.flatnonzero(rows.jobs == job), free.copy()
            for row in mine.tolist():
                choices = np.flatnonzero(usable & (left >= rows.uses[row] - 1e-9))
                if not len(choices):
                    break
                own = loop.world.status[job] == RUNNING and loop.world.place[job] in choices
                nodes[row] = loop.world.place[job] if own else choices[np.argmin(left[choices])]
                left[nodes[row]] -= rows.uses[row]
                usable[nodes[row]] = False
            else:
                free, fits[mine] = left, True
        codes = tuple(nodes if at == rows.node_at else column for at, column in enumerate(rows.codes))
        return replace(rows, codes=codes).take(fits)

    def _plan_of(self, plan: Plan, rows: _Rows, part: InstanceView) -> Plan:
        """The plan with these rows. Its other variables are open: they followed from the rows before."""
        variable = self.loop.placement.variable
        inner = self.loop.codes.inner(variable, VariableValues(rows.codes, rows.values), part)
        return replace(plan, values={variable: inner}, objective=None, bound=None)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a placement in codes of the run, the GPUs of each, and the positions of two indices."""

    codes: tuple[Codes, ...]
    values: Floats
    uses: Floats
    job_at: int
    node_at: int

    @property
    def jobs(self) -> Ints:
        return self.codes[self.job_at]

    @property
    def nodes(self) -> Ints:
        return self.codes[self.node_at]

    def take(self, which: Bools | Ints) -> _Rows:
        codes = tuple(column[which] for column in self.codes)
        return replace(self, codes=codes, values=self.values[which], uses=self.uses[which])

    def of_complete(self, moved: _Rows, before: _Rows) -> _Rows:
        """These rows and the moved ones, without jobs that had more rows before: a part of a gang does not run."""
        found = self.with_rows(moved)
        count = np.bincount(found.jobs, minlength=int(before.jobs.max()) + 1)
        return found.take(count[found.jobs] == np.bincount(before.jobs)[found.jobs])

    def with_rows(self, more: _Rows) -> _Rows:
        codes = tuple(np.concatenate(pair) for pair in zip(self.codes, more.codes, strict=True))
        values, uses = np.concatenate((self.values, more.values)), np.concatenate((self.uses, more.uses))
        return replace(self, codes=codes, values=values, uses=uses)


def loop_part(loop: SharedLoop) -> InstanceView:
    """The part of the run that the loop plans for now."""
    return loop.base.part(loop.plan_elements())


def _no_rows(values: PlanValues) -> dict[str, VariableValues]:
    return {
        name: VariableValues(tuple(column[:0] for column in given.codes), given.values[:0])
        for name, given in values.items()
    }
