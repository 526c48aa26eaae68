"""Plans that obey the side rows of a model: rows are asked where a plan could break one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.engine import EngineResult
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.rows.guard import SideRows, side_rows_of
from gpusched_dsl.policies.rows.problem import obeys, reads_other_variables, side_model
from gpusched_dsl.policies.workload import NONE, Schedule, empty_schedule

_MOST_FREED = 3  # plans that are made again because of rows that demand something


class RowsAsked:
    """The side rows of a decision on nodes.

    Where side rows read the placement alone, places are asked from the start. Rows that read other variables often
    follow from roles without a proof in `covers.py` (a node is open where a job runs on it): there the first plan asks
    none, and only if it breaks one, the plan is made again. A pass over a queue gives the same plan either way, since a
    row that allows the plan allows each part of it.

    A row that demands what the plan does not have would only keep jobs from running: the plan is made again without it,
    and is broken.
    """

    def __init__(
        self,
        model: CheckedModel,
        cluster: Cluster,
        store: ValueStore,
        limits: MemoryLimits,
        queue: Ints,
        initial: Schedule | None,
    ) -> None:
        self.cluster, self.store, self.limits, self.queue = cluster, store, limits, queue
        self.start = empty_schedule(cluster.work) if initial is None else initial
        self.model = side_model(model)
        self.any = cluster.placement.variable in self.model.variables
        self.found: SideRows | None = None

    def first_that_obeys(self, plan: Callable[[RowGuard | None], EngineResult]) -> EngineResult:
        """Return the plan that the rows allow. Raises DiagnosticError as `ground` does."""
        if not self.any:
            return plan(None)
        if reads_other_variables(self.model, self.cluster.placement):
            outcome = plan(None)
            if self.obeys(self.values_of(outcome.schedule)):
                return outcome
        self.found = side_rows_of(self.model, self.cluster, self.store, self.limits, self.queue, self.start)
        outcome = plan(self.found.guard)
        for _ in range(_MOST_FREED):
            row = self.found.unmet(outcome.schedule)
            if row == NONE:
                break
            self.found = self.found.without(row)
            outcome = plan(self.found.guard)
        return outcome

    def obeys(self, values: Mapping[str, VariableValues]) -> bool:
        """Whether a plan breaks no side row, as far as propagation finds out."""
        return not self.any or obeys(self.model, self.store, self.limits, values)

    def values_of(self, schedule: Schedule) -> dict[str, VariableValues]:
        """Return the values of the placement's variable."""
        codes = self.cluster.selected_elements(schedule.node, schedule.way)
        return {self.cluster.placement.variable: VariableValues(codes, np.ones(len(codes[0])))}

    def statistics(self) -> dict[str, float]:
        """Return how many rows were asked, and how many of them the running jobs break; nothing if none was."""
        if self.found is None:
            return {}
        return {"side_rows": float(self.found.side.source.rows), "relaxed_rows": float(self.found.relaxed.sum())}
