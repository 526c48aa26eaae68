"""Checks `campaign` blocks: factors, settings, scenarios, methods and measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Word
from gpusched_dsl.language.blocks.campaigns.factors import (
    MAX_RUNS,
    REPLICATION,
    SEED,
    Factor,
    check_factors,
    combinations,
    names_of,
    variations,
)
from gpusched_dsl.language.blocks.campaigns.grid import METHOD, GridRun, duplicate_runs, runs_at
from gpusched_dsl.language.blocks.campaigns.measures import check_measures, measures_of
from gpusched_dsl.language.blocks.campaigns.methods import (
    START,
    WrongOption,
    check_method,
    named_methods,
    options_for,
    with_reason,
)
from gpusched_dsl.language.blocks.campaigns.settings import GridSetting, settings_of, used_names
from gpusched_dsl.language.blocks.known_methods import refused_option
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, Label, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text

MOST_CHECKED = 64  # combinations of values with which each scenario is checked
S = TypeVar("S", bound=tree.Statement)
RunObstacles: TypeAlias = Callable[[GridRun, CheckedModel], Sequence[Diagnostic]]


@dataclass(frozen=True, slots=True)
class CheckedCampaign:
    """A campaign without errors. `measures` are the columns to show; none for all."""

    name: str
    span: Span
    factors: tuple[Factor, ...]
    excluded: tuple[tree.Expr, ...]
    settings: tuple[GridSetting, ...]
    grids: tuple[tree.GridRuns, ...]
    measures: tuple[str, ...]
    doc: str | None = None

    def runs(self) -> Iterator[GridRun]:
        """Yield the runs of the grid in its order."""
        for values in combinations(self.factors):
            yield from runs_at(self.grids, self.settings, self.excluded, values)


def check_campaign(
    workspace: Workspace,
    campaign: tree.Campaign,
    diagnostics: Diagnostics,
    known_methods: Collection[str] | None = None,
    known_measures: Collection[str] | None = None,
    obstacles: RunObstacles | None = None,
) -> CheckedCampaign | None:
    """Return the checked campaign, or None if it has errors (all are in `diagnostics`).

    `known_methods` are the names of solvers and policies, `known_measures` those of the metrics of runs; without them
    any name is allowed. `obstacles` returns why a run cannot be executed with its model, without places if its method
    is not for the model.
    """
    found = Diagnostics()
    checked = _check(workspace, campaign, found, known_methods, known_measures, obstacles)
    diagnostics.extend(found)
    return None if found.has_errors else checked


def _check(
    workspace: Workspace,
    campaign: tree.Campaign,
    found: Diagnostics,
    methods: Collection[str] | None,
    measures: Collection[str] | None,
    obstacles: RunObstacles | None,
) -> CheckedCampaign | None:
    factors = check_factors(_of(campaign, tree.Vary), found)
    settings = settings_of(campaign.statements)
    grids = _of(campaign, tree.GridRuns)
    excluded = tuple(statement.condition for statement in _of(campaign, tree.Exclude))
    names = names_of(factors)
    _check_model(workspace, campaign, found)
    _check_grids(workspace, campaign, grids, names, methods, found)
    _check_settings(settings, found)
    if found.has_errors:
        return None
    _warn_of_unused(campaign, factors, names, found)
    checked = CheckedCampaign(
        campaign.name.text, campaign.name.span, factors, excluded, settings, grids, measures_of(campaign), campaign.doc
    )
    models = _check_scenarios(workspace, campaign, checked, found)
    if models is None:
        return None
    onlines = _onlines(workspace, checked, models)
    check_measures(campaign, grids, models, onlines, measures, names, found)
    if not found.has_errors:
        runs = _check_runs(campaign, checked, found)
        if obstacles is not None:
            _check_methods_of_models(runs, models, obstacles, found)
        _check_options(runs, methods, found)
    return checked


def _of(campaign: tree.Campaign, kind: type[S]) -> tuple[S, ...]:
    return tuple(statement for statement in campaign.statements if isinstance(statement, kind))


# --- names -----------------------------------------------------------------------------------------------------------


def _check_model(workspace: Workspace, campaign: tree.Campaign, found: Diagnostics) -> None:
    model = campaign.model
    if model is not None and model.text not in workspace.models and not workspace.may_hold(model.text):
        found.error(
            "GSM1107",
            f"unknown model `{model.text}`",
            model.span,
            "no such model",
            help=did_you_mean(model.text, workspace.models) or "check that its file is imported",
        )


def _check_grids(
    workspace: Workspace,
    campaign: tree.Campaign,
    grids: Sequence[tree.GridRuns],
    factors: Mapping[str, Span],
    methods: Collection[str] | None,
    found: Diagnostics,
) -> None:
    if not grids and campaign.name.text not in workspace.damaged:
        found.error(
            "GSM1662",
            f"campaign `{campaign.name.text}` has no runs",
            campaign.name.span,
            "neither `solve` nor `run`",
            help="write `solve Scenario with method, method;`, or `run` for runs over time",
        )
    for grid in grids:
        if grid.online is not None:
            _check_online(workspace, grid.online, factors, found)
        elif grid.verb == "run" and len(workspace.onlines) != 1 and not workspace.incomplete:
            listed = ", ".join(f"`{name}`" for name in workspace.onlines)
            found.error(
                "GSM6019",
                f"there are {len(workspace.onlines)} online blocks: {listed}" if listed else "there is no online block",
                grid.scenarios[-1].span,
                "run by which online block?",
                help="name one: `run Scenario online Name with ...`",
            )
        for method in grid.methods:
            check_method(method, grid.verb, factors, methods, found)


def _check_online(workspace: Workspace, name: tree.Identifier, factors: Mapping[str, Span], found: Diagnostics) -> None:
    if name.text not in workspace.onlines and name.text not in factors and not workspace.may_hold(name.text):
        found.error(
            "GSM6019",
            f"unknown online block `{name.text}`",
            name.span,
            "no such block",
            help=did_you_mean(name.text, workspace.onlines) or "check that its file is imported",
        )


def _check_settings(settings: Sequence[GridSetting], found: Diagnostics) -> None:
    seen: dict[str, Span] = {}
    for setting in settings:
        if setting.key in seen:
            found.error(
                "GSM1506",
                f"`{setting.key}` is given twice",
                setting.node.span,
                "given again",
                secondary=[Label(seen[setting.key], "first given here")],
                help="keep one of them",
            )
        seen.setdefault(setting.key, setting.node.span)


def _warn_of_unused(
    campaign: tree.Campaign, factors: Sequence[Factor], names: Mapping[str, Span], found: Diagnostics
) -> None:
    """Warn of factors that change nothing: their runs would only repeat each other."""
    used: set[str] = {SEED, REPLICATION}
    for statement in campaign.statements:
        if not isinstance(statement, tree.Vary | tree.Measure):
            used |= used_names(statement)
        if isinstance(statement, tree.GridRuns):
            named = [*statement.scenarios, *(method.name for method in statement.methods)]
            used |= {name.text for name in (*named, statement.online) if name is not None}
    for factor in factors:
        if used.isdisjoint(factor.names):
            found.error(
                "GSM1664",
                f"no statement uses `{factor.names[0]}`, so its runs repeat each other",
                factor.span,
                "unused",
                help=f"use it, as in `deadline = {factor.names[0]};`, or call it `{REPLICATION}` to repeat runs",
                severity=Severity.WARNING,
            )


# --- scenarios -------------------------------------------------------------------------------------------------------


def _check_scenarios(
    workspace: Workspace, campaign: tree.Campaign, checked: CheckedCampaign, found: Diagnostics
) -> dict[tuple[str, str], CheckedModel] | None:
    """Check each scenario with the settings of some combinations of values.

    Return the models by verb and scenario; None if a scenario has errors.
    """
    models: dict[tuple[str, str], CheckedModel] = {}
    for values in variations(checked.factors, MOST_CHECKED):
        for grid in checked.grids:
            for place in grid.scenarios:
                value = values.get(place.text, Word(place.text))
                name = value.content if isinstance(value, Word) else place.text
                arguments = [setting.statement(values) for setting in checked.settings]
                scenario = check_scenario(workspace, name, {}, found, settings=arguments, at=place.span)
                if scenario is not None:
                    models[grid.verb, name] = scenario.model
                    _check_model_of(workspace, campaign, name, scenario.model, place.span, found)
        if found.has_errors:
            return None
    return models


def _onlines(
    workspace: Workspace, checked: CheckedCampaign, models: Mapping[tuple[str, str], CheckedModel]
) -> list[CheckedOnline | None]:
    """Return the blocks by which the campaign runs its models; None for a block with errors."""
    names: dict[str, None] = {}
    for values in variations(checked.factors, MOST_CHECKED):
        for grid in checked.grids:
            if grid.verb == "run":
                own = next(iter(workspace.onlines), "") if grid.online is None else grid.online.text
                value = values.get(own, Word(own))
                names[value.content if isinstance(value, Word) else own] = None
    blocks = [workspace.onlines.get(name) for name in names]
    checked_models = {model.name: model for (verb, _), model in models.items() if verb == "run"}.values()
    return [
        None if block is None else check_online(workspace, block, Diagnostics(), model)
        for block in blocks
        for model in checked_models
    ]


def _check_model_of(
    workspace: Workspace, campaign: tree.Campaign, name: str, model: CheckedModel, at: Span, found: Diagnostics
) -> None:
    wanted, seen = campaign.model, {model.name}
    if wanted is None:
        return
    block = workspace.models.get(model.name)
    while block is not None and block.extends is not None and block.extends.text not in seen:
        seen.add(block.extends.text)
        block = workspace.models.get(block.extends.text)
    if wanted.text not in seen:
        found.error(
            "GSM1667",
            f"scenario `{name}` is for `{model.name}`, but the campaign is for `{wanted.text}`",
            at,
            f"neither `{wanted.text}` nor a model that extends it",
            secondary=[Label(wanted.span, f"for `{wanted.text}`")],
        )


# --- runs ------------------------------------------------------------------------------------------------------------


def _check_runs(campaign: tree.Campaign, checked: CheckedCampaign, found: Diagnostics) -> list[GridRun]:
    """Report an empty grid, one with too many runs, and runs that are the same; return the runs."""
    size = 1
    for factor in checked.factors:
        size *= len(factor.rows)
    if size * sum(max(1, len(grid.scenarios)) * max(1, len(grid.methods)) for grid in checked.grids) > MAX_RUNS:
        found.error(
            "GSM1666",
            f"campaign `{campaign.name.text}` has more than {MAX_RUNS:,} runs",
            campaign.name.span,
            "too many runs",
            help="vary fewer values, or vary several names together: `vary (nodes, jobs) in { (2, 20), (4, 40) };`",
        )
        return []
    try:
        runs = list(checked.runs())
    except WrongOption as reason:
        found.error("GSM1603", str(reason), reason.span, "here")
        return []
    except NotConstant as reason:
        found.error("GSM1660", f"not a constant: {reason}", reason.span, "here", help=_HELP)
        return []
    if not runs:
        found.error(
            "GSM1662",
            f"campaign `{campaign.name.text}` has no runs: every combination is excluded",
            campaign.name.span,
            f"{count_text(size, 'combination')}, all excluded",
            help="weaken an `exclude` statement",
        )
    for first, second in duplicate_runs(runs):
        equal = first.content == second.content
        found.error(
            "GSM1663" if equal else "GSM1661",
            f"two runs are the same: {second.title}" if equal else f"two methods have the name `{second.label}`",
            second.span,
            "again",
            secondary=[Label(first.span, "first here")],
            help="remove one of them" if equal else "give one another name: `highs (...) as Name`",
        )
        break
    return runs


def _check_options(runs: Sequence[GridRun], methods: Collection[str] | None, found: Diagnostics) -> None:
    """Report options of solvers that a text may not set (GSM1609), with the values that factors give to them."""
    reported = {diagnostic.primary for diagnostic in found}
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        own = options_for(run.verb)
        for option, value in run.options.items():
            key = (run.method, option, type(value), value)
            if option in own or key in seen or run.option_spans[option] in reported:
                continue
            seen.add(key)
            refused = refused_option(methods, run.method, option, value)
            if refused is not None:
                refused = with_reason(run.verb, option, refused)
                found.add(structs.replace(refused, primary=run.option_spans[option]))


def _check_methods_of_models(
    runs: Sequence[GridRun],
    models: Mapping[tuple[str, str], CheckedModel],
    obstacles: RunObstacles,
    found: Diagnostics,
) -> None:
    """Report each method that cannot be used with the model of one of its scenarios, and options that nothing reads.

    A method may be a factor: then an option counts as read if one of its values reads it.
    """
    seen: set[tuple[object, ...]] = set()
    unread: dict[Span, list[dict[Span | Cell | None, Diagnostic]]] = {}  # by method as written, then by option
    for run in runs:
        model = models.get((run.verb, run.scenario))
        named = named_methods(run.options)
        key = (run.method, *named, run.options.get(START), model and model.name, run.span)
        if model is None or key in seen:
            continue
        seen.add(key)
        diagnostics = obstacles(run, model)
        unread.setdefault(run.span, []).append({d.primary: d for d in diagnostics if d.primary is not None})
        for diagnostic in diagnostics:
            if diagnostic.primary is None:
                found.add(structs.replace(diagnostic, primary=run.span, label="cannot be used here"))
    for first, *others in unread.values():
        found.extend(diagnostic for place, diagnostic in first.items() if all(place in other for other in others))


_HELP = f"conditions compare factors and `{METHOD}` with constants"
