"""The local search against solvers in equal time: `python -m benchmarks.search [CASE ...] [--methods NAME,...]`.

Each method runs in a process of its own with one thread, and is stopped after the same CPU seconds, counted from when
it starts to work on the problem, so that a busy machine favours none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from benchmarks.search.cases import CASES, knapsack
from gpusched_dsl.backends.protocol import SolverProgress

METHODS = ("search", "highs", "scip", "cpsat")
SLOWEST = 100  # wall seconds for one of the CPU, after which a method ends anyway


class CpuClock:
    """A monitor that stops a solve after CPU seconds, from its first question on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end: float | None = None

    def progress(self, progress: SolverProgress) -> None: ...

    @property
    def stop_requested(self) -> bool:
        if self.end is None:
            self.end = time.process_time() + self.seconds
        return time.process_time() > self.end


def work(name: str, method: str, seconds: float) -> dict[str, object]:
    """Solve a case in this process."""
    case = CASES[name]
    if method == "search":  # machine code is compiled, or loaded, once
        knapsack(5, 2).solve("S", method, solver_options={"steps": 1})
    clock = CpuClock(seconds)
    result = case.model().solve(
        case.scenario, method, gap=1e-6, threads=1, time_limit=SLOWEST * seconds, monitor=clock, second_opinion=False
    )
    used = 0.0 if clock.end is None else time.process_time() - clock.end + seconds
    objective = result.objectives[-1].value if result.objectives else None
    return {"status": result.status, "objective": objective, "bound": result.bound, "seconds": used}


def ask(name: str, method: str, seconds: float) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.search", "--work", name, method, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"status": (done.stderr.strip().splitlines() or ["?"])[-1][:60]}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(sys.argv[2], sys.argv[3], float(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seconds", type=float, help="in place of those of each case")
    options = parser.parse_args()
    methods = options.methods.split(",")
    print(f"| case | s | best known | {' | '.join(methods)} |\n| --- | --- | --- |{' --- |' * len(methods)}")
    for name in options.cases:
        case = CASES[name]
        seconds = options.seconds or case.seconds
        cells = [f"{case.title}", f"{seconds:g}", f"{case.best:,.6g}"]
        for method in methods:
            found = ask(name, method, seconds)
            value = found.get("objective")
            assert value is None or isinstance(value, float)
            away = "" if value is None or not case.best else f" ({abs(value / case.best - 1):.1%})"
            cells.append(f"{found['status']}" if value is None else f"{value:,.6g}{away}")
            print(found, file=sys.stderr)
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
