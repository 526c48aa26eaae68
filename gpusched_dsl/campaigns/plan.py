"""The plan of a campaign: its runs with their keys, as tasks for workers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from gpusched_dsl.campaigns.code_fingerprint import PIN, code_fingerprint
from gpusched_dsl.campaigns.inputs import InputHashes
from gpusched_dsl.campaigns.tasks import FORMAT, OptionValue, Task, TextSource
from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.campaign import CheckedCampaign, check_campaign
from gpusched_dsl.language.blocks.campaigns.constants import Quantity, Value, Word, value_text
from gpusched_dsl.language.blocks.campaigns.grid import GridRun
from gpusched_dsl.language.blocks.campaigns.methods import START
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.units import Unit, convertible, parse_unit_text
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.reporting.runs.metrics import METRICS
from gpusched_dsl.solving.methods import known_methods
from gpusched_dsl.workflows.campaign_obstacles import run_obstacles

KEY_LENGTH = 32  # characters of the hash
MOST_LISTED = 12  # values in a help line


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """A run of the grid and its task; `pins` are the hashes of its inputs by kind and name."""

    run: GridRun
    task: Task
    pins: Mapping[str, str]

    @property
    def key(self) -> str:
        return self.task.key


@dataclass(frozen=True, eq=False)
class CampaignPlan:
    """All runs of a campaign, in the order of the grid; or some of them, those of the `whole` plan.

    `campaigns` are the names of all campaigns of its file and of the imports.
    """

    campaign: CheckedCampaign
    runs: tuple[PlannedRun, ...]
    warnings: tuple[Diagnostic, ...] = ()
    whole: CampaignPlan | None = None
    campaigns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.campaign.name

    @property
    def complete(self) -> CampaignPlan:
        """Return the plan of the complete campaign."""
        return self.whole or self

    @property
    def factors(self) -> list[str]:
        """Return the names that vary."""
        return [name for factor in self.campaign.factors for name in factor.names]

    @cached_property
    def by_key(self) -> dict[str, PlannedRun]:
        return {run.key: run for run in self.runs}

    @cached_property
    def pins(self) -> dict[str, str]:
        """Return the hashes of all inputs by kind and name: `model M`, `data jobs.csv`, `version highs`."""
        found: dict[str, str] = {}
        for run in self.runs:
            found.update(run.pins)
        return dict(sorted(found.items()))

    def only(self, selected: Mapping[str, Sequence[str]]) -> CampaignPlan:
        """Return the plan with the runs whose columns have one of the given values; raises DiagnosticError."""
        if not selected:
            return self
        known = {name for planned in self.runs for name in columns_of(planned.run)}
        for name in selected:
            if name not in known:
                help = did_you_mean(name, known) or f"the columns are {', '.join(sorted(known))}"
                raise DiagnosticError([Diagnostic("GSM5312", f"`{name}` does not vary in `{self.name}`", help=help)])
        firsts = self.complete.runs[0].run.factors
        runs = tuple(planned for planned in self.runs if _matches(planned.run, selected, firsts))
        if not runs:
            raise DiagnosticError([self._no_run(selected, firsts)])
        return CampaignPlan(self.campaign, runs, self.warnings, self.complete, self.campaigns)

    def _no_run(self, selected: Mapping[str, Sequence[str]], firsts: Mapping[str, Value]) -> Diagnostic:
        """Return GSM5312, with the values of the first name that has none of the wanted ones."""
        shown = ", ".join(f"{name}={value}" for name, values in selected.items() for value in values)
        help = "no run has all of them together: leave out one"
        for name, values in selected.items():
            if not any(_matches(planned.run, {name: values}, firsts) for planned in self.runs):
                known = list(dict.fromkeys(columns_of(planned.run).get(name, "") for planned in self.runs))
                listed = ", ".join(f"`{value}`" for value in known[:MOST_LISTED])
                more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
                help = did_you_mean(values[0], known) or f"`{name}` is {listed}{more}"
                break
        return Diagnostic("GSM5312", f"no run of `{self.name}` has {shown}", help=help)


def columns_of(run: GridRun) -> dict[str, str]:
    """Return the columns that identify a run, as texts."""
    own = {"scenario": run.scenario, "online": run.online or "", "method": run.label, "seed": str(run.seed)}
    return own | {name: value_text(value) for name, value in run.factors.items()}


def _matches(run: GridRun, selected: Mapping[str, Sequence[str]], firsts: Mapping[str, Value]) -> bool:
    columns: dict[str, Value | str] = {**columns_of(run), **run.factors}
    return all(
        name in columns and any(_is_value(columns[name], wanted, firsts.get(name)) for wanted in values)
        for name, values in selected.items()
    )


def choose_campaign(workspace: Workspace, wanted: str | None = None) -> tree.Campaign:
    """Return the campaign of that name, or the only one: of the main file if it has any. Raises DiagnosticError."""
    blocks = workspace.campaigns
    own = [b.name.text for b in workspace.main_blocks() if isinstance(b, tree.Campaign)] or list(blocks)
    if wanted is None and len(own) == 1:
        wanted = own[0]
    if wanted is not None and wanted in blocks:
        return blocks[wanted]
    listed = ", ".join(f"`{name}`" for name in blocks)
    if wanted is not None:
        help = did_you_mean(wanted, blocks) or (f"the campaigns are {listed}" if listed else _HOW)
        raise DiagnosticError([Diagnostic("GSM5311", f"unknown campaign `{wanted}`", help=help)])
    if own:
        message = f"there are {len(own)} campaigns: {listed}"
        raise DiagnosticError([Diagnostic("GSM5311", message, help=f"choose one, such as `{own[0]}`")])
    raise DiagnosticError([Diagnostic("GSM5311", "there is no campaign in the file", help=_HOW)])


_HOW = "write `campaign Name { vary seed in 1..5; solve Scenario with highs, Greedy; }`"


def make_plan(
    workspace: Workspace, name: str | None = None, permissions: Permissions | None = None, path: str | None = None
) -> CampaignPlan:
    """Return the plan of a campaign (the only one if `name` is None).

    `path` is the path of the file for workers; None for a text without a file. Raises DiagnosticError with all errors
    in the campaign.
    """
    allowed = permissions or Permissions()
    block = choose_campaign(workspace, name)
    found = Diagnostics()
    campaign = check_campaign(
        workspace, block, found, known_methods(workspace), tuple(METRICS), run_obstacles(workspace)
    )
    found.raise_if_errors()
    assert campaign is not None
    hashes = InputHashes(workspace, allowed)
    source = _source(workspace, allowed, path)
    runs = tuple(_plan_run(run, hashes, source) for run in campaign.runs())
    return CampaignPlan(campaign, runs, tuple(found), campaigns=tuple(workspace.campaigns))


def _source(workspace: Workspace, permissions: Permissions, path: str | None) -> TextSource:
    outside, memory = permissions.outside, permissions.memory
    if path is not None:
        shown = path if ":" in path.partition("/")[0] else str(Path(path).resolve())
        return TextSource(path=shown, outside=outside, memory=memory)
    main = workspace.main
    assert main is not None
    if main.source.path is not None:
        return TextSource(path=str(main.source.path), outside=outside, memory=memory)
    base = None if workspace.base is None else str(workspace.base)
    return TextSource(text=main.source.text, name=main.source.name, base=base, outside=outside, memory=memory)


def _plan_run(run: GridRun, hashes: InputHashes, source: TextSource) -> PlannedRun:
    blocks, data, versions = hashes.blocks(run), hashes.data(run), hashes.versions(run)
    options: dict[str, OptionValue] = {"threads": 1.0, **run.options}
    pins = {**blocks, **{f"data {name}": digest for name, digest in data.items()}}
    pins |= {f"version {name}": version for name, version in versions.items()}
    code = code_fingerprint()
    if code:
        pins[PIN] = code
    content = {
        "format": FORMAT, "verb": run.verb, "method": run.method, "options": options, "settings": dict(run.settings),
        "seed": run.seed, "repeated": dict(run.repeated), "pins": pins,
    }  # fmt: skip
    start = hashes.start(run)
    if start is not None:  # a worker has another current folder
        options = options | {START: str(start.resolve())}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_LENGTH]
    task = Task(
        key=key, source=source, texts=hashes.texts, data=data, verb=run.verb, scenario=run.scenario, online=run.online,
        method=run.method, options=options, settings=dict(run.settings), seed=run.seed, code=code,
    )  # fmt: skip
    return PlannedRun(run, task, pins)


_NUMBER = re.compile(r"([^\s\[\]]+)\s*(?:\[([^\[\]]+)\])?")


def _is_value(value: Value | str, wanted: str, first: Value | None = None) -> bool:
    """Whether `wanted` states this value of a factor or a column.

    A number without a unit is in that of the factor's first value, as results show it.
    """
    text = value if isinstance(value, str) else value_text(value)
    if wanted in (text, text.strip('"')) or (isinstance(value, Word) and wanted == value.content):
        return True
    if not isinstance(value, Quantity):
        return isinstance(value, bool) and wanted.lower() == text  # `True`, as tables of other programs show it
    fits = isinstance(first, Quantity) and convertible(value.unit, first.unit)
    stated = _quantity(wanted, first.unit if fits and isinstance(first, Quantity) else value.unit)
    if stated is None or not convertible(stated.unit, value.unit):
        return False
    return stated.number_in(value.unit) == value.number


def _quantity(text: str, unit: Unit) -> Quantity | None:
    """Return the number in a text such as `90` or `1.5[h]`, without a unit in the given one; None for other texts."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    try:
        number = Fraction(repr(float(found[1])))  # by a float, since `1e-99999999` would take minutes
        return Quantity(number, unit if found[2] is None else parse_unit_text(found[2]))
    except ValueError:
        return None
