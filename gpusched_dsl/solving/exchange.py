"""The monitor of a backend: bounds and points of the problem that it solves, in terms of the stated problem."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.map_start import map_start
from gsdsl_backends.protocol import Exchange, Monitor, SolverProgress


def stated_monitor(
    monitor: Monitor | None, reformulated: ReformulatedProblem, problem: Problem, factor: float
) -> Monitor | None:
    """Return the monitor for a solve of `problem`, the reformulated one, whose costs were multiplied by `factor`.

    Bounds that it receives are bounds of the stated problem: worse by the error of approximations.
    """
    if monitor is None:
        return None
    minimises = not problem.objectives or problem.objectives[0].sense == "minimize"
    error = reformulated.bound_error if minimises else -reformulated.bound_error
    if isinstance(monitor, Exchange):
        return _StatedExchange(monitor, factor, error, monitor, reformulated)
    return monitor if factor == 1.0 and error == 0.0 else _StatedMonitor(monitor, factor, error)


@dataclass(frozen=True, slots=True)
class _StatedMonitor:
    monitor: Monitor
    factor: float
    error: float

    def progress(self, progress: SolverProgress) -> None:
        objective, bound = progress.objective, progress.bound
        self.monitor.progress(
            structs.replace(
                progress,
                objective=None if objective is None else objective / self.factor,
                bound=None if bound is None else bound / self.factor - self.error,
            )
        )

    @property
    def stop_requested(self) -> bool:
        return self.monitor.stop_requested


@dataclass(frozen=True, slots=True)
class _StatedExchange(_StatedMonitor):
    exchange: Exchange
    reformulated: ReformulatedProblem

    def take_improvement(self, values: Floats) -> None:
        self.exchange.take_improvement(self.reformulated.invert(values))

    def next_offer(self) -> Floats | None:
        return map_start(self.reformulated, self.exchange.next_offer())
