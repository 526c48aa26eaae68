"""Piecewise-linear functions of affine expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.definitions.base import Block, Definition
from gpusched_dsl.ir.definitions.curves import Curves
from gpusched_dsl.ir.definitions.intervals import Interval, loosen, loosen_arguments
from gpusched_dsl.ir.definitions.piecewise_pieces import LinearPieces, pieces_of
from gpusched_dsl.ir.json.arrays import (
    Broken,
    Number,
    Unwritable,
    check_length,
    check_starts,
    finite_array,
    finite_numbers,
    numbers,
)
from gpusched_dsl.ir.tolerances import ROUNDING

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution


class CurvesFile(msgspec.Struct, forbid_unknown_fields=True):
    """Piecewise-linear functions through the points `starts[c] .. starts[c+1] - 1`; beyond them the slopes go on.

    `errors` bound how far each may lie from the function it stands for.
    """

    starts: list[Number]
    x: list[float]
    y: list[float]
    slope_before: list[float]
    slope_after: list[float]
    errors: list[float]

    def check(self, place: str) -> None:
        """Raise Broken unless each curve has points from left to right, slopes and an error."""
        starts = check_starts(self.starts, len(self.x), f"{place}.starts", least=1)
        check_length(self.y, len(self.x), f"{place}.y", f"{place}.x")
        for name, values in (("x", self.x), ("y", self.y)):
            finite_array(values, f"{place}.{name}")
        each = (("slope_before", self.slope_before), ("slope_after", self.slope_after), ("errors", self.errors))
        for name, values in each:
            check_length(values, len(starts) - 1, f"{place}.{name}", f"{place}.starts, less one")
            finite_array(values, f"{place}.{name}")
        curve_of: Codes = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
        if ((np.diff(np.array(self.x, dtype=np.float64)) <= 0) & (np.diff(curve_of) == 0)).any():
            raise Broken(f"{place}.x does not increase within a curve")

    def curves(self) -> Curves:
        values = (self.x, self.y, self.slope_before, self.slope_after, self.errors)
        return Curves(np.array(self.starts, dtype=np.int64), *(np.array(v, dtype=np.float64) for v in values))


class PiecewiseBlock(Block, tag="piecewise"):
    """Entry i is curve `which[i]` at argument i."""

    which: list[Number]
    curves: CurvesFile

    def check(self, place: str, laws: int, binary: Bools) -> None:
        Block.check(self, place, laws, binary)
        self.curves.check(f"{place}.curves")
        check_length(self.which, len(self.results), f"{place}.which", "results")
        numbers(self.which, len(self.curves.starts) - 1, f"{place}.which", "curve")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Piecewise(**common, which=np.array(self.which, dtype=np.int64), curves=self.curves.curves())


@dataclass(frozen=True, eq=False)
class Piecewise(Definition):
    """A piecewise-linear function of one argument: entry i uses curve `which[i]`."""

    which: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    curves: Curves | None = None

    op: ClassVar[str] = "piecewise"
    block: ClassVar[type[Block] | None] = PiecewiseBlock
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {
        "piecewise": ("not convex in this place", "linear rows need integer variables for it")
    }

    def evaluate(self, arguments: Floats) -> Floats:
        assert self.curves is not None
        return self.curves.values(self.which, arguments)

    def pieces(self, low: Floats, high: Floats, down: Bools, up: Bools) -> LinearPieces:
        """The pieces that meet the ranges `low .. high` of the arguments (ends may be infinite).

        `down[i]`: `result >= f` is needed in entry i; `up[i]`: `result <= f` is.
        """
        assert self.curves is not None
        return pieces_of(self.curves, self.which, low, high, down, up)

    def image(self, low: Floats, high: Floats) -> Interval:
        """The ends of the interval and the points of the curve between them; beyond, curves go on straight."""
        curves, which = self.curves, self.which
        assert curves is not None
        counts = np.diff(curves.starts)[which]
        entry = np.repeat(np.arange(len(which)), counts)
        first = np.concatenate(([0], np.cumsum(counts)))[:-1]
        point = np.arange(len(entry)) + np.repeat(curves.starts[which] - first, counts)
        inside = (curves.x[point] >= low[entry]) & (curves.x[point] <= high[entry])
        y = curves.y[point]
        small = np.minimum.reduceat(np.where(inside, y, np.inf), first) if len(which) else np.zeros(0)
        large = np.maximum.reduceat(np.where(inside, y, -np.inf), first) if len(which) else np.zeros(0)
        for end, slopes in ((low, -curves.slope_before[which]), (high, curves.slope_after[which])):
            beyond = np.where(slopes > 0, np.inf, np.where(slopes < 0, -np.inf, np.nan))
            value = np.where(np.isinf(end), beyond, curves.values(which, np.where(np.isinf(end), 0.0, end)))
            small, large = np.fmin(small, value), np.fmax(large, value)
        return loosen(small, large)

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval:
        """The hull of the parts of all pieces whose values lie in `small .. large`."""
        curves, which = self.curves, self.which
        assert curves is not None
        counts = np.diff(curves.starts)[which] + 1  # pieces: before each point, and after the last one
        entry = np.repeat(np.arange(len(which)), counts)
        first = np.concatenate(([0], np.cumsum(counts)))[:-1]
        at = np.arange(len(entry)) - first[entry]
        is_first, is_last = at == 0, at == counts[entry] - 1
        point = np.maximum(at - 1, 0) + curves.starts[which][entry]  # the left end of the piece; the first has none
        follows = np.where(is_last, point, np.where(is_first, point, point + 1))
        x, y = curves.x[point], curves.y[point]
        run = np.where(follows > point, curves.x[follows] - x, 1.0)
        slope = np.where(follows > point, (curves.y[follows] - y) / run, 0.0)
        slope = np.where(is_first, curves.slope_before[which][entry], slope)
        slope = np.where(is_last, curves.slope_after[which][entry], slope)
        left = np.maximum(np.where(is_first, -np.inf, x), low[entry])
        right = np.minimum(np.where(is_last, np.inf, np.where(is_first, x, curves.x[follows])), high[entry])
        least, most, flat = small[entry], large[entry], slope == 0
        slack = ROUNDING * np.maximum(1.0, np.abs(y))
        to_least, to_most = (np.where(flat, np.nan, x + (value - y) / slope) for value in (least, most))
        begin, end = loosen_arguments(np.fmin(to_least, to_most), np.fmax(to_least, to_most))
        begin, end = _at_the_end(np.fmax(begin, left), left, right), _at_the_end(np.fmin(end, right), left, right)
        inside = (begin <= end) & (~flat | ((least - slack <= y) & (y <= most + slack)))
        if not len(which):
            return low, high
        begin = np.minimum.reduceat(np.where(inside, begin, np.inf), first)
        end = np.maximum.reduceat(np.where(inside, end, -np.inf), first)
        none = begin > end  # no value fits: ranges of results tell, not those of arguments
        return np.where(none, -np.inf, begin), np.where(none, np.inf, end)

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        everywhere = np.ones(self.size, dtype=np.bool_)
        pieces = self.pieces(np.minimum(low, high), np.maximum(low, high), everywhere, everywhere)
        rising, falling = np.zeros(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)
        rising[pieces.entry[pieces.slope > 0]] = True
        falling[pieces.entry[pieces.slope < 0]] = True
        return rising, falling

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        yes, no = np.ones(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)
        low, high = np.minimum(low, high), np.maximum(low, high)
        return self.pieces(low, high, yes, no).runs <= 1, self.pieces(low, high, no, yes).runs <= 1

    @property
    def exact_entries(self) -> Bools:
        assert self.curves is not None
        return np.asarray(self.curves.errors[self.which] == 0.0)

    @property
    def is_tabulable(self) -> bool:
        return False

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        curves = self.curves
        if curves is None:
            raise Unwritable("a piecewise-linear term without a curve")
        values = (curves.x, curves.y, curves.slope_before, curves.slope_after, curves.errors)
        file = CurvesFile(curves.starts.tolist(), *(finite_numbers(v) for v in values))
        return PiecewiseBlock(which=self.which.tolist(), curves=file, **common)


def _at_the_end(values: Floats, left: Floats, right: Floats) -> Floats:
    """Values that are an end of their range but for rounding, as that end."""
    near = np.where(np.isinf(values), 0.0, ROUNDING * np.maximum(1.0, np.abs(values)))
    values = np.where(np.abs(values - left) <= near, left, values)
    return np.where(np.abs(values - right) <= near, right, values)
