"""`check_scenario`: the values of a scenario, its base scenarios and external settings for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.checking.extends import SCENARIO, chain_of
from gpusched_dsl.language.checking.flatten import declared_options
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import Assignment
from gpusched_dsl.language.scenarios.calendars import (
    START,
    CheckedCalendar,
    check_calendar,
    has_calendar,
    require_no_calendar,
)
from gpusched_dsl.language.scenarios.dependency_order import order_of_data
from gpusched_dsl.language.scenarios.settings import (
    DataPathArgument,
    GeneratorArgument,
    ReadSetting,
    options_of_data,
    read_setting,
    with_options,
)
from gpusched_dsl.language.scenarios.statements import AssignmentTable, report_twice
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.scenarios.many_settings import PlainSetting


class CheckedScenario(Struct, frozen=True):
    """A scenario with its inheritance resolved.

    `assignments` has the effective assignments of each target: first those that are not patches, then patches in the
    order of application.
    `model` is checked with the scenario's options, and its `data_order` respects the expressions of the scenario.
    """

    name: str
    span: Span
    model: CheckedModel
    assignments: dict[str, tuple[Assignment, ...]]
    doc: str | None = None
    calendar: CheckedCalendar | None = None


def check_scenario(
    workspace: Workspace,
    name: str,
    overrides: Mapping[str, str],
    diagnostics: Diagnostics,
    *,
    settings: Sequence[ReadSetting] = (),
    at: Span | None = None,
) -> CheckedScenario | None:
    """Return the checked scenario, or None if it or its model has errors.

    All errors are in `diagnostics`, except those of unreadable texts, which were reported before.

    `overrides` are texts for options, parameters without indices and single values (`{"period": "30[min]",
    "deadline[j1]": "20[h]"}`), for options of generators and data formats (`{"seed": "2"}`, `{"capacity_jobs.seed":
    "2"}`), and for paths of data (`{'"jobs.csv"': '"other.csv"'}`); `settings` are trees. Both are applied after the
    scenario's own statements. The text for `START` is the date of time 0. `at` is the place that names the scenario.
    """
    found = Diagnostics()
    start = overrides.get(START)
    overrides = {target: text for target, text in overrides.items() if target != START}
    plain: dict[str, list[PlainSetting]] = {}
    if overrides:
        from gpusched_dsl.language.scenarios.many_settings import split_settings

        overrides, plain = split_settings(overrides)
    read = [*settings, *(read_setting(target, text, found) for target, text in overrides.items())]
    arguments = [setting for setting in read if isinstance(setting, tree.NamedArgument)]
    patches = [setting for setting in read if isinstance(setting, tree.Assign)]
    checked = _check(workspace, name, arguments, patches, plain, start, at, found)
    diagnostics.extend(found)
    return None if found.has_errors else checked


def scenario_title(model: str, scenario: str) -> str:
    """Return `M, scenario S`; only `M` for a model that was used without a scenario."""
    return f"{model}, scenario {scenario}" if scenario not in ("", model) else model


def states_calendar(workspace: Workspace, name: str) -> bool:
    """Whether a scenario, or one that it extends, states a calendar."""
    return has_calendar(_chain(workspace, name, None, Diagnostics()) or [])


def missing_targets(scenario: CheckedScenario) -> list[str]:
    """Return the sets, parameters and randoms without necessary data, in the order of the data."""
    model = scenario.model
    missing: list[str] = []
    for name in model.data_order:
        if name in scenario.assignments:
            continue
        if name in model.sets:
            needed = model.sets[name].value is None
        elif name in model.randoms:
            needed = model.randoms[name].law is None
        else:
            needed = model.params[name].value is None and model.params[name].default is None
        if needed:
            missing.append(name)
    return missing


_OF_DATA = GeneratorArgument | DataPathArgument


def _check(
    workspace: Workspace,
    name: str,
    settings: Sequence[tree.NamedArgument],
    patches: Sequence[tree.Assign],
    plain: Mapping[str, Sequence[PlainSetting]],
    start: str | None,
    at: Span | None,
    diagnostics: Diagnostics,
) -> CheckedScenario | None:
    chain = _chain(workspace, name, at, diagnostics)
    if chain is None:
        return None
    scenario = chain[-1]
    model_name = _model_name(workspace, chain, diagnostics)
    if model_name is None:
        return None
    known = set(declared_options(workspace, model_name.text))
    options = _options(chain, settings, known, diagnostics)
    choices = {option: choice.text for option, choice in options.items()}
    spans = {option: choice.span for option, choice in options.items()}
    model = check_model(workspace, model_name.text, choices, diagnostics, spans)
    if model is None:
        return None
    calendar = check_calendar(chain, model, start, diagnostics)
    first = calendar.calendar.iso(0.0) if calendar is not None and calendar.stated else ""
    table = AssignmentTable(model, diagnostics, workspace.lost, first)
    settings = [s for s in settings if s.name.text not in known or isinstance(s, _OF_DATA)]
    of_data = _data_settings(chain, settings, table, diagnostics)
    for level, part in enumerate(chain):
        statements = with_options(part, of_data).statements
        table.add_level(level, [s for s in statements if not _is_option(s, known)])
    table.add_settings(len(chain), [s for s in settings if s not in of_data and not isinstance(s, _OF_DATA)])
    if plain:
        from gpusched_dsl.language.scenarios.many_settings import check_columns

        columns, others = check_columns(table, len(chain), plain)
        one_by_one = [read_setting(setting.name, setting.text, diagnostics) for setting in others]
        table.add_level(len(chain), [*patches, *(each for each in one_by_one if isinstance(each, tree.Assign))])
        table.add_columns(columns)
    else:
        table.add_level(len(chain), patches)
    given = table.result()
    order = order_of_data(model, given, diagnostics)
    if not has_calendar(chain, start):
        require_no_calendar(scenario, model, given, diagnostics)
    return CheckedScenario(
        scenario.name.text,
        scenario.name.span,
        structs.replace(model, data_order=order),
        given,
        scenario.doc,
        calendar,
    )


def _data_settings(
    chain: Sequence[tree.Scenario],
    settings: Sequence[tree.NamedArgument],
    table: AssignmentTable,
    diagnostics: Diagnostics,
) -> list[tree.NamedArgument]:
    """The settings of options of generators and data formats: names that are not those of the model."""
    if not settings:
        return []
    options = options_of_data(chain)
    table.other_names = tuple(options)
    generators = sorted(set().union(*options.values()))
    found: list[tree.NamedArgument] = []
    for setting in settings:
        name = setting.name.text
        if isinstance(setting, DataPathArgument):
            if _is_path_of_data(setting, chain, diagnostics):
                found.append(setting)
        elif not isinstance(setting, GeneratorArgument):
            if name in options and not table.declares(name):
                found.append(setting)
        elif setting.generator.text in options.get(name, ()):
            found.append(setting)
        elif setting.generator.text in generators:
            own = [option for option, users in options.items() if setting.generator.text in users]
            diagnostics.error(
                "GSM1519",
                f"`{setting.generator.text}` has no option `{name}`",
                setting.name.span,
                "unknown",
                help=did_you_mean(name, own) or f"its options are {', '.join(own)}",
            )
        else:
            listed = f"it uses {', '.join(generators)}" if generators else "it uses none"
            diagnostics.error(
                "GSM1518",
                f"the scenario does not use a generator or data format `{setting.generator.text}`",
                setting.name.span,
                "not used",
                help=did_you_mean(setting.generator.text, generators) or listed,
            )
    return found


def _is_path_of_data(setting: DataPathArgument, chain: Sequence[tree.Scenario], diagnostics: Diagnostics) -> bool:
    """Whether a data statement has the path, and the other path is a text; else report it (GSM1669)."""
    paths = sorted({s.path.value for part in chain for s in part.statements if isinstance(s, tree.Data)})
    if setting.name.text not in paths:
        listed = f"it reads {', '.join(f'`{path}`' for path in paths)}" if paths else "it reads no files"
        diagnostics.error(
            "GSM1669",
            f"the scenario does not read `{setting.name.text}`",
            setting.name.span,
            "not read",
            help=did_you_mean(setting.name.text, paths) or listed,
        )
        return False
    if not isinstance(setting.value, tree.Text):
        diagnostics.error(
            "GSM1669",
            "the path of a data file must be a text in quotes",
            setting.value.span,
            "not a text",
            help='write `data "jobs.csv" = "other.csv";`, or a factor with such values',
        )
        return False
    return True


# --- which scenarios, which model ------------------------------------------------------------------------------------


def _chain(workspace: Workspace, name: str, at: Span | None, diagnostics: Diagnostics) -> list[tree.Scenario] | None:
    """The scenario preceded by all that it extends, the oldest first.

    The name of a model stands for a scenario of the model without statements.
    """
    scenarios = workspace.scenarios
    scenario = scenarios.get(name)
    if scenario is None and name in workspace.models:
        model = workspace.models[name].name
        return [tree.Scenario(span=model.span, name=model, statements=(), model=model)]
    if scenario is None and workspace.may_hold(name):
        return None
    if scenario is None:
        diagnostics.error(
            "GSM1501",
            f"unknown scenario `{name}`",
            at,
            "no such scenario",
            help=did_you_mean(name, [*scenarios, *workspace.models]),
        )
        return None
    return chain_of(workspace, scenarios, scenario, SCENARIO, diagnostics)


def _model_name(
    workspace: Workspace, chain: Sequence[tree.Scenario], diagnostics: Diagnostics
) -> tree.Identifier | None:
    """The model of the newest scenario that names one; it must be that of the older ones, or extend it."""
    name: tree.Identifier | None = None
    for scenario in chain:
        wanted = scenario.model
        if wanted is None:
            continue
        if wanted.text not in workspace.models and workspace.may_hold(wanted.text):
            return None
        if wanted.text not in workspace.models:
            diagnostics.error(
                "GSM1107",
                f"unknown model `{wanted.text}`",
                wanted.span,
                "no such model",
                help=did_you_mean(wanted.text, workspace.models) or "check that its file is imported",
            )
            return None
        if name is not None and name.text not in _ancestry(workspace, wanted.text):
            diagnostics.error(
                "GSM1503",
                f"scenario `{scenario.name.text}` is for `{wanted.text}`, but extends one for `{name.text}`",
                wanted.span,
                f"neither `{name.text}` nor a model that extends it",
                secondary=[Label(name.span, f"for `{name.text}`")],
            )
            return None
        name = wanted
    if name is None:
        diagnostics.error(
            "GSM1503",
            f"scenario `{chain[-1].name.text}` does not name a model",
            chain[-1].name.span,
            "no model",
            help=f"write `scenario {chain[-1].name.text} for Model {{ ... }}`",
        )
    return name


def _ancestry(workspace: Workspace, name: str) -> set[str]:
    """A model and all that it extends."""
    found: set[str] = set()
    while name in workspace.models and name not in found:
        found.add(name)
        base = workspace.models[name].extends
        name = "" if base is None else base.text
    return found


# --- options ---------------------------------------------------------------------------------------------------------


def _is_option(statement: tree.Statement, known: set[str]) -> bool:
    return isinstance(statement, tree.Assign) and statement.target.text in known


def _options(
    chain: Sequence[tree.Scenario],
    settings: Sequence[tree.NamedArgument],
    known: set[str],
    diagnostics: Diagnostics,
) -> dict[str, tree.Identifier]:
    """The choice of each option that is set, by its last assignment."""
    chosen: dict[str, tree.Identifier] = {}
    for scenario in chain:
        here: dict[str, tree.Identifier] = {}
        for statement in scenario.statements:
            if not isinstance(statement, tree.Assign) or statement.target.text not in known:
                continue
            if statement.subscripts or statement.indexing is not None:
                brackets = statement.indexing.indices if statement.indexing is not None else statement.subscripts
                diagnostics.error(
                    "GSM1507",
                    f"option `{statement.target.text}` has no subscripts",
                    brackets[0].span.to(brackets[-1].span),
                    "not for an option",
                )
                continue
            report_twice(here, statement.target, diagnostics)
            _choose(chosen, statement.target, statement.value, diagnostics)
    given: dict[str, tree.Identifier] = {}
    for setting in settings:
        if setting.name.text in known and not isinstance(setting, _OF_DATA):
            report_twice(given, setting.name, diagnostics)
            _choose(chosen, setting.name, setting.value, diagnostics)
    return chosen


def _choose(
    chosen: dict[str, tree.Identifier], target: tree.Identifier, value: tree.Expr, diagnostics: Diagnostics
) -> None:
    if isinstance(value, (tree.Name, tree.Text)):
        text = value.text if isinstance(value, tree.Name) else value.value
        chosen[target.text] = tree.Identifier(span=value.span, text=text)
        return
    diagnostics.error("GSM1514", f"option `{target.text}` needs the name of a choice", value.span, "not a name")
