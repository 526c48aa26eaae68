"""`python -m benchmarks.building [KIND ...] [--each N] [--seconds S]`: compares the times of building and solving.

Building is reading, grounding, aggregation and all passes; solving is the same model without aggregation, up to S CPU
seconds, from its text on. Times are CPU times of this process. A model is flagged when building takes longer than
solving and one second; where building takes less than a second, nothing is solved. A family of growing models is
flagged when building grows with a power of its size above 1.5. Exit code 1 when anything is flagged.

Kinds (all by default): `random` instances of four models, `shipped` scenarios of models/, `generated` models of the
tests (N times ten), `growing` families.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.building.cases import GROWING, generated_cases, random_cases, shipped_cases
from gpusched_dsl.compiling.build import Built, Permissions, build, check_solvable, choose_scenario
from gpusched_dsl.compiling.passes.pipeline import MOST_ENTRIES, reformulate
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.solving.built import solve_built
from gsdsl_backends.protocol import SolveOptions, target_of
from gsdsl_backends.registry import backend

ALLOWED = 1.0  # seconds by which building may take longer than solving
POWER = 1.5  # with which building may grow
SMALLEST = 0.2  # seconds below which no growth is judged

Read = Callable[[Diagnostics], tuple[Workspace, str | None]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.building", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, "growing", []], help="what to build (default: everything)")
    parser.add_argument("--each", type=int, default=15, help="random instances of each model (default 15)")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each solve (default 10)")
    options = parser.parse_args()
    kinds = options.kinds or [*KINDS, "growing"]
    build_only(_of_text("model M { var x binary; minimize f: x; } scenario S for M { }"))  # imports are not measured
    flagged = 0
    for kind in kinds:
        flagged += growing() if kind == "growing" else compared(kind, KINDS[kind](options.each), options.seconds)
    print(f"\n{flagged} flagged")
    return 1 if flagged else 0


def _of_text(text: str) -> Read:
    return lambda found: (workspace_from_text(text, "building.gsm", found, Path.cwd()), None)


def _random(each: int) -> Iterator[tuple[str, Read]]:
    for name, text in random_cases(each):
        yield name, _of_text(text)


def _generated(each: int) -> Iterator[tuple[str, Read]]:
    for name, text in generated_cases(10 * each):
        yield name, _of_text(text)


def _shipped(each: int) -> Iterator[tuple[str, Read]]:
    """Every scenario of every file, whatever `each` is."""
    for name, path, scenario in shipped_cases():
        yield name, lambda found, path=path, scenario=scenario: (load_workspace(path, found), scenario)  # type: ignore[misc]


KINDS: dict[str, Callable[[int], Iterator[tuple[str, Read]]]] = {
    "random": _random,
    "shipped": _shipped,
    "generated": _generated,
}


def compared(kind: str, cases: Iterator[tuple[str, Read]], limit: float) -> int:
    """Prints the models whose building takes longest and those that are flagged; how many are flagged."""
    times: list[tuple[float, float, str, bool]] = []
    refused = flagged = 0
    print(f"\n{kind:<60} {'build s':>8} {'solve s':>8}  aggregated", flush=True)
    for name, read in cases:
        try:
            building, made = build_only(read)
            if len(made.problem.matrix.values) > MOST_ENTRIES:  # a scenario for policies: no solver has the memory
                refused += 1
                continue
            solving = solve_only(read, limit) if building > ALLOWED else math.nan
        except DiagnosticError:  # a scenario without data, or one of a policy only
            refused += 1
            continue
        bad = building > solving + ALLOWED
        flagged += bad
        times.append((building, solving, name, made.aggregated is not None))
        if building > ALLOWED:
            print(_line(*times[-1]) + ("  TOO LONG" if bad else ""), flush=True)
    longest = [line for line in sorted(times, reverse=True)[:10] if line[0] <= ALLOWED]
    print("\n".join(_line(*line) for line in longest))
    print(f"{len(times):,} built, {refused:,} refused, {flagged:,} flagged", flush=True)
    return flagged


def _line(building: float, solving: float, name: str, aggregated: bool) -> str:
    solved = " " * 8 if math.isnan(solving) else f"{solving:8.2f}"
    return f"{name:<60} {building:8.2f} {solved}  {'yes' if aggregated else 'no'}"


def growing() -> int:
    """Prints how building grows; how many families are flagged."""
    flagged = 0
    print(f"\n{'growing':<32} {'sizes and CPU seconds of building':<48} power")
    for name, (make, sizes) in GROWING.items():
        seconds = [build_only(_of_text(make(size)))[0] for size in sizes]
        power = math.log(max(seconds[-1], 1e-3) / max(seconds[-2], 1e-3)) / math.log(sizes[-1] / sizes[-2])
        bad = power > POWER and seconds[-1] > SMALLEST
        flagged += bad
        told = ", ".join(f"{n:,}: {s:.2f}" for n, s in zip(sizes, seconds, strict=True))
        print(f"{name:<32} {told:<48} {power:5.2f}{'  GROWS' if bad else ''}", flush=True)
    return flagged


def build_only(read: Read) -> tuple[float, Built]:
    """CPU seconds of building with aggregation and of all passes, and what was built."""
    began = time.process_time()
    made = _built(read, fold=True)
    problem = made.problem if made.aggregated is None else made.aggregated.problem
    reformulate(problem, target_of(backend("highs"), problem), tighten=True)
    return time.process_time() - began, made


def solve_only(read: Read, limit: float) -> float:
    """CPU seconds of building and solving without aggregation."""
    began = time.process_time()
    made = _built(read, fold=False)
    solved, _ = solve_built(made, "highs", SolveOptions(time_limit=limit))
    solved.close()
    return time.process_time() - began


def _built(read: Read, *, fold: bool) -> Built:
    found = Diagnostics()
    workspace, wanted = read(found)
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, choose_scenario(workspace, wanted))
    return build(workspace, scenario, permissions=Permissions(), aggregated=fold)


if __name__ == "__main__":
    raise SystemExit(main())
