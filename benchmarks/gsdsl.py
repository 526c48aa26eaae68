"""gsdsl from a `.gsm` file and its data to a model loaded in a solver, phase by phase.

The phases are those of `gpusched_dsl.load(path).ground()`; they are called one by one here to be timed. What gsdsl
imports only when it needs it is imported first, as for the other arms.
"""

from pathlib import Path
from typing import Any

import lark  # noqa: F401
import networkx  # noqa: F401
import polars  # noqa: F401

from benchmarks.child import Lap
from gpusched_dsl.compiling.build import Permissions, check_solvable, choose_scenario, read_data
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_backends.registry import backend

highs, scip = backend("highs"), backend("scip")


def build(path: Path, lap: Lap) -> Problem:
    """The problem of the only scenario of a file; phases `parse`, `check`, `data` and `ground`."""
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    lap("parse")
    scenario, _ = check_solvable(workspace, choose_scenario(workspace))
    lap("check")
    permissions = Permissions()
    instance = read_data(workspace, scenario, permissions=permissions)
    lap("data")
    problem = ground(scenario.model, instance.store, permissions.limits())
    lap("ground")
    return problem


def load(path: Path, lap: Lap) -> Any:
    """The same, loaded in HiGHS; phase `load`."""
    session = highs.open(build(path, lap))
    lap("load")
    return session._highs


def load_scip(path: Path, lap: Lap) -> dict[str, float]:
    """The same, loaded in SCIP; phase `load`."""
    problem = build(path, lap)
    session = scip.open(problem)
    lap("load")
    session.close()
    return {"columns": problem.columns, "rows": problem.rows, "nonzeros": problem.matrix.nonzeros}
