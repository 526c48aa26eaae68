"""Splits the columns of interchangeable elements into components that no row of an element connects.

Columns that are in no row of their element would be components of one column each. They are kept together, 0/1 columns
and continuous ones apart: every treatment that is exact for each of them is exact for all, and there may be thousands.
Of the treatments of a component, the first that proves itself exact is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem, assemble
from gpusched_dsl.compiling.interchangeable.generic import Obstacle, OutOfBudget
from gpusched_dsl.compiling.interchangeable.means import by_means
from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent, Component, Treatment
from gpusched_dsl.compiling.interchangeable.patterns import by_patterns
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Codes, unique
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.language.source import Span

# Components that are looked at: so many, and one more for so many columns of all elements.
FEW = 200
A_COMPONENT = 50


def _by_counts(small: Quotient, component: Component) -> AggregatedComponent:
    from gpusched_dsl.compiling.interchangeable.counts import by_counts  # the last resort, and a large one

    return by_counts(small, component)


# Tried in this order on every component.
TREATMENTS: Mapping[str, Treatment] = {
    "aggregated by means": by_means,
    "aggregated by patterns": by_patterns,
    "aggregated by counts per slot": _by_counts,
}


def aggregate_components(small: Quotient) -> AggregatedProblem:
    """Treat each component of the interchangeable elements, and assemble the results. Raises Obstacle."""
    # Neither terms nor rows under a condition: a plan by element has no truths that a solver chose.
    if not small.problem.is_linear:
        raise Obstacle("the problem has nonlinear terms", _nonlinear_place(small))
    return assemble(small, [_aggregate_component(small, component) for component in components_of(small)])


def _aggregate_component(small: Quotient, component: Component) -> AggregatedComponent:
    refused: dict[str, Obstacle] = {}
    for description, treatment in TREATMENTS.items():
        try:
            return treatment(small, component)
        except Obstacle as obstacle:
            refused[description] = obstacle.kept()
    if not small.problem.integer[component.columns].any():
        raise refused["aggregated by means"].kept()
    del refused["aggregated by means"]
    reasons = "; ".join(f"they cannot be {description} because {obstacle}" for description, obstacle in refused.items())
    kind = OutOfBudget if any(isinstance(o, OutOfBudget) for o in refused.values()) else Obstacle
    raise kind(reasons, next(reversed(refused.values())).span)


def _nonlinear_place(small: Quotient) -> Span | None:
    problem = small.problem
    guarded = (problem.row_family(int(row)).span for row in problem.conditions.rows[:1])
    return next((span for span in (*(d.span for d in problem.definitions), *guarded) if span is not None), None)


def components_of(quotient: Quotient) -> list[Component]:
    """The components of all classes of more than one element, in the order of their first columns.

    Raises Obstacle where there are more than are worth it: each takes a few milliseconds.
    """
    matrix = quotient.problem.matrix
    many = quotient.classes.sizes > 1
    local = (quotient.column_class >= 0) & many[np.maximum(quotient.column_class, 0)]
    at = np.flatnonzero(local[matrix.columns] & (quotient.row_class[matrix.row_of] >= 0))
    rows, columns = matrix.row_of[at].astype(np.int64), matrix.columns[at].astype(np.int64)
    count = quotient.problem.columns
    label = connected_components(count + quotient.problem.rows, columns, count + rows)
    label = _together(quotient, np.flatnonzero(local), columns, label)
    numbers = np.flatnonzero(local)
    order = numbers[np.argsort(label[numbers], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(order) else []
    if len(parts) > FEW + quotient.full_size.columns // A_COMPONENT:
        what = f"one element of `{quotient.root}` splits into {len(parts):,} components, too many to examine"
        raise Obstacle(what, quotient.problem.column_family(int(parts[0][0])).span)
    used = unique(rows)
    rows_of = used[np.argsort(label[count + used], kind="stable")]
    names = label[count + rows_of]
    result = []
    for part in parts:
        name = label[part[0]]
        begin, end = np.searchsorted(names, (name, name + 1))
        found = Component(int(quotient.column_class[part[0]]), part, np.sort(rows_of[begin:end]))
        result.append(found)
    return sorted(result, key=lambda c: int(c.columns[0]))


def _together(quotient: Quotient, numbers: Codes, columns: Codes, label: Codes) -> Codes:
    """Labels of components in which the columns `numbers` that are in no row (not in `columns`) share some."""
    problem = quotient.problem
    connected = np.zeros(problem.columns, dtype=np.bool_)
    connected[columns] = True
    alone = numbers[~connected[numbers]]
    binary = problem.integer[alone] & (problem.lower[alone] == 0) & (problem.upper[alone] == 1)
    able = binary | ~problem.integer[alone]
    alone, binary = alone[able], binary[able]
    found = label.astype(np.int64)
    found[alone] = label.max(initial=0) + 1 + 2 * quotient.column_class[alone] + binary
    return found
