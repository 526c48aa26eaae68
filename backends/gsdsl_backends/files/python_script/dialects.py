"""The words of the two solvers in a script: how it begins, adds variables and rows, solves, and reads the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Dialect:
    """Texts of a script for one solver. `variable` has the places `low`, `high`, `kind` and `name`.

    `between` states a row with two sides, with the places `low`, `row` and `high`.
    """

    solver: str
    packages: str
    start: str
    infinity: str
    kinds: tuple[str, str]  # continuous, integer
    variable: str
    row: str
    between: str
    solve: str
    value: str
    report: str


HIGHS: Final = Dialect(
    solver="HiGHS",
    packages="highspy",
    start="""\
import highspy
import numpy as np

CONTINUOUS, INTEGER = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
INFINITY = highspy.kHighsInf
GAP = 1e-4  # relative gap at which a solution counts as optimal

model = highspy.Highs()
model.setOptionValue("output_flag", False)
model.setOptionValue("mip_rel_gap", GAP)
# two rules of presolve with which HiGHS calls wrong points optimal (its versions 1.12 to 1.15)
model.setOptionValue("presolve_rule_off", (1 << 12) | (1 << 16))
""",
    infinity="INFINITY",
    kinds=("CONTINUOUS", "INTEGER"),
    variable="model.addVariable({low}, {high}, type={kind}, name={name})",
    row="model.addConstr({row}, {name})",
    between="{low} <= {row} <= {high}",
    solve="model.{sense}({objective})",
    value="model.val({variable})",
    report="""\
status = model.modelStatusToString(model.getModelStatus()).lower()
has_solution = model.getInfo().primal_solution_status == 2
objective = model.getObjectiveValue() if has_solution else None
""",
)

SCIP: Final = Dialect(
    solver="SCIP",
    packages="pyscipopt",
    start="""\
import numpy as np
import pyscipopt as scip
from pyscipopt import quicksum

CONTINUOUS, INTEGER = "C", "I"
GAP = 1e-4  # relative gap at which a solution counts as optimal

model = scip.Model()
model.hideOutput()
model.setParam("limits/gap", GAP)
""",
    infinity="None",
    kinds=("CONTINUOUS", "INTEGER"),
    variable="model.addVar({name}, vtype={kind}, lb={low}, ub={high})",
    row="model.addCons({row}, {name})",
    between="{low} <= ({row} <= {high})",
    solve='model.setObjective({objective}, "{sense}")\nmodel.optimize()',
    value="model.getVal({variable})",
    report="""\
status = {"gaplimit": "optimal"}.get(model.getStatus(), model.getStatus())
has_solution = model.getNSols() > 0
objective = model.getObjVal() if has_solution else None
""",
)
DIALECTS: Final = {"python": HIGHS, "python-scip": SCIP}
