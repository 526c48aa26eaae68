"""Which jobs a plan of an event moves: the decisions of the placement that it leaves and takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import decode_column
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.variants.same import Symmetry, choose_compared, interchangeable_sets

SCHEMA = {"job": pl.String, "place": pl.String, "slot": pl.Int64, "with_event": pl.Boolean}


class Moves:
    """Compares plans of one day with its baseline, up to the names of interchangeable elements."""

    def __init__(self, built: Built, slots: str) -> None:
        placement, store = built.scenario.model.placement, built.instance.store
        self._symmetry: Symmetry | None = None
        if placement is None or placement.position("job") is None:
            return
        try:
            compared = choose_compared(built.problem, built.scenario.model, (placement.variable,))
        except DiagnosticError:  # fractions of jobs do not move
            return
        self._symmetry = Symmetry(compared, interchangeable_sets(built.scenario.model, store))
        self._family = compared.families[0]
        components = self._family.domain.components
        self._job = placement.position("job")
        self._slot = next(at for at, c in enumerate(components) if c is store.universes[slots])
        self._places = [at for at in range(len(components)) if at not in (self._job, self._slot)]

    def between(self, baseline: Floats, point: Floats) -> pl.DataFrame:
        """Return the decisions that differ, a row for each: `job`, `place`, `slot` (its position), `with_event`.

        Rows with `with_event` are decisions that the baseline does not have, the others are those that it alone has.
        """
        if self._symmetry is None or point is baseline:
            return pl.DataFrame(schema=SCHEMA)
        point = self._symmetry.align(point, baseline)
        before, after = (values[self._family.slice] > CHOSEN for values in (baseline, point))
        differs: Codes = np.flatnonzero(before != after)
        columns = [column[differs] for column in self._family.domain.columns()]
        components = self._family.domain.components
        assert self._job is not None
        places = [[str(label) for label in decode_column(components[at], columns[at])] for at in self._places]
        return pl.DataFrame(
            {
                "job": [str(label) for label in decode_column(components[self._job], columns[self._job])],
                "place": _join_columns(places, len(differs)),
                "slot": columns[self._slot],
                "with_event": after[differs],
            },
            schema=SCHEMA,
        ).sort("job", "with_event", "slot", "place", maintain_order=True)


def _join_columns(columns: Sequence[Sequence[str]], count: int) -> list[str]:
    return [", ".join(row) for row in zip(*columns, strict=True)] if columns else [""] * count
