"""Executes a run in a worker: reads the model once per process, and turns every failure into a record."""

from __future__ import annotations

import math
import os
import platform
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.campaigns.code_fingerprint import code_fingerprint
from gpusched_dsl.campaigns.inputs import text_digest
from gpusched_dsl.campaigns.tasks import (
    DONE,
    FAILED,
    Number,
    RunRecord,
    StoredDiagnostic,
    Task,
    TextSource,
    encode,
    read_task,
)
from gpusched_dsl.compiling.build import Permissions, check_solvable
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.language.blocks.campaigns.measures import COST
from gpusched_dsl.language.blocks.campaigns.methods import START, options_for, with_reason
from gpusched_dsl.language.checked import Numeric
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.policies.library import is_policy
from gpusched_dsl.solving.option_checks import stated_values
from gpusched_dsl.version import __version__
from gpusched_dsl.workflows.text_start import StartPolicy
from gsdsl_backends.text_options import refused_option

if TYPE_CHECKING:
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.result import RunResult

Measures = tuple[dict[str, Number], dict[str, str]]
PERFORM = "gpusched_dsl.campaigns.execute:perform"  # the function of a worker for tasks
ENDED_WITH_ERROR = "error"
RELEASED = "a released version"
_workspaces: dict[TextSource, Workspace] = {}


def perform(message: bytes) -> bytes:
    """Execute an encoded task and return its encoded record; raise nothing but KeyboardInterrupt and SystemExit."""
    return encode(execute(read_task(message)))


def execute(task: Task) -> RunRecord:
    """Execute a task; its failure is in the record."""
    start = time.perf_counter()
    try:
        _check_code(task)
        workspace = _workspace(task)
        record = _solve(task, workspace) if task.verb == "solve" else _run(task, workspace)
        _check_inputs(task, record)
    except DiagnosticError as error:
        record = _failure_record(task, [to_stored(diagnostic) for diagnostic in error.diagnostics])
    except MemoryError:
        record = _failure_record(task, [StoredDiagnostic(code="GSM6014", message="the machine ran out of memory")])
    except Exception as failure:
        words = str(failure).strip().splitlines()
        what = type(failure).__name__ + (f": {words[0][:200]}" if words else "")
        record = _failure_record(task, [StoredDiagnostic(code="GSM9999", message=f"internal error: {what}")])
    return _finish_record(record, time.perf_counter() - start)


def _finish_record(record: RunRecord, seconds: float) -> RunRecord:
    import msgspec

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(
        record, seconds=round(seconds, 6), finished=now, host=f"{socket.gethostname()}:{os.getpid()}"
    )


def _failure_record(task: Task, diagnostics: list[StoredDiagnostic]) -> RunRecord:
    return RunRecord(key=task.key, state=FAILED, diagnostics=diagnostics, versions=_versions())


def to_stored(diagnostic: Diagnostic) -> StoredDiagnostic:
    """Return a diagnostic for a record."""
    return StoredDiagnostic(
        code=diagnostic.code,
        message=str(diagnostic.message),
        severity=diagnostic.severity.value,
        place="" if diagnostic.primary is None else str(diagnostic.primary),
        help=str(diagnostic.help or ""),  # a suggestion is a kind of text that JSON does not know
    )


def _versions() -> dict[str, str]:
    return {"gsdsl": __version__, "python": platform.python_version()}


# --- inputs ----------------------------------------------------------------------------------------------------------


def _check_code(task: Task) -> None:
    """Raise DiagnosticError (GSM5310) if this process has other code than the plan was made with."""
    own = code_fingerprint()
    if task.code != own:
        message = "the code of gsdsl in the worker is not that of the plan"
        known = f"plan: {task.code or RELEASED}; worker: {own or RELEASED}"
        help = "install the same version for all workers, and run the campaign again if its code was edited meanwhile"
        raise DiagnosticError([Diagnostic("GSM5310", message, notes=(known,), help=help)])


def _workspace(task: Task) -> Workspace:
    """Return the texts of a task, read once; raise DiagnosticError (GSM5310) if they are not those of the plan."""
    workspace = _workspaces.get(task.source)
    if workspace is None or text_digest(workspace) != task.texts:
        _workspaces.clear()
        workspace = _workspaces[task.source] = _read(task.source)
    if text_digest(workspace) != task.texts:
        raise DiagnosticError([_change_error("the text of the model or of an import")])
    return workspace


def _read(source: TextSource) -> Workspace:
    found = Diagnostics()
    if source.path is not None:
        workspace = load_workspace(Path(source.path), found, allow_outside=source.outside)
    else:
        base = None if source.base is None else Path(source.base)
        workspace = workspace_from_text(source.text or "", source.name, found, base, allow_outside=source.outside)
    found.raise_if_errors()
    return workspace


def _check_inputs(task: Task, record: RunRecord) -> None:
    """Raise DiagnosticError (GSM5310) if a file that was read is not one of the plan."""
    planned: dict[str, set[str]] = {}
    for name, digest in task.data.items():
        planned.setdefault(Path(name.rstrip("'")).name, set()).add(digest)
    for name, digest in record.inputs.items():
        if digest not in planned.get(Path(name).name, {digest}):
            raise DiagnosticError([_change_error(f"`{name}`")])


def _change_error(what: str) -> Diagnostic:
    message = f"{what} is not what it was when the campaign started"
    help = "run the campaign again; the files must be the same for all workers"
    return Diagnostic("GSM5310", message, help=help)


def _check_options(task: Task) -> None:
    """Raise DiagnosticError for options of solvers that a text may not set, as the check of its campaign does."""
    others = {name: value for name, value in task.options.items() if name not in options_for(task.verb)}
    found = {name: refused_option(task.method, name, value) for name, value in others.items()}
    refused = [with_reason(task.verb, name, one) for name, one in found.items() if one is not None]
    if refused:
        raise DiagnosticError(refused)


def _start(task: Task, workspace: Workspace, start: object) -> StartPolicy | Path | None:
    """Return the warm start of a task; raise DiagnosticError (GSM2002) for a file outside the folders of the texts."""
    if start is None:
        return None
    if is_policy(workspace, str(start)):
        return StartPolicy(str(start))
    file = Path(str(start)).resolve()
    roots = (workspace.base or Path.cwd(), *workspace.roots.values())
    if not task.source.outside and not any(file.is_relative_to(root) for root in roots if root is not None):
        message = f"the warm start `{start}` is outside the folder of the text"
        raise DiagnosticError([Diagnostic("GSM2002", message, help="move the file into the folder of the text")])
    return file


# --- solves and runs -------------------------------------------------------------------------------------------------


def _solve(task: Task, workspace: Workspace) -> RunRecord:
    from gpusched_dsl.workflows.method import choose_method
    from gpusched_dsl.workflows.solve import SolveConfig, solve_scenario

    _check_options(task)
    values, permissions = _values(task), Permissions(task.source.memory, task.source.outside)
    scenario, warnings = check_solvable(workspace, task.scenario, task.settings)
    judge, relax = values.get("judge", "highs"), values.get("relax", False)
    method = choose_method(workspace, task.method, scenario.model, judge=judge, relax=relax)
    values |= {START: _start(task, workspace, values.get(START)), "bound": values.get("bound") and not method.proves}
    selected = SelectedScenario(
        workspace=workspace, scenario=scenario, settings=task.settings, warnings=warnings, permissions=permissions
    )
    config = SolveConfig.of(selected, method, values)
    result = solve_scenario(config).result
    if result.reason == "interrupt":
        raise KeyboardInterrupt
    metrics, units = measures_of_solve(result)
    first = result.objectives[0] if result.objectives else None
    record = RunRecord(
        key=task.key,
        state=DONE,
        status=result.status.value,
        objective=result.objective,
        unit="" if first is None or first.unit == "1" else first.unit,
        bound=result.bound,
        gap=result.gap,
        metrics=metrics,
        units=units,
        diagnostics=[to_stored(diagnostic) for diagnostic in result.diagnostics],
        inputs=result.inputs_sha256,
        versions=result.versions,
    )
    result.solved.close()
    return record


def _values(task: Task) -> dict[str, Any]:
    """Return the options of a task by their names in the table; a worker uses one thread."""
    return {"threads": 1, **stated_values(task.verb, task.options, "campaign"), "seed": task.seed}


def _run(task: Task, workspace: Workspace) -> RunRecord:
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.reporting.runs.metrics import FINISHED
    from gpusched_dsl.workflows.run import run_method, with_read_options

    _check_options(task)
    config = RunConfig.of(
        _values(task), online=task.online, scenario=task.scenario, method=task.method, settings=task.settings,
        permissions=Permissions(task.source.memory, task.source.outside),
    )  # fmt: skip
    # Options of a method that is a factor may be for other values of it; the plan has refused those that none reads.
    result = run_method(workspace, with_read_options(workspace, config))
    if result.ended == "interrupt":
        raise KeyboardInterrupt
    metrics, units = measures_of_run(result)
    return RunRecord(
        key=task.key,
        state=FAILED if result.ended == ENDED_WITH_ERROR else DONE,
        status="broken" if result.is_broken and result.ended in FINISHED else result.ended,
        objective=result.total,
        unit=result.money,
        bound=result.bound.value,
        gap=result.gap,
        metrics=metrics,
        units=units,
        diagnostics=[to_stored(diagnostic) for diagnostic in result.warnings],
        inputs=dict(result.run_info.inputs_sha256),
        versions=result.versions,
    )


# --- measures ---------------------------------------------------------------------------------------------------------


def measures_of_solve(result: Result) -> Measures:
    """Return objectives, their terms, scalar lets and reports, and times; empty but for times without a solution."""
    found: dict[str, Number] = {}
    units: dict[str, str] = {}
    for objective in result.objectives:
        own = {objective.name or "objective": objective.value}
        own |= {term.name: term.value for term in objective.terms if term.name is not None}
        found |= {name: _finite(value) for name, value in own.items()}
        units |= {name: objective.unit for name in own if objective.unit != "1"}
    model = result.provenance.model
    if model is not None and result.has_point:
        for name, let in {**model.lets, **model.reports}.items():
            if not let.indexing.iterators and isinstance(let.type, Numeric):
                found[name] = _finite(result.value(name))
                if let.type.unit.text != "1":
                    units[name] = let.type.unit.text
    times = {"build_seconds": result.build_seconds, "solve_seconds": result.solve_seconds}
    found |= {name: round(seconds, 6) for name, seconds in times.items()}
    return found, units | dict.fromkeys(times, "s")


def measures_of_run(result: RunResult) -> Measures:
    """Return all metrics of a run, its costs by term (`cost_execution`), and charges that are not money."""
    found = {name: _finite(value) for name, value in result.metrics.items()}
    units = {name: unit for name in found if (unit := result.unit_of(name))}
    for name, cost in result.costs.items():
        found[COST + name] = _finite(cost)
        units[COST + name] = result.money
    for name, amount in result.quantities.items():
        found.setdefault(name, _finite(amount))
        units.setdefault(name, result.outcome.quantities[name])
    return found, {name: unit for name, unit in units.items() if unit}


def _finite(value: Number) -> Number:
    """Return a number for JSON: None for NaN and infinite ones."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    return float(value) if math.isfinite(value) else None
