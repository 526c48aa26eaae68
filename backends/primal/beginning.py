"""What a solve begins with: our own search where a solver is likely to lack a point, and what it proved on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusched_dsl.backends.primal.budget import Budget
from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
from gpusched_dsl.backends.running import Control, CtrlC
from gpusched_dsl.ir.answer import Answer, Status
from gpusched_dsl.ir.problem import Floats, Problem

# Smaller problems are solvers' own business: they have a point, often the optimum, before a search of ours would end.
LARGE_INTEGERS, LARGE_NONZEROS = 5_000, 50_000
SHARE = 0.2  # of the time limit
MOST_SECONDS = 60.0  # without a time limit


@dataclass(frozen=True, eq=False)
class Beginning:
    """`point` is feasible, None where none was found; `bound` is proved, None where there is none.

    `proved`: the point is as good as was asked for. `interrupted`: somebody wants the best point now.
    """

    point: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    proved: bool = False
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def answer(self) -> Answer | None:
        """The answer where no solver is needed any more."""
        if not self.proved and not self.interrupted:
            return None
        status, reason = (Status.OPTIMAL, "") if self.proved else (Status.LIMIT, "interrupt")
        return Answer(
            status, self.point, self.objective, self.bound, reason=reason, solve_seconds=self.seconds
        )  # fmt: skip

    def added_to(self, answer: Answer, problem: Problem) -> Answer:
        """A solver's answer, with our bound or our point where its own is worse or missing."""
        maximizes = bool(problem.objectives) and problem.objectives[0].sense == "maximize"
        sign = -1.0 if maximizes else 1.0
        answer = replace(answer, solve_seconds=answer.solve_seconds + self.seconds)
        if answer.status is not Status.LIMIT:
            return answer
        if self.bound is not None and (answer.bound is None or sign * answer.bound < sign * self.bound):
            answer = replace(answer, bound=self.bound)
        if self.point is None or self.objective is None:
            return answer
        if answer.values is None or answer.objective is None or sign * self.objective < sign * answer.objective:
            return replace(answer, values=self.point, objective=self.objective)
        return answer


NOTHING = Beginning()


def wanted(problem: Problem, backend: Backend, options: SolveOptions, start: Floats | None) -> bool:
    """Whether to search for a start before the solver."""
    if options.heuristic == "off" or not backend.capabilities.warm_start:
        return False
    if not problem.is_mip or not problem.is_linear or len(problem.objectives) > 1:
        return False
    if options.heuristic == "on":
        return True
    large = problem.matrix.nonzeros >= LARGE_NONZEROS and int(problem.integer.sum()) >= LARGE_INTEGERS
    return start is None and large


def begin(
    problem: Problem, backend: Backend, options: SolveOptions, start: Floats | None, monitor: Monitor | None
) -> Beginning:
    """Search for a start where that is `wanted`, within a share of the time limit; `options` has what is left of it."""
    if not wanted(problem, backend, options, start):
        return NOTHING
    from gpusched_dsl.backends.primal.heuristic import Search

    seconds = MOST_SECONDS if options.time_limit is None else SHARE * options.time_limit
    control = Control()
    budget = Budget(seconds, monitor, lambda: control.stopping)
    with CtrlC(control):
        found = Search(problem, backend, replace(options, extra={}, time_limit=None), budget, start).run()
    return Beginning(
        found.point,
        found.objective,
        found.bound,
        found.point is not None and found.gap <= options.gap,
        budget.stop_requested,
        budget.seconds,
    )
