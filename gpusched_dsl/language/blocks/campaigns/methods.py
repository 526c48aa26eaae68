"""The methods of a campaign with their options."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Quantity, Value, Word, evaluate, option_value
from gpusched_dsl.language.blocks.known_methods import help_for_unknown, with_names
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.option_limits import LARGEST_SEED, MOST_THREADS
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.tree_walk import nodes_in

OptionValue = bool | float | str


class WrongOption(NotConstant):
    """The value of an option is constant, but not one that the option accepts."""


@dataclass(frozen=True, slots=True)
class MethodOption:
    """What the value of an option must be: its kind, the least number, or one of some words."""

    kind: type
    words: str
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    is_time: bool = False

    def accepts(self, value: Value) -> bool:
        """Whether the value of a constant expression is one of this option."""
        plain = option_value(value)
        if isinstance(value, Quantity) and not value.unit.is_dimensionless and not self.is_time:
            return False
        return self.accepts_plain(plain)

    def accepts_plain(self, plain: bool | float | str | None) -> bool:
        """Whether a value without a unit is one of this option; times are in seconds."""
        if self.kind is bool or isinstance(plain, bool):
            return self.kind is bool and isinstance(plain, bool)
        if self.kind is str:
            return isinstance(plain, str) and (not self.choices or plain in self.choices)
        if plain is None or isinstance(plain, str) or not self.least <= plain <= self.most or plain == math.inf:
            return False
        return self.kind is float or float(plain).is_integer()


_NUMBER = MethodOption(float, "a number from 0", least=0.0)
_TIME = MethodOption(float, "a time from 0, such as `60[s]`", least=0.0, is_time=True)
_POSITIVE = MethodOption(int, "an integer from 1", least=1)
_THREADS = MethodOption(int, f"an integer from 1 to {MOST_THREADS}", least=1, most=MOST_THREADS)
_SEED = MethodOption(int, f"an integer from 0 to {LARGEST_SEED}", least=0, most=LARGEST_SEED)
_NAME = MethodOption(str, "a name")
_FLAG = MethodOption(bool, "`true` or `false`")
_SWITCH = MethodOption(str, "`auto`, `on` or `off`", choices=("auto", "on", "off"))
_VERIFY = MethodOption(str, "`none`, `sample`, `rows` or `full`", choices=("none", "sample", "rows", "full"))

# Options of methods by the verb of the statement. Other names are options of the solver itself.
SOLVE_OPTIONS: Mapping[str, MethodOption] = {
    "gap": _NUMBER, "time_limit": _TIME, "threads": _THREADS, "seed": _SEED, "judge": _NAME, "bound": _FLAG,
    "heuristic": _SWITCH, "decompose": _SWITCH, "warm_start": _NAME, "relax": _FLAG,
}  # fmt: skip
RUN_OPTIONS: Mapping[str, MethodOption] = {
    "gap": _NUMBER, "time_limit": _TIME, "threads": _THREADS, "seed": _SEED, "fallback": _NAME, "bound": _FLAG,
    "verify": _VERIFY, "most_events": _POSITIVE, "controllers": _POSITIVE,
}  # fmt: skip
NAMES_METHOD = ("judge", "fallback")  # options whose value is the name of a method
START = "warm_start"  # the option whose value is a policy, or the file of a result


def options_for(verb: str) -> Mapping[str, MethodOption]:
    return SOLVE_OPTIONS if verb == "solve" else RUN_OPTIONS


def option_values(method: tree.GridMethod, names: Mapping[str, Value]) -> dict[str, OptionValue]:
    """Return the options of a method for these values of the factors; raises NotConstant."""
    found: dict[str, OptionValue] = {}
    for setting in method.settings:
        value = option_value(evaluate(setting.value, names))
        if value is None:
            raise NotConstant(setting.value.span, "not a number, a time, `true`, `false` or a word")
        found[setting.name.text] = value
    return found


def check_method(
    method: tree.GridMethod,
    verb: str,
    factors: Mapping[str, Span],
    known: Collection[str] | None,
    diagnostics: Diagnostics,
) -> None:
    """Report an unknown method (GSM1602) and options that are repeated, unknown or of the wrong kind."""
    name = method.name.text
    if known is not None and name not in known and name not in factors:
        _report_unknown(name, with_names(known, factors), method.name.span, diagnostics)
    seen: dict[str, Span] = {}
    for setting in method.settings:
        option = setting.name.text
        if option in seen:
            diagnostics.error(
                "GSM1506",
                f"`{option}` is given twice",
                setting.name.span,
                "given again",
                secondary=[Label(seen[option], "first given here")],
            )
        seen.setdefault(option, setting.name.span)
        _check_option(setting, verb, factors, known, diagnostics)


def _check_option(
    setting: tree.NamedArgument,
    verb: str,
    factors: Mapping[str, Span],
    known: Collection[str] | None,
    diagnostics: Diagnostics,
) -> None:
    option = options_for(verb).get(setting.name.text)
    if factors.keys() & {name.text for name in nodes_in(setting.value, tree.Name)}:
        return  # its values are checked with the runs
    try:
        value = evaluate(setting.value, {})
    except NotConstant:
        return
    if setting.name.text in NAMES_METHOD and known is not None and isinstance(value, Word):
        if value.content not in known:
            _report_unknown(value.content, known, setting.value.span, diagnostics)
    elif option_value(value) is None or (option is not None and not option.accepts(value)):
        needs = "a number, a time, `true`, `false` or a word" if option is None else option.words
        diagnostics.error("GSM1603", f"`{setting.name.text}` must be {needs}", setting.value.span, "something else")


def _report_unknown(name: str, known: Collection[str], at: Span, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        "GSM1602",
        f"unknown method `{name}`",
        at,
        "neither a backend nor a policy",
        help=help_for_unknown(name, known),
    )
