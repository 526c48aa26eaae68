"""The problem that a command line means: a scenario of a `.gsm` file, or a problem file."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.building import (
    DEFAULT_MEMORY,
    Built,
    Permissions,
    build,
    checked,
    choose_scenario,
)
from gpusched_dsl.compiling.limits import GIB
from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.reporting.files import LARGEST_INPUT

if TYPE_CHECKING:
    from gpusched_dsl.cli.output import Output
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.reporting.result import Origins

PROBLEM_SUFFIX = ".json"
MOST_GIB = float(1 << 30)  # more than any machine has: no limit


def permissions(options: argparse.Namespace) -> Permissions:
    gib = options.memory_limit
    return Permissions(DEFAULT_MEMORY if gib is None else int(min(gib, MOST_GIB) * GIB), options.allow_outside)


@dataclass(frozen=True, eq=False)
class Opened:
    """What a command line means: a scenario that was built, or a problem that was read."""

    built: Built | None
    read: tuple[Problem, Origins] | None
    seconds_before: float = 0.0

    @property
    def problem(self) -> Problem:
        """The problem as stated."""
        if self.read is not None:
            return self.read[0]
        assert self.built is not None
        return self.built.problem

    @property
    def origins(self) -> Origins:
        if self.read is not None:
            return self.read[1]
        assert self.built is not None
        return self.built.origins(self.seconds_before)


def open_problem(options: argparse.Namespace, output: Output) -> tuple[Problem, Origins]:
    """The problem and where it came from; warnings are told. Raises DiagnosticError with everything wrong."""
    opened = open_instance(options, output)
    return opened.problem, opened.origins


def open_instance(options: argparse.Namespace, output: Output, *, fold: bool = False) -> Opened:
    """The same, not grounded where interchangeable elements could be aggregated (`fold`)."""
    began = time.perf_counter()
    path = Path(options.file)
    if path.suffix == PROBLEM_SUFFIX:
        return Opened(None, _read_problem(path, options, began))
    settings = read_settings(options.set)
    workspace = read_workspace(path, options.allow_outside, output)
    name = choose_scenario(workspace, options.scenario)
    refuse_later_method(getattr(options, "backend", None), workspace)
    scenario, warnings = checked(workspace, name, settings)
    output.report(warnings)
    before = time.perf_counter() - began
    built = build(
        workspace, scenario, warnings=warnings, permissions=permissions(options), settings=settings, fold=fold
    )
    return Opened(built, None, before)


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


def refuse_later_method(name: str | None, workspace: Workspace | None) -> None:
    """Raise DiagnosticError (GSM9011) for a policy, which only a later version can run."""
    message = later_method(name, workspace)
    if message is not None:
        raise DiagnosticError([Diagnostic("GSM9011", message, help="solve with `highs`, `scip` or `cvxpy` for now")])


def later_method(name: str | None, workspace: Workspace | None) -> str | None:
    """Why a method cannot run in this version; None when it may be a backend."""
    if name is not None and workspace is not None and name in workspace.policies:
        return f"`{name}` is a policy: policies are checked, but cannot run in this version"
    return None


def _read_problem(path: Path, options: argparse.Namespace, began: float) -> tuple[Problem, Origins]:
    from hashlib import sha256

    from gpusched_dsl.ir.serial import from_json
    from gpusched_dsl.reporting.result import Origins

    refuse_later_method(getattr(options, "backend", None), None)
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
    return problem, Origins(build_seconds=seconds, inputs_sha256={str(path): sha256(data).hexdigest()})
