"""Ascending positions as pieces of consecutive ones: a piece is copied much faster than its values are gathered."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Codes, Values

_SHORT = 128  # positions per piece below which values are gathered


class Pieces(Struct, frozen=True, eq=False, dict=True):
    """The positions `starts[i], ..., stops[i] - 1` of all pieces, none of them empty."""

    starts: Codes
    stops: Codes

    @staticmethod
    def of_groups(starts: Codes, groups: Codes) -> Pieces:
        """Return the positions of some groups, ascending; group g has those from `starts[g]` up to `starts[g + 1]`."""
        first, end = starts[groups], starts[groups + 1]
        filled = first < end
        first, end = first[filled], end[filled]
        is_gap = first[1:] != end[:-1]
        return Pieces(first[np.append(True, is_gap)[: len(first)]], end[np.append(is_gap, True)[: len(end)]])

    @cached_property
    def size(self) -> int:
        return int((self.stops - self.starts).sum())

    @cached_property
    def positions(self) -> Codes:
        counts = self.stops - self.starts
        return np.repeat(self.starts, counts) + ranges(counts)

    def take(self, values: Values) -> Values:
        """Return the values at these positions, as a copy."""
        if self.size < _SHORT * len(self.starts) or not self.size:
            gathered: Values = values[self.positions]
            return gathered
        pieces = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return np.concatenate([values[start:stop] for start, stop in pieces])
