"""Mixed-integer forms of piecewise-linear terms: rows per piece, the incremental form and the logarithmic form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Piecewise
from gpusched_dsl.ir.definitions.piecewise_pieces import LinearPieces
from gpusched_dsl.ir.domains import Domain, TupleDomain
from gpusched_dsl.ir.problem import Matrix

# Rows, columns and values of some matrix entries.
Part = tuple[Codes, NDArray[np.integer], Floats]


class PiecewiseTerms(Struct, frozen=True, eq=False):
    """Entries of one definition with their pieces; `lower`/`upper`: whether `result >= f` / `result <= f` is needed."""

    definition: Piecewise
    pieces: LinearPieces
    lower: Bools
    upper: Bools
    name: str
    index: Domain

    @property
    def arguments(self) -> Affines:
        return self.definition.arguments

    def sides(self, value: Floats, entry: Codes) -> tuple[Floats, Floats]:
        """The sides of rows that compare results with f, where f has its constant part in `value`."""
        return np.where(self.lower[entry], value, -np.inf), np.where(self.upper[entry], value, np.inf)

    def per(self, entry: Codes, starts: Codes) -> Domain:
        """The index of things counted within entries: that of the entry and a number from 1."""
        number = np.arange(len(entry), dtype=np.int64) - starts[entry] + 1
        return TupleDomain((*self.index.components, None), (*(c[entry] for c in self.index.columns()), number))

    def argument_part(self, entry: Codes, scale: Floats) -> Part:
        """The argument of `entry[r]` times `scale[r]` in row r."""
        taken = self.arguments.matrix.take(entry)
        rows = taken.row_of.astype(np.int64)
        return rows, taken.columns, taken.values * scale[rows]


def matrix_of(rows: int, parts: Sequence[Part]) -> Matrix:
    """Rows from parts that share no place."""
    row = np.concatenate([p[0] for p in parts])
    order = np.argsort(row, kind="stable")
    columns = np.concatenate([p[1] for p in parts])[order].astype(np.int32)
    values = np.concatenate([p[2] for p in parts])[order]
    kept = values != 0.0
    starts = np.concatenate(([0], np.cumsum(np.bincount(row[order][kept], minlength=rows))))
    return Matrix(starts.astype(np.int64), columns[kept], values[kept])


def add_piece_rows(builder: ProblemBuilder, terms: PiecewiseTerms) -> None:
    """`result >= y + slope * (argument - x)` for every piece, or `<=`: exact where one run is all there is."""
    p = terms.pieces
    every = np.arange(len(p.entry), dtype=np.int64)
    matrix = matrix_of(
        len(every),
        [(every, terms.definition.results[p.entry], np.ones(len(every))), terms.argument_part(p.entry, -p.slope)],
    )
    value = p.value_at(terms.arguments.constants[p.entry])
    index, span = terms.per(p.entry, p.starts), terms.definition.span
    builder.add_rows(f"{terms.name}.pieces", index, matrix, *terms.sides(value, p.entry), span)


def add_incremental(builder: ProblemBuilder, terms: PiecewiseTerms) -> None:
    """Fill pieces from left to right; a binary `passed` separates two runs.

        argument = left end + sum width * filled,   result = f(left end) + sum slope * width * filled,
        filled of the run before >= passed >= filled of the run behind.

    Within a run the gainful order is the order of the pieces, so it needs no binary. All vertices are integral
    (the rows on `filled` and `passed` are differences of two columns), so the relaxation is the convex hull.
    """
    p, arguments, results = terms.pieces, terms.arguments, terms.definition.results
    pieces, entries = len(p.entry), len(terms.pieces.starts) - 1
    width, begin = p.right - p.left, p.starts[:-1]

    def filled_at(point: Floats) -> Floats:
        return np.clip((arguments.values(point)[p.entry] - p.left) / width, 0.0, 1.0)

    filled = builder.add_columns(
        f"{terms.name}.filled", terms.per(p.entry, p.starts), 0.0, 1.0, False, filled_at, terms.definition.span
    )
    behind = np.flatnonzero(np.diff(p.run, prepend=0) > 0)  # the first piece of each run but the first of its entry
    entry = p.entry[behind]
    per_entry = np.concatenate(([0], np.cumsum(np.bincount(entry, minlength=entries))))
    index = terms.per(entry, per_entry)

    def passed_at(point: Floats) -> Floats:
        return (arguments.values(point)[entry] >= p.left[behind]).astype(np.float64)

    passed = builder.add_columns(f"{terms.name}.passed", index, 0.0, 1.0, True, passed_at, terms.definition.span)
    every, one = np.arange(entries, dtype=np.int64), np.ones(entries)
    at = np.arange(pieces, dtype=np.int64)
    builder.add_rows(
        f"{terms.name}.argument", terms.index,
        matrix_of(entries, [terms.argument_part(every, one), (p.entry, filled[at], -width)]),
        *(p.left[begin] - arguments.constants,) * 2, terms.definition.span,
    )  # fmt: skip
    builder.add_rows(
        f"{terms.name}.result", terms.index,
        matrix_of(entries, [(every, results, one), (p.entry, filled[at], -width * p.slope)]),
        *terms.sides(p.value_at(p.left)[begin], every), terms.definition.span,
    )  # fmt: skip
    kink_of = per_entry[p.entry] + p.run  # the kink behind each piece's run; the one before it is one less
    _between(builder, terms, "full", at[p.run < np.diff(per_entry)[p.entry]], filled, passed, kink_of, 1.0)
    _between(builder, terms, "empty", at[p.run > 0], filled, passed, kink_of - 1, -1.0)


def _between(
    builder: ProblemBuilder, terms: PiecewiseTerms, what: str, chosen: Codes,
    filled: Int32s, passed: Int32s, kink: Codes, sign: float,
) -> None:  # fmt: skip
    """`sign * (filled - passed) >= 0` for some pieces and the kinks given for them."""
    p, rows, signs = terms.pieces, np.arange(len(chosen), dtype=np.int64), np.full(len(chosen), sign)
    matrix = matrix_of(len(rows), [(rows, filled[chosen], signs), (rows, passed[kink[chosen]], -signs)])
    starts = np.concatenate(([0], np.cumsum(np.bincount(p.entry[chosen], minlength=len(p.starts) - 1))))
    index = terms.per(p.entry[chosen], starts)
    builder.add_rows(f"{terms.name}.{what}", index, matrix, 0.0, np.inf, terms.definition.span)


def add_logarithmic(builder: ProblemBuilder, terms: PiecewiseTerms) -> None:
    """Weights on the points of the pieces; bits name the run in Gray code (Vielma and Nemhauser 2011).

        argument = sum weight * x,   result = sum weight * f(x),   sum weight = 1,
        weights of points whose runs all have bit b set <= bit b,   of those whose runs all have it unset <= 1 - bit b.

    Codes of neighbouring runs differ in one bit, so bits that spell a run leave its points alone; bits that spell
    none leave nothing. Every bit splits the points into two sides of a polytope with integral vertices: the
    relaxation is the convex hull.
    """
    p, arguments, results = terms.pieces, terms.arguments, terms.definition.results
    entries = len(p.starts) - 1
    per_entry = p.starts + np.arange(entries + 1)  # points: the left end of every piece, and the last right end
    own = np.repeat(np.arange(entries, dtype=np.int64), np.diff(per_entry))
    place = np.arange(per_entry[-1], dtype=np.int64) - per_entry[own]
    last = place == p.counts[own]
    piece = np.minimum(p.starts[own] + place, len(p.entry) - 1)
    ending = np.maximum(p.starts[own] + place - 1, p.starts[own])  # the piece that ends at the point
    x = np.where(last, p.right[ending], p.left[piece])
    at_left, at_right = p.value_at(p.left), p.value_at(p.right)
    y = np.where(last, at_right[ending], at_left[piece])

    def weights_at(point: Floats) -> Floats:
        value = arguments.values(point)[own]
        before = np.where(place == 0, -np.inf, p.left[ending])
        after = np.where(last, np.inf, p.right[piece])
        rising = np.where(place == 0, 1.0, (value - before) / np.where(place == 0, 1.0, x - before))
        falling = np.where(last, 1.0, (after - value) / np.where(last, 1.0, after - x))
        return np.asarray(np.clip(np.minimum(rising, falling), 0.0, 1.0), dtype=np.float64)

    weight = builder.add_columns(
        f"{terms.name}.weight", terms.per(own, per_entry), 0.0, 1.0, False, weights_at, terms.definition.span
    )
    needed = np.ceil(np.log2(p.runs)).astype(np.int64)
    bit_starts = np.concatenate(([0], np.cumsum(needed)))
    bit_of = np.repeat(np.arange(entries, dtype=np.int64), needed)
    digit = np.arange(bit_starts[-1], dtype=np.int64) - bit_starts[bit_of]

    def bits_at(point: Floats) -> Floats:
        beyond = (arguments.values(point)[p.entry] > p.right) & (np.append(p.entry[1:], -1) == p.entry)
        here = p.starts[:-1] + np.bincount(p.entry, weights=beyond, minlength=entries).astype(np.int64)
        return np.asarray((gray(p.run[here])[bit_of] >> digit) & 1, dtype=np.float64)

    bit = builder.add_columns(
        f"{terms.name}.bit", terms.per(bit_of, bit_starts), 0.0, 1.0, True, bits_at, terms.definition.span
    )
    every, one = np.arange(entries, dtype=np.int64), np.ones(entries)
    builder.add_rows(
        f"{terms.name}.weights", terms.index, matrix_of(entries, [(own, weight, np.ones(len(own)))]), 1.0, 1.0,
        terms.definition.span,
    )  # fmt: skip
    builder.add_rows(
        f"{terms.name}.argument", terms.index,
        matrix_of(entries, [terms.argument_part(every, one), (own, weight, -x)]),
        *(0.0 - arguments.constants,) * 2, terms.definition.span,
    )  # fmt: skip
    builder.add_rows(
        f"{terms.name}.result", terms.index,
        matrix_of(entries, [(every, results, one), (own, weight, -y)]), *terms.sides(np.zeros(entries), every),
        terms.definition.span,
    )  # fmt: skip
    code_before, code_after = (
        gray(p.run[np.where(place == 0, piece, ending)]),
        gray(p.run[np.where(last, ending, piece)]),
    )
    # Pairs of a point and a bit of its entry.
    pairs = np.repeat(np.arange(len(own)), needed[own])
    row = bit_starts[own[pairs]] + np.arange(len(pairs)) - np.repeat(np.cumsum(needed[own]) - needed[own], needed[own])
    both = (code_before[pairs] >> digit[row] & 1) + (code_after[pairs] >> digit[row] & 1)
    rows = np.arange(len(bit), dtype=np.int64)
    for what, side, sign, right in (("set", 2, -1.0, 0.0), ("unset", 0, 1.0, 1.0)):
        on = both == side
        parts = [(row[on], weight[pairs[on]], np.ones(int(on.sum()))), (rows, bit, np.full(len(bit), sign))]
        matrix = matrix_of(len(bit), parts)
        index = terms.per(bit_of, bit_starts)
        builder.add_rows(f"{terms.name}.{what}", index, matrix, -np.inf, right, terms.definition.span)


def gray(number: Codes) -> Codes:
    """The Gray code: successive numbers differ in one bit."""
    return number ^ (number >> 1)
