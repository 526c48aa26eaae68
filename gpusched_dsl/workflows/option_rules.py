"""Options that need another one, or a solver or a policy: one check for the command line, Python and campaigns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CODE: Final = "GSM6002"

# By command or method of `Model`: an option, and the one without which it has no effect.
NEEDS: Final[Mapping[str, Mapping[str, str]]] = {
    "solve": {"within": "alternatives", "distinct_by": "alternatives"},
    "run": {"replay": "journal"},
    "check": {"method": "deep"},
}
# Two options, and why they exclude each other.
EXCLUDES: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "solve": (
        ("alternatives", "relax", "a relaxation has no distinct plans"),
        ("options_of", "relax", "a relaxation has no distinct plans"),
    ),
    "run": (
        ("journal", "methods", "a journal records one run"),
        ("journal", "seeds", "a journal records one run"),
        ("seed", "seeds", "each of `seeds` is the seed of a run"),
    ),
}
# Why a method with proofs, or one without, does not take the option; `choose_method` refuses policies with `relax`.
WITHOUT_PROOF: Final[Mapping[str, Mapping[str, str]]] = {"solve": {"bound": "proves a bound itself"}}
WITH_PROOF: Final[Mapping[str, Mapping[str, str]]] = {
    "solve": dict.fromkeys(("alternatives", "options_of"), "does not prove that a plan is the best")
}

VALUES: Final[Mapping[str, str]] = {"alternatives": "K", "journal": "DB"}

Spelling = Callable[[str], str]


def as_flag(name: str) -> str:
    """Return an option as the command line writes it."""
    return f"--{name.replace('_', '-')}"


def option_diagnostics(
    verb: str, given: Collection[str], method: str = "", proves: bool | None = None, spell: Spelling = str
) -> list[Diagnostic]:
    """Return GSM6002 for each of the `given` options that has no effect or no meaning beside the others.

    `proves`: whether `method` does, None if it is not known or there are several. `spell` writes the name of an option.
    """
    found = []
    for option, needed in NEEDS.get(verb, {}).items():
        if option in given and needed not in given:
            value = f" {VALUES[needed]}" if spell is as_flag and needed in VALUES else ""
            found.append(_finding(f"`{spell(option)}` is only for `{spell(needed)}{value}`", "add it, or remove this"))
    for one, other, why in EXCLUDES.get(verb, ()):
        if one in given and other in given:
            message = f"`{spell(one)}` and `{spell(other)}` exclude each other: {why}"
            found.append(_finding(message, "remove one of them"))
    if proves:
        for option, why in WITHOUT_PROOF.get(verb, {}).items():
            if option in given:
                found.append(
                    _finding(f"`{spell(option)}` is only for policies and local search: `{method}` {why}", "remove it")
                )
    if proves is False:
        for option, why in WITH_PROOF.get(verb, {}).items():
            if option in given:
                message = f"`{spell(option)}` needs a solver with proofs: `{method}` {why}"
                found.append(_finding(message, "choose a solver, such as highs"))
    return found


def check_options(
    verb: str, given: Collection[str], method: str = "", proves: bool | None = None, spell: Spelling = str
) -> None:
    """Raise DiagnosticError with all that `option_diagnostics` finds."""
    found = option_diagnostics(verb, given, method, proves, spell)
    if found:
        raise DiagnosticError(found)


def given_options(verb: str, values: Mapping[str, object]) -> set[str]:
    """Return the names of the options with rules that are given: their values are not None, False or empty."""
    return {name for name in names_with_rules(verb) if _is_given(values.get(name))}


def names_with_rules(verb: str) -> set[str]:
    """Return the names of all options of a command that a rule names."""
    needs, pairs = NEEDS.get(verb, {}), EXCLUDES.get(verb, ())
    named = {*needs, *needs.values(), *(name for one, other, _ in pairs for name in (one, other))}
    return named | WITHOUT_PROOF.get(verb, {}).keys() | WITH_PROOF.get(verb, {}).keys()


def _is_given(value: object) -> bool:
    if isinstance(value, Collection):
        return len(value) > 0
    return value is not None and value is not False


def _finding(message: str, help: str) -> Diagnostic:
    return Diagnostic(CODE, message, help=help)
