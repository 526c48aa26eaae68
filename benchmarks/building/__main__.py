"""`python -m benchmarks.building [--each N] [--seconds S]`: does building ever take longer than solving?

Building is reading, grounding, aggregation and all passes; solving is the same model without aggregation, up to S CPU
seconds, from its text on. Times are CPU times of this process. A model is flagged when building takes longer than
solving and one second, and a family of growing models when building grows with a power of its size above 1.5. Exit
code 1 when anything is flagged.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from benchmarks.building.cases import GROWING, random_cases
from gpusched_dsl.backends.protocol import SolveOptions, target_of
from gpusched_dsl.backends.registry import backend
from gpusched_dsl.building import Built, Permissions, build, checked, choose_scenario
from gpusched_dsl.compiling.passes.pipeline import prepare
from gpusched_dsl.folding import solve_built
from gpusched_dsl.language.diagnostics import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

ALLOWED = 1.0  # seconds by which building may take longer than solving
POWER = 1.5  # with which building may grow
SMALLEST = 0.2  # seconds below which no growth is judged


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.building", description=__doc__)
    parser.add_argument("--each", type=int, default=15, help="random instances of each kind (default 15)")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each solve (default 10)")
    options = parser.parse_args()
    build_only("model M { var x binary; minimize f: x; } scenario S for M { }")  # imports are not measured
    flagged = 0
    print(f"{'instance':<32} {'build s':>8} {'solve s':>8} {'ratio':>7}  aggregated")
    for name, text in random_cases(options.each):
        building, made = build_only(text)
        solving = solve_only(text, options.seconds)
        bad = building > solving + ALLOWED
        flagged += bad
        print(
            f"{name:<32} {building:8.2f} {solving:8.2f} {building / max(solving, 1e-3):7.2f}  "
            f"{'yes' if made.folded else 'no'}{'  TOO LONG' if bad else ''}",
            flush=True,
        )
    print(f"\n{'growing':<32} {'sizes and CPU seconds of building':<48} power")
    for name, (make, sizes) in GROWING.items():
        seconds = [build_only(make(size))[0] for size in sizes]
        power = math.log(max(seconds[-1], 1e-3) / max(seconds[-2], 1e-3)) / math.log(sizes[-1] / sizes[-2])
        bad = power > POWER and seconds[-1] > SMALLEST
        flagged += bad
        told = ", ".join(f"{n:,}: {s:.2f}" for n, s in zip(sizes, seconds, strict=True))
        print(f"{name:<32} {told:<48} {power:5.2f}{'  GROWS' if bad else ''}", flush=True)
    print(f"\n{flagged} flagged")
    return 1 if flagged else 0


def build_only(text: str) -> tuple[float, Built]:
    """CPU seconds of building with aggregation and of all passes, and what was built."""
    began = time.process_time()
    made = _built(text, fold=True)
    problem = made.problem if made.folded is None else made.folded.problem
    prepare(problem, target_of(backend("highs"), problem), tighten=True)
    return time.process_time() - began, made


def solve_only(text: str, limit: float) -> float:
    """CPU seconds of building and solving without aggregation."""
    began = time.process_time()
    made = _built(text, fold=False)
    solved, _ = solve_built(made, "highs", SolveOptions(time_limit=limit))
    solved.close()
    return time.process_time() - began


def _built(text: str, *, fold: bool) -> Built:
    found = Diagnostics()
    workspace = workspace_from_text(text, "building.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario, _ = checked(workspace, choose_scenario(workspace))
    return build(workspace, scenario, permissions=Permissions(), fold=fold)


if __name__ == "__main__":
    raise SystemExit(main())
