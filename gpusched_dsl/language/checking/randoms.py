"""Distributions: `exponential(mean = 40[epoch])`, `empirical("epochs.csv", column = "epochs")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Core, TextType
from gpusched_dsl.language.checking.scope import EMPTY, Scope
from gpusched_dsl.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.expressions import ExpressionChecker

DISTRIBUTIONS = (
    "empirical",
    "exponential",
    "uniform",
    "normal",
    "truncated_normal",
    "lognormal",
    "weibull",
    "deterministic",
    "mixture",
)


def check_distribution(checker: ExpressionChecker, call: tree.Call, scope: Scope = EMPTY) -> bool:
    """Whether a distribution is known and its arguments are data; reports what is not.

    Which arguments a distribution takes, and in which unit, is the business of those who evaluate expectations.
    """
    sound = True
    name = call.function.text
    if name not in DISTRIBUTIONS:
        checker.error(
            "GSM1416",
            f"unknown distribution `{name}`",
            call.function.span,
            "no distribution of this name",
            help=did_you_mean(name, DISTRIBUTIONS) or f"distributions are {', '.join(DISTRIBUTIONS)}",
        )
        sound = False
    seen: set[str] = set()
    for argument in call.named:
        if argument.name.text in seen:
            checker.error("GSM1212", f"`{argument.name.text}` is given twice", argument.name.span, "again")
            sound = False
        seen.add(argument.name.text)
    for expr in (*call.arguments, *(argument.value for argument in call.named)):
        sound = _argument(checker, expr, scope) and sound
    return sound


def _argument(checker: ExpressionChecker, expr: tree.Expr, scope: Scope) -> bool:
    if isinstance(expr, tree.Call) and (expr.function.text in DISTRIBUTIONS or expr.named):
        return check_distribution(checker, expr, scope)  # a part of a mixture
    core: Core | None = checker.check(expr, scope)
    if core is None or not checker.data_only(core, "a distribution"):
        return False
    return isinstance(core.type, TextType) or checker.is_number(core)
