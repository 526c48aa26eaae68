"""The methods of a campaign with their options."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Quantity, Value, Word, evaluate, option_value
from gpusched_dsl.language.blocks.known_methods import help_for_unknown, with_names
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.tree_walk import nodes_in
from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.table import by_name

OptionValue = bool | float | str


class WrongOption(NotConstant):
    """The value of an option is constant, but not one that the option accepts."""


NAMES_METHOD = ("judge", "fallback")  # options whose value is the name of a method
START = "warm_start"  # the option whose value is a policy, or the file of a result


def options_for(verb: str) -> Mapping[str, OptionRow]:
    """Return the options of methods by the verb of the statement. Other names are options of the solver itself."""
    return by_name(verb, "campaign")


def named_methods(options: Mapping[str, OptionValue]) -> tuple[str, ...]:
    """Return the methods that the values of options name."""
    return tuple(str(options[name]) for name in NAMES_METHOD if name in options)


def accepts(option: OptionRow, value: Value) -> bool:
    """Whether the value of a constant expression is one of an option."""
    if isinstance(value, Quantity) and not value.unit.is_dimensionless and not option.kind.is_time:
        return False
    return option.kind.accepts_stated(option_value(value))


def with_reason(verb: str, option: str, refused: Diagnostic) -> Diagnostic:
    """Return the refusal of an option, with the reason of the table if commands and Python have such an option."""
    known = by_name(verb).get(option)
    why = None if known is None else known.absent.get("campaign")
    if why is None:
        return refused
    return Diagnostic(refused.code, f"`{option}` is not an option in a campaign: {why}", help="remove it")


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
    elif option_value(value) is None or (option is not None and not accepts(option, value)):
        needs = "a number, a time, `true`, `false` or a word" if option is None else option.kind.stated
        diagnostics.error("GSM1603", f"`{setting.name.text}` must be {needs}", setting.value.span, "something else")


def _report_unknown(name: str, known: Collection[str], at: Span, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        "GSM1602",
        f"unknown method `{name}`",
        at,
        "neither a backend nor a policy",
        help=help_for_unknown(name, known),
    )
