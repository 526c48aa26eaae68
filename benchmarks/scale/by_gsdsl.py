"""gsdsl: a scenario from its files to a checked plan, or only to the problem of all elements.

The phases `text`, `build` and `solve` are those of `gpusched_dsl.load(path).solve(...)`; they are called one by one
here to be timed. What gsdsl imports only when it needs it is imported first. The phase `solve` has the search for a
start, the solver and the plan in terms of all elements, checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import lark  # noqa: F401
import networkx  # noqa: F401
import polars  # noqa: F401

import gpusched_dsl.compiling.interchangeable.components
import gpusched_dsl.compiling.lowering.ground  # noqa: F401
from benchmarks.child import Lap
from gpusched_dsl.compiling.build import Built, Permissions, build, check_solvable, choose_scenario, with_problem
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.workflows.method import SolverMethod
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

highs = backend("highs")

GIB = 1 << 30
TOO_LARGE = "GSM3001"


def run(folder: Path, lap: Lap, what: str, file: str, scenario: str, *options: str) -> dict[str, float]:
    """`what`: `plan`, `plan without passes` (nothing aggregated or tightened), or `ground` (nothing solved).

    `options` are `gap=`, `limit=` (wall seconds of the solve) and `memory=` (GiB of one grounding). Facts: `objective`,
    `bound` and `gap` where there are any, `optimal` (1 if the gap was reached), `columns` of the problem of all
    elements and `solved_columns` of the one that was solved; `refused` where it would not fit in the memory allowed.
    """
    gap, limit, memory = _numbers(options, gap=1e-4, limit=math.inf, memory=8.0)
    without = frozenset({"all"}) if what == "plan without passes" else frozenset()
    asked = SolveOptions(None if math.isinf(limit) else limit, gap, without=without)
    method = SolverMethod("highs", load=lambda _: highs)
    try:
        built = _read(folder / file, scenario, lap, Permissions(int(memory * GIB)))
        if what == "ground":
            built = with_problem(built, aggregated=False)
        else:
            built = method.with_problem(built, asked, Deadline())
    except DiagnosticError as error:
        if any(d.code == TOO_LARGE for d in error.diagnostics):
            lap("build")
            return {"refused": 1.0}
        raise
    lap("build")
    if what == "ground":
        return {"columns": built.problem.columns, "rows": built.problem.rows, "nonzeros": built.problem.matrix.nonzeros}
    solved, _ = method.solve(built, asked)
    lap("solve")
    solved.close()
    inner = solved if solved.aggregated is None else solved.aggregated
    facts = {"objective": solved.objective, "bound": solved.bound, "gap": solved.gap}
    found = {name: float(value) for name, value in facts.items() if value is not None and math.isfinite(value)}
    size = solved.size or solved.problem.size
    return found | {
        "optimal": float(solved.status == "optimal"),
        "columns": size.columns,
        "solved_columns": inner.problem.columns,
    }


def _read(path: Path, scenario: str, lap: Lap, permissions: Permissions) -> Built:
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    chosen, warnings = check_solvable(workspace, choose_scenario(workspace, scenario))
    lap("text")
    return build(workspace, chosen, warnings=warnings, permissions=permissions, full=False)


def _numbers(options: Sequence[str], **default: float) -> tuple[float, ...]:
    """The values of `name=number`, in the order of the defaults; raises KeyError for another name."""
    given = dict(default)
    for option in options:
        name, _, number = option.partition("=")
        if name not in given:
            raise KeyError(name)
        given[name] = float(number)
    return tuple(given.values())
