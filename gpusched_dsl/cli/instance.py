"""The problem that a command line means: a scenario of a `.gsm` file, or a problem file."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.compiling.build import (
    DEFAULT_MEMORY,
    Built,
    Permissions,
    build,
    check_solvable,
    choose_scenario,
)
from gpusched_dsl.compiling.evaluation.limits import GIB
from gpusched_dsl.data.sources.writing import LARGEST_INPUT
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.language.workspace import Workspace, load_workspace

if TYPE_CHECKING:
    from gpusched_dsl.cli.output import Output
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.online.run_config import RunConfig

PROBLEM_SUFFIX = ".json"
MOST_GIB = float(1 << 30)  # more than any machine has: no limit


def permissions(options: argparse.Namespace) -> Permissions:
    gib = options.memory_limit
    return Permissions(DEFAULT_MEMORY if gib is None else int(min(gib, MOST_GIB) * GIB), options.allow_outside)


def run_config(options: argparse.Namespace) -> RunConfig:
    """What `run`, `estimate` and `why` have in common."""
    from gpusched_dsl.online.run_config import RunConfig

    journal = getattr(options, "journal", None)
    return RunConfig(
        online=options.online,
        scenario=options.scenario,
        method=options.method,
        fallback=options.fallback,
        settings=read_settings(options.set),
        seed=options.seed,
        time_limit=options.time_limit,
        journal=None if journal is None else Path(journal),
        permissions=permissions(options),
    )


@dataclass(frozen=True, eq=False)
class LoadedProblem:
    """What a command line means: a scenario that was built, or a problem that was read.

    `policy` is what `--backend` names where that is no solver; `workspace` is None for a problem that was read.
    """

    built: Built | None
    read: tuple[Problem, Provenance] | None
    seconds_before: float = 0.0
    policy: CheckedPolicy | None = None
    workspace: Workspace | None = None

    @property
    def problem(self) -> Problem:
        """The problem as stated."""
        if self.read is not None:
            return self.read[0]
        assert self.built is not None
        return self.built.problem

    @property
    def origins(self) -> Provenance:
        if self.read is not None:
            return self.read[1]
        assert self.built is not None
        return self.built.origins(self.seconds_before)


def open_problem(options: argparse.Namespace, output: Output) -> tuple[Problem, Provenance]:
    """The problem and where it came from; warnings are told. Raises DiagnosticError with everything wrong."""
    opened = open_instance(options, output)
    return opened.problem, opened.origins


@dataclass(frozen=True, eq=False)
class SelectedScenario:
    """The scenario of a command line, its data not read yet; `policy` as in `LoadedProblem`."""

    workspace: Workspace
    scenario: CheckedScenario
    settings: dict[str, str]
    warnings: tuple[Diagnostic, ...]
    policy: CheckedPolicy | None
    seconds: float


def open_instance(options: argparse.Namespace, output: Output, *, fold: bool = False) -> LoadedProblem:
    """The same, not grounded where interchangeable elements could be aggregated (`fold`), nor for a policy."""
    chosen = choose_instance(options, output)
    return chosen if isinstance(chosen, LoadedProblem) else read_instance(chosen, options, output, fold=fold)


def choose_instance(options: argparse.Namespace, output: Output) -> SelectedScenario | LoadedProblem:
    """The checked scenario, or the problem of a problem file. Raises DiagnosticError with everything wrong."""
    began = time.perf_counter()
    path = Path(options.file)
    if path.suffix == PROBLEM_SUFFIX:
        return LoadedProblem(None, _read_problem(path, options, began))
    workspace, scenario, settings, warnings = open_scenario(options, output)
    policy = None
    if hasattr(options, "backend"):
        from gpusched_dsl.solving.methods import method_named

        method = method_named(workspace, options.backend, scenario.model)
        policy = None if isinstance(method, str) else method
    return SelectedScenario(workspace, scenario, settings, warnings, policy, time.perf_counter() - began)


def read_instance(
    chosen: SelectedScenario, options: argparse.Namespace, output: Output, *, fold: bool = False, whole: bool = True
) -> LoadedProblem:
    """The data of a scenario, and its problem as for `open_instance`; without `whole` it is grounded later."""
    built = build(
        chosen.workspace,
        chosen.scenario,
        warnings=chosen.warnings,
        permissions=permissions(options),
        settings=chosen.settings,
        fold=fold,
        whole=whole and chosen.policy is None,
    )
    output.report(built.warnings)
    return LoadedProblem(built, None, chosen.seconds, chosen.policy, chosen.workspace)


def open_scenario(
    options: argparse.Namespace, output: Output
) -> tuple[Workspace, CheckedScenario, dict[str, str], tuple[Diagnostic, ...]]:
    """The scenario of a `.gsm` file that a command line means, its settings and its warnings, which are told."""
    settings = read_settings(options.set)
    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    scenario, warnings = check_solvable(workspace, choose_scenario(workspace, options.scenario), settings)
    output.report(warnings)
    return workspace, scenario, settings, warnings


def read_workspace(path: Path, allow_outside: bool, output: Output) -> Workspace:
    """A file and its imports; syntax errors end it (DiagnosticError), warnings are told."""
    found = Diagnostics()
    workspace = load_workspace(path, found, allow_outside=allow_outside)
    found.raise_if_errors()
    output.report(found)
    return workspace


def read_settings(texts: list[str]) -> dict[str, str]:
    """`["period=30[min]"]` as a dictionary, the last one of a name winning; DiagnosticError (GSM6003) without a `=`."""
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            help = "write `name=value`, such as `--set period=30[min]`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` sets nothing", help=help)])
        settings.pop(name.strip(), None)
        settings[name.strip()] = value.strip()
    return settings


def _read_problem(path: Path, options: argparse.Namespace, began: float) -> tuple[Problem, Provenance]:
    from hashlib import sha256

    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.ir.json.codec import from_json

    _refuse_policy(getattr(options, "backend", "highs"), path)
    for given, option in ((options.scenario, "--scenario"), (options.set, "--set")):
        if given:
            message = f"`{option}` needs a `.gsm` file: `{path}` is a compiled problem, its data are fixed"
            raise DiagnosticError([Diagnostic("GSM6016", message)])
    try:
        if path.stat().st_size > LARGEST_INPUT:
            raise OSError(27, "the file is too large")
        data = path.read_bytes()
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        raise DiagnosticError([Diagnostic("GSM4020", f"cannot read `{path}`: {reason}")]) from failure
    problem = from_json(data)
    seconds = time.perf_counter() - began
    return problem, Provenance(build_seconds=seconds, inputs_sha256={str(path): sha256(data).hexdigest()})


def _refuse_policy(name: str, path: Path) -> None:
    """Raise DiagnosticError (GSM6016) for a policy, which reads a model."""
    from gpusched_dsl.backends.registry import backend_names
    from gpusched_dsl.policies.library import is_policy

    if name not in backend_names() and is_policy(Workspace(None), name):
        message = f"`{name}` is a policy, which needs a `.gsm` file: `{path}` is a compiled problem"
        raise DiagnosticError([Diagnostic("GSM6016", message)])
