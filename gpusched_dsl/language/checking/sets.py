"""Set expressions: names, literals, ranges, comprehensions, `union inter diff cross`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedSet,
    ComprehensionSet,
    Element,
    IntegerRange,
    LiteralSet,
    NamedSet,
    SetOperation,
    TextType,
    TypedExpr,
    TypedSet,
    ValueType,
)
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.kinds import (
    INTEGER_TYPE,
    as_element,
    describe,
    describe_all,
    is_plain_whole,
    same_kind,
)
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import DIMENSIONLESS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


Types = tuple[ValueType, ...]


def check_set(checker: Checker, expr: tree.Expr, scope: Scope, expected: Types | None = None) -> TypedSet | None:
    """Return the typed expression of a set expression; `expected` types determine the sets of quoted labels."""
    match expr:
        case tree.Name():
            return _check_name(checker, expr, scope)
        case tree.SetLiteral():
            return _literal(checker, expr, scope, expected)
        case tree.Comprehension():
            return _comprehension(checker, expr, scope, expected)
        case tree.Range():
            return _range(checker, expr, scope)
        case tree.Binary(op="union" | "inter" | "diff" | "cross"):
            return _operation(checker, expr, scope, expected)
        case tree.Subscript():
            from gpusched_dsl.language.checking.indexed_sets import check_indexed_reference

            return check_indexed_reference(checker, expr, scope)
        case _:
            is_range = isinstance(expr, tree.Call) and expr.function.text == "range"
            checker.error(
                "GSM1106",
                "a value is used as a set",
                expr.span,
                "not a set",
                help="write `0..n-1` or `1..n`: both ends belong to the set"
                if is_range
                else "write a set name, `{ ... }`, a range `1..n`, or sets joined by union, inter, diff, cross",
            )
            return None


def _check_name(checker: Checker, expr: tree.Name, scope: Scope) -> TypedSet | None:
    symbols = checker.symbols
    found = symbols.sets.get(expr.text)
    if found is not None and found.is_indexed:
        _report_without_index(checker, expr, found)
        return None
    if found is not None:
        return NamedSet(span=expr.span, types=found.types, name=expr.text)
    if expr.text in symbols.poisoned:
        return None
    declared = symbols.span_of(expr.text)
    if expr.text in scope.bindings:
        binding = scope.bindings[expr.text]
        place = [Label(binding.variable.span, "the index")] if binding is not None else []
        checker.error("GSM1106", f"`{expr.text}` is an index, not a set", expr.span, "not a set", secondary=place)
    elif declared is not None or expr.text in symbols.extras:
        checker.error(
            "GSM1106",
            f"`{expr.text}` is {symbols.sort_of(expr.text)}, not a set",
            expr.span,
            "not a set",
            secondary=[Label(declared, f"`{expr.text}` is declared here")] if declared is not None else [],
            help=did_you_mean(expr.text, symbols.sets),
        )
    else:
        checker.error(
            "GSM1101",
            f"unknown set `{expr.text}`",
            expr.span,
            "no set of this name",
            help=did_you_mean(expr.text, symbols.sets)
            or (
                f"declare it: `set {expr.text};`"
                if len(expr.text) > 1
                else f"give the index a set: `{expr.text} in ...`"
            ),
        )
    return None


def _report_without_index(checker: Checker, expr: tree.Name, declared: CheckedSet) -> None:
    names = ", ".join(v.name if v.name != IGNORED else "..." for v in declared.indexing.variables)
    checker.error(
        "GSM1201",
        f"`{expr.text}` has {count_text(declared.index_arity, 'subscript')}, none given",
        expr.span,
        "an indexed set",
        secondary=[Label(declared.span, f"`{expr.text}` is declared here")],
        help=f"write it as `{expr.text}[{names}]`",
    )


def _literal(checker: Checker, expr: tree.SetLiteral, scope: Scope, expected: Types | None) -> TypedSet | None:
    if not expr.items:
        if expected is None:
            checker.error(
                "GSM1213",
                "the type of the elements of this empty set is unknown",
                expr.span,
                "unknown set",
                help="state the set with `within`: `set Idle within Nodes = {};`",
            )
            return None
        return LiteralSet(span=expr.span, types=expected, rows=())
    if _reject_range_in_braces(checker, expr):
        return None
    types = expected
    rows: list[tuple[TypedExpr, ...]] = []
    for item in expr.items:
        row = check_components(checker, item, scope)
        if row is None:
            continue
        if types is None:
            types = _types_of_row(checker, row)
            if types is None:
                return None
        fitted = fit_components(checker, item, row, types)
        if fitted is not None:
            rows.append(fitted)
    if types is None or len(rows) < len(expr.items):
        return None
    return LiteralSet(span=expr.span, types=types, rows=tuple(rows))


def _reject_range_in_braces(checker: Checker, expr: tree.SetLiteral) -> bool:
    """Report `{ 1..5 }`: braces list elements, and a range is a set."""
    if len(expr.items) != 1 or not isinstance(expr.items[0], tree.Range):
        return False
    inside = expr.items[0].span.text
    help = f"write `{inside}` without braces"
    checker.error("GSM1106", "a range is a set, not an element", expr.span, "a range in braces", help=help, fix=inside)
    return True


def check_components(checker: Checker, expr: tree.Expr, scope: Scope) -> tuple[TypedExpr, ...] | None:
    """Return the parts of a tuple, or the single value, of an element; data only."""
    parts = expr.items if isinstance(expr, tree.TupleExpr) else (expr,)
    typed_args = [check_component(checker, part, scope) for part in parts]
    found = tuple(c for c in typed_args if c is not None)
    return found if len(found) == len(typed_args) else None


def check_component(checker: Checker, part: tree.Expr, scope: Scope) -> TypedExpr | None:
    if isinstance(part, tree.Name) and part.text not in scope.bindings and not _is_known(checker, part.text):
        near = did_you_mean(part.text, [*scope.bindings, *checker.symbols.usable()])
        checker.error(
            "GSM1101",
            f"unknown name `{part.text}`",
            part.span,
            "no index or parameter of this name",
            help=f'quote a label in a model, `"{part.text}"`' + (f"; or {near}" if near else ""),
        )
        return None
    typed = checker.check(part, scope)
    if typed is None or not checker.data_only(typed, "an element of a set"):
        return None
    return typed


def _is_known(checker: Checker, name: str) -> bool:
    return checker.symbols.span_of(name) is not None or name in checker.symbols.extras


def _types_of_row(checker: Checker, row: tuple[TypedExpr, ...]) -> Types | None:
    """Return the types of a literal set without declared types, by its first element."""
    types: list[ValueType] = []
    for typed in row:
        if isinstance(typed.type, TextType):
            checker.error(
                "GSM1213",
                f"the set of label `{typed.span.text}` is unknown",
                typed.span,
                "label of an unknown set",
                help="state the set with `within`: `set Fast within Nodes = { ... };`",
            )
            return None
        types.append(INTEGER_TYPE if is_plain_whole(typed) else typed.type)
    return tuple(types)


def fit_components(
    checker: Checker, expr: tree.Expr, row: tuple[TypedExpr, ...], types: Types, owner: Label | None = None
) -> tuple[TypedExpr, ...] | None:
    """The parts of an element as elements of sets of these types; reports each that is of another."""
    place = [owner] if owner is not None else []
    if len(row) != len(types):
        elements = "single values" if len(types) == 1 else f"tuples of {len(types)}"
        checker.error(
            "GSM1202",
            f"the set has {elements}, this has {len(row)} part{'' if len(row) == 1 else 's'}",
            expr.span,
            f"{len(row)} part{'' if len(row) == 1 else 's'}",
            secondary=place,
        )
        return None
    fitted: list[TypedExpr] = []
    for typed, kind in zip(row, types, strict=True):
        part = as_element(typed, kind)
        if part is None:
            report_misfit(checker, typed, kind, place)
        else:
            fitted.append(part)
    return tuple(fitted) if len(fitted) == len(row) else None


def report_misfit(checker: Checker, typed: TypedExpr, kind: ValueType, place: list[Label]) -> None:
    """A value that is no element of a set of this type: a fraction, or an element of another set."""
    whole = kind == INTEGER_TYPE and not isinstance(typed.type, TextType) and same_kind(typed.type, kind)
    plain = getattr(typed.type, "unit", DIMENSIONLESS) == DIMENSIONLESS
    if whole and plain:
        checker.require_integer(typed)
        return
    checker.error(
        "GSM1203",
        f"{describe(kind)} is needed, `{typed.span.text}` is {describe(typed.type)}",
        typed.span,
        describe(typed.type),
        secondary=[*place, *declaration_labels(checker, typed)],
    )


def _comprehension(checker: Checker, expr: tree.Comprehension, scope: Scope, expected: Types | None) -> TypedSet | None:
    indexing, inner = checker.indexing(expr.indexing, scope)
    row = check_components(checker, expr.element, inner)
    if indexing is None or row is None:
        return None
    types = expected if expected is not None and len(expected) == len(row) else _types_of_row(checker, row)
    fitted = fit_components(checker, expr.element, row, types) if types is not None else None
    if types is None or fitted is None:
        return None
    return ComprehensionSet(span=expr.span, types=types, element=fitted, indexing=indexing)


def _range(checker: Checker, expr: tree.Range, scope: Scope) -> TypedSet | None:
    low, high = _limit(checker, expr.low, scope), _limit(checker, expr.high, scope)
    step = _limit(checker, expr.step, scope) if expr.step is not None else None
    if low is None or high is None or (expr.step is not None and step is None):
        return None
    return IntegerRange(span=expr.span, types=(INTEGER_TYPE,), low=low, high=high, step=step)


def _limit(checker: Checker, expr: tree.Expr, scope: Scope) -> TypedExpr | None:
    typed = checker.number(expr, scope, unit=DIMENSIONLESS)
    if typed is None or not checker.data_only(typed, "a range") or not checker.require_integer(typed):
        return None
    return typed


def _operation(checker: Checker, expr: tree.Binary, scope: Scope, expected: Types | None) -> TypedSet | None:
    if expr.op == "cross":
        left, right = check_set(checker, expr.left, scope), check_set(checker, expr.right, scope)
        if left is None or right is None:
            return None
        return SetOperation(span=expr.span, types=(*left.types, *right.types), op="cross", left=left, right=right)
    if expected is None and isinstance(expr.left, tree.SetLiteral):  # `{ "n1" } union Nodes`: the right side knows
        right = check_set(checker, expr.right, scope, expected)
        left = check_set(checker, expr.left, scope, right.types if right is not None else None)
    else:
        left = check_set(checker, expr.left, scope, expected)
        right = check_set(checker, expr.right, scope, expected or (left.types if left is not None else None))
    if left is None or right is None:
        return None
    alike = len(left.types) == len(right.types) and all(map(same_kind, left.types, right.types))
    if not alike:
        checker.error(
            "GSM1208",
            f"`{expr.op}` of different types: {describe_all(left.types)} and {describe_all(right.types)}",
            right.span,
            describe_all(right.types),
            secondary=[Label(left.span, describe_all(left.types))],
            help=_help_for_different_types(expr.op, left, right),
        )
        return None
    return SetOperation(span=expr.span, types=left.types, op=expr.op, left=left, right=right)


def _help_for_different_types(operation: str, left: TypedSet, right: TypedSet) -> str:
    if operation == "union" and isinstance(left, NamedSet) and isinstance(right, NamedSet):
        kinds = (*left.types, *right.types)
        if len(kinds) == 2 and all(isinstance(kind, Element) for kind in kinds):
            declared = " ".join(f"set {side.name} within All;" for side in (left, right))
            return f"declare one set with both in it: `set All; {declared}`"
    return "both sets must have elements of one type"
