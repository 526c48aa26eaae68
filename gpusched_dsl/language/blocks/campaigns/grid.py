"""The runs of a campaign: one for each combination of values, scenario and method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import (
    NotConstant,
    Value,
    Word,
    condition_value,
    evaluate,
    value_text,
)
from gpusched_dsl.language.blocks.campaigns.factors import SEED
from gpusched_dsl.language.blocks.campaigns.methods import OptionValue, WrongOption, accepts, option_values, options_for
from gpusched_dsl.language.blocks.campaigns.settings import GridSetting, used_names
from gpusched_dsl.language.source import Span

DEFAULT_METHOD = "highs"
METHOD = "method"  # a name in `exclude` besides the factors


@dataclass(frozen=True, slots=True)
class GridRun:
    """One run. `verb` is `solve` or `run`; `label` is the name of the method in results.

    `settings` are those of the scenario, as for `--set`; `options` those of the method. `repeated` are the values of
    factors that neither uses: they only tell repeated runs apart. `option_spans` are the places of names of options.
    """

    verb: str
    scenario: str
    online: str | None
    method: str
    label: str
    options: Mapping[str, OptionValue]
    settings: Mapping[str, str]
    seed: int
    factors: Mapping[str, Value]
    repeated: Mapping[str, str]
    span: Span
    option_spans: Mapping[str, Span] = field(default_factory=dict, repr=False)

    @property
    def content(self) -> tuple[object, ...]:
        """Everything that determines the result."""
        return (
            self.verb, self.scenario, self.online, self.method, tuple(sorted(self.options.items(), key=str)),
            tuple(self.settings.items()), self.seed, tuple(self.repeated.items()),
        )  # fmt: skip

    @property
    def place(self) -> tuple[object, ...]:
        """The place in the table of results."""
        factors = tuple((name, value_text(value)) for name, value in self.factors.items())
        return (self.verb, self.scenario, self.online, self.label, factors)

    @property
    def title(self) -> str:
        """`Synthetic with highs, size 10, seed 1`."""
        factors = "".join(f", {name} {value_text(value)}" for name, value in self.factors.items())
        return f"{self.scenario} with {self.label}{factors}"


def runs_at(
    grids: Sequence[tree.GridRuns],
    settings: Sequence[GridSetting],
    excluded: Sequence[tree.Expr],
    values: Mapping[str, Value],
) -> Iterator[GridRun]:
    """Yield the runs for one combination of values; raises NotConstant."""
    texts = {setting.key: setting.text(values) for setting in settings}
    used = {name for setting in settings for name in used_names(setting.value)}
    for grid in grids:
        methods = grid.methods or (_default(grid),)
        labels = _labels(methods, values)
        for place in grid.scenarios:
            scenario = _name(place, values)
            online = None if grid.online is None else _name(grid.online, values)
            for method, label in zip(methods, labels, strict=True):
                if any(condition_value(condition, {METHOD: Word(label), **values}) for condition in excluded):
                    continue
                options = _options(method, grid.verb, values)
                in_method = used_names(method) | {method.name.text, place.text}
                in_method |= set() if grid.online is None else {grid.online.text}
                others = values.keys() - used - in_method - {SEED}
                yield GridRun(
                    verb=grid.verb,
                    scenario=scenario,
                    online=online,
                    method=_name(method.name, values),
                    label=label,
                    options={name: value for name, value in options.items() if name != SEED},
                    settings=texts,
                    seed=_seed(method, options, values),
                    factors=values,
                    repeated={name: value_text(values[name]) for name in values if name in others},
                    span=method.span,
                    option_spans={setting.name.text: setting.name.span for setting in method.settings},
                )


def duplicate_runs(runs: Sequence[GridRun]) -> Iterator[tuple[GridRun, GridRun]]:
    """Yield pairs of runs with the same content, or with the same place in the table of results."""
    for attribute in ("content", "place"):
        seen: dict[object, GridRun] = {}
        for run in runs:
            first = seen.setdefault(getattr(run, attribute), run)
            if first is not run:
                yield first, run


def _default(grid: tree.GridRuns) -> tree.GridMethod:
    span = grid.span
    return tree.GridMethod(span=span, name=tree.Identifier(span=span, text=DEFAULT_METHOD))


def _labels(methods: Sequence[tree.GridMethod], values: Mapping[str, Value]) -> list[str]:
    """Return the names of methods in results; methods of one name and without `as` also have their options."""
    names = [_name(method.name, values) for method in methods]
    counts = Counter(name for method, name in zip(methods, names, strict=True) if method.alias is None)
    labels: list[str] = []
    for method, name in zip(methods, names, strict=True):
        if method.alias is not None:
            labels.append(method.alias.text)
        elif counts[name] > 1 and method.settings:
            shown = ", ".join(f"{s.name.text} = {_shown(s.value, values)}" for s in method.settings)
            labels.append(f"{name} ({shown})")
        else:
            labels.append(name)
    return labels


def _shown(value: tree.Expr, values: Mapping[str, Value]) -> str:
    return value_text(evaluate(value, values))


def _name(place: tree.Identifier, values: Mapping[str, Value]) -> str:
    value = values.get(place.text)
    if value is None:
        return place.text
    if isinstance(value, Word):
        return value.content
    raise NotConstant(place.span, f"`{place.text}` is `{value_text(value)}`, not a name")


def _options(method: tree.GridMethod, verb: str, values: Mapping[str, Value]) -> dict[str, OptionValue]:
    options, kinds = option_values(method, values), options_for(verb)
    for setting in method.settings:
        name = setting.name.text
        value = evaluate(setting.value, values)
        if name in kinds and not accepts(kinds[name], value):
            reason = f"`{name}` must be {kinds[name].kind.stated}, not `{value_text(value)}`"
            raise WrongOption(setting.value.span, reason)
    return options


def _seed(method: tree.GridMethod, options: Mapping[str, OptionValue], values: Mapping[str, Value]) -> int:
    if SEED in options:
        return int(options[SEED])
    value = values.get(SEED)
    if value is None:
        return 0
    seed = option = None if isinstance(value, Word | bool) else value.number
    if option is None or seed is None or seed.denominator != 1 or seed < 0:
        raise WrongOption(method.span, f"`{SEED}` must be an integer from 0, not `{value_text(value)}`")
    return int(seed)
