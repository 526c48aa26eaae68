"""The decisions of the real cluster as plans of a run, so that they are charged and reported like those of a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement, Element, Numeric
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.policies.plan import Plan
from gsdsl_clusters.drivers.protocol import Allocation

NAME = "cluster"
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ObservedStays:
    """Executions as arrays: the job (position in `jobs`), its times by the clock of policies, nodes and GPUs."""

    jobs: Sequence[str]
    job: Codes
    start: Floats
    end: Floats
    allocations: Sequence[Allocation]


def index_columns(
    placement: CheckedPlacement,
    components: Sequence[Component],
    rows: Sequence[tuple[str, str, int]],
    kinds: Mapping[str, str],
    slots: Sequence[str | int] | None = None,
) -> tuple[Codes, ...]:
    """The indices of the placement's family, in codes, for rows of job, node and GPUs.

    `kinds` are node types by node, `slots` those of the rows. An integer index besides the roles is the number of
    GPUs. Raises DiagnosticError (GSM5403) for an index that an observation does not determine, and for an element that
    the model does not have.
    """
    columns = []
    job, node, kind, slot = (placement.position(role) for role in ("job", "node", "node_type", "slot"))
    for at, (variable, component) in enumerate(zip(placement.indices, components, strict=True)):
        if at == job:
            labels: list[str | int] = [row[0] for row in rows]
        elif at == node:
            labels = [row[1] for row in rows]
        elif at == kind and component is not None:
            known = component.labels
            labels = [known[0] if len(known) == 1 else kinds.get(row[1], "") for row in rows]
        elif at == slot and slots is not None:
            labels = list(slots)
        elif isinstance(variable.type, Numeric):
            labels = [row[2] for row in rows]
        else:
            name = variable.type.root if isinstance(variable.type, Element) else variable.name
            message = f"the placement depends on `{name}`, which an observation of the cluster does not show"
            help = "compare with a model whose placement is by job, node, node type and number of GPUs"
            raise DiagnosticError([Diagnostic("GSM5403", message, placement.span, help=help)])
        columns.append(_codes(component, labels))
    return tuple(columns)


def observed_values(evaluator: PlacementEvaluator, columns: Sequence[Codes], gpus: Floats) -> Floats:
    """The values of the placement's family for rows with so many GPUs: workers of a gang, else 1."""
    placement, frame = evaluator.placement, evaluator.frame(columns)
    uses = placement.value("uses")
    if not placement.has_gangs:
        return np.ones(frame.size)
    if uses is None:
        return gpus
    of_worker = evaluator.ev.number_column(uses, frame)
    return np.divide(gpus, of_worker, out=gpus.copy(), where=of_worker > 0)


def gpus_of_rows(evaluator: PlacementEvaluator, columns: Sequence[Codes], values: Floats) -> Floats:
    """The GPUs of rows of the placement's family with these values, the inverse of `observed_values`."""
    placement, uses = evaluator.placement, evaluator.placement.value("uses")
    workers = values if placement.has_gangs else np.ones(len(values))
    return workers if uses is None else workers * evaluator.ev.number_column(uses, evaluator.frame(columns))


@dataclass(eq=False)
class _ObservedPlans:
    """A planner of what the cluster did."""

    model: CheckedModel
    limits: MemoryLimits
    stays: ObservedStays

    @property
    def name(self) -> str:
        return NAME

    @property
    def placement(self) -> CheckedPlacement:
        assert self.model.placement is not None, "runs have one"
        return self.model.placement

    def fresh(self) -> Self:
        return self

    def close(self) -> None:
        pass


@dataclass(eq=False)
class ObservedSlots(_ObservedPlans):
    """Plans what the cluster did, slot by slot: each execution begins with the slot that `first` says.

    `slots` counts those of each execution. Slots are numbered as in the data.
    """

    first: Codes
    slots: Codes

    def plan(self, request: PlanningRequest) -> Plan | None:
        stays, store = self.stays, request.instance.store
        components = [store.component(index.type) for index in self.placement.indices]
        job, slot = self.placement.position("job"), self.placement.position("slot")
        assert job is not None
        assert slot is not None
        jobs, window = components[job], components[slot]
        assert jobs is not None
        assert window is not None
        rows: list[tuple[str, str, int]] = []
        of_rows: list[str | int] = []
        for label in window.labels:
            number = int(label)  # a live run has no other labels
            running = np.flatnonzero((self.first <= number) & (number < self.first + self.slots))
            for at in running.tolist():
                if stays.jobs[stays.job[at]] in jobs.code_of:
                    found = [(stays.jobs[stays.job[at]], node, gpus) for node, gpus in stays.allocations[at].items()]
                    rows += found
                    of_rows += [label] * len(found)
        columns = index_columns(self.placement, components, rows, {}, of_rows)
        gpus = np.array([row[2] for row in rows], dtype=np.float64)
        values = observed_values(PlacementEvaluator(self.model, store, self.limits), columns, gpus)
        return Plan({self.placement.variable: VariableValues(columns, values)}, NAME)


def _codes(component: Component, labels: Sequence[str | int]) -> Codes:
    if component is None:
        return np.array(labels, dtype=np.int64)
    missing = next((label for label in labels if label not in component.code_of), None)
    if missing is not None:
        message = f"the cluster has run a job on `{missing}`, which is not an element of `{component.name}`"
        raise DiagnosticError([Diagnostic("GSM5403", message, help="add it to the scenario")])
    return np.array([component.code_of[label] for label in labels], dtype=np.int64)


@dataclass(eq=False)
class ObservedPlanner(_ObservedPlans):
    """Plans what the cluster did. It requests a plan at every start and end of an execution."""

    kinds: Mapping[str, str]

    def plan(self, request: PlanningRequest) -> Plan | None:
        stays, store = self.stays, request.instance.store
        tolerance = TOLERANCE * max(1.0, abs(request.now))
        components = [store.component(index.type) for index in self.placement.indices]
        position = self.placement.position("job")
        jobs = components[position] if position is not None else None
        assert jobs is not None
        now = np.flatnonzero((stays.start <= request.now + tolerance) & (stays.end > request.now + tolerance))
        present = [at for at in now.tolist() if stays.jobs[stays.job[at]] in jobs.code_of]
        rows = [(stays.jobs[stays.job[at]], n, g) for at in present for n, g in stays.allocations[at].items()]
        columns = index_columns(self.placement, components, rows, self.kinds)
        gpus = np.array([row[2] for row in rows], dtype=np.float64)
        values = observed_values(PlacementEvaluator(self.model, store, self.limits), columns, gpus)
        later = np.concatenate((stays.start, stays.end))
        later = later[later > request.now + tolerance]
        again = None
        if len(later):
            wait = np.array([float(later.min()) - request.now])
            again = VariableValues((np.zeros(1, dtype=np.int64),), wait)
        return Plan({self.placement.variable: VariableValues(columns, values)}, NAME, again=again)
