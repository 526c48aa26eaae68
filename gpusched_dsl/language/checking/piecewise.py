"""`piecewise(x, breakpoints = {...}, slopes = {...})` and `piecewise(x, points = {...})`."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Numeric, PiecewiseLinear, TypedExpr, TypedList
from gpusched_dsl.language.checking.conversion import fit, unit_in
from gpusched_dsl.language.checking.kinds import is_zero
from gpusched_dsl.language.checking.protocol import Checker
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.units import DIMENSIONLESS, Unit

_FORMS = (
    "`piecewise(x, breakpoints = { 10, 30 }, slopes = { 1, 2, 3.5 })` or `piecewise(x, points = { (0, 0), (10, 5) })`"
)
_NAMES = (("breakpoints", "slopes"), ("points",))
Rows = list[tuple[TypedExpr, ...]]


def check_piecewise(checker: Checker, expr: tree.Call, scope: Scope) -> TypedExpr | None:
    """Check a piecewise-linear function; its lists are data."""
    given = {argument.name.text: argument.value for argument in expr.named}
    operand = checker.check(expr.arguments[0], scope) if expr.arguments else None
    for extra in expr.arguments[1:]:
        checker.error("GSM1212", "the lists of `piecewise` need names", extra.span, "no name", help=f"write {_FORMS}")
    unknown = [a for a in expr.named if not any(a.name.text in names for names in _NAMES)]
    for argument in unknown:
        name = argument.name.text
        help = did_you_mean(name, [n for names in _NAMES for n in names]) or f"write {_FORMS}"
        checker.error("GSM1212", f"`piecewise` has no argument `{name}`", argument.name.span, "unknown", help=help)
    if unknown or len(expr.arguments) > 1:
        return None
    if not expr.arguments or tuple(sorted(given)) not in _NAMES or len(given) < len(expr.named):
        what = "needs a number and its breakpoints with slopes, or points"
        checker.error("GSM1212", f"`piecewise` {what}", expr.span, "incomplete", help=f"write {_FORMS}")
        return None
    if operand is None or not checker.is_number(operand):
        return None
    reader = _ListReader(checker, scope, Label(operand.span, f"this is in `{unit_in(operand)}`"))
    slopes: TypedList | None = None
    unit: Unit | None
    if "points" in given:
        points, unit = reader.pairs(given["points"], unit_in(operand))
    else:
        points = reader.numbers(given["breakpoints"], unit_in(operand))
        slopes, unit = reader.of_one_unit(given["slopes"])
        unit = unit * unit_in(operand) if unit is not None else None
        if slopes is None:
            return None
        if points is not None and points.indexing is None and slopes.indexing is None:
            counts = len(points.rows), len(slopes.rows)
            if counts[1] != counts[0] + 1:
                breakpoints = f"{counts[0]} breakpoint{'' if counts[0] == 1 else 's'}"
                checker.error(
                    "GSM1212",
                    f"{breakpoints} need {counts[0] + 1} slopes, {counts[1]} given",
                    slopes.span,
                    f"{counts[1]} slopes",
                    secondary=[Label(points.span, breakpoints)],
                    help="the first slope holds before the first breakpoint, the last one behind the last",
                )
                return None
    if points is None or unit is None:
        return None
    return PiecewiseLinear(
        span=expr.span, type=Numeric(False, unit), decision=operand.decision, operand=operand, points=points,
        slopes=slopes,
    )  # fmt: skip


class _ListReader:
    """Reads lists in braces: items, or one item for each index tuple of a comprehension."""

    def __init__(self, checker: Checker, scope: Scope, because: Label) -> None:
        self.checker, self.scope, self.because = checker, scope, because

    def numbers(self, expr: tree.Expr, unit: Unit) -> TypedList | None:
        """A list of numbers in a unit; it may be empty."""
        found = self._items(expr, 1)
        if found is None:
            return None
        rows, made = found
        fitted = [fit(self.checker, row[0], unit, because=self.because) for row in rows]
        return self._list(made, [(number,) for number in fitted if number is not None], len(rows))

    def of_one_unit(self, expr: tree.Expr) -> tuple[TypedList | None, Unit | None]:
        """A list of numbers, and the unit of the first that is not 0, to which the others are converted."""
        found = self._items(expr, 1)
        if found is None:
            return None, None
        rows, made = found
        unit, numbers = self._agree([row[0] for row in rows])
        return self._list(made, [(number,) for number in numbers], len(rows)), unit

    def pairs(self, expr: tree.Expr, unit: Unit) -> tuple[TypedList | None, Unit | None]:
        """A list of pairs, of an argument in a unit and a value; the unit of the values."""
        found = self._items(expr, 2)
        if found is None:
            return None, None
        rows, made = found
        arguments = [fit(self.checker, row[0], unit, because=self.because) for row in rows]
        of_values, values = self._agree([row[1] for row in rows])
        both: Rows = [(a, v) for a, v in zip(arguments, values, strict=False) if a is not None]
        return self._list(made, both, len(rows)), of_values

    def _agree(self, numbers: list[TypedExpr]) -> tuple[Unit, list[TypedExpr]]:
        lead = next((n for n in numbers if not is_zero(n)), None)
        unit = DIMENSIONLESS if lead is None else unit_in(lead)
        because = None if lead is None else Label(lead.span, f"this is in `{unit}`")
        fitted = [fit(self.checker, n, unit, because=because) for n in numbers]
        return unit, [n for n in fitted if n is not None]

    def _list(self, made: TypedList, rows: Rows, wanted: int) -> TypedList | None:
        if len(rows) < wanted:
            return None
        return TypedList(span=made.span, rows=tuple(rows), indexing=made.indexing)

    def _items(self, expr: tree.Expr, size: int) -> tuple[Rows, TypedList] | None:
        if isinstance(expr, tree.SetLiteral):
            items = [self._item(item, size, self.scope) for item in expr.items]
            found = [item for item in items if item is not None]
            return (found, TypedList(span=expr.span, rows=())) if len(found) == len(items) else None
        if isinstance(expr, tree.Comprehension):
            indexing, inside = self.checker.indexing(expr.indexing, self.scope)
            item = self._item(expr.element, size, inside)
            if indexing is None or item is None:
                return None
            return [item], TypedList(span=expr.span, rows=(), indexing=indexing)
        self.checker.error(
            "GSM1212",
            "a list in braces is needed",
            expr.span,
            "not a list",
            help="write `{ 10, 30 }`, or over an ordered set `{ limit[k] : k in Steps }`",
        )
        return None

    def _item(self, expr: tree.Expr, size: int, scope: Scope) -> tuple[TypedExpr, ...] | None:
        parts = expr.items if isinstance(expr, tree.TupleExpr) else (expr,)
        if len(parts) != size:
            what = "a pair `(argument, value)`" if size == 2 else "a number"
            label = f"not {what.split(' `')[0]}"
            self.checker.error("GSM1212", f"an item of this list must be {what}", expr.span, label)
            return None
        found: list[TypedExpr] = []
        for part in parts:
            typed = self.checker.check(part, scope)
            if typed is None or not self.checker.is_number(typed):
                continue
            if self.checker.data_only(typed, "the list of a `piecewise`"):
                found.append(typed)
        return tuple(found) if len(found) == size else None
