"""One of several solvers: its thread, its monitor, and its result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.board import Board
from gpusched_dsl.solving.concurrent.reformulations import Reformulations
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.verification import CheckedPoint
from gsdsl_backends.isolation.backend import is_crash
from gsdsl_backends.protocol import Backend, Capabilities, Session, SolveOptions, SolverProgress

PROOFS = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


class Member:
    """A solver by name, with its options. `load` creates its backend; `versions` receives those of the solver.

    After `ended`, one of `solution`, `refusal` (it does not accept the problem, or crashed) and `failure` is set.
    """

    def __init__(
        self, name: str, options: SolveOptions, load: Callable[[str], Backend], versions: dict[str, str]
    ) -> None:
        self.name, self.options = name, options
        self.solution: Solution | None = None
        self.refusal: DiagnosticError | None = None
        self.failure: BaseException | None = None
        self.seconds = 0.0
        self.killed = False
        self.ended = threading.Event()
        self._load, self._versions = load, versions
        self._sessions: list[Session] = []

    @property
    def crashed(self) -> bool:
        """Whether the solver crashed by itself."""
        return not self.killed and self.refusal is not None and is_crash(self.refusal)

    def start(self, problem: Problem, start: Floats | None, board: Board, reformulations: Reformulations) -> None:
        """Begin to solve, in a thread of its own."""
        arguments = (problem, start, board, reformulations)
        threading.Thread(target=self._work, args=arguments, name=f"concurrent {self.name}", daemon=True).start()

    def kill(self) -> None:
        """End the processes in which it works."""
        self.killed = True
        for session in self._sessions:
            kill = getattr(session, "kill", None)
            if kill is not None:
                with suppress(OSError):
                    kill()

    def _work(self, problem: Problem, start: Floats | None, board: Board, reformulations: Reformulations) -> None:
        began = time.perf_counter()
        try:
            backend = _Recorded(self._load(self.name), self._sessions)
            self._versions.update(backend.versions())
            if board.reason:
                return
            first = start if backend.capabilities.warm_start else None
            if first is not None and board.best is not None and not _is_complete(first):
                first = board.best.point
            limit = self.options.time_limit
            options = structs.replace(
                self.options, time_limit=None if limit is None else max(0.0, limit - (time.perf_counter() - began))
            )
            solved = solve_problem(
                problem, backend, options, first, _MemberMonitor(self.name, board), reformulations=reformulations
            )
            solved.close()
            self._report(solved, board)
        except DiagnosticError as refused:
            self.refusal = refused
        except BaseException as failed:
            self.failure = failed
            board.end("failed")
        finally:
            self.seconds = time.perf_counter() - began
            self.ended.set()

    def _report(self, solved: Solution, board: Board) -> None:
        """Write what a solve has found on the board, its proof last."""
        self.solution = solved
        if solved.bound is not None:
            board.take_bound(self.name, solved.bound)
        if solved.point is not None and solved.verification is not None:
            checked = CheckedPoint(solved.point, solved.verification, solved.is_integral)
            board.take(self.name, checked, prefer=solved.row_duals is not None)
        if solved.status in PROOFS:
            board.end("proved")


class _Recorded:
    """A backend that records its sessions, so that they can be ended from outside."""

    def __init__(self, backend: Backend, sessions: list[Session]) -> None:
        self.name, self._backend, self._sessions = backend.name, backend, sessions

    @property
    def capabilities(self) -> Capabilities:
        return self._backend.capabilities

    def versions(self) -> dict[str, str]:
        return self._backend.versions()

    def open(self, problem: Problem) -> Session:
        self._sessions.append(self._backend.open(problem))
        return self._sessions[-1]

    def __reduce__(self) -> Any:
        raise TypeError("belongs to its process")


class _MemberMonitor:
    """The exchange of one solver with the board."""

    def __init__(self, name: str, board: Board) -> None:
        self._name, self._board = name, board
        self._seen: CheckedPoint | None = None

    def progress(self, progress: SolverProgress) -> None:
        if progress.bound is not None and np.isfinite(progress.bound):
            self._board.take_bound(self._name, progress.bound)

    @property
    def stop_requested(self) -> bool:
        return bool(self._board.reason)

    def take_improvement(self, values: Floats) -> None:
        self._board.offer(self._name, values)

    def next_offer(self) -> Floats | None:
        best = self._board.best
        if best is None or best is self._seen or self._board.best_by == self._name:
            return None
        self._seen = best
        return best.point


def _is_complete(start: Floats) -> bool:
    return bool(np.isfinite(start).all())
