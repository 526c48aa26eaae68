"""Options of a solve in the words of HiGHS."""

from __future__ import annotations

from typing import Any

import highspy

from gpusched_dsl.ir.magnitudes import smallest_cost
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import SOLVER, TIGHT
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import SolveOptions

# The aggregator of presolve. With it HiGHS 1.12 to 1.15.1 report suboptimal points as optimal on some small integer
# problems; two of them are in tests/conformance (capacity_pattern_presolve, CP-S).
PRESOLVE_AGGREGATOR = 1 << 12

# Enumeration in presolve. With it HiGHS 1.15.1 calls small feasible problems infeasible, its own subproblems too;
# two of them are in tests/conformance (called_infeasible_by_presolve, suboptimal_by_enumeration).
PRESOLVE_ENUMERATION = 1 << 16


# HiGHS compares costs and reduced costs with its dual tolerance, whatever their size: presolve drops costs of 1e-7, and
# with them optima (tests/conformance has a problem whose columns of such costs go up to 20,000).
SHARE_OF_COSTS = 1e-2
LEAST_DUAL_TOLERANCE = 1e-10  # that HiGHS accepts


def apply_options(highs: highspy.Highs, options: SolveOptions, problem: Problem) -> None:
    """Set every option afresh, so that nothing of an earlier solve remains; raises DiagnosticError."""
    highs.resetOptions()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve_rule_off", PRESOLVE_AGGREGATOR | PRESOLVE_ENUMERATION)
    highs.setOptionValue("random_seed", options.seed)
    highs.setOptionValue("mip_rel_gap", options.gap)
    # HiGHS uses its tolerance up. The smaller one costs no time (gavel_40_jobs, gpu_sharing_10x20).
    highs.setOptionValue("mip_feasibility_tolerance", TIGHT if options.tight else SOLVER)
    if options.tight:
        highs.setOptionValue("primal_feasibility_tolerance", TIGHT)
        highs.setOptionValue("mip_abs_gap", TIGHT)  # 1e-6 by default, which is no proof for an objective of 0.01
    least = smallest_cost(problem) * SHARE_OF_COSTS
    if least < SOLVER:
        highs.setOptionValue("dual_feasibility_tolerance", max(least, LEAST_DUAL_TOLERANCE))
    if options.time_limit is not None:
        highs.setOptionValue("time_limit", options.time_limit)
    if options.threads is not None:
        highs.setOptionValue("threads", options.threads)
        highs.setOptionValue("parallel", "on" if options.threads > 1 else "off")
    findings = [finding for name, value in options.extra.items() if (finding := _set_extra(highs, name, value))]
    if findings:
        raise DiagnosticError(findings)


def _set_extra(highs: highspy.Highs, name: str, value: bool | int | float | str) -> Diagnostic | None:
    found, current = highs.getOptionValue(name)
    if found != highspy.HighsStatus.kOk:
        known = [n for n in dir(highs.getOptions()) if not n.startswith("_")]
        help = did_you_mean(name, known) or "the options are listed in the documentation of HiGHS"
        return Diagnostic("GSM4004", f"HiGHS has no option `{name}`", help=help)
    if highs.setOptionValue(name, _in_type_of(current, value)) != highspy.HighsStatus.kOk:
        kind = {bool: "true or false", int: "an integer", float: "a number"}.get(type(current), "a word")
        help = f"its value must be {kind}; its current value is `{current}`"
        written = f"{value:g}" if isinstance(value, float) else value
        return Diagnostic("GSM4005", f"HiGHS does not accept `{written}` for its option `{name}`", help=help)
    return None


def _in_type_of(current: Any, value: bool | int | float | str) -> bool | int | float | str:
    """Convert a value to the type of an option: 0 and 1 to Boolean, integral floats to integers, words unchanged."""
    if isinstance(current, bool):
        return bool(value) if value in (0, 1) else value
    if isinstance(current, str):
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    if isinstance(value, float) and isinstance(current, int) and value.is_integer():
        return int(value)
    return value
