"""The part of a script that solves several objectives in order of priority, each earlier one kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.files.python_script.dialects import HIGHS, Dialect
from gsdsl_backends.files.python_script.names import literal

KEPT: Final = 1e-7
HEAD: Final = f"""\
# An earlier objective may get worse by this much, relative to the larger of its value and its largest coefficient.
KEPT = {KEPT}
stages = [  # in order of priority: name, sense, objective, its largest coefficient"""
START: Final = """\
]
objectives = {}
for name, sense, terms, largest in stages:"""
MIDDLE: Final = """\
    if not has_solution:
        break
    objectives[name] = objective
    if status != "optimal" or len(objectives) == len(stages):
        break"""
KEEP: Final = """\
    if largest:  # keep it
        slack = KEPT * max(abs(objective), largest)"""
END: Final = "objective = next(iter(objectives.values()), None)"
EXPRESSION_SOLVE: Final = """\
    if sense == "minimize":
        model.minimize(terms)
    else:
        model.maximize(terms)"""
EXPRESSION_KEEP: Final = """\
        if sense == "minimize":
            model.addConstr((1 / largest) * terms <= (objective + slack) / largest)
        else:
            model.addConstr((1 / largest) * terms >= (objective - slack) / largest)"""
SCIP_SOLVE: Final = """\
    model.setObjective(terms, sense)
    model.optimize()"""
SCIP_KEEP: Final = """\
        if sense == "minimize":
            model.addCons((1 / largest) * terms <= (objective + slack) / largest)
        else:
            model.addCons((1 / largest) * terms >= (objective - slack) / largest)"""
ARRAY_SOLVE: Final = """\
    costs, offset = terms
    model.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
    model.changeObjectiveOffset(offset)
    model.changeObjectiveSense(highspy.ObjSense.kMinimize if sense == "minimize" else highspy.ObjSense.kMaximize)
    model.run()"""
ARRAY_KEEP: Final = """\
        used = np.flatnonzero(costs).astype(np.int32)
        if sense == "minimize":
            sides = -highspy.kHighsInf, (objective + slack - offset) / largest
        else:
            sides = (objective - slack - offset) / largest, highspy.kHighsInf
        model.addRow(*sides, len(used), used, costs[used] / largest)"""


def stage_lines(problem: Problem, dialect: Dialect, terms: Sequence[str], *, arrays: bool) -> Iterator[str]:
    """Yield the list of stages and their loop; `terms` has the expression of each objective.

    With `arrays`, those of HiGHS are pairs of costs and an offset.
    """
    yield HEAD
    for name, objective, text in zip(objective_names(problem), problem.objectives, terms, strict=True):
        largest = literal(largest_cost(objective.costs(problem.columns)))
        yield f"    ({literal(name)}, {literal(objective.sense)}, {text}, {largest}),"
    yield START
    solve, keep = SCIP_SOLVE, SCIP_KEEP
    if dialect is HIGHS:
        solve, keep = (ARRAY_SOLVE, ARRAY_KEEP) if arrays else (EXPRESSION_SOLVE, EXPRESSION_KEEP)
    yield solve
    yield from (f"    {line}" for line in dialect.report.rstrip().splitlines())
    yield MIDDLE
    if dialect is not HIGHS:
        yield "    model.freeTransform()  # a solved problem accepts no rows"
    yield KEEP
    yield keep
    yield END


def objective_names(problem: Problem) -> list[str]:
    """Return a distinct name for each objective."""
    found: list[str] = []
    for number, objective in enumerate(problem.objectives, start=1):
        name = objective.name or f"objective {number}"
        found.append(name if name not in found else f"{name} ({number})")
    return found
