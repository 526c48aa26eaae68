"""gsdsl and HiGHS: a scenario of the shipped day, from its files to a plan within 1 % of the optimum."""

from pathlib import Path

from benchmarks.child import Lap
from gpusched_dsl import load
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

DAY = Path(__file__).resolve().parents[2] / "models" / "price_aware" / "scenarios" / "day.gsm"
GAP = 0.01
LIMIT = 300.0  # s


def run(folder: Path, lap: Lap, scenario: str) -> dict[str, float]:
    problem = load(DAY).ground(scenario)
    lap("build")
    solved = solve_problem(problem, "highs", SolveOptions(LIMIT, GAP))
    lap("solve")
    solved.close()
    assert not solved.reason, f"stopped by {solved.reason} before the gap was reached"
    return {"columns": problem.columns, "rows": problem.rows, "nonzeros": problem.matrix.nonzeros}
