"""gsdsl and HiGHS: a scenario from its files to a plan proved optimal, or to the problem that HiGHS is given."""

from pathlib import Path

from benchmarks.child import Lap
from gpusched_dsl import load
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "gpu_sharing" / "scenarios" / "cluster_10x20.gsm"
LIMIT = 600.0  # s


def run(folder: Path, lap: Lap, scenario: str, what: str) -> dict[str, float]:
    file = Path(__file__).with_name("big_m.gsm") if scenario == "BigM" else SHIPPED
    problem = load(file, allow_outside=True).ground(scenario)
    lap("build")
    if what == "size":
        problem = reformulate(problem, Target("highs")).problem
        lap("passes")
        return {"columns": problem.columns, "rows": problem.rows, "nonzeros": problem.matrix.nonzeros}
    solved = solve_problem(problem, "highs", SolveOptions(LIMIT, 0.0))
    lap("solve")
    solved.close()
    assert not solved.reason, f"stopped by {solved.reason} before optimality was proved"
    return {"optimum": round(solved.objectives[-1].value, 4)}
