"""The cost of a plan with one job elsewhere: the plan fixed in the model, the job forced to run or to wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import values_at
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.explaining.conflict_diagnostics import MOST_CHANGES
from gpusched_dsl.explaining.decisions.planned import Cost, PlannedProblem
from gpusched_dsl.explaining.row_text import RowText, short
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.ir.variants import with_fixed
from gpusched_dsl.language.checked import Role
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.online.loops.inspection import Moment
from gpusched_dsl.solving.variants.solver import VariantSolver

MOST_ALTERNATIVES = 12


@dataclass(frozen=True, eq=False)
class ForcedDecision:
    """The result of a forced decision: `cost` and `entries` of the job, or the conflicting rows, as far as known in
    time.

    `moves` are the entries of other jobs that change, as `before -> after`.
    """

    cost: Cost | None
    entries: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()  # what would have to give way, and the row with its numbers
    row_names: tuple[str, ...] = ()  # of the same rows


@dataclass(eq=False)
class CounterfactualProblem(PlannedProblem):
    """The problem of a moment, with all elements of the placement's family that the job may have."""

    moment: Moment
    job: int
    solver: VariantSolver
    limits: MemoryLimits = field(default_factory=MemoryLimits)

    def __post_init__(self) -> None:
        instance = self.moment.instance
        model = instance.scenario.model
        placement = model.placement
        assert placement is not None
        store = structs.replace(instance.store, variables={}, point=None)
        self.problem = ground(model, store, self.limits)
        self.family = self.problem.variable(placement.variable)
        columns = self.family.domain.columns()

        def codes(role: Role) -> Codes | None:
            at = placement.position(role)
            return None if at is None else columns[at]

        of_job, of_node, slot = codes("job"), codes("node"), codes("slot")
        assert of_job is not None
        self.all_own_elements = np.flatnonzero(of_job == self.job)
        self.of_job = of_job
        now = np.ones(len(of_job), dtype=np.bool_)
        if slot is not None and self.moment.slot is not None:
            now = slot == self.moment.slot
        self.own_elements = np.flatnonzero((of_job == self.job) & now)  # those that mean that it runs now
        given = self.moment.values.get(placement.variable)
        planned = np.zeros(self.family.size) if given is None else values_at(self.family.domain, given)
        self.planned_values = np.rint(planned) if self.problem.integer[self.family.slice].all() else planned
        self.configurations = self._configurations(columns, of_node)

    def _configurations(self, columns: tuple[Codes, ...], of_node: Codes | None) -> list[Codes]:
        """The job's elements, those together that differ in nothing but nodes of one kind, or of a gang of one rack."""
        from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
        from gpusched_dsl.compiling.evaluation.frames import Frame
        from gpusched_dsl.compiling.placement import type_codes

        model = self.moment.instance.scenario.model
        placement = model.placement
        assert placement is not None
        labels = [column[self.own_elements] for column in columns if column is not of_node]
        # A gang may have several nodes: of one rack, if there are racks.
        kind = placement.value("rack" if placement.has_gangs else "node_type")
        if kind is not None:
            frame = Frame(
                len(self.own_elements),
                {i: c[self.own_elements] for i, c in zip(placement.indices, columns, strict=True)},
            )
            ev = Evaluator(model, self.moment.instance.store, self.limits)
            labels.append(type_codes(ev, kind, frame)[0])
        elif of_node is not None and not placement.has_gangs:
            labels.append(of_node[self.own_elements])
        if not len(self.own_elements):
            return []
        _, group = np.unique(np.stack(labels, axis=1), axis=0, return_inverse=True)
        return [self.own_elements[group.reshape(-1) == g] for g in range(int(group.max()) + 1)]

    # --- problems ----------------------------------------------------------------------------------------------------

    @property
    def runs(self) -> bool:
        """Whether the job runs in the plan."""
        return bool((self.planned_values[self.own_elements] > CHOSEN).any())

    def entry(self, at: int) -> str:
        return entry_name(self.family, self.family.first + at)

    def restrict_job(self, allowed: Codes, *, others: bool = True) -> Problem:
        """Restrict the job to the elements `allowed`; `others`: all other jobs are as planned."""
        problem = self.others_as_planned(self.all_own_elements) if others else self.problem
        return with_fixed(problem, self.family.first + np.setdiff1d(self.own_elements, allowed), 0.0)

    # --- what is asked -----------------------------------------------------------------------------------------------

    def evaluate_plan(self) -> ForcedDecision:
        """Return the plan itself, with its open values optimised."""
        found = self.solver.solve(with_fixed(self.problem, self.family.slice, self.planned_values))
        return ForcedDecision(None if found.point is None else Cost.of(found), self._entries(self.planned_values))

    def force_waiting(self) -> ForcedDecision:
        """The job does not run, all others as planned."""
        return self._force(self.restrict_job(np.zeros(0, dtype=np.int64)))

    def force_running(self, allowed: Codes, *, others: bool = True, why: bool = True) -> ForcedDecision:
        """Require one of these elements; `others`: all other jobs are as planned; `why`: find the conflicting rows."""
        problem = self.restrict_job(allowed, others=others)
        return self._force(self.with_run(problem, allowed), why=why)

    def _force(self, problem: Problem, *, why: bool = True) -> ForcedDecision:
        found = self.solver.solve(problem)
        if found.point is None:
            names, rows = self._conflict(problem) if why else ((), ())
            return ForcedDecision(None, rows=rows, row_names=names)
        point = found.point[self.family.slice]
        return ForcedDecision(Cost.of(found), self._entries(point), self._moves(point))

    def _entries(self, values: Floats) -> tuple[str, ...]:
        """The chosen elements of the job, those of a gang with the number of its workers there."""
        chosen = self.own_elements[values[self.own_elements] > CHOSEN].tolist()
        placement = self.moment.instance.scenario.model.placement
        if placement is None or not placement.has_gangs:
            return tuple(self.entry(at) for at in chosen)
        return tuple(f"{self.entry(at)} = {round(values[at])}" for at in chosen)

    def _moves(self, point: Floats) -> tuple[str, ...]:
        """Return the other jobs with elements that differ from the plan."""
        moves = []
        differs = (point > CHOSEN) != (self.planned_values > CHOSEN)
        for job in np.unique(self.of_job[differs]).tolist():
            if job != self.job:
                own = np.flatnonzero(self.of_job == job)
                before, after = (own[values[own] > CHOSEN].tolist() for values in (self.planned_values, point))
                moves.append(f"{self._entries_text(before)} -> {self._entries_text(after)}")
        return tuple(moves)

    def _entries_text(self, at: Sequence[int]) -> str:
        return ", ".join(self.entry(i) for i in at[:3]) + (", ..." if len(at) > 3 else "") if at else "waits"

    def _conflict(self, problem: Problem) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """Return the smallest relaxation: the names of rows, and the change of each with the row."""
        least = self.smallest_relaxation(problem)
        if least is None:
            return (), ()
        names, changes = [], []
        for k, row in enumerate(least.rows[:MOST_CHANGES].tolist()):
            family = problem.row_family(row)
            amount = max(float(least.below[k]), float(least.above[k]))
            names.append(entry_name(family, row))
            change = f"`{names[-1]}` by {with_unit(short(amount), family.unit)}"
            changes.append((change, str(RowText.of(problem, row))))
        return tuple(names), tuple(changes)
