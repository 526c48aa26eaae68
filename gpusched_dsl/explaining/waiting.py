"""Why jobs wait in a plan: what each would violate if it were placed alone, or by how much the plan would change.

The other jobs remain as placed; all variables besides the placement may change. A row that excludes every such point by
itself is found from the bounds of its columns. Where no single row excludes a job, the problem with the job is solved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import most_workers
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.explaining.decisions.model_room import ModelRoom
from gpusched_dsl.explaining.decisions.planned import Cost, PlannedProblem
from gpusched_dsl.explaining.decisions.policy_trace import turn_with
from gpusched_dsl.explaining.excluding_rows import ExcludingRows, excluding_rows
from gpusched_dsl.explaining.job_reason import NEVER, ROOM
from gpusched_dsl.explaining.job_reason import NO_ROOM as FULL
from gpusched_dsl.explaining.row_text import COMPILER_MARK, short
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.ir.variants import with_bounds
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.waiting import (
    CONFLICT,
    COST,
    NO_ROOM,
    NO_WAY,
    TOO_LARGE,
    WaitingJobs,
    WaitingReason,
)
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.variants.solver import VariantSolver
from gsdsl_backends.protocol import Backend

SECONDS = 3.0  # for all jobs of a plan
MOST_JOBS = 50
MOST_ELEMENTS = 100_000  # of the placement, for all jobs
MEMORY = 1 << 29
TOO_LARGE_FOR_MEMORY = "GSM3001"
MOST_NAMES = 3


@dataclass(frozen=True)
class WaitingSearch:
    """Finds why jobs wait in a plan of `policy`, if it is not None. `load` returns the solver."""

    load: Callable[[], Backend]
    policy: CheckedPolicy | None = None
    seconds: float = SECONDS

    def __call__(self, result: Result, waiting: WaitingJobs) -> tuple[WaitingReason, ...]:
        """Return a reason for each waiting job; those that time or size exclude are not examined."""
        model, store = result.provenance.model, result.provenance.store
        if model is None or store is None or result.placed is None or not result.has_point or self.seconds <= 0:
            return tuple(WaitingReason(label) for label in waiting.labels)
        limits = MemoryLimits(min(MEMORY, (result.provenance.limits or MemoryLimits()).memory))
        unknown = "not examined"
        try:
            unplanned = structs.replace(store, variables={}, point=None)
            found = _Search(model, unplanned, result, waiting, limits, self).reasons()
        except DiagnosticError as failure:  # the plan is worth more than the reasons
            found = {}
            if any(diagnostic.code == TOO_LARGE_FOR_MEMORY for diagnostic in failure.diagnostics):
                unknown = "not examined: the problem is too large"
        return tuple(found.get(at, WaitingReason(label, text=unknown)) for at, label in enumerate(waiting.labels))


class _Search(PlannedProblem):
    def __init__(
        self, model: CheckedModel, store: ValueStore, result: Result, waiting: WaitingJobs, limits: MemoryLimits,
        settings: WaitingSearch,
    ) -> None:  # fmt: skip
        assert model.placement is not None
        self.settings, self.waiting, self.result = settings, waiting, result
        self.store, self.limits = store, limits
        self.solver = VariantSolver(settings.load, settings.seconds)
        declared = model.variables[model.placement.variable]
        domain = Evaluator(model, store, limits).index_domain(declared.indexing, declared.span)
        place = model.placement.position("job")
        assert place is not None
        counts = domain.counts_of(place, waiting.codes)
        self.has_elements: Bools = counts > 0
        chosen_jobs = (np.cumsum(counts) <= MOST_ELEMENTS) & (np.cumsum(counts > 0) <= MOST_JOBS)
        self.examined: Ints = np.flatnonzero(chosen_jobs & (counts > 0))
        placed, workers = self._planned_elements(domain)
        unknown = np.full(int(max(domain.columns_at(placed)[place].max(initial=0), 0)) + 1, np.nan)
        self.room = ModelRoom(model, store, limits, domain.columns_at(placed), workers, unknown)
        self.room.domain = domain
        kept = np.union1d(placed, domain.positions_with(place, waiting.codes[self.examined]))
        planned = np.zeros(len(kept))
        planned[np.searchsorted(kept, placed)] = workers
        codes = domain.columns_at(kept)
        most = np.ones(len(kept))
        if model.placement.has_gangs:
            most = np.maximum(planned, most_workers(model, store, limits, codes).astype(np.float64))
            most = np.where(planned > CHOSEN, planned, most)
        values = VariableValues(codes, most)
        if not len(self.examined):
            return
        problem = ground(model, store, limits, {declared.name: values})
        self.family = problem.variable(declared.name)
        own = self.family.domain.columns()
        self.planned_values = np.zeros(self.family.size)
        placed, workers = self._planned_elements(self.family.domain)
        self.planned_values[placed] = workers
        order = np.argsort(waiting.codes[self.examined])
        codes_in_order = waiting.codes[self.examined[order]]
        at = np.minimum(np.searchsorted(codes_in_order, own[place]), len(order) - 1)
        owner = self.examined[order[at]]
        self.owner: Ints = np.where(codes_in_order[at] == own[place], owner, -1)  # -1: not of an examined job
        self.candidates: Ints = np.flatnonzero(self.owner >= 0)
        self.problem = with_bounds(problem, self.family.first + self.candidates, lower=0.0)

    def _planned_elements(self, domain: Domain) -> tuple[Ints, Floats]:
        """Return the chosen elements and their values, by labels: the problem of a result may have fewer columns."""
        solved = self.result.solved
        assert solved.point is not None
        family = solved.problem.variable(self._variable)
        values = solved.point[family.slice]
        chosen = np.flatnonzero(values > CHOSEN)
        at = domain.locate(family.domain.columns_at(chosen))
        return at[at >= 0], np.rint(values[chosen[at >= 0]])

    @property
    def _variable(self) -> str:
        model = self.result.provenance.model
        assert model is not None
        assert model.placement is not None
        return model.placement.variable

    def reasons(self) -> dict[int, WaitingReason]:
        """Return the reasons by position of the job; jobs that were not examined are missing."""
        labels = self.waiting.labels
        found = {
            at: WaitingReason(labels[at], NO_WAY, f"no way to run: no element of `{self._variable}`")
            for at in np.flatnonzero(~self.has_elements).tolist()
        }
        if not len(self.examined):
            return found
        violations = excluding_rows(self.problem, self.family, self.candidates)
        blocked = np.zeros(self.family.size, dtype=np.bool_)
        blocked[violations.column] = True
        for at in self.examined.tolist():
            own = np.flatnonzero(self.owner == at)
            gang = self._gang_reason(at) if self.room.placement.has_gangs else None
            if gang is not None:
                found[at] = gang
            elif blocked[own].all():
                found[at] = self._in_words(at, own, violations)
            elif not self.solver.over:
                found[at] = self._solve_with(at, own, own[~blocked[own]])
        return self._with_refusals(found)

    def _gang_reason(self, at: int) -> WaitingReason | None:
        """Why a gang has no room for all of its workers, now or in the empty cluster; None if it has room."""
        room = self.room.of_job(int(self.waiting.codes[at]))
        if room is None:
            return None
        options = room.options
        needed = options.workers[np.unique(options.way, return_index=True)[1]]
        now, empty = (
            np.bincount(options.way, weights=workers).astype(np.int64)
            for workers in (room.cluster.workers_now(options), room.cluster.workers_empty(options))
        )
        if (now >= needed).any():
            return None
        kind, sums, there = (
            (TOO_LARGE, empty, "the empty cluster has") if (empty < needed).all() else (NO_ROOM, now, "there is")
        )
        best = int(np.argmax(sums - needed))
        text = f"{kind}: needs {needed[best]} workers at once, {there} room for {sums[best]}"
        return WaitingReason(self.waiting.labels[at], kind, text, needs=float(needed[best]), free=float(sums[best]))

    def _in_words(self, at: int, own: Ints, violations: ExcludingRows) -> WaitingReason:
        """Describe the row that excludes a job; before it, where capacities are known, what it needs and what is free.

        If places have room for the job, it is a row that excludes one of them.
        """
        label = self.waiting.labels[at]
        reason = self._nearest_row(label, own, violations)
        room = self.room.of_job(int(self.waiting.codes[at])) if self.room.slot_at is None else None
        if room is None:
            return reason
        found = room.cluster.waiting_reason(room.options)
        start = reason.kind
        if found.kind == ROOM and reason.kind == NO_ROOM:
            elements = self.room.domain.locate(self.family.domain.columns_at(own))
            fits = np.isin(elements, room.elements[room.cluster.workers_now(room.options) > 0])
            nearest = self._nearest_row(label, own[fits], violations)
            reason, start = structs.replace(nearest, kind=reason.kind, binds=reason.binds), "excluded"
        elif (reason.kind, found.kind) not in ((NO_ROOM, FULL), (TOO_LARGE, NEVER)):
            return reason
        words = found.lines(short)[0].removeprefix("can never run: ")
        row = reason.text.split(": ", 1)[1]
        return structs.replace(reason, text=f"{start}: {words} ({row})")

    def _with_refusals(self, found: dict[int, WaitingReason]) -> dict[int, WaitingReason]:
        """Add why the policy left jobs that fit. Loading kernels with the first takes no time of others."""
        clock: Deadline | None = None
        for at, reason in found.items():
            if reason.kind == COST and (clock is None or not clock.reason):
                refusal = self._refusal(int(self.waiting.codes[at]))
                clock = clock or Deadline(self.settings.seconds)
                found[at] = structs.replace(reason, text=f"{reason.text}; {refusal}") if refusal else reason
        return found

    # --- single rows -------------------------------------------------------------------------------------------------

    def _nearest_row(self, label: str | int, own: Ints, violations: ExcludingRows) -> WaitingReason:
        """Describe the row that misses least, of the elements of a job that are all excluded."""
        problem, mine = self.problem, np.flatnonzero(np.isin(violations.column, own))
        contested = self._contested_rows()[violations.row[mine]]
        alone = violations.alone[mine]
        excluded_alone = bool(np.isin(own, violations.column[mine][alone]).all())
        needs, free = violations.needs[mine], (violations.most if excluded_alone else violations.free)[mine]
        relevant = alone if excluded_alone else contested & ~alone if (contested & ~alone).any() else ~alone
        preferred = contested | excluded_alone
        order = np.lexsort(((needs - np.maximum(free, 0.0)) / np.maximum(needs, 1e-9), ~preferred, ~relevant))
        best = int(mine[order[0]])
        names = [problem.row_family(int(r)).name for r in violations.row[mine[relevant]].tolist()]
        binds = tuple(name for name, _ in Counter(names).most_common())
        own_binds = tuple(name for name in binds if COMPILER_MARK not in name) or binds
        row = int(violations.row[best])
        family = problem.row_family(row)
        name, unit = entry_name(family, row), "" if family.unit == "1" else family.unit
        needed = with_unit(short(float(violations.needs[best])), unit)
        most, rest = float(max(violations.most[best], 0.0)), float(max(violations.free[best], 0.0))
        if excluded_alone:
            text = f"too large: `{name}` needs {needed}, {with_unit(short(most), unit)} at most"
            return WaitingReason(label, TOO_LARGE, text, own_binds, name, float(violations.needs[best]), most, unit)
        others = [f"`{n}`" for n in own_binds if n != family.name][:MOST_NAMES]
        also = f"; elsewhere {', '.join(others)}" if others else ""
        text = f"no room: `{name}` needs {needed}, {with_unit(short(rest), unit)} free{also}"
        return WaitingReason(label, NO_ROOM, text, own_binds, name, float(violations.needs[best]), rest, unit)

    def _contested_rows(self) -> Bools:
        """The rows with a placed job."""
        matrix, placed = self.problem.matrix, np.zeros(self.problem.columns, dtype=np.bool_)
        placed[self.family.slice] = (self.owner < 0) & (self.problem.upper[self.family.slice] > 0)
        contested = np.zeros(self.problem.rows, dtype=np.bool_)
        contested[matrix.row_of[placed[matrix.columns] & (matrix.values != 0)]] = True
        return contested

    # --- the problem with the job ------------------------------------------------------------------------------------

    def _solve_with(self, at: int, own: Ints, allowed: Ints) -> WaitingReason:
        """Require one of the `allowed` elements of a job; return the change, or the rows that exclude it."""
        label = self.waiting.labels[at]
        forced = self.with_run(self.others_as_planned(own), allowed)
        found = self.solver.solve(forced)
        if found.point is not None:
            return self._costly(at, found)
        if found.status is not Status.INFEASIBLE:
            return WaitingReason(label, text="not examined: time")
        relaxation = self.smallest_relaxation(forced)
        if relaxation is None:
            return WaitingReason(label, CONFLICT, "excluded by several constraints together")
        rows = relaxation.rows.tolist()
        binds = tuple(dict.fromkeys(forced.row_family(r).name for r in rows))
        family = forced.row_family(rows[0])
        amount = float(max(relaxation.below[0], relaxation.above[0]))
        unit = "" if family.unit == "1" else family.unit
        names = [f"`{entry_name(forced.row_family(r), r)}`" for r in rows[:MOST_NAMES]]
        more = f" and {len(rows) - MOST_NAMES} more" if len(rows) > MOST_NAMES else ""
        short_of = f" by {with_unit(short(amount), unit)}" if len(rows) == 1 else ""
        text = f"excluded: it would violate {', '.join(names)}{more}{short_of}"
        return WaitingReason(label, CONFLICT, text, binds, entry_name(family, rows[0]), unit=unit)

    def _costly(self, at: int, found: Solution) -> WaitingReason:
        """Describe by how much the objectives would change with the job."""
        label = self.waiting.labels[at]
        point = found.point
        assert point is not None
        own = np.flatnonzero((self.owner == at) & (point[self.family.slice] > CHOSEN))
        names = [f"`{entry_name(self.family, self.family.first + int(element))}`" for element in own[:MOST_NAMES]]
        more = f" and {len(own) - MOST_NAMES} more" if len(own) > MOST_NAMES else ""
        where = f" with {', '.join(names)}{more}" if names else ""
        if not found.objectives or not self.result.objectives:
            return WaitingReason(label, COST, f"fits{where}")
        before, after = Cost.of(self.result.solved), Cost.of(found)
        changes = [text for text in after.change_text(before).split(" (")[:1] if text]
        change = after.objectives[0][1] - before.objectives[0][1]
        return WaitingReason(label, COST, f"fits{where}: {changes[0]}", change=change)

    def _refusal(self, job: int) -> str:
        """Return why the policy left a job that fits; "" if it is not known."""
        policy = self.settings.policy
        if policy is None:
            return ""
        turn = turn_with(policy, self.store, None, job, self.limits)
        return f"{policy.name}: {turn.wait_reason}" if turn is not None and turn.wait_reason else ""
