"""Gangs that rows of the model place: `worker[j, n] == held[j, n]` for the jobs that run.

Theorem. Let the only side rows be pins `x_e == v_e`, with v_e > 0 on the elements of whole gangs and v_e = 0 only on
other elements of these. A schedule that runs these gangs there, and any others elsewhere, satisfies all of them. So no
row is asked for a place, and the places of jobs need no columns.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.tolerances import INTEGRALITY
from gpusched_dsl.language.checked import CheckedModel, IndexRef
from gpusched_dsl.policies.covers import pin_of
from gpusched_dsl.policies.gangs.reader import GangCluster
from gpusched_dsl.policies.gangs.schedule_errors import errors_of
from gpusched_dsl.policies.gangs.workload import GangSchedule
from gpusched_dsl.policies.rows.problem import side_model
from gpusched_dsl.policies.workload import NONE


def with_pinned_gangs(
    model: CheckedModel, gangs: GangCluster, start: GangSchedule, store: ValueStore, limits: MemoryLimits
) -> GangSchedule | None:
    """Return a schedule with the gangs that pins place, beside those of `start`, so that all pins are satisfied.

    None where there are no pins, or no such schedule: a part of a gang, or nodes without room. Then the rows are asked
    as all others. Raises DiagnosticError as evaluation does.
    """
    pins = side_model(model).pins
    if not pins:
        return None
    cells = [_cells(model, name, gangs, store, limits) for name in model.constraints if name in pins]
    columns = tuple(np.concatenate([codes[at] for codes, _ in cells]) for at in range(len(cells[0][0])))
    values = np.concatenate([found for _, found in cells])
    if (np.abs(values - np.rint(values)) > INTEGRALITY).any() or (values < -INTEGRALITY).any():
        return None
    job, node, way = gangs.cluster.places_of(columns)
    workers = np.rint(values).astype(np.int64)
    placed = workers > 0
    if (way[placed] == NONE).any():
        return None
    has_pin = np.zeros(len(start.runs), dtype=np.bool_)
    has_pin[job[placed]] = True
    closed = job[~placed]
    if not has_pin[closed[closed != NONE]].all():
        return None
    job, node, way, workers = job[placed], node[placed], way[placed], workers[placed]
    rows = slice(0, int(start.rows[0]))
    keeps = ~has_pin[start.job[rows]]
    columns_of_start = (start.job[rows], start.node[rows], start.way[rows], start.workers[rows])
    found = gangs.empty_schedule()
    count = int(keeps.sum()) + len(job)
    if count > len(found.job):
        return None
    given = zip(
        (found.job, found.node, found.way, found.workers), columns_of_start, (job, node, way, workers), strict=True
    )
    for array, before, added in given:
        array[:count] = np.concatenate((before[keeps], added))
    found.runs[found.job[:count]] = True
    found.rows[0] = count
    return None if errors_of(gangs.work, found) else found


def _cells(
    model: CheckedModel, name: str, gangs: GangCluster, store: ValueStore, limits: MemoryLimits
) -> tuple[tuple[Codes, ...], Floats]:
    """Return the elements of the placement's family whose values a constraint states, and these."""
    constraint = model.constraints[name]
    pin = pin_of(constraint, gangs.cluster.placement)
    assert pin is not None
    element, value = pin
    evaluator = Evaluator(model, store, limits)
    domain = evaluator.index_domain(constraint.indexing, constraint.span)
    indices = constraint.indexing.variables
    columns = dict(zip(indices, domain.columns(), strict=True))
    own = tuple(columns[s.variable] for s in element.subscripts if isinstance(s, IndexRef))
    return own, evaluator.number_column(value, Frame(domain.size, columns))
