"""Interruptible runs of HiGHS on the loaded problem, all within the limits of one solve."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct, field

from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.results import finite
from gsdsl_backends.interrupt import Control, CtrlC, SolverOverran, run_stoppable
from gsdsl_backends.protocol import Exchange, Monitor, SolveOptions

LATE_SECONDS = 30.0  # how long HiGHS may run on after its limit, at least

# Linear problems with fewer nonzeros take milliseconds; a thread and callbacks would add half as much.
SMALL_NONZEROS = 5_000


class HighsRun(Struct, eq=False):
    """One solve of the problem that is loaded in `highs`: one or more runs, with one clock and one monitor.

    `abandoned`: a second Ctrl-C or its limit left the solver running; it must not be used any more. `muted`: the loaded
    problem is another one for a time, so its bounds and points are not reported.
    """

    highs: Any
    problem: Problem
    options: SolveOptions
    monitor: Monitor | None
    control: Control = field(default_factory=Control)
    abandoned: bool = False
    muted: bool = False

    def run(self, relaxed: bool = False) -> None:
        """Run HiGHS until it ends, or until a monitor or Ctrl-C stops it.

        Raises SolverOverran if it runs on after its time limit: presolve looks at no clock.
        """
        highs, control = self.highs, self.control
        is_mip = self.problem.is_mip and not relaxed and not self.muted

        def look(event: Any) -> None:
            event.interrupt(control.stop_requested)  # said every time: HiGHS remembers it from one run to the next
            if control.wants_progress and not control.stop_requested:
                seen = event.data_out
                if is_mip:
                    control.report(finite(seen.mip_primal_bound), finite(seen.mip_dual_bound), seen.mip_node_count)
                else:
                    control.report(None, None)

        def work() -> None:
            try:
                highs.run()
            finally:
                # The scheduler belongs to this thread and fixes the number of threads when it starts.
                QuietHighs.resetGlobalScheduler(False)

        def show_point(event: Any) -> None:
            control.improve(np.array(event.data_out.mip_solution))

        def take_point(event: Any) -> None:
            offer = control.take_offer()
            if offer is not None:
                event.data_in.setSolution(offer)

        interrupts = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
        callbacks = dict.fromkeys(interrupts, look)
        if is_mip and isinstance(self.monitor, Exchange):
            callbacks |= {highs.cbMipImprovingSolution: show_point, highs.cbMipUserSolution: take_point}
        for callback, function in callbacks.items():
            callback.subscribe(function)
        try:
            run_stoppable(work, control, self.monitor, until=self._latest)
        except (KeyboardInterrupt, SolverOverran):
            self.abandoned = True
            raise
        finally:
            for callback, function in () if self.abandoned else callbacks.items():
                callback.unsubscribe(function)

    def run_relaxation(self) -> None:
        """Run HiGHS on a linear problem: a small one to its end, in this thread."""
        if self.highs.getNumNz() > SMALL_NONZEROS:
            self.run(relaxed=True)
        elif not self.control.stop_requested:
            with CtrlC(self.control):
                try:
                    self.highs.run()
                finally:
                    QuietHighs.resetGlobalScheduler(False)

    @property
    def _latest(self) -> float | None:
        """When waiting is given up, in seconds of the control."""
        limit = self.options.time_limit
        return None if limit is None else limit + max(limit, LATE_SECONDS)

    def run_without_presolve(self) -> Any:
        """Run once more without presolve, within the remaining time; return the status."""
        self.limit_to_rest()
        previous = self.highs.getOptionValue("presolve")[1]
        self.highs.setOptionValue("presolve", "off")
        self.run()
        self.highs.setOptionValue("presolve", previous)
        return self.highs.getModelStatus()

    def limit_to_rest(self) -> None:
        """Limit the next run to the time that remains of the solve."""
        if self.options.time_limit is not None:
            limit_to(self.highs, max(0.0, self.options.time_limit - self.control.seconds), self.problem.is_mip)


def limit_to(highs: Any, seconds: float, branches: bool) -> None:
    """Limit the next run. The clock of linear runs continues between runs, that of other runs restarts."""
    before = 0.0 if branches else highs.getRunTime()
    highs.setOptionValue("time_limit", before + seconds)
