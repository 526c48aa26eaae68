"""The problem of a command line: a scenario of a `.gsm` file, or a problem file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.compiling.build import (
    DEFAULT_MEMORY,
    Built,
    Permissions,
    check_solvable,
    choose_scenario,
    with_problem,
)
from gpusched_dsl.compiling.evaluation.limits import GIB
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.log import log_phase
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.calendars import START
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.solving.option_checks import as_flag, given_options, option_diagnostics

if TYPE_CHECKING:
    from gpusched_dsl.cli.edges import ClusterSettings
    from gpusched_dsl.cli.output import Output
    from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.online.run_config import RunConfig

Value = bool | int | float | str

PROBLEM_SUFFIX = ".json"
MOST_GIB = float(1 << 30)  # more than any machine has: no limit


def permissions(options: argparse.Namespace) -> Permissions:
    gib = options.memory_limit
    memory = DEFAULT_MEMORY if gib is None else int(min(gib, MOST_GIB) * GIB)
    return Permissions(memory, getattr(options, "allow_outside", False))


def run_config(options: argparse.Namespace) -> RunConfig:
    """Return the configuration of `run`, `serve`, `estimate` and `why`."""
    from gpusched_dsl.online.run_config import RunConfig

    config = RunConfig.of(
        {**vars(options), "solver_options": solver_options(options.solver_options)},
        settings=read_settings(options),
        permissions=permissions(options),
    )
    return config.allowing(config.method, config.fallback, *(getattr(options, "methods", None) or ()))


class LoadedProblem(Struct, frozen=True, eq=False):
    """A problem and its source. `aggregation` is the search for interchangeable elements, if there was one."""

    problem: Problem
    provenance: Provenance
    aggregation: Aggregation | None = None


def choose_instance(options: argparse.Namespace, output: Output) -> SelectedScenario | LoadedProblem:
    """Return the checked scenario, or the problem of a problem file; raise DiagnosticError with all errors."""
    path = Path(options.file)
    return _read_problem(path, options) if path.suffix == PROBLEM_SUFFIX else open_scenario(options, output)


def build_problem(
    instance: SelectedScenario | LoadedProblem, output: Output, built: Built | None = None, *, aggregated: bool = False
) -> LoadedProblem:
    """Ground the problem as stated, with interchangeable elements merged if `aggregated`; report warnings.

    `built` has the data of the instance, if they have been read. Raises DiagnosticError with all errors.
    """
    if isinstance(instance, LoadedProblem):
        return instance
    built = instance.build(aggregated=aggregated) if built is None else with_problem(built, aggregated=aggregated)
    output.report(built.warnings)
    return LoadedProblem(built.problem, built.provenance(), built.aggregation)


def open_scenario(options: argparse.Namespace, output: Output) -> SelectedScenario:
    """Return the scenario of a `.gsm` file that the command line selects; report its warnings."""
    start = time.perf_counter()
    with log_phase("text and checks"):
        settings = read_settings(options)
        workspace = read_workspace(Path(options.file), options.allow_outside, output)
        scenario, warnings = check_solvable(workspace, choose_scenario(workspace, options.scenario), settings)
    output.report(warnings)
    return SelectedScenario(
        workspace=workspace,
        scenario=scenario,
        settings=settings,
        warnings=warnings,
        permissions=permissions(options),
        seconds=time.perf_counter() - start,
    )


def cluster_settings(path: Path, at: object) -> ClusterSettings:
    """Return the settings of a cluster file: it chooses the run, and the time is now, so there is no `--at`."""
    from gpusched_dsl.cli.edges import cluster_function

    if at is not None:
        message = "`--at` is only for simulated runs: the answer for a cluster file is for now"
        raise CommandLineError("GSM6002", message, "remove it")
    settings: ClusterSettings = cluster_function("settings")(path)[0]
    return settings


def read_workspace(path: Path, allow_outside: bool, output: Output) -> Workspace:
    """Read a file and its imports; report warnings. Raises DiagnosticError after syntax errors."""
    diagnostics = Diagnostics()
    workspace = load_workspace(path, diagnostics, allow_outside=allow_outside)
    diagnostics.raise_if_errors()
    output.report(diagnostics)
    return workspace


def read_settings(options: argparse.Namespace) -> dict[str, str]:
    """Return the settings of `--set-file` and `--set`, which win, by name; the last value of a name wins. The date of
    `--start` is one of them, except in live runs.

    Raises DiagnosticError (GSM6003) for malformed ones.
    """
    from gpusched_dsl.data.sources import settings_file

    settings = [pair for file in options.set_file for pair in settings_file.read_settings(file).items()]
    for text in options.set:
        name, value = _split_setting(text)
        if not name.strip() or not value.strip():
            help = "write `name=value`, such as `--set period=30[min]`, or `--set 'deadline[j1]=20[h]'`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` does not set a value", help=help)])
        settings.append((name.strip(), value.strip()))
    found = settings_file.merge_settings(settings)
    start = None if getattr(options, "live", None) is not None else options.start
    return found if start is None else {**found, START: start}


def _split_setting(text: str) -> tuple[str, str]:
    """Split at the first `=` outside brackets and quotes: `weight[j in Jobs where kind[j] == "a=b"]=2`."""
    depth, quoted = 0, False
    for at, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "[") - (letter == "]")
            if letter == "=" and depth <= 0:
                return text[:at], text[at + 1 :]
    return text, ""


def _read_problem(path: Path, options: argparse.Namespace) -> LoadedProblem:
    from hashlib import sha256

    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.ir.json.codec import from_json
    from gpusched_dsl.solving.methods import refuse_policy

    start = time.perf_counter()
    refuse_policy(getattr(options, "method", "highs"), f"`{path}`")
    for value, option in (
        (options.scenario, "--scenario"),
        (options.set, "--set"),
        (options.set_file, "--set-file"),
        (options.start, "--start"),
    ):
        if value:
            message = f"`{option}` needs a `.gsm` file: `{path}` is a compiled problem with fixed data"
            raise DiagnosticError([Diagnostic("GSM6016", message)])
    from gpusched_dsl.data.sources.writing import LARGEST_INPUT

    try:
        if path.stat().st_size > LARGEST_INPUT:
            raise OSError(27, "the file is too large")
        data = path.read_bytes()
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        raise DiagnosticError([Diagnostic("GSM4020", f"cannot read `{path}`: {reason}")]) from failure
    problem = from_json(data)
    seconds = time.perf_counter() - start
    provenance = Provenance(build_seconds=seconds, inputs_sha256={str(path): sha256(data).hexdigest()})
    return LoadedProblem(problem, provenance)


# --- options ---------------------------------------------------------------------------------------------------------


def refuse_options(verb: str, values: Mapping[str, object], method: str = "", proves: bool | None = None) -> None:
    """Raise CommandLineError for the first that `option_diagnostics` finds; `values` are the options by name."""
    for found in option_diagnostics(verb, given_options(verb, values), method, proves, as_flag):
        raise CommandLineError(found.code, str(found.message), None if found.help is None else str(found.help))


def solver_options(texts: Sequence[str]) -> dict[str, Value]:
    """Return the values of `name=value` texts by name, as numbers if possible; raise DiagnosticError (GSM6003)."""
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            help = "write `name=value`, such as `--solver-option mip_heuristic_effort=0.2`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` does not set a value", help=help)])
        values[name] = _plain_value(value)
    return values


def _plain_value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
