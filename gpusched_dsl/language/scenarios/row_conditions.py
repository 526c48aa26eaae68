"""Conditions on the rows of a data file, such as `State == COMPLETED and gpus >= 1`, as text that readers decode.

A condition compares columns with numbers and texts. A bare word is a column on the left of a comparison and a text on
the right of it. The columns are known only when the file is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gpusched_dsl.language import tree
from gpusched_dsl.language.source import Span

Report = Callable[[Span, str], None]
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def condition_text(expr: tree.Expr, report: Report) -> str | None:
    """Return a condition as JSON, `["and", ["==", "State", "COMPLETED"], ...]`; None after a reported error."""
    found = _condition(expr, report)
    return None if found is None else json.dumps(found)


def _condition(expr: tree.Expr, report: Report) -> list[Any] | None:
    if isinstance(expr, tree.Compare):
        pairs = zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
        found = [_comparison(left, op, right, report) for left, op, right in pairs]
        return _all(found) if len(found) > 1 else found[0]
    if isinstance(expr, tree.UnaryExpr) and expr.op == "not":
        inner = _condition(expr.operand, report)
        return None if inner is None else ["not", inner]
    if isinstance(expr, tree.Binary) and expr.op in ("and", "or"):
        left, right = _condition(expr.left, report), _condition(expr.right, report)
        return None if left is None or right is None else [expr.op, left, right]
    if isinstance(expr, tree.Binary) and expr.op in ("in", "not in"):
        return _membership(expr, report)
    report(expr.span, "compare a column with a number or a text: `gpus >= 1`, `state == COMPLETED`")
    return None


def _all(found: list[list[Any] | None]) -> list[Any] | None:
    joined = found[0]
    for each in found[1:]:
        joined = None if joined is None or each is None else ["and", joined, each]
    return joined


def _comparison(left: tree.Expr, op: str, right: tree.Expr, report: Report) -> list[Any] | None:
    if isinstance(_without_sign(left), (tree.Number, tree.Boolean)):
        left, op, right = right, _FLIPPED[op], left
    column, value = _column(left, report), _value(right, report)
    return None if column is None or value is None else [op, column, value]


def _membership(expr: tree.Binary, report: Report) -> list[Any] | None:
    column = _column(expr.left, report)
    if not isinstance(expr.right, tree.SetLiteral):
        report(expr.right.span, "list the values in braces: `state in {COMPLETED, FAILED}`")
        return None
    values = [_value(item, report) for item in expr.right.items]
    return None if column is None or None in values else [expr.op, column, values]


def _column(expr: tree.Expr, report: Report) -> str | None:
    if isinstance(expr, tree.Name):
        return expr.text
    if isinstance(expr, tree.Text):
        return expr.value
    report(expr.span, "not a column: write its name, in quotes if it is not a plain word")
    return None


def _value(expr: tree.Expr, report: Report) -> str | float | None:
    if isinstance(expr, tree.Name):
        return expr.text
    if isinstance(expr, tree.Text):
        return expr.value
    if isinstance(expr, tree.Boolean):
        return "true" if expr.value else "false"
    number = _without_sign(expr)
    if isinstance(number, tree.Number):
        if number.unit is not None:
            report(number.unit.span, "cells of a file have no unit: write the number as in the file")
            return None
        return -number.value if number is not expr else number.value
    report(expr.span, "not a value: write a number or a text")
    return None


def _without_sign(expr: tree.Expr) -> tree.Expr:
    return expr.operand if isinstance(expr, tree.UnaryExpr) and expr.op == "-" else expr
