"""The methods of a campaign with their options."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Value, evaluate, option_value
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

# Options of methods by the verb of the statement: their kinds. Other names are options of the solver itself.
SOLVE_OPTIONS: Mapping[str, type] = {
    "gap": float, "time_limit": float, "threads": int, "seed": int, "judge": str, "bound": bool, "heuristic": str,
    "decompose": str, "warm_start": str, "relax": bool,
}  # fmt: skip
RUN_OPTIONS: Mapping[str, type] = {
    "gap": float, "time_limit": float, "threads": int, "seed": int, "fallback": str, "bound": bool, "verify": str,
    "most_events": int, "controllers": int,
}  # fmt: skip
_KINDS = {float: "a number or a time", int: "an integer", str: "a name", bool: "`true` or `false`"}

OptionValue = bool | float | str


def options_for(verb: str) -> Mapping[str, type]:
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
        diagnostics.error(
            "GSM1602",
            f"unknown method `{name}`",
            method.name.span,
            "neither a backend nor a policy",
            help=did_you_mean(name, [*known, *factors]) or f"methods are {', '.join(f'`{k}`' for k in sorted(known))}",
        )
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
        _check_option(setting, verb, factors, diagnostics)


def _check_option(
    setting: tree.NamedArgument, verb: str, factors: Mapping[str, Span], diagnostics: Diagnostics
) -> None:
    kind = options_for(verb).get(setting.name.text)
    if isinstance(setting.value, tree.Name) and setting.value.text in factors:
        return  # its values are checked with the runs
    try:
        value = option_value(evaluate(setting.value, {}))
    except NotConstant:
        return
    if value is None or (kind is not None and not is_of_kind(value, kind)):
        needs = _KINDS[kind] if kind is not None else "a number, a time, `true`, `false` or a word"
        diagnostics.error(
            "GSM1603",
            f"`{setting.name.text}` must be {needs}",
            setting.value.span,
            "something else",
        )


def is_of_kind(value: OptionValue, kind: type) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is str:
        return isinstance(value, str)
    return not isinstance(value, str) and (kind is float or float(value).is_integer())
