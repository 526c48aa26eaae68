"""The values of expressions that move in steps within finite bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import INTEGRALITY

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Affines


MOST = 1024  # values of an expression that are listed
# How far outside its bounds, in steps, a value may lie.
BEYOND = INTEGRALITY


class ArgumentValues(Struct, frozen=True, eq=False):
    """Expression i has the values `first[i] + k * step[i]`, k = 0 .. counts[i] - 1; count 0: they are not known."""

    first: Floats
    counts: Codes
    step: Floats

    def take(self, rows: Codes) -> ArgumentValues:
        return ArgumentValues(self.first[rows], self.counts[rows], self.step[rows])

    def list_values(self) -> tuple[Codes, Floats]:
        """All values, those of expression i at `starts[i] .. starts[i+1]-1`."""
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.counts)))
        return starts, np.repeat(self.first, self.counts) + np.repeat(self.step, self.counts) * ranges(self.counts)


def argument_values(affines: Affines, low: Floats, high: Floats, units: Bools | Floats) -> ArgumentValues:
    """The values within `low .. high` of expressions with at most `MOST` of them; `units` as in `steps_of`."""
    steps = steps_of(affines, units)
    usable = (steps > 0) & np.isfinite(low) & np.isfinite(high)
    step = np.where(usable, steps, 1.0)
    with np.errstate(invalid="ignore"):
        first = np.ceil((low - affines.constants) / step - BEYOND)
        last = np.floor((high - affines.constants) / step + BEYOND)
        usable &= last - first < MOST
    counts = np.where(usable, np.maximum(last - first + 1, 0), 0).astype(np.int64)
    return ArgumentValues(np.where(usable, affines.constants + step * first, 0.0), counts, step)
