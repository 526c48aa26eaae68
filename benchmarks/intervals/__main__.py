"""Job shops and gangs on named nodes by every backend: `python -m benchmarks.intervals [--seconds 60] [CASE ...]`.

The table has for each solve the objective, the bound and the seconds of wall and CPU time, child processes included.
Each solve is in a process of its own, one after the other, with one thread.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from benchmarks.intervals.cases import CASES

BACKENDS = ("cpsat", "highs", "scip")
SOLVE = """
import json, sys
import gpusched_dsl as gs
from benchmarks.intervals.cases import CASES
text, _ = CASES[sys.argv[1]]
model = gs.loads(text)
result = model.solve(backend=sys.argv[2], gap=0, threads=1, time_limit=float(sys.argv[3]), second_opinion=False)
print(json.dumps([result.status, result.objective, result.bound, result.solve_seconds]))
"""


def solve(case: str, backend: str, seconds: float) -> dict[str, object]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", SOLVE, case, backend, str(seconds)], capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return {"case": case, "backend": backend, "status": done.stderr.strip().splitlines()[-1]}
    status, objective, bound, solving = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "case": case, "backend": backend, "status": status, "objective": objective, "bound": bound,
        "solve_seconds": solving, "wall_seconds": wall, "cpu_seconds": cpu,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--backends", default=",".join(BACKENDS))
    arguments = parser.parse_args()
    print("| case | published | backend | status | objective | bound | solve s | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in arguments.cases:
        for backend in arguments.backends.split(","):
            found = solve(case, backend, arguments.seconds)
            numbers = [found.get(name) for name in ("objective", "bound", "solve_seconds", "cpu_seconds")]
            texts = ["-" if n is None else f"{n:.6g}" if at < 2 else f"{n:.1f}" for at, n in enumerate(numbers)]
            cells = [case, str(CASES[case][1] or "-"), backend, str(found["status"]), *texts]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
