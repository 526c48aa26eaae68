"""Labels in data that are not plain words: those that are read differently need quotes (GSM1522)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def check_labels(cells: Iterable[tree.TableCell], diagnostics: Diagnostics) -> None:
    """Refuse `true`, and integers not written as such (`01`, `1e3`, `2.0`), among the labels of a table."""
    for cell in cells:
        if isinstance(cell, tree.SetCell):
            diagnostics.error("GSM1510", "a set is not a label", cell.span, "a set")
        if isinstance(cell.value, bool):
            _report(cell.span, "a Boolean value", diagnostics)
        elif isinstance(cell.value, float) and cell.value.is_integer() and not _INTEGER.fullmatch(cell.span.text):
            _report_number(cell.span, cell.value, diagnostics)


def check_element(expr: tree.Expr, diagnostics: Diagnostics) -> bool:
    """Whether an element or subscript in a scenario is read as written; reports it if not.

    Also arithmetic without spaces, such as `n-1`: it looks like a label. `n - 1` is arithmetic.
    """
    number = expr.operand if isinstance(expr, tree.UnaryExpr) else expr
    if isinstance(expr, tree.Boolean):
        _report(expr.span, "a Boolean value", diagnostics)
    elif isinstance(number, tree.Number) and number.unit is None and number.value.is_integer():
        if _INTEGER.fullmatch(expr.span.text):
            return True
        value = -number.value if isinstance(expr, tree.UnaryExpr) and expr.op == "-" else number.value
        _report_number(expr.span, value, diagnostics)
    elif isinstance(number, tree.Number) and number.unit is None:
        _report(expr.span, "a number", diagnostics)
    elif isinstance(expr, tree.Binary) and expr.op in "+-*/^" and not re.search(r"\s", expr.span.text):
        _report(expr.span, "arithmetic", diagnostics, ", or put spaces around the operator")
    else:
        return True
    return False


def _report_number(span: Span, value: float, diagnostics: Diagnostics) -> None:
    _report(span, f"the integer {int(value)}", diagnostics, f", or write `{int(value)}`")


def _report(span: Span, what: str, diagnostics: Diagnostics, otherwise: str = "") -> None:
    diagnostics.error(
        "GSM1522",
        f"`{span.text}` is read as {what}, not as a label",
        span,
        help=f'quote it if it is a label, `"{span.text}"`{otherwise}',
    )
