"""The linear relaxation of a model, for one element of every class of interchangeable ones.

Let the elements of a class be exchanged in all ways: the mean of the images of a feasible point of the relaxation is
feasible, costs the same, and is equal on all elements of the class. So the quotient (`compiling/symmetry/quotient.py`)
without integrality has the optimum of the complete relaxation. A row of a representative stands there for a row of each
of its n elements: its dual value, divided by n, is one of each of these rows, and together they are optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.symmetry.equivalence_classes import classes_of
from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.compiling.symmetry.quotient import Quotient, candidates, quotient
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel


@dataclass(frozen=True, eq=False)
class LinearRelaxation:
    """`problem` is the quotient, or the complete problem if no elements are interchangeable; integrality is ignored."""

    problem: Problem
    quotient: Quotient | None

    @property
    def copies(self) -> Floats:
        """For each row, how many rows of the complete problem it stands for."""
        if self.quotient is None:
            return np.ones(self.problem.rows)
        return self._sizes(self.quotient.row_class)

    @property
    def column_copies(self) -> Floats:
        """For each column, how many columns of the complete problem it stands for."""
        if self.quotient is None:
            return np.ones(self.problem.columns)
        return self._sizes(self.quotient.column_class)

    def _sizes(self, kinds: Codes) -> Floats:
        assert self.quotient is not None
        return np.where(kinds >= 0, self.quotient.classes.sizes[np.maximum(kinds, 0)], 1).astype(np.float64)


def relaxation_of(model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> LinearRelaxation:
    """Ground the relaxation of a model. Raises DiagnosticError as `ground` does."""
    for declared in candidates(model):
        try:
            classes = classes_of(model, store, declared.name)
            if classes.count < len(store.universes[declared.name].labels):
                small = quotient(model, store, declared.name, classes, limits)
                return LinearRelaxation(small.problem, small)
        except Obstacle:
            continue  # `explain` shows the reason
    return LinearRelaxation(ground(model, structs.replace(store, variables={}), limits), None)
