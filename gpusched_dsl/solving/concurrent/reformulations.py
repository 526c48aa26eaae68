"""The reformulations of one problem for several solvers; equal ones are made once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpusched_dsl.compiling.passes.steps import INTEGERS, ReformulatedProblem, Target
from gpusched_dsl.ir.problem import Problem


class Reformulations:
    """Of a linear problem only integrality differs between solvers; a second solver waits for the first one's."""

    def __init__(self) -> None:
        self._known: dict[object, ReformulatedProblem] = {}
        self._lock = threading.Lock()

    def get(self, problem: Problem, target: Target, make: Callable[[], ReformulatedProblem]) -> ReformulatedProblem:
        """Return the reformulation for a target: that of an equal one, or what `make` returns."""
        if not problem.is_linear:
            return make()
        key = (id(problem), target.takes(INTEGERS), target.continuous)
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]
