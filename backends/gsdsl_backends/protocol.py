"""The protocol of solver backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from gpusched_dsl.compiling.passes.steps import INTEGERS, Target
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes


NUMBER: Final = "number"
SWITCH: Final = "switch"
TextOption: TypeAlias = str | tuple[str, ...]  # the kind of an option: NUMBER, SWITCH, or the words of a choice


class Capabilities(Struct, frozen=True):
    """The constructs that a backend supports; the pipeline reformulates or rejects the rest.

    `continuous`: any continuous columns; without it only those that are proved to be multiples of a number, and no
    column without bounds.

    `accepts` are the supported operations beyond linear rows, named as in `Target`; with `convex` only in convex use.
    `nonlinear_integers`: such operations and integers in one problem. `tightens`: it supports the option `tight`.
    `in_place_update`: its sessions have `update`; `carries`: they also have `carry`, for linear problems.
    `proves`: it ends by itself with a proof; without it a point is `feasible` at best, as with policies.
    `reformulates`: it reformulates problems and completes starts itself, so it gets them as they are stated.
    `text_options`: its own options that a `.gsm` text may set, with their kinds; none may name a file or a program.
    """

    integers: bool = True
    continuous: bool = True
    warm_start: bool = True
    duals: bool = True
    time_limit: bool = True
    in_place_update: bool = False
    carries: bool = False
    threads: bool = True  # False: always one; the option `threads` is then without effect
    accepts: frozenset[str] = frozenset()
    convex: bool = False
    nonlinear_integers: bool = True
    tightens: bool = False
    reformulates: bool = False
    proves: bool = True
    text_options: Mapping[str, TextOption] = field(default_factory=dict)


class SolveOptions(Struct, frozen=True):
    """`time_limit` in seconds; `gap` as `relative_gap` of `ir/solver_result.py`; `extra` are the solver's own options.

    `threads` None leaves the number to the solver. `tighten`: problems with integers get the tightening passes;
    `without` names tightening passes to skip, `all` every one. `decompose`: `auto` uses the blocks of `decompose by`
    for large problems, `on` for all, `off` for none. `heuristic`: our own search for a start, within a share of the
    time limit: `off`, `on`, or `auto`: if the problem is large and no start is given. `second_opinion`: a claim after
    a short run is confirmed by another configuration (`solving/second_opinion.py`). `tight` requests points that are
    more exact than usual (`ir/tolerances.py`); it is set only for a second run.
    """

    time_limit: float | None = None
    gap: float = 1e-4
    threads: int | None = None
    seed: int = 0
    extra: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    tighten: bool = True
    without: frozenset[str] = frozenset()
    heuristic: str = "auto"
    decompose: str = "auto"
    second_opinion: bool = False
    tight: bool = False


class SolverProgress(Struct, frozen=True):
    """The state of a running solve; objective and bound are None while unknown.

    `iterations` counts the plans of a policy; solvers report `nodes`.
    """

    seconds: float
    objective: float | None
    bound: float | None
    nodes: int = 0
    iterations: int = 0


class Monitor(Protocol):
    """Receives progress; a backend stops and returns its best point when `stop_requested` is true."""

    def progress(self, progress: SolverProgress) -> None: ...

    @property
    def stop_requested(self) -> bool: ...


@runtime_checkable
class Exchange(Monitor, Protocol):
    """A monitor that receives better points while a solver works, and offers it those of other solvers."""

    def take_improvement(self, values: Floats) -> None:
        """Receive a point that is better than all earlier ones of this solver."""
        ...

    def next_offer(self) -> Floats | None:
        """Return a point of another solver that is better than those of this one; each only once."""
        ...


class Silent:
    """A monitor that neither shows nor stops anything."""

    def progress(self, progress: SolverProgress) -> None:
        pass

    @property
    def stop_requested(self) -> bool:
        return False


class StopMonitor(Silent):
    """A monitor that stops a solve as `requested` says, and shows nothing: the bounds are those of another problem."""

    def __init__(self, requested: Callable[[], bool]) -> None:
        self._requested = requested

    @property
    def stop_requested(self) -> bool:
        return self._requested()


class Session(Protocol):
    """One problem loaded into one solver. A subclass needs only the methods that its backend's capabilities state."""

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; `start` is a complete point to start from. Ctrl-C stops the solver and returns its best point."""
        ...

    def update(self, problem: Problem) -> None:
        """Load costs, bounds, sides and coefficients of a problem of the same structure (only with in_place_update)."""
        raise RuntimeError("the capabilities of this backend state no `in_place_update`")

    def carry(self, problem: Problem, changes: Changes) -> None:
        """Load a linear problem with columns and rows added and removed by `changes` (only with `carries`).

        The problem is that of `changes.new` except for the size of its costs and sides that cross by a rounding error.
        """
        raise RuntimeError("the capabilities of this backend state no `carries`")

    def close(self) -> None:
        """Free what the solver holds; by default there is nothing to free."""
        return


@runtime_checkable
class Advised(Session, Protocol):
    """A session without a relaxation of its own, which uses that of the search for a start."""

    def advise(self, relaxed: Floats, reduced: Floats | None) -> None:
        """Receive the point of the relaxation and its reduced costs, of a problem to be minimised, before a solve."""
        ...


class Backend(Protocol):
    """A solver. A problem given to `open` has at most one objective."""

    name: str

    @property
    def capabilities(self) -> Capabilities:
        """Return the supported constructs; an attribute of the class suffices."""
        ...

    def versions(self) -> dict[str, str]:
        """Return name and version of the solver and of its Python package."""
        ...

    def open(self, problem: Problem) -> Session: ...


def target_of(backend: Backend, problem: Problem) -> Target:
    """Return the target of the reformulation for this backend."""
    able = backend.capabilities
    accepts = able.accepts if able.nonlinear_integers or not problem.is_mip else frozenset()
    alone = able.accepts - accepts
    with_integers = accepts | {INTEGERS} if able.integers else accepts
    return Target(backend.name, with_integers, able.convex, alone, able.continuous)
