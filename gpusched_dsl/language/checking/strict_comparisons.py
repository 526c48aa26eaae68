"""`<`, `>` and `!=` of decisions: exact where the values move in steps, refused where a variable is continuous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedVariable,
    ComparisonChain,
    Constant,
    Expected,
    Function,
    IfThenElse,
    LetRef,
    Logical,
    Reduction,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.checking.walk import children, walk
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.units import DIMENSIONLESS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


_NUMBER = re.compile(r"[\d.]+(e-?\d+)?")
_CLOSED = {"<": "<=", ">": ">="}
_STRICT = (*_CLOSED, "!=")


def refuse_strict_comparisons(checker: Checker, expr: TypedExpr) -> bool:
    """Whether no continuous variable is compared by `<`, `>` or `!=`; reports those that are.

    Expressions of integer variables move in steps, so `x > 3` is `x >= 4`; which steps depends on the data.
    """
    sound = True
    for part in walk(expr, around=(Expected,)):  # the event of a probability may be strict
        match part:
            case Reduction(op="all_different", body=body):
                sound = _are_integer(checker, part, (body,)) and sound
            case Function(name="all_different", arguments=arguments):
                sound = _are_integer(checker, part, arguments) and sound
        if not isinstance(part, ComparisonChain) or not part.decision:
            continue
        for left, op, right in zip(part.operands, part.ops, part.operands[1:], strict=False):
            variable = next(continuous_in(checker.symbols, (left, right)), None) if op in _STRICT else None
            if variable is not None:
                _refuse(checker, part, left, op, right, variable)
                sound = False
                break
    return sound


def _are_integer(checker: Checker, part: TypedExpr, values: Iterable[TypedExpr]) -> bool:
    variable = next(continuous_in(checker.symbols, values), None)
    if variable is None:
        return True
    checker.error(
        "GSM1220",
        "`all_different` of a continuous variable",
        part.span,
        "no solver can exclude a single value",
        secondary=_declaration(checker, variable),
        help="declare it `integer`, or state a margin between the values",
    )
    return False


def continuous_in(symbols: Symbols, exprs: Iterable[TypedExpr]) -> Iterator[VariableRef]:
    """The continuous variables that a number is made of; a condition in it is 0 or 1, whatever it reads."""
    waiting: list[object] = list(exprs)
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, VariableRef):
            declared = symbols.values.get(part.name)
            if isinstance(declared, CheckedVariable) and declared.kind not in ("integer", "binary"):
                yield part
        elif isinstance(part, TypedExpr) and part.decision and not isinstance(part.type, Logical):
            if isinstance(part, LetRef):
                let = symbols.values.get(part.name)
                waiting += [let.value] if isinstance(let, CheckedLet) else []
            else:
                waiting += children(part)


def _refuse(
    checker: Checker, part: ComparisonChain, left: TypedExpr, op: str, right: TypedExpr, variable: VariableRef
) -> None:
    unit = unit_in(left)
    one, other = (f"({e.span.text})" if isinstance(e, IfThenElse) else e.span.text for e in (left, right))
    margin = "0.01" if unit == DIMENSIONLESS else f"0.01[{unit}]"
    written = _above_gap(checker, left, op, right)
    if written is not None:
        checker.error(
            "GSM1220",
            f"`{op}` of a semicontinuous variable",
            part.span,
            "state the smallest value above 0",
            secondary=_declaration(checker, variable),
            help=f"write `{written}`: `{variable.name}` has no values between 0 and that",
            fix=written if len(part.ops) == 1 and " and " not in written else None,
        )
        return
    below, above = f"{one} <= {other} - {margin}", f"{one} >= {other} + {margin}"
    if op == "!=":
        help = f"state a margin: `{below} or {above}`"
    else:
        help = f"write `{one} {_CLOSED[op]} {other}`, or state a margin: `{below if op == '<' else above}`"
    checker.error(
        "GSM1220",
        f"`{op}` of a continuous variable",
        part.span,
        "no solver can exclude a single value" if op == "!=" else "no solver can exclude the boundary",
        secondary=_declaration(checker, variable),
        help=help,
    )


def _above_gap(checker: Checker, left: TypedExpr, op: str, right: TypedExpr) -> str | None:
    """Return what to write for "a semicontinuous variable is not 0"; None for other comparisons."""
    if op == "<" or (op == "!=" and isinstance(left, Constant)):
        left, right = right, left
    declared = checker.symbols.values.get(left.name) if isinstance(left, VariableRef) else None
    if not (isinstance(left, VariableRef) and isinstance(declared, CheckedVariable) and declared.least):
        return None
    if not (isinstance(right, Constant) and right.value == 0):
        return None
    subscripts = [each.span.text for each in left.subscripts]
    names = {v.name: text for v, text in zip(declared.indexing.variables, subscripts, strict=True)}
    words = re.compile(r"\w+")
    values = [words.sub(lambda word: names.get(word[0], word[0]), each.span.text) for each in declared.least]
    unit = unit_in(left)
    if unit != DIMENSIONLESS:  # bounds may omit the unit of their declaration
        values = [f"{text}[{unit}]" if _NUMBER.fullmatch(text) else text for text in values]
    return " and ".join(f"{left.span.text} >= {value}" for value in values)


def _declaration(checker: Checker, variable: VariableRef) -> list[Label]:
    declared = checker.symbols.span_of(variable.name)
    return [Label(declared, f"`{variable.name}` is continuous")] if declared is not None else []
