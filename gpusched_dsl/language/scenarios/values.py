"""Right-hand sides of scenario statements: ordinary expressions over data, in which bare names may be labels."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedParam,
    CheckedSet,
    Constant,
    Element,
    LiteralSet,
    Numeric,
    StringLiteral,
    TextType,
    TypedExpr,
    TypedSet,
    ValueType,
)
from gpusched_dsl.language.checking import ExpressionChecker
from gpusched_dsl.language.checking.conversion import because_declared
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, as_element, describe, describe_all, same_kind
from gpusched_dsl.language.checking.scope import EMPTY, Scope
from gpusched_dsl.language.checking.symbols import SubscriptSlot, slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label as Place
from gpusched_dsl.language.scenarios.labels import check_element
from gpusched_dsl.language.source import Span

MOST_NUMBERS = 100_000  # of a range that is written as a list


class ValueChecker:
    """Checks the expressions of a scenario against the declarations of their targets."""

    def __init__(self, checker: ExpressionChecker) -> None:
        self.checker = checker

    def parameter(self, expr: tree.Expr, target: CheckedParam, scope: Scope = EMPTY) -> TypedExpr | None:
        """Return a value for a parameter, in its unit. A bare name for an element or symbol is an index or a label."""
        if isinstance(expr, tree.SetLiteral | tree.Comprehension) and target.indexing.iterators:
            self.checker.error(
                "GSM1106",
                f"a set is given for the parameter `{target.name}`",
                expr.span,
                "a set",
                secondary=[Place(target.span, f"`{target.name}` is declared here")],
                help=f"give single values, `{target.name}[...] = 3;`, an array `[1, 2]` in the order of the index set, "
                "or a table",
            )
            return None
        if isinstance(target.type, (TextType, Element)):
            if not check_element(expr, self.checker.diagnostics):
                return None
            if not (isinstance(expr, tree.Name) and expr.text in scope.bindings):
                expr = as_label(expr)
            because = Place(target.span, f"`{target.name}` is {describe(target.type)}")
        else:
            assert isinstance(target.type, Numeric)
            because = because_declared(target.name, target.span, target.type.unit)
        typed = self.checker.value(expr, target.type, scope, because=because)
        return typed if typed is not None and self._is_data(typed, target.name) else None

    def _is_data(self, typed: TypedExpr, name: str) -> bool:
        return self.checker.data_only(typed, f"the value of `{name}`")

    def subscripts(self, statement: tree.Assign, target: CheckedParam | CheckedSet) -> tuple[TypedExpr, ...] | None:
        """Return the key of a single value; bare names are labels."""
        slots = slots_of(target)
        given = statement.subscripts
        if not self.arity_fits(len(given), given[0].span.to(given[-1].span), target):
            return None
        found = [self.subscript(e, s, target) for e, s in zip(given, slots, strict=True)]
        typed_args = tuple(typed for typed in found if typed is not None)
        return typed_args if len(typed_args) == len(found) else None

    def arity_fits(self, given: int, place: Span, target: CheckedParam | CheckedSet) -> bool:
        """Whether a parameter or an indexed set has this many subscripts; reports GSM1507."""
        slots = slots_of(target)
        if given == len(slots):
            return True
        self.checker.error(
            "GSM1507",
            f"`{target.name}` has {len(slots) or 'no'} subscript{'' if len(slots) == 1 else 's'}, {given} given",
            place,
            f"{given} given",
            secondary=[Place(target.span, f"`{target.name}` is declared here")],
        )
        return False

    def subscript(self, expr: tree.Expr, slot: SubscriptSlot, target: CheckedParam | CheckedSet) -> TypedExpr | None:
        """One subscript of the key of a single value."""
        kind = slot.type
        if isinstance(kind, Element) and not check_element(expr, self.checker.diagnostics):
            return None
        typed = self.checker.check(as_label(expr) if isinstance(kind, Element) else expr)
        if typed is None or not self.checker.data_only(typed, f"a subscript of `{target.name}`"):
            return None
        fitted = as_element(typed, kind)
        if fitted is None:
            self.checker.error(
                "GSM1508",
                f"a subscript of `{target.name}` must be {describe(kind)}, "
                f"`{typed.span.text}` is {describe(typed.type)}",
                typed.span,
                describe(typed.type),
                secondary=[Place(target.span, f"`{target.name}` is declared here")],
            )
        return fitted

    def elements(self, expr: tree.Expr, target: CheckedSet) -> TypedSet | None:
        """Return the elements of a set. Those of a root set are labels, or integers."""
        sound = [check_element(item, self.checker.diagnostics) for item in _items(expr)]
        if not all(sound):
            return None
        if target.root == target.name:
            literal = self._root_literal(expr, target)
            if literal is not None:
                return literal
        labelled = label_names(expr)
        if target.root != target.name:
            labelled = numbers_of_ranges(labelled, target.types)
        typed = self.checker.set_of(labelled, expected=_expected_types(expr, target))
        if typed is None:
            return None
        if _have_fitting_types(typed.types, target):
            return typed
        self.checker.error(
            "GSM1510",
            f"the elements of `{target.name}` are {describe_all(target.types)}, but these "
            f"are {describe_all(typed.types)}",
            typed.span,
            describe_all(typed.types),
            secondary=[Place(target.span, f"`{target.name}` is declared here")],
        )
        return None

    def elements_at_index(self, expr: tree.Expr, target: CheckedSet, scope: Scope = EMPTY) -> TypedSet | None:
        """Return the elements of an indexed set at an index; a bare name in braces is a label or an index."""
        sound = [check_element(item, self.checker.diagnostics) for item in _items(expr)]
        if not all(sound):
            return None
        types = target.types[target.index_arity :]
        if not isinstance(expr, (tree.SetLiteral, tree.Comprehension, tree.Range, tree.Binary, tree.Subscript)) and (
            not isinstance(expr, tree.Name) or expr.text not in self.checker.symbols.sets
        ):
            self.checker.error(
                "GSM1510",
                f"the elements of `{target.name}` are written in braces",
                expr.span,
                "not a set",
                help=f"write `{{ {expr.span.text} }}`",
                fix=f"{{ {expr.span.text} }}",
            )
            return None
        typed = self.checker.set_of(numbers_of_ranges(label_names(expr, scope), types), scope, expected=types)
        if typed is None or (len(typed.types) == len(types) and all(map(same_kind, typed.types, types))):
            return typed
        self.checker.error(
            "GSM1510",
            f"the elements of `{target.name}` are {describe_all(types)}, but these are {describe_all(typed.types)}",
            typed.span,
            describe_all(typed.types),
            secondary=[Place(target.span, f"`{target.name}` is declared here")],
        )
        return None

    def _root_literal(self, expr: tree.Expr, target: CheckedSet) -> LiteralSet | None:
        """Read `{ n1, "n2", 3 }` literally, with integers separate from text; None if it contains anything else."""
        if not isinstance(expr, tree.SetLiteral):
            return None
        rows: list[tuple[TypedExpr, ...]] = []
        for item in map(as_label, expr.items):
            if isinstance(item, tree.Text):
                rows.append((StringLiteral(span=item.span, type=target.types[0], text=item.value),))
            elif isinstance(item, tree.Number) and item.unit is None and item.is_integer:
                rows.append((Constant(span=item.span, type=INTEGER_TYPE, value=item.value),))
            else:
                return None
        return LiteralSet(span=expr.span, types=target.types, rows=tuple(rows))


def _items(expr: tree.Expr) -> Iterator[tree.Expr]:
    """Return the items inside the braces of a set expression, with tuples split."""
    match expr:
        case tree.SetLiteral(items=items):
            for item in items:
                yield from item.items if isinstance(item, tree.TupleExpr) else (item,)
        case tree.Binary(op="union" | "inter" | "diff" | "cross"):
            yield from _items(expr.left)
            yield from _items(expr.right)


def numbers_of_ranges(expr: tree.Expr, types: tuple[ValueType, ...]) -> tree.Expr:
    """Write ranges of plain integers as lists, `2..4` as `{ 2, 3, 4 }`, where elements of a set with labels are meant.

    A label may be a number: `Slots = 1..8; Peak = 2..4;` with `set Peak within Slots`. Ranges longer than
    `MOST_NUMBERS` are left as they are.
    """
    match expr:
        case tree.Range(low=tree.Number() as low, high=tree.Number() as high, step=step) if _are_elements(types):
            ends = (low, high) if step is None else (low, high, step)
            if not all(isinstance(end, tree.Number) and end.is_integer and end.unit is None for end in ends):
                return expr
            by = int(step.value) if isinstance(step, tree.Number) else 1
            if by <= 0 or (high.value - low.value) / by > MOST_NUMBERS:
                return expr
            numbers = range(int(low.value), int(high.value) + 1, by)
            items = tuple(tree.Number(span=expr.span, value=float(number), is_integer=True) for number in numbers)
            return tree.SetLiteral(span=expr.span, items=items)
        case tree.Binary(op="union" | "inter" | "diff"):
            left, right = (numbers_of_ranges(side, types) for side in (expr.left, expr.right))
            return structs.replace(expr, left=left, right=right)
        case _:
            return expr


def _are_elements(types: tuple[ValueType, ...]) -> bool:
    return len(types) == 1 and isinstance(types[0], Element)


def _expected_types(expr: tree.Expr, target: CheckedSet) -> tuple[ValueType, ...] | None:
    """Return the sets of quoted labels; numbers in the elements of a root set are numbers (`1..4 union { 7 }`)."""
    if target.root == target.name and _has_numbers(expr):
        return None
    return target.types


def _has_numbers(expr: tree.Expr) -> bool:
    match expr:
        case tree.Range():
            return True
        case tree.Binary(left=left, right=right):
            return _has_numbers(left) or _has_numbers(right)
        case tree.SetLiteral(items=items):
            return any(isinstance(item, (tree.Number, tree.UnaryExpr)) for item in items)
        case _:
            return False


def _have_fitting_types(types: tuple[ValueType, ...], target: CheckedSet) -> bool:
    if target.root == target.name and types == (INTEGER_TYPE,):
        return True
    return len(types) == len(target.types) and all(map(same_kind, types, target.types))


def _label_or_index(expr: tree.Expr, scope: Scope) -> tree.Expr:
    if isinstance(expr, tree.TupleExpr):
        return structs.replace(expr, items=tuple(_label_or_index(item, scope) for item in expr.items))
    return expr if isinstance(expr, tree.Name) and expr.text in scope.bindings else as_label(expr)


def as_label(expr: tree.Expr) -> tree.Expr:
    """Convert a bare name to a label."""
    if isinstance(expr, tree.Name):
        return tree.Text(span=expr.span, value=expr.text)
    if isinstance(expr, tree.TupleExpr):
        return structs.replace(expr, items=tuple(map(as_label, expr.items)))
    return expr


def label_names(expr: tree.Expr, scope: Scope = EMPTY) -> tree.Expr:
    """Convert the bare names inside `{ }` of a set expression to labels, except those of indices."""
    match expr:
        case tree.SetLiteral(items=items):
            return structs.replace(expr, items=tuple(_label_or_index(item, scope) for item in items))
        case tree.Binary(op="union" | "inter" | "diff" | "cross"):
            return structs.replace(expr, left=label_names(expr.left, scope), right=label_names(expr.right, scope))
        case _:
            return expr
