"""LP and MPS text of a problem, written column-wise: no Python loop over rows, columns or entries.

Numbers are written with the fewest digits that read back as the same double. What the formats cannot say: MPS stores
the upper of two sides of a row as a distance, which may move it by one unit in the last place; LP files leave out rows
without sides and state a row with two sides as two; of several objectives a reader solves the first (MPS keeps the
others as free rows, LP names them in a comment). Terms that are not linear are reformulated before (`linearise.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.files.names import LP, MPS, Alphabet, entry_names, number_names

LINES = 1 << 21  # written at a time: texts of all lines would take several times the memory of the problem


@dataclass(frozen=True, eq=False)
class QuadraticCosts:
    """Entries (first <= second) of a symmetric matrix Q: the objective has `x' Q x / 2` besides its linear costs."""

    first: Ints
    second: Ints
    values: Floats


def write_mps(
    problem: Problem,
    file: Path | str | BinaryIO,
    names: bool = True,
    comments: Sequence[str] = (),
    quadratic: QuadraticCosts | None = None,
) -> None:
    """Write free MPS. `names=False` numbers columns `c0, c1, ...` and rows `r0, r1, ...`, which is faster.

    Rows under a condition stand in a section INDICATORS, quadratic costs in a section QUADOBJ; definitions are left to
    whoever reads the columns.
    """
    with _open(file) as out:
        _Mps(problem, out, names, comments, quadratic).write()


def write_lp(
    problem: Problem,
    file: Path | str | BinaryIO,
    names: bool = True,
    comments: Sequence[str] = (),
    quadratic: QuadraticCosts | None = None,
) -> None:
    """Write CPLEX LP text; `names=False` as in `write_mps`.

    Raises DiagnosticError (GSM4023) for a problem without columns, or with definitions or conditions.
    """
    if problem.columns == 0:
        message = "an LP file needs at least one variable"
        raise DiagnosticError([Diagnostic("GSM4023", message, help="write MPS or JSON instead")])
    if any(d.size for d in problem.definitions) or len(problem.conditions.rows):
        message = "an LP file has only linear rows, but this problem has other terms"
        help = 'write `linear(problem, "lp").problem` of `gsdsl_backends.files.linearise`, or JSON'
        raise DiagnosticError([Diagnostic("GSM4023", message, help=help)])
    with _open(file) as out:
        _Lp(problem, out, names, comments, quadratic).write()


class _Writer:
    alphabet: ClassVar[Alphabet]

    def __init__(
        self,
        problem: Problem,
        out: BinaryIO,
        names: bool,
        comments: Sequence[str],
        quadratic: QuadraticCosts | None,
    ) -> None:
        self.problem, self.out, self.quadratic = problem, out, quadratic
        self.comments = [_ascii(comment) for comment in (*comments, *_notes(problem))]
        self.columns = (
            entry_names(problem.column_families, "c", self.alphabet) if names else number_names("c", problem.columns)
        )
        self.rows = entry_names(problem.constraints, "r", self.alphabet) if names else number_names("r", problem.rows)
        objectives = problem.objectives or (Objective("minimize", ()),)
        self.objectives = objectives
        self.objective_names = self._objective_names()

    def _objective_names(self) -> list[str]:
        """Objectives are rows to a reader: their names must differ from those of the rows."""
        chosen: list[str] = []
        for number, objective in enumerate(self.objectives):
            candidates = _candidates(objective, number, self.alphabet)
            chosen.append(next(n for n in candidates if n not in chosen and not (self.rows == n).any()))
        return chosen

    def text(self, text: str) -> None:
        self.out.write(text.encode("ascii"))

    def lines(self, *parts: pl.Series | str) -> None:
        """One line per element of the columns given; strings are the same in every line."""
        count = min(len(part) for part in parts if isinstance(part, pl.Series))
        for at in range(0, count, LINES):
            self.write_lines(_concat(*(p if isinstance(p, str) else p.slice(at, LINES) for p in parts)))

    def write_lines(self, lines: pl.Series) -> None:
        lines.to_frame().write_csv(self.out, include_header=False, quote_style="never")


class _Mps(_Writer):
    alphabet = MPS

    def write(self) -> None:
        problem = self.problem
        self.text("".join(f"* {comment}\n" for comment in self.comments))
        self.text(f"NAME {MPS.clean(problem.name) or 'problem'}\n")
        if self.objectives[0].sense == "maximize":
            self.text("OBJSENSE\n    MAX\n")
        self.text("ROWS\n" + "".join(f" N {name}\n" for name in self.objective_names))
        self._row_types()
        self.text("COLUMNS\n")
        self._entries()
        self.text("RHS\n")
        self._sides()
        self.text("BOUNDS\n")
        self._bounds()
        self._indicators()
        self._quadratic()
        self.text("ENDATA\n")

    def _row_types(self) -> None:
        kinds = np.array(["N", "L", "G", "E"])[_kind(self.problem)]
        self.lines(" ", pl.Series(kinds), " ", self.rows)

    def _entries(self) -> None:
        """All entries sorted by column, those of the objectives first, and markers around runs of integers.

        A column without entries gets a zero in the objective, as readers learn of columns only here.
        """
        problem, matrix = self.problem, self.problem.matrix
        count = len(self.objectives)
        columns, values = [matrix.columns.astype(np.int64)], [matrix.values]
        rows = [matrix.row_of.astype(np.int64) + count]
        for k, objective in enumerate(self.objectives):
            costs = objective.costs(problem.columns)
            used = np.flatnonzero(costs)
            columns.append(used)
            rows.append(np.full(len(used), k))
            values.append(costs[used])
        unused = np.ones(problem.columns, dtype=bool)
        for some in columns:
            unused[some] = False
        empty = np.flatnonzero(unused)
        column = np.concatenate([*columns, empty])
        row = np.concatenate([*rows, np.zeros(len(empty), dtype=np.int64)])
        value = np.concatenate([*values, np.zeros(len(empty))])
        order = np.lexsort((row, column))
        column, row, value = column[order], row[order], value[order]
        row_names = pl.concat([pl.Series("name", self.objective_names, dtype=pl.String), self.rows.alias("name")])
        for at in range(0, len(column), LINES):
            part = slice(at, at + LINES)
            names = self.columns.gather(column[part]), row_names.gather(row[part])
            lines = _concat(" ", names[0], " ", names[1], " ", pl.Series(value[part]))
            self.write_lines(_with_markers(lines, problem.integer[column[part]]))

    def _sides(self) -> None:
        problem = self.problem
        for name, objective in zip(self.objective_names, self.objectives, strict=True):
            if objective.offset:
                self.text(f" RHS {name} {-objective.offset!r}\n")
        kind = _kind(problem)
        side = np.where(kind == UPPER, problem.row_upper, problem.row_lower)
        stated = np.flatnonzero((kind != FREE) & (side != 0))
        self.lines(" RHS ", self.rows.gather(stated), " ", pl.Series(side[stated]))
        ranged = np.flatnonzero((kind == LOWER) & np.isfinite(problem.row_upper))
        if len(ranged):
            self.text("RANGES\n")
            width = problem.row_upper[ranged] - problem.row_lower[ranged]
            self.lines(" RNG ", self.rows.gather(ranged), " ", pl.Series(width))

    def _bounds(self) -> None:
        """Both bounds of every integer column (their defaults differ between readers), else all but `0 .. inf`."""
        problem = self.problem
        binary = problem.integer & (problem.lower == 0) & (problem.upper == 1)
        self._bound("BV", binary, None)  # readers take no other column for that of a condition
        lower, upper = np.where(binary, 0.0, problem.lower) + 0.0, np.where(binary, np.inf, problem.upper) + 0.0
        integer = problem.integer & ~binary
        below, above = np.isfinite(lower), np.isfinite(upper)
        fixed = below & above & (lower == upper)
        free = ~below & ~above & ~integer
        self._bound("FX", fixed, lower)
        self._bound("FR", free, None)
        self._bound("MI", ~below & ~free, None)
        self._bound("LO", below & ~fixed & (integer | (lower != 0)), lower)
        self._bound("UP", above & ~fixed, upper)
        self._bound("PL", ~above & ~free & integer, None)

    def _indicators(self) -> None:
        """The rows under a condition, in the section that CPLEX, Gurobi, SCIP and Xpress read."""
        conditions = self.problem.conditions
        stated = _kind(self.problem)[conditions.rows] != FREE
        if not stated.any():
            return
        self.text("INDICATORS\n")
        rows, columns = self.rows.gather(conditions.rows[stated]), self.columns.gather(conditions.columns[stated])
        self.lines(" IF ", rows, " ", columns, " ", pl.Series(conditions.values[stated].astype(np.int64)))

    def _quadratic(self) -> None:
        if self.quadratic is not None:
            first, second = (self.columns.gather(c) for c in (self.quadratic.first, self.quadratic.second))
            self.text("QUADOBJ\n")
            self.lines(" ", first, " ", second, " ", pl.Series(self.quadratic.values))

    def _bound(self, kind: str, which: Bools, values: Floats | None) -> None:
        places = np.flatnonzero(which)
        columns = self.columns.gather(places)
        if values is None:
            self.lines(f" {kind} BND ", columns)
        else:
            self.lines(f" {kind} BND ", columns, " ", pl.Series(values[places]))


class _Lp(_Writer):
    alphabet = LP

    def write(self) -> None:
        problem, objective = self.problem, self.objectives[0]
        self.text("".join(f"\\ {comment}\n" for comment in self.comments))
        self.text("maximize\n" if objective.sense == "maximize" else "minimize\n")
        self.text(f"{self.objective_names[0]}:\n")
        costs = objective.costs(problem.columns)
        used = np.flatnonzero(costs)
        self.lines(_sign(costs[used]), " ", self.columns.gather(used))
        if not len(used):
            self.text(f"+0.0 {self.columns[0]}\n")
        self._quadratic()
        if objective.offset:
            self.text(f"{objective.offset:+.17g}\n")
        self.text("subject to\n")
        self._rows()
        self.text("bounds\n")
        self._bounds()
        integers = np.flatnonzero(problem.integer)
        if len(integers):
            self.text("general\n")
            self.lines(" ", self.columns.gather(integers))
        self.text("end\n")

    def _quadratic(self) -> None:
        """`+ [ 2 x ^2 + 2 x * y ] / 2`, with both triangles of the matrix in one term."""
        if self.quadratic is None:
            return
        first, second, values = self.quadratic.first, self.quadratic.second, self.quadratic.values
        square = first == second
        self.text("+ [\n")
        self.lines(_sign(values[square]), " ", self.columns.gather(first[square]), " ^2")
        one, other = (self.columns.gather(c[~square]) for c in (first, second))
        self.lines(_sign(2 * values[~square]), " ", one, " * ", other)
        self.text("] / 2\n")

    def _rows(self) -> None:
        """Write every row as a line with its name, one line per term, and one line with its side; two sides
        give two rows.
        """
        problem, matrix = self.problem, self.problem.matrix
        kind = _kind(problem)
        ranged = (kind == LOWER) & np.isfinite(problem.row_upper)
        stated = np.flatnonzero(kind != FREE)
        rows = np.repeat(stated, np.where(ranged[stated], 2, 1))
        again = np.concatenate([[False], rows[1:] == rows[:-1]]) if len(rows) else np.zeros(0, dtype=bool)
        parts = np.cumsum(np.diff(matrix.starts)[rows] + 2) // LINES
        ends = np.flatnonzero(np.diff(parts, append=-1)) + 1
        for first, end in zip(np.append(0, ends)[:-1].tolist(), ends.tolist(), strict=True):
            self._part_of_rows(kind, ranged, rows[first:end], again[first:end])

    def _part_of_rows(self, kind: Ints, ranged: Bools, rows: Ints, again: Bools) -> None:
        problem, matrix = self.problem, self.problem.matrix
        suffixes = pl.Series(["", ".low", ".high"], dtype=pl.String).gather(np.where(ranged[rows], 1 + again, 0))
        heads = _concat(self.rows.gather(rows), suffixes, ":")

        sizes = np.diff(matrix.starts)[rows]
        ends = np.cumsum(sizes)
        entries = np.arange(ends[-1]) + np.repeat(matrix.starts[rows] - (ends - sizes), sizes)
        terms = _concat(" ", _sign(matrix.values[entries]), " ", self.columns.gather(matrix.columns[entries]))

        nothing = pl.Series([f" +0.0 {self.columns[0]}", ""], dtype=pl.String).gather(np.where(sizes == 0, 0, 1))
        relation = np.where(again, UPPER, kind[rows]) - UPPER
        side = np.where(relation == 0, problem.row_upper[rows], problem.row_lower[rows])
        tails = _concat(nothing, pl.Series([" <= ", " >= ", " = "]).gather(relation), pl.Series(side))

        row = np.arange(len(rows))
        within = np.arange(len(entries)) + 1 + 2 * np.repeat(row, sizes)
        places = np.concatenate([ends - sizes + 2 * row, within, ends + 2 * row + 1])
        self.write_lines(_place([heads, terms, tails], places))

    def _bounds(self) -> None:
        lower, upper = self.problem.lower + 0.0, self.problem.upper + 0.0  # no negative zeros
        below, above = np.isfinite(lower), np.isfinite(upper)
        free = np.flatnonzero(~below & ~above)
        self.lines(" ", self.columns.gather(free), " free")
        some = np.flatnonzero(below | above)
        low = _where(below[some], pl.Series(lower[some]), "-inf", "")
        high = _where(above[some], pl.Series(upper[some]), "+inf", "")
        self.lines(" ", low, " <= ", self.columns.gather(some), " <= ", high)


FREE, UPPER, LOWER, EQUAL = 0, 1, 2, 3


def _kind(problem: Problem) -> Ints:
    """FREE, UPPER (only that side), LOWER (that side, perhaps the upper one too) or EQUAL, per row."""
    below, above = np.isfinite(problem.row_lower), np.isfinite(problem.row_upper)
    kind = np.where(below, LOWER, np.where(above, UPPER, FREE))
    return np.where(below & (problem.row_lower == problem.row_upper), EQUAL, kind)


def _candidates(objective: Objective, number: int, alphabet: Alphabet) -> Iterator[str]:
    """Names for an objective, the best first; there are more of them than rows that may have them already."""
    stem = alphabet.clean(objective.name or "objective")
    if alphabet.misreads(stem):
        stem = "objective"
    yield stem
    yield from (f"{stem}_{number}_{attempt}" for attempt in count())


def _notes(problem: Problem) -> Sequence[str]:
    later = [f"{'' if o.name is None else o.name + ', '}to {o.sense}" for o in problem.objectives[1:]]
    return [f"objective {k + 2}: {text}" for k, text in enumerate(later)]


def _ascii(text: str) -> str:
    return " ".join(text.encode("ascii", "replace").decode().splitlines())


def _concat(*parts: pl.Series | str) -> pl.Series:
    named = {f"part{k}": part for k, part in enumerate(parts) if isinstance(part, pl.Series)}
    pieces = [pl.col(f"part{k}") if isinstance(p, pl.Series) else pl.lit(p) for k, p in enumerate(parts)]
    return pl.DataFrame(named).select(pl.concat_str(*pieces).alias("line")).to_series()


def _sign(values: Floats) -> pl.Series:
    value = pl.col("value")
    text = value.cast(pl.String)
    frame = pl.DataFrame({"value": values + 0.0})  # no negative zeros
    return frame.select(pl.when(value < 0).then(text).otherwise(pl.concat_str(pl.lit("+"), text))).to_series()


def _where(which: Bools, values: pl.Series, otherwise: str, after: str) -> pl.Series:
    """The values as text followed by `after` where `which`, else `otherwise`."""
    text = pl.concat_str(pl.col("value").cast(pl.String), pl.lit(after))
    frame = pl.DataFrame({"value": values, "which": which})
    return frame.select(pl.when("which").then(text).otherwise(pl.lit(otherwise))).to_series()


def _place(pieces: list[pl.Series], places: Ints) -> pl.Series:
    """Concatenate the pieces, with each element moved to its position."""
    source = np.empty(len(places), dtype=np.int64)
    source[places] = np.arange(len(places))
    return pl.concat([piece.alias("line") for piece in pieces]).gather(source)


def _with_markers(lines: pl.Series, integer: Bools) -> pl.Series:
    """The lines with an INTORG and INTEND marker around every run of lines of integer columns."""
    steps = np.diff(np.concatenate([[0], integer.astype(np.int8), [0]]))
    opens, closes = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    if not len(opens):
        return lines
    before = np.zeros(len(lines) + 1, dtype=np.int64)
    before[opens] += 1
    before[closes] += 1
    shift = np.cumsum(before)
    runs = len(opens)
    numbers = number_names("", runs)
    openings = _concat(" MARK", numbers, "A 'MARKER' 'INTORG'")
    closings = _concat(" MARK", numbers, "B 'MARKER' 'INTEND'")
    places = np.concatenate([np.arange(len(lines)) + shift[:-1], opens + shift[opens] - 1, closes + shift[closes] - 1])
    # Where one run ends no other begins, so the marker stands right before the line that follows it.
    return _place([lines, openings, closings], places)


@contextmanager
def _open(file: Path | str | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(file, str | Path):
        with open(file, "wb", buffering=0) as out:  # unbuffered: polars writes past the buffer of the file object
            yield out
    else:
        yield file
