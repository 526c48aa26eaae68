"""One search: moves until a pause, then linear problems of about as much work, until a limit or the end by itself."""

from __future__ import annotations

import time
from typing import Final

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gsdsl_backends.interrupt import Control
from gsdsl_backends.protocol import Exchange, Monitor, SolveOptions, SolverProgress
from gsdsl_backends.search.arrays import set_best, state_at
from gsdsl_backends.search.kernels.annealing import search
from gsdsl_backends.search.kernels.jumps import (
    BEST,
    HAS_BEST,
    IMPROVED,
    PAUSE,
    STEPS,
    TOLERANCE,
    VIOLATED,
    WORK,
    SearchModel,
    SearchState,
)
from gsdsl_backends.search.linear import MOST_NONZEROS, LinearNeighbourhoods

CALL_SECONDS: Final = 0.05  # about how long one call of the kernel takes, so that it can be stopped
MOST_STEPS: Final = 1 << 30  # of a call, which a pause may end at once
WITHOUT_POINT: Final = 10  # times the patience: the end of a search without any point, which its problem may not have
# Changes of rows judged before the first neighbourhood; the next one waits for as many as the last one was worth.
FIRST_PAUSE: Final = 1_000_000
MOST_FRUITLESS: Final = 64
FRUITLESS: Final = 8  # neighbourhoods in a row without a better point, before the search ends by itself


class SearchRun:
    """One search: moves, and linear problems in between."""

    def __init__(
        self, problem: Problem, exact: SearchModel, model: SearchModel, state: SearchState, options: SolveOptions,
        control: Control, monitor: Monitor,
    ) -> None:  # fmt: skip
        self.problem, self.exact, self.model, self.state = problem, exact, model, state
        self.options, self.control, self.monitor = options, control, monitor
        self.rng = np.random.default_rng(options.seed)
        self.linear: LinearNeighbourhoods | None = None
        self.is_elastic = False
        self.nearest: tuple[Floats, float] | None = None  # the point that lacks least, and how much
        self.fruitless = 0
        self.completed = -1  # the steps at the last point whose continuous columns a linear problem decided
        if options.heuristic != "off" and problem.matrix.nonzeros <= MOST_NONZEROS:
            state.counts[PAUSE] = FIRST_PAUSE
        else:
            self.fruitless = FRUITLESS

    def close(self) -> None:
        if self.linear is not None:
            self.linear.close()

    @property
    def stop_requested(self) -> bool:
        return self.control.stop_requested or self.monitor.stop_requested

    def progress(self, progress: SolverProgress) -> None:
        """Ignore the progress of a linear problem."""

    def until_the_end(self, steps: float, patience: float) -> str:
        """Search until a limit; return which one, "" for the end by itself."""
        model, state, options = self.model, self.state, self.options
        length, told = 64, -1.0
        exchange = self.monitor if isinstance(self.monitor, Exchange) else None
        priced = np.flatnonzero(model.costs)
        costs = model.costs[priced]
        least = float(costs @ np.where(costs > 0, model.lower[priced], model.upper[priced]))
        while state.counts[STEPS] < steps:
            if self.stop_requested:
                return "interrupt"
            if options.time_limit is not None and self.control.seconds > options.time_limit:
                return "time"
            if state.counts[HAS_BEST] and state.numbers[BEST] <= least:
                return ""
            before, best = time.perf_counter(), state.numbers[BEST]
            idle = state.counts[STEPS] - state.counts[IMPROVED]
            if idle > (patience if state.counts[HAS_BEST] else WITHOUT_POINT * patience):
                if self.fruitless >= FRUITLESS:
                    return ""
                state.counts[PAUSE] = state.counts[WORK]
            if state.counts[WORK] >= state.counts[PAUSE]:
                self._solve_linear()
            else:
                search(model, state, int(min(length, steps - state.counts[STEPS])), self.rng)
                taken = time.perf_counter() - before
                length = max(1, min(2 * length, int(length * CALL_SECONDS / max(taken, 1e-9)), MOST_STEPS))
            if self.control.seconds - told > CALL_SECONDS:
                told = self.control.seconds
                value = float(self._value()) if state.counts[HAS_BEST] else None
                self.monitor.progress(SolverProgress(told, value, None, iterations=int(state.counts[STEPS])))
            if exchange is not None and state.counts[HAS_BEST] and state.numbers[BEST] != best:
                exchange.take_improvement(state.best.copy())
        return "iterations"

    def _solve_linear(self) -> None:
        """Let linear problems improve the best point, or find one, and pause again after as much work as they took."""
        state = self.state
        limit = self.options.time_limit
        left = None if limit is None else max(limit - self.control.seconds, 0.01)
        options = structs.replace(self.options, time_limit=left, threads=1, extra={})
        if state.counts[HAS_BEST]:
            work, better = self._improve(options)
        else:
            work, better = self._find_any(options)
        self.fruitless = 0 if better else self.fruitless + 1
        # Where only integers are left to decide, moves do more the longer linear problems have found nothing.
        times = 1 + (min(self.fruitless, MOST_FRUITLESS) if self.problem.integer.all() else 0)
        state.counts[PAUSE] = state.counts[WORK] + (work // FRUITLESS if better else times * work)

    def _improve(self, options: SolveOptions) -> tuple[int, bool]:
        """Improve the best point; return the work and whether it became better."""
        state = self.state
        if self.linear is None or self.is_elastic:
            self.close()
            self.linear, self.is_elastic = LinearNeighbourhoods(self.problem, self.exact), False
        before, best = self.linear.work, float(state.numbers[BEST])
        if self.completed != state.counts[IMPROVED] and not self.problem.integer.all():
            self._offer(self.linear.complete(state.best.copy(), options, self))
        sign = -1.0 if self.problem.objectives and self.problem.objectives[0].sense == "maximize" else 1.0
        none = np.zeros(0, dtype=np.int64)
        self._offer(self.linear.improve(state.best.copy(), sign * self._value(), none, options, self, self.rng))
        self.completed = int(state.counts[IMPROVED])
        return self.linear.work - before, bool(state.numbers[BEST] < best)

    def _find_any(self, options: SolveOptions) -> tuple[int, bool]:
        """Reduce what rows lack, from where the moves are or the least so far; return the work and whether it fell."""
        state = self.state
        if self.linear is None:
            self.linear, self.is_elastic = LinearNeighbourhoods(self.problem, self.exact, elastic=True), True
        if self.nearest is None or self.fruitless >= FRUITLESS:
            self.nearest, self.fruitless = (state.point.copy(), np.inf), 0
        before = self.linear.work
        wrong = state_at(self.exact, self.nearest[0])
        violated = wrong.violated[: wrong.counts[VIOLATED]].astype(np.int64)
        found = self.linear.improve(*self.nearest, violated, options, self, self.rng)
        if found is not None:
            self.nearest = found
            if found[1] <= FEASIBILITY:
                self._offer(found)
        return self.linear.work - before, found is not None

    def _offer(self, found: tuple[Floats, float] | None) -> None:
        """Go on from a point of a linear problem if it is better than the best one."""
        state = self.state
        if found is None:
            return
        point = found[0]
        value = float(self.model.costs @ point)
        if not state.counts[HAS_BEST] or value < state.numbers[BEST] - TOLERANCE * max(1.0, abs(value)):
            set_best(self.exact, self.model, state, point)

    def _value(self) -> float:
        return self.problem.objectives[0].value(self.state.best) if self.problem.objectives else 0.0
