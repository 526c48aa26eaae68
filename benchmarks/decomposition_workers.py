"""Column generation on local workers: parts of the week of `benchmarks/price_aware/week.py`, without and with workers.

    python -m benchmarks.decomposition_workers [--workers N,N,...] [--jobs J] [--slots S] [--last-slot]

prints, for each number of workers (0: no engine), the seconds of a decomposed solve to a gap of 1 %, the share of them
in which blocks are priced, and the result, which must have the same bits each time. With `--last-slot` only the last
slot of a job counts for its lateness, so that blocks are not recognised, and the solver prices them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.price_aware.week import Week, write
from gpusched_dsl import load
from gpusched_dsl.engines.active import engine_in_use
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.decomposition.engine_pricing import EnginePricer
from gpusched_dsl.solving.decomposition.pricing import Pricer
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

GAP = 0.01


class PricingClock:
    """Adds up the seconds in which blocks are priced."""

    def __init__(self) -> None:
        self.seconds, self.rounds = 0.0, 0
        for kind in (Pricer, EnginePricer):
            self._measure(kind)

    def _measure(self, kind: type[Pricer] | type[EnginePricer]) -> None:
        price = kind.price

        def measured(*arguments: object, **options: object) -> object:
            start = time.perf_counter()
            try:
                return price(*arguments, **options)  # type: ignore[arg-type]
            finally:
                self.seconds += time.perf_counter() - start
                self.rounds += 1

        kind.price = measured  # type: ignore[assignment,method-assign]


def problem_of(jobs: int, slots: int, last_slot: bool) -> Problem:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), Week(jobs=jobs, slots=slots, rate=50_000.0, nodes=20))
        settings = {"mode": "soft", "lateness_measure": "last_slot"} if last_slot else {}
        return load(path).ground("Week", settings=settings)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--workers", default="0,1,2")
    given.add_argument("--jobs", type=int, default=24)
    given.add_argument("--slots", type=int, default=96)
    given.add_argument("--last-slot", action="store_true")
    options = given.parse_args()
    problem, clock = problem_of(options.jobs, options.slots, options.last_slot), PricingClock()
    results = set()
    print(f"{int(problem.integer.sum())} integer columns", flush=True)
    for text in options.workers.split(","):
        workers = int(text)
        clock.seconds, clock.rounds = 0.0, 0
        with engine_in_use(workers=workers or None):
            start = time.perf_counter()
            solved = solve_problem(problem, options=SolveOptions(gap=GAP, decompose="on"))
            seconds = time.perf_counter() - start
        assert solved.point is not None
        results.add((solved.objective, solved.bound, solved.point.tobytes()))
        print(
            f"{workers} workers: {seconds:.1f} s, pricing {clock.seconds:.1f} s in {clock.rounds} calls; "
            f"objective {solved.objective}, bound {solved.bound}",
            flush=True,
        )
        solved.close()
    assert len(results) == 1, "the results differ"


if __name__ == "__main__":
    main()
