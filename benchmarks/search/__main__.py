"""The local search against solvers in equal time: `python -m benchmarks.search [CASE ...] [--methods NAME,...]`.

Each method runs in a process of its own with one thread, and is stopped after the same CPU seconds, counted from when
it gets the built problem, so that a busy machine favours none. Its time limit, which methods divide, is as much
longer as the machine is busy.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time

from benchmarks.search.cases import CASES, knapsack
from gpusched_dsl.compiling.build import build, check_solvable, with_problem
from gpusched_dsl.solving.built import solve_built
from gsdsl_backends.protocol import SolveOptions, SolverProgress

METHODS = ("search", "highs", "scip", "cpsat")
SAMPLE = 0.5  # wall seconds in which it is measured how busy the machine is
LATE = 1.5  # times the seconds of the CPU, after which a method ends even if the machine has become busier


class CpuClock:
    """A monitor that stops a solve after CPU seconds from its creation on."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def progress(self, progress: SolverProgress) -> None: ...

    @property
    def stop_requested(self) -> bool:
        return time.process_time() > self.end


def slowness() -> float:
    """Wall seconds for one of the CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() < wall + SAMPLE:
        pass
    return SAMPLE / (time.process_time() - cpu)


def work(name: str, method: str, seconds: float) -> dict[str, object]:
    """Solve a case in this process."""
    case = CASES[name]
    if method == "search":  # machine code is compiled, or loaded, once
        knapsack(5, 2).solve("S", method, solver_options={"steps": 1})
    model = case.model()
    scenario, _ = check_solvable(model._workspace, case.scenario)
    built = build(model._workspace, scenario, permissions=model._permissions, full=False)
    built = with_problem(built, aggregated=True)
    late = 1.0 if method == "cpsat" else LATE  # it works in another process, whose time the clock does not see
    options = SolveOptions(seconds * late * slowness(), gap=1e-6, threads=1, second_opinion=False)
    clock = CpuClock(seconds)
    result, _ = solve_built(built, method, options, None, clock)
    used = time.process_time() - clock.end + seconds
    return {"status": result.status, "objective": result.objective, "bound": result.bound, "seconds": used}


def ask(name: str, method: str, seconds: float) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.search", "--work", name, method, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        code = re.search(r"GSM\d{4}", done.stderr)
        return {"status": f"refused ({code.group()})" if code else "failed"}
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
