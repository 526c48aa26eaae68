"""From the workers of jobs on nodes to gangs: whether all workers of a job are placed, its pace and its cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import CheckedBound, CheckedModel, CheckedPlacement, CheckedVariable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CODE = "GSM7011"


class GangRows(Struct, frozen=True, eq=False):
    """The chosen elements of a placement with `workers`, by job; with slots, a job is a gang in each slot.

    `first`: the first row of each gang, `of_job`: the number of the gang of each row, `workers`: those on its node.
    `slowdown` of each gang: the factor of `lasts` for its nodes and racks.
    """

    first: Ints
    of_job: Ints
    workers: Floats
    slowdown: Floats

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of each job, for each row."""
        found: Floats = np.maximum.reduceat(values, self.first)[self.of_job] if len(values) else values
        return found

    def smallest(self, values: Floats) -> Floats:
        """Return the smallest value of each job, for each row."""
        found: Floats = np.minimum.reduceat(values, self.first)[self.of_job] if len(values) else values
        return found


def gang_order(placement: CheckedPlacement, columns: Sequence[Codes]) -> Ints:
    """Return the order of elements by job, then by slot; elements of one gang stay in their order."""
    job, slot = placement.position("job"), placement.position("slot")
    if slot is None:
        return np.argsort(columns[job or 0], kind="stable")
    return np.lexsort((columns[slot], columns[job or 0]))


def begins_gang(placement: CheckedPlacement, columns: Sequence[Codes]) -> Bools:
    """Return which elements, in the order of `gang_order`, are the first of a gang."""
    new = np.zeros(len(columns[0]), dtype=np.bool_)
    new[:1] = True
    for at in (placement.position("job"), placement.position("slot")):
        if at is not None:
            new[1:] |= columns[at][1:] != columns[at][:-1]
    return new


def gang_rows(evaluator: PlacementEvaluator, columns: Sequence[Codes], values: Floats) -> GangRows:
    """Return the gangs of chosen elements, in the order of `gang_order`.

    Raises DiagnosticError (GSM7011) if a plan has a part of a gang, or a gang in several ways.
    """
    placement = evaluator.placement
    job_at, node_at = placement.position("job"), placement.position("node")
    assert job_at is not None
    assert node_at is not None
    frame, workers = evaluator.frame(columns), np.rint(values)
    new = begins_gang(placement, columns)
    first, of_job = np.flatnonzero(new), np.cumsum(new) - 1
    for at, column in enumerate(columns):
        wrong = np.flatnonzero(column != column[first][of_job]) if at != node_at else np.zeros(0, dtype=np.int64)
        if len(wrong):
            job = _label(evaluator, job_at, columns, int(wrong[0]))
            message = f"the plan runs the gang `{job}` in several ways at once{_slot_text(evaluator, columns, wrong)}"
            help = f"let the model choose one `{placement.indices[at].name}` for each job"
            raise DiagnosticError([Diagnostic(CODE, message, placement.span, help=help)])
    needed = evaluator.gang_workers(frame)[first]
    placed = np.bincount(of_job, weights=workers, minlength=len(first))
    if (parts := np.flatnonzero(placed != needed)).size:
        row = int(first[parts[0]])
        job, all_of = _label(evaluator, job_at, columns, row), int(needed[parts[0]])
        message = f"the plan runs {int(placed[parts[0]])} of {all_of} workers of the gang `{job}`"
        message += _slot_text(evaluator, columns, first[parts])
        help = f"let the model place all or none: `sum[n in Nodes] {placement.variable}[j, n] == need[j] * runs[j]`"
        raise DiagnosticError([Diagnostic(CODE, message, placement.span, "workers of these gangs", help=help)])
    return GangRows(first, of_job, workers, slowdowns(evaluator, frame, first, of_job))


def slowdowns(evaluator: PlacementEvaluator, frame: Frame, first: Ints, of_job: Ints) -> Floats:
    """Return the factor of `lasts` of each gang, from its numbers of nodes and racks; rows are by job."""
    nodes = np.bincount(of_job, minlength=len(first))
    racks = evaluator.racks(frame)
    across = np.zeros(len(first), dtype=np.bool_)
    if racks is not None and len(first):
        across = np.maximum.reduceat(racks, first) != np.minimum.reduceat(racks, first)
    of_nodes, of_racks = evaluator.gang_factors(frame.take(first))
    found: Floats = np.where(across, of_racks, np.where(nodes > 1, of_nodes, 1.0))
    return found


def upper_bounds(variable: CheckedVariable) -> tuple[CheckedBound, ...]:
    """Return the stated upper bounds of a variable."""
    return tuple(bound for bound in variable.bounds if bound.op in ("<=", "<", "=="))


def most_workers(model: CheckedModel, store: ValueStore, limits: MemoryLimits, columns: Sequence[Codes]) -> Ints:
    """Return the most workers on one node of elements of the placement's family: by their bounds, and all of the job.

    Raises DiagnosticError (GSM3020) for numbers of workers that cannot be.
    """
    evaluator = PlacementEvaluator(model, store, limits)
    variable = model.variables[evaluator.placement.variable]
    found = evaluator.gang_workers(evaluator.frame(columns)).astype(np.float64)
    if variable.kind == "binary":
        found = np.minimum(found, 1.0)
    frame = Frame(len(columns[0]), dict(zip(variable.indexing.variables, columns, strict=True)))
    for bound in upper_bounds(variable):
        values = evaluator.ev.number_column(bound.value, frame)
        found = np.minimum(found, np.ceil(values) - 1 if bound.op == "<" else np.floor(values + ROUNDING))
    return np.maximum(found, 0.0).astype(np.int64)


def _slot_text(evaluator: PlacementEvaluator, columns: Sequence[Codes], rows: Ints) -> str:
    """Return the slot of the first of some rows, for a message; "" without slots."""
    at = evaluator.placement.position("slot")
    return "" if at is None else f" in slot {_label(evaluator, at, columns, int(rows[0]))}"


def _label(evaluator: PlacementEvaluator, at: int, columns: Sequence[Codes], row: int) -> object:
    component = evaluator.store.component(evaluator.placement.indices[at].type)
    code = int(columns[at][row])
    return code if component is None else component.labels[code]
