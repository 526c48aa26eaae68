"""Nonlinear terms of a problem: auxiliary columns defined as functions of affine expressions of earlier columns.

A `Definition` is a block of entries, each `point[result] == f(arguments)`; arguments are rows of one `Affines`. What a
problem means is its rows together with these equations; passes replace them by rows, or a backend takes them as they
are. Definitions stand in an order in which each reads only declared columns and results of those before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats, Int32s, Matrix
from gpusched_dsl.ir.tolerances import ON_STEP, ROUNDING
from gpusched_dsl.language.source import Span

# How far a value may lie outside the domain of a function (a root of -1e-12) and still be read as its end.
AT_THE_END = ROUNDING


@dataclass(frozen=True, eq=False)
class Affines:
    """Affine expressions of columns: expression i is `matrix row i @ point + constants[i]`."""

    matrix: Matrix
    constants: Floats

    @property
    def count(self) -> int:
        return len(self.constants)

    def values(self, point: Floats) -> Floats:
        return self.matrix.activity(point) + self.constants

    def take(self, rows: Codes) -> Affines:
        return Affines(self.matrix.take(rows), self.constants[rows])

    @cached_property
    def single(self) -> Int32s:
        """The column of each expression that is just one column (coefficient 1, no constant), else -1."""
        starts = self.matrix.starts
        found = np.full(self.count, -1, dtype=np.int32)
        alone = np.flatnonzero((np.diff(starts) == 1) & (self.constants == 0.0))
        at = starts[alone]
        plain = self.matrix.values[at] == 1.0
        found[alone[plain]] = self.matrix.columns[at[plain]]
        return found

    @staticmethod
    def of_columns(columns: Int32s) -> Affines:
        """One expression per column: the column itself."""
        count = len(columns)
        matrix = Matrix(np.arange(count + 1, dtype=np.int64), columns.astype(np.int32), np.ones(count))
        return Affines(matrix, np.zeros(count))


@dataclass(frozen=True, eq=False)
class Definition(ABC):
    """Entries `i` with `point[results[i]] == f(arguments starts[i] .. starts[i+1]-1)`.

    `results` are distinct columns. `name` says for people what an entry is, such as `max(on[k, h] - was_on[k], 0)`.
    """

    results: Int32s
    starts: Codes
    arguments: Affines
    span: Span | None = None
    name: str = ""

    op: ClassVar[str]

    @property
    def size(self) -> int:
        return len(self.results)

    @cached_property
    def entry_of(self) -> Codes:
        """The entry of each argument."""
        return np.repeat(np.arange(self.size, dtype=np.int64), np.diff(self.starts))

    def values(self, point: Floats) -> Floats:
        """The value of every entry at a point; NaN where the function has none."""
        with np.errstate(all="ignore"):
            return self.evaluate(self.arguments.values(point))

    @abstractmethod
    def evaluate(self, arguments: Floats) -> Floats:
        """The value of every entry from the values of all arguments."""

    def take(self, entries: Codes) -> Self:
        """The same for some of the entries."""
        counts = np.diff(self.starts)[entries]
        starts = np.concatenate(([0], np.cumsum(counts)))
        shift = np.repeat(self.starts[:-1][entries] - starts[:-1], counts)
        rows = np.arange(starts[-1], dtype=np.int64) + shift
        return replace(
            self, results=self.results[entries], starts=starts, arguments=self.arguments.take(rows),
            **self.taken(entries),
        )  # fmt: skip

    def taken(self, entries: Codes) -> dict[str, Any]:
        """The fields of a subclass that hold an array with a value per entry, for some entries."""
        own = {f.name for f in fields(self)} - {f.name for f in fields(Definition)}
        return {n: getattr(self, n)[entries] for n in own if isinstance(getattr(self, n), np.ndarray)}


def unary_starts(size: int) -> Codes:
    """The `starts` of a block whose entries have one argument each."""
    return np.arange(size + 1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Product(Definition):
    """The product of two arguments or more."""

    op: ClassVar[str] = "product"

    def evaluate(self, arguments: Floats) -> Floats:
        return np.multiply.reduceat(arguments, self.starts[:-1]) if self.size else np.zeros(0)


@dataclass(frozen=True, eq=False)
class MinMax(Definition):
    """The largest argument (`largest`) or the smallest. On 0/1 arguments this is `or` and `and`."""

    largest: bool = True

    op: ClassVar[str] = "extreme"

    def evaluate(self, arguments: Floats) -> Floats:
        if not self.size:
            return np.zeros(0)
        return (np.maximum if self.largest else np.minimum).reduceat(arguments, self.starts[:-1])


@dataclass(frozen=True, eq=False)
class Power(Definition):
    """One argument to the power of `exponents`: whole exponents of any argument, others of arguments >= 0.

    Exponent -1 is the reciprocal, 0.5 the square root.
    """

    exponents: Floats = field(default_factory=lambda: np.zeros(0))

    op: ClassVar[str] = "power"

    def evaluate(self, arguments: Floats) -> Floats:
        whole = self.exponents == np.rint(self.exponents)
        lifted = np.where(~whole & (arguments < 0) & (arguments > -AT_THE_END), 0.0, arguments)
        return np.asarray(np.power(lifted, self.exponents), dtype=np.float64)


_SMOOTH: dict[str, Callable[[Floats], Floats]] = {"exp": np.exp, "log": np.log, "abs": np.abs}


@dataclass(frozen=True, eq=False)
class Unary(Definition):
    """`exp`, `log` (natural) or `abs` of one argument."""

    function: str = "exp"

    op: ClassVar[str] = "unary"

    def evaluate(self, arguments: Floats) -> Floats:
        return _SMOOTH[self.function](arguments)


@dataclass(frozen=True, eq=False)
class Curves:
    """Continuous piecewise-linear functions: curve c has the points `starts[c] .. starts[c+1]-1`, x increasing.

    Beyond its first and last point a curve goes on with `slope_before[c]` and `slope_after[c]`.
    `errors[c]` bounds how far the curve may lie from the function it stands for (0: it is that function).
    """

    starts: Codes
    x: Floats
    y: Floats
    slope_before: Floats
    slope_after: Floats
    errors: Floats

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def values(self, which: Codes, at: Floats) -> Floats:
        """Curve `which[i]` at `at[i]`, for all i."""
        low, high = self.starts[which], self.starts[which + 1] - 1
        first, last = low.copy(), high.copy()
        while np.any(first < last):  # bisection in all curves at once: the last point not beyond `at`
            middle = (first + last + 1) // 2
            right = self.x[middle] <= at
            first, last = np.where(right, middle, first), np.where(right, last, middle - 1)
        here = np.clip(first, low, np.maximum(high - 1, low))
        after = np.minimum(here + 1, high)
        width = self.x[after] - self.x[here]
        inside = np.where(width > 0, (self.y[after] - self.y[here]) / np.where(width > 0, width, 1.0), 0.0)
        value = self.y[here] + inside * (at - self.x[here])
        before, beyond = at < self.x[low], at > self.x[high]
        value = np.where(before, self.y[low] + self.slope_before[which] * (at - self.x[low]), value)
        return np.where(beyond, self.y[high] + self.slope_after[which] * (at - self.x[high]), value)


@dataclass(frozen=True, eq=False)
class Piecewise(Definition):
    """A piecewise-linear function of one argument: entry i uses curve `which[i]`."""

    which: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    curves: Curves | None = None

    op: ClassVar[str] = "piecewise"

    def evaluate(self, arguments: Floats) -> Floats:
        assert self.curves is not None
        return self.curves.values(self.which, arguments)


@dataclass(frozen=True, eq=False)
class PartialExpectation(Definition):
    """`E[min(W, x)]` of one argument x, entry i with W ~ `laws[which[i]]`: concave and non-decreasing."""

    which: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    laws: tuple[Distribution, ...] = ()

    op: ClassVar[str] = "partial_expectation"

    def evaluate(self, arguments: Floats) -> Floats:
        result = np.empty(self.size)
        for number in np.unique(self.which):
            entries = np.flatnonzero(self.which == number)
            result[entries] = self.laws[number].partial_expectation(arguments[entries])
        return result


@dataclass(frozen=True, eq=False)
class Reified(Definition):
    """1 where `lower <= argument <= upper`, else 0; the result columns are binary.

    `steps`: the distances between the values that the arguments can have, 0 where they can have any
    (`ir/granularity.py`); left out, they are 0.
    """

    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))
    steps: Floats = field(default_factory=lambda: np.zeros(0))

    op: ClassVar[str] = "holds"

    def __post_init__(self) -> None:
        if not len(self.steps):
            object.__setattr__(self, "steps", np.zeros(self.size))

    def evaluate(self, arguments: Floats) -> Floats:
        slack = within_steps(ROUNDING * np.maximum(1.0, np.abs(arguments)), self.steps)
        return ((arguments >= self.lower - slack) & (arguments <= self.upper + slack)).astype(np.float64)

    def witnessed(self, point: Floats, tolerance: float) -> Floats:
        """The truth of every entry, where a point that says 1 is believed within a tolerance.

        The tolerance is of the largest of 1, the side and the terms of the comparison.
        """
        arguments = self.arguments
        terms = np.zeros(self.size)
        np.maximum.at(terms, arguments.matrix.row_of, np.abs(arguments.matrix.values * point[arguments.matrix.columns]))
        values = arguments.values(point)
        sides = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (self.lower, self.upper)]
        slack = within_steps(tolerance * np.maximum(1.0, np.maximum(terms, np.maximum(*sides))), self.steps)
        near = (values >= self.lower - slack) & (values <= self.upper + slack)
        said = point[self.results] > 0.5
        return np.where(near & said, 1.0, self.evaluate(values))


def within_steps(slack: Floats, steps: Floats) -> Floats:
    """What comparisons may miss, so little that a value of an expression with steps is not taken for the next."""
    return np.where(steps > 0, np.minimum(slack, ON_STEP * steps), slack)


def completed(definitions: tuple[Definition, ...], point: Floats, witnessed: float | None = None) -> Floats:
    """The point with every result column set to the value its definition gives.

    Of comparisons the point's own word is taken within the tolerance `witnessed`, where one is given.
    """
    if not definitions:
        return point
    full = point.copy()
    for definition in definitions:
        if witnessed is not None and isinstance(definition, Reified):
            full[definition.results] = definition.witnessed(full, witnessed)
        else:
            full[definition.results] = definition.values(full)
    return full


@dataclass(frozen=True, eq=False)
class Conditions:
    """Rows that must hold only where a binary column has a value: row `rows[i]` if `point[columns[i]] == values[i]`.

    `rows` are increasing: a row has one condition at most.
    """

    rows: Codes
    columns: Int32s
    values: NDArray[np.bool_]

    def active(self, rows: int, point: Floats) -> NDArray[np.bool_]:
        """Which of all `rows` rows must hold at a point."""
        required = np.ones(rows, dtype=np.bool_)
        required[self.rows] = (point[self.columns] > 0.5) == self.values
        return required

    @staticmethod
    def none() -> Conditions:
        return Conditions(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_))
