"""Ranges of results from those of their arguments, and the other way round, by interval arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Floats

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition
    from gpusched_dsl.ir.definitions.intervals import Interval


def image_of(definition: Definition, low: Floats, high: Floats) -> Interval:
    """The smallest and the largest value of each entry, from those of its arguments (`low <= high`)."""
    with np.errstate(all="ignore"):
        return definition.image(low, high)


def arguments_within(definition: Definition, low: Floats, high: Floats, result: Interval) -> Interval | None:
    """Where each argument must lie, given its interval now and that of the results; None: nothing follows.

    `low`, `high` have a value per argument, `result` a value per entry.
    """
    small, large = result[0][definition.entry_of], result[1][definition.entry_of]
    with np.errstate(all="ignore"):
        return definition.preimage(low, high, small, large)
