"""The interface of a pass: a problem to a problem, the postsolve, and a line for `explain`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds, bounds_within, propagate, tighten
from gpusched_dsl.compiling.work_budget import WorkBudget
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.entry_points import load_entry_points
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.compiling.analysis.directions import Directions
    from gpusched_dsl.ir.definitions import Definition

PASSES_GROUP, TIGHTENINGS_GROUP = "gpusched_dsl.passes", "gpusched_dsl.tightenings"

PointMap = Callable[[Floats], Floats]
_Kind = TypeVar("_Kind", bound="Definition")

# Entries that one pass may look at, where the problem can do without it. The largest model of
# docs/reference/performance.md, with 4.1 million nonzeros, takes a tenth of it.
WORK = 2_000_000_000

# What a target may accept beyond linear rows over continuous columns: the `op` of definitions, and these.
INTEGERS, INDICATOR, QUADRATIC_OBJECTIVE = "integers", "indicator", "quadratic_objective"
INTEGER_PRODUCT = "integer_product"


class Target(Struct, frozen=True):
    """The target of a reformulation. `accepts` has names of operations; `convex` restricts them to convex use.

    The operations are the `op` of each definition (`product`, `extreme`, `power`, `unary`, `piecewise`,
    `partial_expectation`, `holds`; made by passes `quadratic`, `norm`, `quadratic_over_linear`, `relative_entropy`,
    `exponential_perspective`, `log_sum_exp`), for `unary` also the function (`exp`, `log`, `abs`), `integers`,
    `indicator` (rows under a condition), `integer_product` (products of bounded integers, where `product` is not taken)
    and `quadratic_objective` (a convex quadratic form in the last objective).
    `alone` are operations that it would accept in a problem without integers, for messages. Without `continuous` it
    wants integers wherever they are known to be.
    """

    name: str
    accepts: frozenset[str] = frozenset({INTEGERS})
    convex: bool = False
    alone: frozenset[str] = frozenset()
    continuous: bool = True

    def takes(self, operation: str) -> bool:
        return operation in self.accepts


# Convex functions of several arguments, which passes make of other terms.
CONVEX_FORMS = frozenset({
    "exponential_perspective", "log_sum_exp", "norm", "quadratic", "quadratic_over_linear", "relative_entropy",
})  # fmt: skip


class Analysis:
    """A problem with its analyses for passes, each computed once.

    The bounds that rows and definitions imply are columns' bounds in `problem` where nonlinear parts read them or give
    them: passes may rely on them. `swept`: rows have been looked at before, when the problem was less reformulated.
    `work` is the budget of a pass that may be left out.
    """

    def __init__(self, problem: Problem, swept: bool = False) -> None:
        self.work = WorkBudget(WORK)
        self.bounds: Bounds = bounds_within(problem) if swept else propagate(problem)
        self.problem = tighten(problem, self.bounds)

    def sweep(self, times: int) -> None:
        """Count passes over every nonzero, row and column; raise TooMuchWork if the budget is used up."""
        self.work.spend(times * (self.problem.matrix.nonzeros + self.problem.rows + self.problem.columns))

    @cached_property
    def units(self) -> Floats:
        """Return for each column a number that divides its values, 0 if unknown (`result_steps`)."""
        from gpusched_dsl.compiling.passes.result_steps import column_steps

        return column_steps(self.problem, self.bounds)

    @cached_property
    def directions(self) -> Directions:
        from gpusched_dsl.compiling.analysis.directions import directions_of

        return directions_of(self.problem, self.bounds)


class Note(Struct, frozen=True):
    """A line of `explain`: the effect of a pass on some terms.

    `term` is the term in the author's words, `entries` how many there are, `rows` and `columns` what was added
    (negative: taken away), `big_m` the smallest and largest constant that had to be chosen, `error` how far an
    approximation may be from the term. `abandoned`: the budget of work or the time ran out before the pass was done.
    """

    pass_name: str
    term: str
    effect: str
    entries: int
    rows: int = 0
    columns: int = 0
    big_m: tuple[float, float] | None = None
    error: float = 0.0
    span: Span | None = None
    abandoned: bool = False


def identity(point: Floats) -> Floats:
    return point


class PassResult(Struct, frozen=True, eq=False):
    """The result of a pass.

    `invert` turns a point of `problem` into one of the problem before (result columns of definitions need no care:
    they are computed anew from the declared columns); `map_start` turns a point of the problem before into one of
    `problem`, for warm starts. `rows[i]` is the row that stands for row i of the problem before, -1 when none does, and
    `columns` the same for columns; without them numbers stay (optional passes may leave out `columns`).
    The optimum of `problem` is worse than that before by at most `bound_error`, and never better.
    """

    problem: Problem
    notes: tuple[Note, ...] = ()
    invert: PointMap = identity
    map_start: PointMap = identity
    rows: Codes | None = None
    bound_error: float = 0.0
    columns: Codes | None = None


class Pass(Protocol):
    """One reformulation. `apply` is only called where `accepts` is true.

    A pass that may be left out counts its work: `apply` raises TooMuchWork where that is more than it is worth.
    """

    name: ClassVar[str]

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        """Whether the problem has constructs of this pass that the target does not support."""
        ...

    def apply(self, analysis: Analysis, target: Target) -> PassResult: ...


def refuse_point(point: Floats) -> Floats:
    """The map of a problem that was stored: its points are mapped already, and no others are."""
    raise RuntimeError("a stored result maps no further points")


@dataclass(frozen=True, eq=False)
class ReformulatedProblem:
    """A problem for a target, with the composed postsolve; fields as in `PassResult`. Pickled, it has no maps."""

    original: Problem
    problem: Problem
    notes: tuple[Note, ...] = field(default=())
    invert: PointMap = identity
    map_start: PointMap = identity
    rows: Codes | None = None
    bound_error: float = 0.0
    columns: Codes | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"invert": refuse_point, "map_start": refuse_point}

    def then(self, step: PassResult) -> ReformulatedProblem:
        before_recover, before_lift = self.invert, self.map_start
        rows, columns = compose_numberings(self.rows, step.rows), self.columns
        if step.columns is not None:
            columns = compose_numberings(columns, step.columns)
            columns = None if columns is None else columns[: self.original.columns]
        return ReformulatedProblem(
            self.original,
            step.problem,
            self.notes + step.notes,
            lambda point: before_recover(step.invert(point)),
            lambda point: step.map_start(before_lift(point)),
            rows,
            self.bound_error + step.bound_error,
            columns,
        )


def compose_numberings(before: Codes | None, after: Codes | None) -> Codes | None:
    """Numbers after two steps; None: they stay."""
    if before is None or after is None:
        return before if after is None else after
    return np.where(before >= 0, after[before], -1)


def not_taken(analysis: Analysis, target: Target, kind: type[_Kind]) -> list[_Kind]:
    """Return the definitions of a kind, except empty ones, that the target does not take."""
    return [d for d in analysis.problem.definitions if isinstance(d, kind) and d.size and not target.takes(d.op)]


@cache
def added_passes(group: str) -> tuple[Pass, ...]:
    """Return the passes of other packages; raise ValueError for entry points that do not name classes."""
    return tuple(kind() for kind in load_entry_points(group, type).values())
