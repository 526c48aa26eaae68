"""gsdsl: the phase `work` is grounding (`grounding`) or all passes for HiGHS (`passes`); the rest is `before`."""

from pathlib import Path

from benchmarks.child import Lap
from gpusched_dsl.compiling.build import Permissions, check_solvable, read_data
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace

FILE = Path(__file__).with_name("day_as_printed.gsm")


def run(folder: Path, lap: Lap, measured: str) -> dict[str, float]:
    found = Diagnostics()
    workspace = load_workspace(FILE, found, allow_outside=True)
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, "DayPrinted")
    permissions = Permissions(outside=True)
    instance = read_data(workspace, scenario, permissions=permissions)
    lap("before")
    problem = ground(scenario.model, instance.store, permissions.limits())
    lap("work" if measured == "grounding" else "before")
    if measured == "passes":
        problem = reformulate(problem, Target("highs")).problem
        lap("work")
    return {"declared columns": problem.variables[-1].stop}
