"""The results of aggregation as lines of `explain`."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
from gpusched_dsl.compiling.passes.names import AGGREGATION
from gpusched_dsl.compiling.passes.steps import Note


def aggregation_notes(aggregated: AggregatedProblem) -> tuple[Note, ...]:
    """One note for every component of columns that was replaced."""
    quotient = aggregated.quotient
    notes = []
    for part in aggregated.parts:
        size = int(quotient.classes.sizes[part.component.kind])
        columns, rows = size * len(part.component.columns), size * len(part.component.rows)
        family = quotient.problem.column_family(int(part.component.columns[0]))
        new_rows = sum(r.domain.size for r in part.rows)
        label = quotient.universe.labels[int(np.flatnonzero(quotient.classes.of == part.component.kind)[0])]
        term = f"{quotient.root} like {label}" if quotient.classes.count > 1 else quotient.root
        notes.append(
            Note(
                AGGREGATION,
                term,
                part.effect,
                columns,
                rows=new_rows - rows,
                columns=part.size - columns,
                span=family.span,
            )
        )
    return tuple(notes)
