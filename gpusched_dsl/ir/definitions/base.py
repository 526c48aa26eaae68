"""The base of all nonlinear terms: values, ranges, convexity, derivatives and the form in problem files.

Every method has a default that is correct for any function but weak; a kind overrides those for which it has a better
result. A new kind is one file, and only the code that creates it imports it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec
import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions.affine import Affines
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.json.arrays import Number, Unwritable, check_length
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution

STEP = 1e-6  # of difference quotients, relative


class Choices(Struct, frozen=True, eq=False):
    """The choices of a point in first order: `lower <= of_result * dt + of_argument * da <= upper` for some arguments.

    `arguments` numbers them; dt and da are the moves of the result and of the argument.
    """

    arguments: Codes
    of_result: Floats
    of_argument: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Definition(ABC):
    """Entries `i` with `point[results[i]] == f(arguments starts[i] .. starts[i+1]-1)`.

    `results` are distinct columns. `name` describes an entry for people, such as `max(on[k, h] - was_on[k], 0)`.
    `op` names the kind in problem files and in the operations of a backend; `block` is its form in a problem file.
    `refusals` has for each operation its name in error messages, and why no pass made it linear.
    """

    results: Int32s
    starts: Codes
    arguments: Affines
    span: Span | None = None
    name: str = ""

    op: ClassVar[str]
    block: ClassVar[type[Block] | None] = None
    refusals: ClassVar[Mapping[str, tuple[str, str]]] = {}

    @property
    def size(self) -> int:
        return len(self.results)

    @cached_property
    def entry_of(self) -> Codes:
        """The entry of each argument."""
        return np.repeat(np.arange(self.size, dtype=np.int64), np.diff(self.starts))

    @property
    def operation(self) -> str:
        """Return the construct that a target must support for this definition."""
        return self.op

    @cached_property
    def single(self) -> bool:
        """Whether all entries have one argument."""
        return bool((np.diff(self.starts) == 1).all())

    # --- values ------------------------------------------------------------------------------------------------------

    def values(self, point: Floats) -> Floats:
        """The value of every entry at a point; NaN where the function has none."""
        with np.errstate(all="ignore"):
            return self.evaluate(self.arguments.values(point))

    @abstractmethod
    def evaluate(self, arguments: Floats) -> Floats:
        """The value of every entry from the values of all arguments."""

    def values_with_tolerance(self, point: Floats, tolerance: float) -> Floats:
        """The value of every entry; decisions of the point are accepted within a tolerance."""
        return self.values(point)

    def entries_without_value(self, end: Floats) -> Bools:
        """The entries that have no value where their argument is at this end of its range."""
        return np.zeros(self.size, dtype=np.bool_)

    def domain_text(self, entry: int) -> str:
        """Where the argument of an entry must lie for it to have a value, as in `at least 0`."""
        return "within its domain"

    # --- ranges of the arguments -------------------------------------------------------------------------------------

    def image(self, low: Floats, high: Floats) -> Interval:
        """The smallest and the largest value of each entry, from those of its arguments (`low <= high`).

        Intervals are of real numbers, so 0 times an infinite end is 0. A value that `evaluate` computes from arguments
        within the intervals lies within the image.
        """
        return np.full(self.size, -np.inf), np.full(self.size, np.inf)

    def preimage(self, low: Floats, high: Floats, small: Floats, large: Floats) -> Interval | None:
        """Where each argument must lie, now within `low .. high`; None: nothing follows.

        `small`, `large`: the range of the result that the argument is of. All have a value per argument.
        """
        return None

    def slopes(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """For each argument, within `low .. high`: can the function rise with it, and can it fall?

        Both also where the function has no value on a part of the range (`1/d` at 0, `log` below 0): nothing may then
        be concluded from moving the argument.
        """
        return np.ones_like(low, dtype=np.bool_), np.ones_like(low, dtype=np.bool_)

    def convexity_of_moving(self, low: Floats, high: Floats, moving: Codes) -> tuple[Bools, Bools]:
        """For each entry with its arguments within `low .. high`: is the function convex, and is it concave?

        `moving` counts the arguments of each entry that are not fixed: 1 or more where it matters.
        """
        return np.zeros(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)

    def convexity(self, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """As `convexity_of_moving`; entries with all arguments fixed are both.

        With arguments affine in columns, `result >= f` is convex where f is, and `result <= f` where f is concave.
        """
        moving = np.bincount(self.entry_of[low < high], minlength=self.size)
        convex, concave = self.convexity_of_moving(low, high, moving)
        return convex | (moving == 0), concave | (moving == 0)

    # --- arguments that move in steps --------------------------------------------------------------------------------

    def integer_entries(self, arguments: Bools) -> Bools:
        """Return the entries that are always integer, given which arguments are."""
        return np.zeros(self.size, dtype=np.bool_)

    def multiples(self, arguments: Floats) -> Floats:
        """Return, for each entry, a number that divides its values, given such numbers of the arguments; 0: unknown.

        Of an argument that is always 0 the number is infinite.
        """
        return np.zeros(self.size)

    @property
    def exact_entries(self) -> Bools:
        """The entries that are functions of one argument, and that no pass approximates."""
        return np.full(self.size, self.single)

    @property
    def is_tabulable(self) -> bool:
        """Whether a curve through the values at all values of an integer argument can replace it."""
        return self.single

    # --- near a point ------------------------------------------------------------------------------------------------

    def move_into_domain(self, arguments: Floats) -> Floats:
        """The arguments moved into the domain of the function."""
        return arguments

    def values_near(self, point: Floats, inside: Floats) -> Floats:
        """Return the values at a point with arguments `inside`; decisions are those of the point."""
        values = self.evaluate(inside)
        return np.where(np.isfinite(values), values, 0.0)

    def derivatives(self, inside: Floats, values: Floats) -> Floats:
        """The derivative of each entry in each of its arguments, of one argument by differences."""
        if not self.single:
            return np.zeros(len(inside))
        step = STEP * np.maximum(1.0, np.abs(inside))
        return (self.evaluate(inside + step) - self.evaluate(inside - step)) / (2 * step)

    def choices(self, arguments: Floats, inside: Floats, values: Floats) -> Choices:
        """Return the choices of the point: by default, that arguments outside of the domain move into it."""
        out = np.flatnonzero(inside != arguments)
        one, far = np.ones(len(out)), np.full(len(out), np.inf)
        return Choices(out, np.zeros(len(out)), one, (inside - arguments)[out], far)

    # --- parts, and equal entries ------------------------------------------------------------------------------------

    def take(self, entries: Codes) -> Self:
        """The same for some of the entries."""
        counts = np.diff(self.starts)[entries]
        starts = np.concatenate(([0], np.cumsum(counts)))
        shift = np.repeat(self.starts[:-1][entries] - starts[:-1], counts)
        rows = np.arange(starts[-1], dtype=np.int64) + shift
        own: dict[str, Any] = {n: v[entries] for n, v in self.own_fields.items() if isinstance(v, np.ndarray)}
        return replace(self, results=self.results[entries], starts=starts, arguments=self.arguments.take(rows), **own)

    @property
    def own_fields(self) -> dict[str, Any]:
        """The fields that a kind adds, by name; arrays have a value per entry."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _COMMON}

    def function_keys(self, numbers: dict[Any, int]) -> tuple[list[Any], list[Floats]]:
        """Return the key of the function of an entry: the common part of all entries, and numbers of each entry.

        `numbers` numbers objects that several blocks may share, in the order in which they are met.
        """
        own = self.own_fields
        shared = [v if isinstance(v, (str, bool)) else id(v) for v in own.values() if not isinstance(v, np.ndarray)]
        return shared, [v.astype(np.float64) for v in own.values() if isinstance(v, np.ndarray)]

    # --- problem files -----------------------------------------------------------------------------------------------

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        """The form in a problem file, with the fields that all kinds have; raises Unwritable where there is none.

        Laws are added to the numbered ones: terms count as equal only where they have one law.
        """
        raise Unwritable(f"a definition of class `{type(self).__name__}`")


_COMMON = frozenset(f.name for f in fields(Definition))


class AffinesFile(msgspec.Struct, forbid_unknown_fields=True):
    """Argument i is `constants[i] + sum(values[k] * x[columns[k]] for k in starts[i] .. starts[i+1] - 1)`."""

    starts: list[Number]
    columns: list[Number]
    values: list[float]
    constants: list[float]


class Block(msgspec.Struct, tag_field="kind", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Entries of the same kind: the column `results[i]` is a function of argument i."""

    results: list[Number]
    arguments: AffinesFile
    name: str = ""
    place: str | None = None

    def check(self, place: str, laws: int, binary: Bools) -> None:
        """Raise Broken unless the fields fit together, by default one argument for each result.

        The file has `laws` laws; `binary` flags its columns that are 0 or 1.
        """
        check_length(self.arguments.constants, len(self.results), f"{place}.arguments.constants", "results")

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        """The definition of a block that was checked, with one argument for each entry in `common`."""
        raise NotImplementedError


def unary_starts(size: int) -> Codes:
    """Return the `starts` of a block with one argument per entry."""
    return np.arange(size + 1, dtype=np.int64)
