"""A solve by several solvers: they start together, and end with the first proof, the time limit or Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, TIME
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult
from gpusched_dsl.solving.concurrent.board import Board
from gpusched_dsl.solving.concurrent.combination import combine
from gpusched_dsl.solving.concurrent.member import Member
from gpusched_dsl.solving.concurrent.reformulations import Reformulations
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import Monitor, Session, Silent, SolveOptions

POLL_SECONDS = 0.01
PROGRESS_SECONDS = 0.1
# How long solvers that were asked to stop are waited for; their processes are ended then.
END_SECONDS = 1.0

__all__ = ["ConcurrentSession", "Member"]


class ConcurrentSession(Session):
    """One problem for several solvers. `members` chooses them, with their options."""

    def __init__(self, problem: Problem, members: Callable[[Problem, SolveOptions], list[Member]]) -> None:
        self._problem, self._members = problem, members

    def close(self) -> None:
        """Sessions of the solvers end with each solve."""

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; `start` may be partial (NaN).

        Raises DiagnosticError: GSM4004 for wrong options, what the solvers raise if none of them has a result.
        """
        members = self._members(self._problem, options)
        board, control = Board(self._problem, options.gap), Control()
        shared = Reformulations()
        with CtrlC(control):
            try:
                for member in members:
                    member.start(self._problem, start, board, shared)
                _wait(members, board, control, options.time_limit, monitor or Silent())
                _end(members)
            except BaseException:  # the monitor failed, or a second Ctrl-C
                board.end(INTERRUPT)
                for member in members:
                    member.kill()
                raise
        return combine(members, board, control.seconds)


def _wait(members: Sequence[Member], board: Board, control: Control, seconds: float | None, monitor: Monitor) -> None:
    """Wait for the end of all solvers, or for a reason to stop them."""
    reported = 0.0
    while not board.reason and not all(member.ended.is_set() for member in members):
        control.stop_requested = control.stop_requested or monitor.stop_requested
        if control.stop_requested:
            board.end(INTERRUPT)
        elif seconds is not None and control.seconds > seconds + END_SECONDS:
            board.end(TIME)
        if control.seconds - reported >= PROGRESS_SECONDS:
            reported = control.seconds
            monitor.progress(board.progress(reported))
        time.sleep(POLL_SECONDS)
    monitor.progress(board.progress(control.seconds))


def _end(members: Sequence[Member]) -> None:
    """Wait for solvers that were asked to stop, and end the processes of those that do not."""
    until = time.perf_counter() + END_SECONDS
    for member in members:
        if not member.ended.wait(max(0.0, until - time.perf_counter())):
            member.kill()
