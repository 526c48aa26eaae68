"""Plans that obey the side rows of a model: rows are asked where a plan could break one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.kernels.gang_candidates import MOST_LEAVES
from gpusched_dsl.policies.kernels.later_rows import LinkedRows
from gpusched_dsl.policies.kernels.row_guard import CLOSES, RowGuard
from gpusched_dsl.policies.rows.completion import jobs_that_meet
from gpusched_dsl.policies.rows.guard import Running, SideRows, running_of, side_rows_of
from gpusched_dsl.policies.rows.meeting import Met, meet_demands
from gpusched_dsl.policies.rows.problem import obeys_side_rows, reads_other_variables, side_model
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule

TOO_LARGE = "GSM3001"
_MOST_TRACED = 300_000  # places
_Plan = TypeVar("_Plan")
PlanWith: TypeAlias = Callable[[RowGuard | None, Instructions, bool], _Plan]  # the last: one pass, no draws and moves


class RowsAsked:
    """The side rows of a decision on nodes, of jobs with one node or of gangs with `workers` each.

    Where side rows read the placement alone, places are asked from the start. Rows that read other variables often
    follow from roles without a proof in `covers.py` (a node is open where a job runs on it): there the first plan asks
    none, and only if it breaks one, the plan is made again. A pass over a queue gives the same plan either way, since a
    row that allows the plan allows each part of it.

    Rows that demand jobs are met by another queue, found by plain passes (`meeting.py`). If `pinned`, the jobs that run
    from the start satisfy all rows that state where jobs run: where there are no other rows, none is asked.
    """

    def __init__(
        self,
        model: CheckedModel,
        cluster: Cluster,
        store: ValueStore,
        limits: MemoryLimits,
        workers: Ints,
        start: Running,
        *,
        pinned: bool = False,
    ) -> None:
        self.cluster, self.store, self.limits = cluster, store, limits
        self.workers, self.start = workers, start
        self.whole, self.model = model, side_model(model)
        self.placed: Running | None = None  # jobs that a solver placed, since no pass meets what rows demand
        rows = self.model.rows
        met = pinned and self.model.pins.issuperset(rows.constraints)
        self.any = cluster.placement.variable in rows.variables and not met
        self.found: SideRows | None = None
        self.lines: Instructions | None = None  # with the queue that meets what rows demand
        self.checked = False  # whether the plan was evaluated and breaks no row of the model
        self.too_large = False

    def first_that_obeys(
        self,
        plan: PlanWith[_Plan],
        running: Callable[[_Plan], Running],
        lines: Instructions,
        instead: Callable[[_Plan], _Plan] | None = None,
        *,
        reserves: bool = False,
    ) -> _Plan:
        """Return the plan that the rows allow, or what is wanted `instead` of it if they allow that.

        If a plan `reserves` later starts, rows are asked from the start: they may be broken by these alone.

        Raises DiagnosticError as `ground` does.
        """
        if not self.any:
            outcome = plan(None, lines, False)
            return outcome if instead is None else instead(outcome)
        lazy = not reserves and reads_other_variables(self.model.rows, self.cluster.placement)
        if lazy:
            outcome = self._checked_plan(plan(None, lines, False), running, instead)
            if self.checked:
                return outcome
        try:
            self.found = side_rows_of(
                self.model.rows, self.cluster, self.store, self.limits, self.workers, lines.order, self.start
            )
        except DiagnosticError as error:
            if any(d.code != TOO_LARGE for d in error.diagnostics):
                raise
            self.too_large = True  # the plan is verified, as every plan
            return outcome if lazy else self._checked_plan(plan(None, lines, False), running, instead)
        if self.found.demands.any():
            self.found, lines = self._meet_demands(self.found, plan, running, lines)
        self.lines = lines
        return self._checked_plan(plan(self.found.guard, lines, False), running, instead)

    def _checked_plan(
        self, plan: _Plan, running: Callable[[_Plan], Running], instead: Callable[[_Plan], _Plan] | None
    ) -> _Plan:
        """Return what is wanted instead of a plan if it breaks no row, else the plan; note whether it breaks none."""
        if instead is not None and self._obeys(running(other := instead(plan))):
            self.checked = True
            return other
        self.checked = self._obeys(running(plan)) if self.found is None else self.found.are_obeyed(running(plan))
        return plan

    def _meet_demands(
        self, rows: SideRows, plan: PlanWith[_Plan], running: Callable[[_Plan], Running], lines: Instructions
    ) -> tuple[SideRows, Instructions]:
        """Return the rows that are asked, and the lines with the queue in which a pass meets those that demand jobs."""

        def run(met: Met[SideRows]) -> Running:
            self.placed = met.placed
            return running(plan(met.rows.guard, lines._replace(order=met.queue, front=met.front), True))

        def fewest() -> Running | None:
            listed = lines.ranked[lines.ranked != NONE]
            return jobs_that_meet(self.whole, self.cluster, self.store, self.limits, lines.order, listed, self.start)

        met = meet_demands(rows, lines.order, run, fewest)
        self.placed = met.placed
        met.rows.guard.ints[CLOSES] = 1
        return met.rows, lines._replace(order=met.queue, front=met.front)

    def linked(self) -> LinkedRows | None:
        """Return the rows that read other variables, for reservations, None if no row is asked."""
        return None if self.found is None else self.found.linked

    def _obeys(self, running: Running) -> bool:
        """Whether a plan breaks no side row, as far as propagation finds out; by known rows if that is enough."""
        if self.found is not None and self.found.are_obeyed(running):
            return True
        return obeys_side_rows(self.model, self.store, self.values_of(running), self.limits)

    def values_of(self, running: Running) -> dict[str, VariableValues]:
        """Return the values of the placement's variable."""
        codes = self.cluster.selected_elements(running.node, running.way)
        return {self.cluster.placement.variable: VariableValues(codes, running.value)}

    def statistics(self) -> dict[str, float]:
        """Return how many rows were asked, and how many of them are relaxed; or that there are too many to ask."""
        if self.found is None:
            return {"side_rows_too_large": 1.0} if self.too_large else {}
        return {"side_rows": float(self.found.side.source.rows), "relaxed_rows": float(self.found.relaxed.sum())}


def traced_rows(
    model: CheckedModel, cluster: Cluster, store: ValueStore, limits: MemoryLimits, queue: Ints, start: Schedule
) -> SideRows | None:
    """Return the side rows for the trace of a pass, None where there are none or asking them would take too long."""
    side = side_model(model).rows
    if cluster.placement.variable not in side.variables:
        return None
    if reads_other_variables(side, cluster.placement) and len(cluster.work.job) * len(cluster.nodes) > _MOST_TRACED:
        return None
    workers = np.ones(len(cluster.jobs), dtype=np.int64)
    return side_rows_of(side, cluster, store, limits, workers, queue, running_of(start))


def rows_in_words(policy: CheckedPolicy) -> list[str]:
    """Return a line that describes how a policy obeys the constraints of its model, none if roles imply all of them."""
    placement = policy.model.placement
    if placement is None:
        return []
    side = side_model(policy.model)
    if placement.variable not in side.rows.variables:
        return []
    if policy.slots is not None and placement.has_gangs:
        return [
            "A gang takes the first slots and nodes, in the order of the rules, where its workers break no constraint "
            "of the model: each node in turn, of least key or with most room first, gets as many as constraints admit."
        ]
    if policy.slots is not None:
        return [
            "If the plan breaks a constraint of the model, all jobs are placed again: each takes the first slots, in "
            "the order of the rules, that break none."
        ]
    if placement.item("place_from_end") is not None:
        return [
            "If the queues break a constraint of the model, they are made again: each job takes the first queue, in "
            "the order of the rules, that breaks none with the jobs before it."
        ]
    names = ", ".join(f"`{name}`" for name in side.checked.constraints)
    if not names:
        return []
    if placement.has_gangs:
        return [
            "A gang takes the first nodes, in the order of the rules, on which all its workers together break no "
            f"constraint that the placement does not imply: {names}. At most {MOST_LEAVES} combinations are tried on "
            "each rack, and on all racks together."
        ]
    return [f"A job takes the first place that breaks no constraint that the placement does not imply: {names}."]
