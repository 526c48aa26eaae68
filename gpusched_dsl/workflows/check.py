"""Checks a workspace completely without a solver: `gsdsl check` and `Model.check`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.compiling.build import Permissions, build, read_data
from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.checked import CheckedParam, CheckedRandom, CheckedSet
from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.checking.total_size import allow_size
from gpusched_dsl.language.checking.unused import warn_of_unused
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario, missing_targets
from gpusched_dsl.language.workspace import Workspace

if TYPE_CHECKING:
    from gpusched_dsl.language.blocks.campaigns.campaign import RunObstacles
    from gpusched_dsl.language.blocks.known_methods import KnownMethods
    from gsdsl_backends.protocol import Backend

# A generator or the online loop may still provide these data: warnings here, errors for `solve`.
WEAKENED = frozenset({"GSM2001"})
INCOMPLETE = "GSM2115"
SHOWN = 3


def check_all(workspace: Workspace, found: Diagnostics, permissions: Permissions, deep: str | None = None) -> None:
    """Check names, types and units of all blocks, then the data of every complete scenario.

    With `deep`, the name of a solver, also ground the problem of every complete scenario and reformulate it for this
    solver: this finds all errors that a solve would find before it starts the solver.
    """
    solver = None if deep is None else _solver_named(deep)
    if not allow_size(workspace, found):
        return
    check_workspace(workspace, found)
    check_blocks(workspace, found, _methods(workspace), _measures(workspace), _obstacles(workspace))
    models: set[str] = set()
    for name in workspace.scenarios:
        scenario = check_scenario(workspace, name, {}, found)
        if scenario is not None:
            models.add(scenario.model.name)
            _check_data(workspace, scenario, found, permissions, solver)
    _check_models_without_scenarios(workspace, models, found, permissions, solver)
    if not found.has_errors:
        warn_of_unused(workspace, found)


def _check_models_without_scenarios(
    workspace: Workspace, models: set[str], found: Diagnostics, permissions: Permissions, solver: Backend | None
) -> None:
    """Check the values of models of the main file that need no data and have no scenario."""
    extended = {m.extends.text for m in workspace.models.values() if m.extends is not None}
    for block in workspace.main_blocks():
        if isinstance(block, tree.ModelBlock) and not {block.name.text} & (models | extended):
            scenario = check_scenario(workspace, block.name.text, {}, Diagnostics())
            if scenario is not None and not missing_targets(scenario):
                _check_data(workspace, scenario, found, permissions, solver)


def _solver_named(name: str) -> Backend:
    from gsdsl_backends.registry import backend

    return backend(name)


def _methods(workspace: Workspace) -> KnownMethods | None:
    """Return the names of methods; None, without loading anything, if no test, campaign or portfolio names one."""
    if not (workspace.tests or workspace.campaigns or _name_methods(workspace.policies.values())):
        return None
    from gpusched_dsl.solving.methods import known_methods

    return known_methods(workspace)


def _name_methods(policies: Collection[tree.Policy]) -> bool:
    if not policies:
        return False
    from gpusched_dsl.language.blocks.policies.portfolio import names_methods

    return any(map(names_methods, policies))


def _measures(workspace: Workspace) -> tuple[str, ...] | None:
    """Return the names of the metrics of runs; None, without loading anything, without campaigns."""
    if not workspace.campaigns:
        return None
    from gpusched_dsl.reporting.runs.metrics import METRICS

    return tuple(METRICS)


def _obstacles(workspace: Workspace) -> RunObstacles | None:
    """Return what finds runs that cannot be executed; None, without loading anything, without campaigns."""
    if not workspace.campaigns:
        return None
    from gpusched_dsl.workflows.campaign_obstacles import run_obstacles

    return run_obstacles(workspace)


def _check_data(
    workspace: Workspace,
    scenario: CheckedScenario,
    found: Diagnostics,
    permissions: Permissions,
    solver: Backend | None,
) -> None:
    missing = missing_targets(scenario)
    if missing:
        if _stands_alone(workspace, scenario.name):
            found.add(_incomplete(scenario, missing))
        return
    model = scenario.model
    if solver is not None and model.variables:
        _ground(workspace, scenario, found, permissions, solver)
        return
    if not scenario.assignments and not (model.sets or model.params or model.checks):
        return
    try:
        found.extend(read_data(workspace, scenario, permissions=permissions).notes)
    except DiagnosticError as error:
        found.extend(map(_weaken_if_incomplete, error.diagnostics))


def _ground(
    workspace: Workspace, scenario: CheckedScenario, found: Diagnostics, permissions: Permissions, solver: Backend
) -> None:
    """Build the problem as a solve does, and reformulate it for the solver."""
    from gpusched_dsl.compiling.passes.pipeline import reformulate
    from gsdsl_backends.protocol import target_of

    try:
        built = build(workspace, scenario, permissions=permissions, aggregated=True)
        found.extend(built.warnings)
        problem = built.problem if built.aggregated is None else built.aggregated.problem
        reformulate(problem, target_of(solver, problem))
    except DiagnosticError as error:
        found.extend(map(_weaken_if_incomplete, error.diagnostics))


def _stands_alone(workspace: Workspace, name: str) -> bool:
    """Whether a scenario is in the main file and no other scenario extends it, so that nothing can complete it."""
    own = {b.name.text for b in workspace.main_blocks() if isinstance(b, tree.Scenario)}
    extended = {s.extends.text for s in workspace.scenarios.values() if s.extends is not None}
    return name in own and name not in extended


def _weaken_if_incomplete(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.code in WEAKENED:
        return structs.replace(diagnostic, severity=Severity.WARNING)
    return diagnostic


def _incomplete(scenario: CheckedScenario, missing: Iterable[str]) -> Diagnostic:
    """Return one warning with the names that have no data in a scenario, and their declarations."""
    model, names = scenario.model, list(missing)
    declared: dict[str, CheckedSet | CheckedParam | CheckedRandom] = {**model.sets, **model.params, **model.randoms}
    labels = tuple(Label(declared[n].span, "has no value") for n in names[:SHOWN])
    listed = ", ".join(f"`{n}`" for n in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return Diagnostic(
        INCOMPLETE,
        f"scenario `{scenario.name}` has no data for {listed}{more}: its data are not checked",
        scenario.span,
        "incomplete",
        secondary=labels,
        help="`solve` needs all of them; give them here, or a `default` in the model",
        severity=Severity.WARNING,
    )
