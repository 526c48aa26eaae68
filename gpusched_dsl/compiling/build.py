"""From a workspace to a problem: choose a scenario, check it, read its data, ground it."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits, default_memory
from gpusched_dsl.ir.deadline import GROUNDING, INTERRUPT, READING, StoppedEarly, stage
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario, missing_targets
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace

if TYPE_CHECKING:
    from gpusched_dsl.compiling.data.instance import Instance
    from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation
    from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.data.chunks import DataChunk
    from gpusched_dsl.data.sources.reader import FileReader
    from gpusched_dsl.ir.problem import Problem

DEFAULT_MEMORY = default_memory()


class Permissions(Struct, frozen=True):
    """The permissions and limits: `memory` in bytes for one grounding, data from `outside` the folder of the text.

    `programs` are the methods `program:COMMAND` that may start: those that the user wrote on the command line, in a
    cluster file or in Python. No other input can add one.
    """

    memory: int = DEFAULT_MEMORY
    outside: bool = False
    programs: frozenset[str] = frozenset()

    def limits(self) -> MemoryLimits:
        return MemoryLimits(self.memory)


class Built(Struct, frozen=True, eq=False):
    """A scenario as a problem, with its data and inputs. Building took `seconds`.

    If interchangeable elements were aggregated (`aggregated`), the problem of all elements is grounded on demand.
    With `shares_of`, it is to be solved share by share of the elements of that set, and there is no problem.
    """

    scenario: CheckedScenario
    instance: Instance
    aggregation: Aggregation
    grounded: list[Problem]  # of one problem, or empty
    seconds: float
    warnings: tuple[Diagnostic, ...]
    permissions: Permissions
    sha256: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    workspace: Workspace | None = None
    replaced: Mapping[str, Sequence[DataChunk]] | None = None
    shares_of: str | None = None

    def check_with(self, settings: Mapping[str, str]) -> CheckedScenario:
        """Check the same scenario with additional settings; raise DiagnosticError as `check_solvable` does."""
        assert self.workspace is not None
        return check_solvable(self.workspace, self.scenario.name, {**self.settings, **settings})[0]

    def with_settings(self, settings: Mapping[str, str]) -> Built:
        """Return the same with additional settings, without a problem; raise the errors of `build`."""
        assert self.workspace is not None
        return build(
            self.workspace,
            self.check_with(settings),
            permissions=self.permissions,
            replaced=self.replaced,
            settings={**self.settings, **settings},
            reader=self.instance.reader,
            earlier=self.instance,
            full=False,
        )

    @property
    def aggregated(self) -> AggregatedProblem | None:
        """Return the aggregated problem; None if the problem must be solved directly."""
        return self.aggregation.aggregated

    @property
    def problem(self) -> Problem:
        """The problem as stated, grounded now if it was not before; raises DiagnosticError as `ground` does."""
        from gpusched_dsl.compiling.lowering.ground import ground

        if not self.grounded:
            with stage(GROUNDING):
                self.grounded.append(ground(self.scenario.model, self.instance.store, self.permissions.limits()))
        return self.grounded[0]

    def provenance(self) -> Provenance:
        """Return the provenance for a result."""
        from gpusched_dsl.compiling.provenance import Provenance

        return Provenance(
            model=self.scenario.model,
            store=self.instance.store,
            scenario=self.scenario.name,
            build_seconds=self.seconds,
            inputs_sha256={**self.sha256, **self.instance.inputs},
            warnings=self.warnings,
            settings=dict(self.settings),
            limits=self.permissions.limits(),
        )


_LISTED = 4


def choose_scenario(
    workspace: Workspace, wanted: str | None = None, *, data_later: bool = False, models: Collection[str] = ()
) -> str:
    """The scenario of that name, or the only sensible one (`default_scenario.py`): of the main file if it has any, else
    of all that it imports. With `models`, only scenarios of these models are sensible.

    Without any scenario, the only model that needs no data; its name stands for a scenario without statements. With
    `data_later`, a model that needs data will do if it is the only one.

    Raises DiagnosticError: GSM6005 there is none, GSM6006 there are several, GSM6007 none of that name.
    """
    if wanted is not None:
        if wanted in workspace.scenarios or wanted in workspace.models:
            return wanted
        listed = _list_names("scenario", list(workspace.scenarios))
        help = did_you_mean(wanted, [*workspace.scenarios, *workspace.models]) or listed
        raise DiagnosticError([Diagnostic("GSM6007", f"unknown scenario `{wanted}`", help=help)])
    own = [b.name.text for b in workspace.main_blocks() if isinstance(b, tree.Scenario)]
    names = own or list(workspace.scenarios)
    if len(names) == 1:
        return names[0]
    if names:
        from gpusched_dsl.compiling.default_scenario import sensible_scenarios

        names = sensible_scenarios(workspace, names, models)
        if len(names) == 1:
            return names[0]
        message = f"there are {len(names)} scenarios: {', '.join(f'`{n}`' for n in names)}"
        raise DiagnosticError([Diagnostic("GSM6006", message, help=f"choose one, such as `--scenario {names[0]}`")])
    return _model_without_scenario(workspace, data_later)


def _model_without_scenario(workspace: Workspace, data_later: bool) -> str:
    """The only model, of those that no other one extends, that needs no data."""
    own = {b.name.text for b in workspace.main_blocks() if isinstance(b, tree.ModelBlock)} or {*workspace.models}
    extended = {m.extends.text for m in workspace.models.values() if m.extends is not None}
    models = [name for name in workspace.models if name in own and name not in extended]
    missing = {name: _missing_data(workspace, name) for name in models}
    complete = [name for name in models if not missing[name]]
    if len(complete) == 1 or (len(models) == 1 and data_later):
        return (complete or models)[0]
    if complete:
        message = f"there are {len(models)} models and no scenario: {', '.join(f'`{n}`' for n in models)}"
        raise DiagnosticError([Diagnostic("GSM6006", message, help=f"choose one: `--scenario {complete[0]}`")])
    names = missing[models[0]] if len(models) == 1 else []
    listed = ", ".join(f"`{name}`" for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    message = f"no scenario: model `{models[0]}` needs data for {listed}{more}" if names else "no scenario to solve"
    raise DiagnosticError([Diagnostic("GSM6005", message, help=_data_help(workspace))])


def _missing_data(workspace: Workspace, name: str) -> list[str]:
    """The names of a model that need data; none if the model has errors, which are reported when it is used."""
    scenario = check_scenario(workspace, name, {}, Diagnostics())
    return [] if scenario is None else missing_targets(scenario)


def check_solvable(
    workspace: Workspace,
    name: str,
    settings: Mapping[str, str] | None = None,
    *,
    arguments: Sequence[tree.NamedArgument] = (),
    at: Span | None = None,
) -> tuple[CheckedScenario, tuple[Diagnostic, ...]]:
    """A scenario that can be solved, and warnings; raises DiagnosticError with all findings when it cannot.

    `settings` are texts (`{"period": "30[min]"}`), `arguments` the same from a test; `at` is where it is asked for.
    """
    found = Diagnostics()
    scenario = check_scenario(workspace, name, settings or {}, found, settings=arguments, at=at)
    found.raise_if_errors()
    assert scenario is not None
    return scenario, tuple(found)


def build(
    workspace: Workspace,
    scenario: CheckedScenario,
    *,
    warnings: Sequence[Diagnostic] = (),
    permissions: Permissions | None = None,
    replaced: Mapping[str, Sequence[DataChunk]] | None = None,
    settings: Mapping[str, str] | None = None,
    reader: FileReader | None = None,
    aggregated: bool = False,
    earlier: Instance | None = None,
    full: bool = True,
) -> Built:
    """Read the data of a checked scenario and ground it; `replaced` overrides values of the scenario.

    `reader` is that of an earlier build of the scenario: files that it has read are not read again; `earlier` is its
    instance: values with equal inputs are reused. With `aggregated`,
    interchangeable elements are aggregated if that is exact; the full problem is then grounded on demand, as without
    `full`.

    Raises DiagnosticError with all errors in the data, its checks and the grounding, and StoppedEarly if the active
    deadline is over.
    """
    from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation
    from gpusched_dsl.compiling.interchangeable.quotient import refuse_contradictions

    began = time.perf_counter()
    allowed = permissions or Permissions()
    with stage(READING):
        instance = read_data(
            workspace, scenario, permissions=allowed, replaced=replaced, reader=reader, earlier=earlier
        )
        refuse_contradictions(scenario.model, instance.store)
    built = Built(
        scenario=scenario,
        instance=instance,
        aggregation=Aggregation(None, ()),
        grounded=[],
        seconds=0.0,
        warnings=(*warnings, *instance.notes),
        permissions=allowed,
        sha256=workspace.sha256,
        settings=dict(settings or {}),
        workspace=workspace,
        replaced=replaced,
    )
    return with_problem(structs.replace(built, seconds=time.perf_counter() - began), aggregated=aggregated, full=full)


def with_problem(built: Built, *, aggregated: bool, full: bool = True) -> Built:
    """Return the data with its aggregated problem (`aggregated`), else, with `full`, with the full problem.

    Raises DiagnosticError and StoppedEarly as `build` does.
    """
    from gpusched_dsl.compiling.interchangeable.aggregate import aggregate

    began = time.perf_counter()
    if aggregated:
        found = aggregate(built.scenario.model, built.instance.store, built.permissions.limits())
        built = structs.replace(built, aggregation=found)
    if full and built.aggregated is None:
        _ = built.problem  # errors are found here, not later
    return structs.replace(built, seconds=built.seconds + time.perf_counter() - began)


def with_counts(built: Built, *, aggregated: bool) -> Built:
    """Return the data for a policy, which needs no problem: with the aggregated problem if time permits."""
    try:
        return with_problem(built, aggregated=aggregated, full=False)
    except StoppedEarly as stopped:
        if stopped.reason == INTERRUPT:
            raise
        return built


def read_data(
    workspace: Workspace,
    scenario: CheckedScenario,
    *,
    permissions: Permissions,
    replaced: Mapping[str, Sequence[DataChunk]] | None = None,
    reader: FileReader | None = None,
    earlier: Instance | None = None,
) -> Instance:
    """The data of a scenario as arrays; raises DiagnosticError as `build_instance` does."""
    from gpusched_dsl.compiling.data.instance import build_instance
    from gpusched_dsl.data.sources.files import FileLimits as FileLimits

    return build_instance(
        _without_values(scenario, replaced or {}),
        folder=workspace.base or Path.cwd(),
        limits=permissions.limits(),
        files=FileLimits.within(permissions.memory, allow_outside=permissions.outside),
        roots=workspace.roots,
        replaced=replaced,
        reader=reader,
        earlier=earlier,
    )


def _without_values(scenario: CheckedScenario, replaced: Mapping[str, object]) -> CheckedScenario:
    """Return the scenario without its values of some names, so that they are neither read nor computed."""
    given = {name: givens for name, givens in scenario.assignments.items() if name not in replaced}
    return structs.replace(scenario, assignments=given) if len(given) < len(scenario.assignments) else scenario


def _list_names(kind: str, names: Sequence[str]) -> str:
    if not names:
        return f"the file has no {kind}"
    return f"the {kind}s are {', '.join(f'`{n}`' for n in names)}"


def _data_help(workspace: Workspace) -> str:
    model = next(iter(workspace.models), "Model")
    return f"write `scenario Name for {model} {{ ... }}` in this file, or in one that imports it"
