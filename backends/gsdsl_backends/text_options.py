"""Options of solvers that a text or a request may set: numbers, switches and choices, by solver and name.

Options that name files, commands, libraries or addresses, and those that print, are in no table. The command line and
Python code set any option of a solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeAlias

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gsdsl_backends.protocol import NUMBER, SWITCH, TextOption
from gsdsl_backends.registry import AND, BUILT_IN, backend, backend_names, is_concurrent

Value: TypeAlias = bool | int | float | str

SEPARATOR = ":"  # between a solver and its option, where several solvers run at once


COMMON = ("gap", "time_limit", "threads", "seed")  # options of every solver, which are ours


def _numbers(names: str) -> dict[str, TextOption]:
    return dict.fromkeys(names.split(), NUMBER)


def _switches(names: str) -> dict[str, TextOption]:
    return dict.fromkeys(names.split(), SWITCH)


_HIGHS = {
    **_numbers(
        "allowed_matrix_scale_factor dual_feasibility_tolerance dual_residual_tolerance ipm_iteration_limit "
        "ipm_optimality_tolerance ipx_dualize_strategy kkt_tolerance large_matrix_value mip_abs_gap "
        "mip_feasibility_tolerance mip_heuristic_effort mip_lp_age_limit mip_max_improving_sols mip_max_leaves "
        "mip_max_nodes mip_max_stall_nodes mip_min_cliquetable_entries_for_parallelism mip_pool_age_limit "
        "mip_pool_soft_limit mip_pscost_minreliable mip_rel_gap optimality_tolerance pdlp_iteration_limit "
        "pdlp_optimality_tolerance presolve_reduction_limit presolve_rule_off primal_feasibility_tolerance "
        "primal_residual_tolerance qp_iteration_limit qp_nullspace_limit qp_regularization_value random_seed "
        "simplex_crash_strategy simplex_dual_edge_weight_strategy simplex_dualize_strategy simplex_iteration_limit "
        "simplex_max_concurrency simplex_min_concurrency simplex_permute_strategy simplex_price_strategy "
        "simplex_primal_edge_weight_strategy simplex_scale_strategy simplex_strategy simplex_update_limit "
        "small_matrix_value user_bound_scale user_objective_scale"
    ),
    **_switches(
        "allow_unbounded_or_infeasible mip_allow_restart mip_detect_symmetry mip_heuristic_run_feasibility_jump "
        "mip_heuristic_run_rens mip_heuristic_run_rins mip_heuristic_run_root_reduced_cost "
        "mip_heuristic_run_shifting mip_heuristic_run_zi_round"
    ),
    "parallel": ("off", "choose", "on"),
    "presolve": ("off", "choose", "on"),
    "run_crossover": ("off", "choose", "on"),
    "solver": ("choose", "simplex", "ipm", "ipx", "hipo", "pdlp"),
}  # fmt: skip

_SCIP = {
    **_numbers(
        "limits/nodes limits/totalnodes limits/stallnodes limits/absgap limits/solutions limits/bestsol "
        "limits/restarts limits/autorestartnodes limits/maxsol lp/threads lp/solvefreq lp/solvedepth "
        "numerics/epsilon numerics/sumepsilon numerics/feastol numerics/dualfeastol numerics/lpfeastolfactor "
        "presolving/maxrounds presolving/maxrestarts presolving/abortfac propagating/maxrounds "
        "propagating/maxroundsroot separating/maxrounds separating/maxroundsroot separating/maxcuts "
        "separating/maxcutsroot separating/maxstallrounds separating/poolfreq separating/minefficacy "
        "branching/fullstrong/priority branching/inference/priority branching/mostinf/priority "
        "branching/pscost/priority branching/relpscost/priority heuristics/feaspump/freq heuristics/rens/freq "
        "heuristics/rins/freq heuristics/undercover/freq randomization/permutationseed "
        "randomization/randomseedshift randomization/lpseed misc/usesymmetry"
    ),
    **_switches(
        "conflict/enable branching/preferbinary presolving/donotaggr presolving/donotmultaggr "
        "randomization/permuteconss randomization/permutevars misc/allowstrongdualreds misc/allowweakdualreds"
    ),
    "lp/initalgorithm": ("s", "p", "d", "b", "c"),
    "lp/resolvealgorithm": ("s", "p", "d", "b", "c"),
    "lp/pricing": ("l", "a", "f", "p", "s", "q", "d"),
    "nodeselection/childsel": ("d", "u", "p", "i", "l", "r", "h"),
}  # fmt: skip

_CPSAT = {
    **_numbers(
        "absolute_gap_limit clause_cleanup_period cp_model_probing_level cut_level "
        "interleave_batch_size linearization_level max_deterministic_time max_num_cuts max_number_of_conflicts "
        "max_presolve_iterations mip_max_bound num_violation_ls num_workers presolve_probing_deterministic_time_limit "
        "probing_deterministic_time_limit random_seed relative_gap_limit shared_tree_num_workers symmetry_level"
    ),
    **_switches(
        "add_cg_cuts add_clique_cuts add_lp_constraints_lazily add_mir_cuts add_objective_cut add_zero_half_cuts "
        "cp_model_presolve cp_model_use_sat_presolve diversify_lns_params find_big_linear_overlap "
        "instantiate_all_variables interleave_search optimize_with_core optimize_with_lb_tree_search "
        "optimize_with_max_hs permute_variable_randomly push_all_tasks_toward_start randomize_search "
        "repair_hint stop_after_first_solution stop_after_presolve "
        "use_disjunctive_constraint_in_cumulative use_dynamic_precedence_in_disjunctive "
        "use_energetic_reasoning_in_no_overlap_2d "
        "use_feasibility_jump use_feasibility_pump use_hard_precedences_in_cumulative use_lns use_lns_only "
        "use_overload_checker_in_cumulative use_precedences_in_disjunctive_constraint use_probing_search "
        "use_rins_lns use_shared_tree_search use_timetabling_in_no_overlap_2d "
        "use_timetable_edge_finding_in_cumulative"
    ),
}  # fmt: skip

# Settings of Clarabel, then those of other solvers that CVXPY runs.
_CVXPY = {
    "solver": (
        "clarabel", "scs", "osqp", "ecos", "highs", "scip", "scipy", "glop", "pdlp", "daqp", "piqp", "proxqp", "qoco",
        "cbc", "glpk", "glpk_mi", "sdpa", "cvxopt", "mosek", "gurobi", "cplex", "xpress", "copt",
    ),
    **_numbers(
        "dynamic_regularization_delta dynamic_regularization_eps equilibrate_max_iter equilibrate_max_scaling "
        "equilibrate_min_scaling iterative_refinement_abstol iterative_refinement_max_iter "
        "iterative_refinement_reltol iterative_refinement_stop_ratio linesearch_backtrack_step max_iter "
        "max_step_fraction max_threads min_switch_step_length min_terminate_step_length reduced_tol_feas "
        "reduced_tol_gap_abs reduced_tol_gap_rel static_regularization_constant tol_feas tol_gap_abs tol_gap_rel "
        "tol_infeas_abs tol_infeas_rel tol_ktratio"
    ),
    **_switches(
        "dynamic_regularization_enable equilibrate_enable iterative_refinement_enable presolve_enable "
        "static_regularization_enable"
    ),
    **_numbers(
        "abstol reltol feastol max_iters eps eps_abs eps_rel eps_infeas eps_prim_inf eps_dual_inf alpha rho rho_x "
        "scale sigma delta scaling check_termination acceleration_lookback acceleration_interval time_limit_secs"
    ),
    **_switches("adaptive_rho adaptive_scale normalize polish polishing scaled_termination"),
}  # fmt: skip

_SEARCH = _numbers("steps patience")

TEXT_OPTIONS: Mapping[str, Mapping[str, TextOption]] = {
    "cpsat": _CPSAT, "cvxpy": _CVXPY, "highs": _HIGHS, "scip": _SCIP, "search": _SEARCH,
}  # fmt: skip


def text_options(solver: str) -> Mapping[str, TextOption]:
    """Return the options of a solver that a text may set; loads the backends of other packages, which state theirs."""
    return TEXT_OPTIONS[solver] if solver in BUILT_IN else backend(solver).capabilities.text_options


def refused_option(method: str, name: str, value: Value) -> Diagnostic | None:
    """Return why a text or a request may not set an option of a method, without a place; None if it may.

    GSM1609: the option is none of the allowed ones; GSM1603: its value is of another kind. A method that is no solver,
    such as a policy, gives its options to the solvers that it uses, so that any built-in solver may have the option.
    """
    solvers, option = _solvers(method), name
    if is_concurrent(method) and SEPARATOR in name:
        solver, _, option = name.partition(SEPARATOR)
        solvers = tuple(one for one in solvers if one == solver)
    allowed = [found for solver in solvers if (found := text_options(solver).get(option)) is not None]
    if not allowed:
        known = {*COMMON, *(name for solver in solvers for name in text_options(solver))}
        help = did_you_mean(option, known) or "give it on the command line, with `--solver-option`, or in Python"
        message = f"`{name}` is not an option of `{method}` that a text may set"
        notes = ("texts set numbers, switches and choices of solvers, and nothing that names a file or a program",)
        return Diagnostic("GSM1609", message, notes=notes, help=help)
    if any(accepts(kind, value) for kind in allowed):
        return None
    return Diagnostic("GSM1603", f"`{name}` of `{method}` must be {_words(allowed)}")


def accepts(kind: TextOption, value: Value) -> bool:
    """Whether a value is of the kind of an option."""
    if kind == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == SWITCH:
        return value in (True, False, 0, 1) and not isinstance(value, str)
    return (("off", "on")[value] if isinstance(value, bool) else value) in kind


def _words(kinds: Iterable[TextOption]) -> str:
    plain = {NUMBER: "a number", SWITCH: "`true` or `false`"}
    listed = [plain[kind] if isinstance(kind, str) else ", ".join(f"`{word}`" for word in kind) for kind in kinds]
    return " or ".join(dict.fromkeys(listed))


@cache
def _solvers(method: str) -> tuple[str, ...]:
    """Return the solvers that may get the options of a method."""
    if method in backend_names():
        return (method,)
    named = tuple(part for part in method.split(AND) if part in backend_names())
    return named or tuple(BUILT_IN)
