"""Options of a solve in the words of CP-SAT."""

from __future__ import annotations

import os

from ortools.sat.python.cp_model_helper import SatParameters

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import SolveOptions

NO_OPTIONS = ("clear_", "has_", "merge_", "copy_", "parse_", "add_")


def parameters_of(options: SolveOptions) -> SatParameters:
    """The parameters of a solve. Raises DiagnosticError (GSM4004, GSM4005).

    Gaps are measured by our own rule in callbacks: objectives are integers here, so gaps of CP-SAT are 0.
    """
    parameters = SatParameters()
    parameters.num_workers = options.threads or os.cpu_count() or 1
    parameters.random_seed = options.seed
    parameters.relative_gap_limit = parameters.absolute_gap_limit = 0.0
    parameters.catch_sigint_signal = False
    if options.time_limit is not None:
        parameters.max_time_in_seconds = options.time_limit
    findings = [finding for name, value in options.extra.items() if (finding := _set(parameters, name, value))]
    if findings:
        raise DiagnosticError(findings)
    return parameters


def _set(parameters: SatParameters, name: str, value: bool | int | float | str) -> Diagnostic | None:
    known = [n for n in dir(parameters) if not n.startswith(("_", *NO_OPTIONS)) and n.islower()]
    if name not in known:
        help = did_you_mean(name, known) or "the parameters are listed in `sat_parameters.proto` of OR-Tools"
        return Diagnostic("GSM4004", f"CP-SAT has no parameter `{name}`", help=help)
    current = getattr(parameters, name)
    try:
        setattr(parameters, name, _in_type_of(current, value))
    except Exception:  # the binding raises exceptions of many types
        kind = {bool: "true or false", int: "an integer", float: "a number", str: "a word"}.get(type(current))
        written = f"{value:g}" if isinstance(value, float) else value
        help = f"its value must be {kind}" if kind else "it has several values, which cannot be given as an option"
        return Diagnostic("GSM4005", f"CP-SAT does not accept `{written}` for its parameter `{name}`", help=help)
    return None


def _in_type_of(current: object, value: bool | int | float | str) -> bool | int | float | str:
    if isinstance(current, bool):
        if value not in (True, False, 0, 1):
            raise ValueError(value)
        return bool(value)
    if isinstance(current, int):
        if isinstance(value, str) or value != int(value):
            raise ValueError(value)
        return int(value)
    if isinstance(current, float):
        return float(value)
    if isinstance(current, str) and isinstance(value, str):
        return value
    raise ValueError(value)
