"""Options of a solve in the words of SCIP."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyscipopt
from pyscipopt.scip import PY_SCIP_PARAMSETTING

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import SOLVER
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import SolveOptions

# Parts of SCIP's presolve that lose optima of integer problems: the upgrade of rows to variable bounds in SCIP 10.0.2
# (tests/conformance has a problem), the PaPILO plugin in SCIP 10.0.3 (scipopt/papilo#91; many builds do not have it),
# and dual presolve of set packing rows in SCIP 10.0 (tests/models/test_price_aware_brute_force.py has a problem).
WRONG_OTHERWISE: dict[str, bool | int] = {
    "constraints/linear/upgrade/varbound": False,
    "presolving/milp/maxrounds": 0,
    "constraints/setppc/dualpresolving": False,
}

# The search for symmetries in SCIP 10.0.2 (dejavu) never ends on the expression graphs of some nonlinear problems, and
# neither a time limit nor an interrupt reaches it (tests/generated_models/corpus has a problem). On some linear ones
# SCIPlexicographicReductionAddPermutation ends the process, in up to four of five runs
# (models/price_aware/tests/rejecting_by_type.gsm, with parts of the mask switched off too).
NO_SYMMETRIES: dict[str, bool | int] = {"misc/usesymmetry": 0}

# SCIP's tolerance is absolute, and rows and objectives that read a result multiply it. Below this its LP solver,
# which is asked for a thousandth of it, complains (1e-8) or fails.
LEAST_TOLERANCE = 2e-8


def apply_options(model: pyscipopt.Model, options: SolveOptions, problem: Problem, has_poles: bool) -> None:
    """Set every parameter afresh, so that nothing of an earlier solve remains; raises DiagnosticError.

    Of linear problems without integers everything that changes rows or bounds is off, as dual values are those of the
    rows as stated. `has_poles`: an argument can reach a pole of its function (`poles.py`).
    """
    model.resetParams()
    model.hideOutput()
    model.setParam("misc/catchctrlc", False)  # the waiting thread handles it, see running.py
    model.setParam("randomization/randomseedshift", options.seed)
    model.setParam("limits/gap", options.gap)
    if options.time_limit is not None:
        model.setParam("limits/time", options.time_limit)
    if options.tight:
        model.setParam("numerics/feastol", LEAST_TOLERANCE)
    elif problem.definitions:
        model.setParam("numerics/feastol", SOLVER)
    if problem.is_linear and not problem.is_mip:
        off = PY_SCIP_PARAMSETTING.OFF
        model.setPresolve(off)
        model.setHeuristics(off)
        model.setSeparating(off)
        model.disablePropagation()
        model.setParam("misc/scaleobj", False)
    else:
        for name, value in WRONG_OTHERWISE.items():
            with suppress(KeyError):  # not every build has it
                model.setParam(name, value)
    if has_poles:
        model.setParam("misc/allowstrongdualreds", False)
    for name, value in NO_SYMMETRIES.items():
        model.setParam(name, value)
    findings = [finding for name, value in options.extra.items() if (finding := _set_extra(model, name, value))]
    if findings:
        raise DiagnosticError(findings)


def without_reductions(model: pyscipopt.Model) -> None:
    """Leave domains and rows as they are: only branching, cuts and heuristics."""
    for name in ("presolving/maxrounds", "propagating/maxroundsroot", "propagating/maxrounds"):
        model.setParam(name, 0)


def _set_extra(model: pyscipopt.Model, name: str, value: bool | int | float | str) -> Diagnostic | None:
    try:
        current = model.getParam(name)
    except KeyError:
        help = did_you_mean(name, model.getParams()) or "the parameters are listed in the documentation of SCIP"
        return Diagnostic("GSM4004", f"SCIP has no parameter `{name}`", help=help)
    try:
        model.setParam(name, _in_type_of(current, value))
    except Exception:  # PySCIPOpt turns SCIP's return codes into bare exceptions of many types
        kind = {bool: "true or false", int: "an integer", float: "a number"}.get(type(current), "a word")
        help = f"its value must be {kind}; its current value is `{current}`"
        written = f"{value:g}" if isinstance(value, float) else value
        return Diagnostic("GSM4005", f"SCIP does not accept `{written}` for its parameter `{name}`", help=help)
    if name == "display/verblevel":
        model.hideOutput(not value)
    return None


def _in_type_of(current: Any, value: bool | int | float | str) -> bool | int | float | str:
    """The value unless SCIP's package would silently change it: 2.5 to 2, any word to a number or to true."""
    if isinstance(current, bool):
        if value not in (True, False, 0, 1):
            raise ValueError(value)
        return bool(value)
    if isinstance(current, int) and (isinstance(value, str) or value != int(value)):
        raise ValueError(value)
    if isinstance(current, float) and isinstance(value, str):
        raise ValueError(value)
    return str(value) if isinstance(current, str) else value
