"""Sets, parameters, lets, variables and randoms: from declarations of the syntax tree to checked ones."""

from __future__ import annotations

import math
from typing import TypeAlias

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedBound,
    CheckedLet,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedVariable,
    Constant,
    Element,
    Function,
    IntervalType,
    Logical,
    Numeric,
    TextType,
    TypedExpr,
    TypedIndexing,
    TypedSet,
    ValueType,
)
from gpusched_dsl.language.checking.conversion import because_declared, ratio_as_number, unit_in
from gpusched_dsl.language.checking.dependencies import may_read
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.kinds import describe_all, same_kind
from gpusched_dsl.language.checking.scope import EMPTY, Scope
from gpusched_dsl.language.diagnostics.diagnostic import Edit, Label
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, unit_of

ROUNDING = 1e-9  # sums of the same data in another order: numbers closer than this are the same

# --- sets ------------------------------------------------------------------------------------------------------------


def check_set(checker: ExpressionChecker, decl: tree.SetDecl) -> CheckedSet | None:
    """Check a set: it is a root if it is neither derived nor within another; explicit labels also define a root."""
    name = decl.name.text
    if decl.indexing is not None:
        return _indexed_set(checker, decl)
    within = checker.set_of(decl.within) if decl.within is not None else None
    expected = within.types if within is not None else (Element(name),) if _lists_labels(decl) else None
    value = checker.set_of(decl.value, EMPTY, expected) if decl.value is not None else None
    if (decl.within is not None and within is None) or (decl.value is not None and value is None):
        return None
    types: tuple[ValueType, ...] = (Element(name),)
    if value is not None:
        types = value.types
    elif within is not None:
        types = within.types
    if within is not None and value is not None and not _alike(checker, decl, value, within):
        return None
    if decl.identical and value is not None and not _lists_labels(decl):
        checker.error(
            "GSM1408",
            f"`{name}` is derived, so its elements cannot be declared `identical`",
            decl.name.span,
            "derived",
            secondary=[Label(value.span, "by this")],
            help="declare the set that it is derived from `identical`",
        )
    root = types[0].root if len(types) == 1 and isinstance(types[0], Element) else None
    by = decl.identical_by.text if decl.identical_by is not None else None
    return CheckedSet(name, decl.name.span, types, root, decl.ordered, decl.identical, by, within, value, decl.doc)


def _indexed_set(checker: ExpressionChecker, decl: tree.SetDecl) -> CheckedSet | None:
    from gpusched_dsl.language.checking.indexed_sets import declaration_is_complete

    sound = declaration_is_complete(checker, decl)
    indexing, scope = checker.indexing(decl.indexing)
    within = checker.set_of(decl.within, scope) if decl.within is not None else None
    value = checker.set_of(decl.value, scope, None if within is None else within.types) if decl.value else None
    lost = (decl.within is not None and within is None) or (decl.value is not None and value is None)
    if not sound or indexing is None or lost:
        return None
    if within is not None and value is not None and not _alike(checker, decl, value, within):
        return None
    from gpusched_dsl.language.checking.indexed_sets import of_tuples

    return of_tuples(decl, indexing, within, value)


def _lists_labels(decl: tree.SetDecl) -> bool:
    """Whether it is `set Modes = { "slow", "fast" };`: elements of its own, not those of another set."""
    return (
        decl.within is None
        and isinstance(decl.value, tree.SetLiteral)
        and bool(decl.value.items)
        and all(isinstance(item, tree.Text) for item in decl.value.items)
    )


def _alike(checker: ExpressionChecker, decl: tree.SetDecl, value: TypedSet, within: TypedSet) -> bool:
    if len(value.types) == len(within.types) and all(map(same_kind, value.types, within.types)):
        return True
    checker.error(
        "GSM1208",
        f"`{decl.name.text}` cannot be within `{within.span.text}`: its elements have another type",
        value.span,
        describe_all(value.types),
        secondary=[Label(within.span, describe_all(within.types))],
    )
    return False


def check_class(checker: ExpressionChecker, decl: tree.SetDecl) -> None:
    """The parameter after `identical by` gives the class of each element: indexed by the set and nothing else."""
    if decl.identical_by is None or decl.name.text not in checker.symbols.sets:
        return
    name = decl.identical_by.text
    declared = checker.symbols.values.get(name)
    if declared is None and name in checker.symbols.poisoned:
        return
    iterators = declared.indexing.iterators if isinstance(declared, CheckedParam) else ()
    if len(iterators) == 1 and getattr(iterators[0].domain, "name", None) == decl.name.text:
        return
    span = checker.symbols.span_of(name)
    checker.error(
        "GSM1415",
        f"`{name}` is not a class of the elements of `{decl.name.text}`",
        decl.identical_by.span,
        "not a parameter of each element",
        secondary=[Label(span, f"`{name}` is declared here")] if span is not None else [],
        help=f"it must be a parameter indexed by this set: `param {name}[{decl.name.text}] symbol;`",
    )


def implied_class(decl: tree.SetDecl, declared: set[str]) -> tree.ParamDecl | None:
    """`identical by class` declares the parameter `class` when the author has not."""
    name = decl.identical_by
    if name is None or name.text in declared:
        return None
    domain = tree.Name(span=decl.name.span, text=decl.name.text)
    index = tree.Index(span=decl.name.span, names=(), is_tuple=False, domain=domain)
    indexing = tree.Indexing(span=decl.name.span, indices=(index,))
    return tree.ParamDecl(
        span=name.span, name=name, indexing=indexing, kind="symbol", doc=f"class of identical {decl.name.text}"
    )


# --- parameters ------------------------------------------------------------------------------------------------------


def check_head(checker: ExpressionChecker, decl: tree.ParamDecl) -> CheckedParam | None:
    """A parameter without its value, as the parameters read it that are evaluated together with it."""
    head = _param_head(checker, decl)
    if head is None:
        return None
    indexing, _, kind, type_, within = head
    return CheckedParam(decl.name.text, decl.name.span, type_, kind, indexing, within=within)


_Head: TypeAlias = tuple[TypedIndexing, Scope, str, ValueType, TypedSet | None]


def _param_head(checker: ExpressionChecker, decl: tree.ParamDecl) -> _Head | None:
    indexing, scope = checker.indexing(decl.indexing)
    unit = _declared_unit(checker, decl, decl.kind if decl.within is None else "element")
    within = checker.set_of(decl.within) if decl.within is not None else None
    sound = _parts_agree(checker, decl)
    if indexing is None or unit is None or (decl.within is not None and within is None) or not sound:
        _look_at_the_rest(checker, decl, scope)
        return None
    kind, type_ = decl.kind, _param_type(decl.kind, unit)
    if within is not None:
        if len(within.types) > 1:
            checker.error(
                "GSM1208",
                f"`{decl.name.text}` has one value, not a tuple",
                within.span,
                describe_all(within.types),
                help="declare a parameter for each part of the tuple",
            )
            return None
        kind, type_ = "element", within.types[0]
    return indexing, scope, kind, type_, within


def check_param(checker: ExpressionChecker, decl: tree.ParamDecl) -> CheckedParam | None:
    head = _param_head(checker, decl)
    if head is None:
        return None
    indexing, scope, kind, type_, within = head
    name = decl.name.text
    value: TypedExpr | None = None
    circle = checker.symbols.circles.get(name, (name,) if may_read(decl, (name,)) else ())
    if decl.value is not None:
        if circle == (name,):
            own = CheckedParam(name, decl.name.span, type_, kind, indexing, within=within)
            checker.symbols.values[name] = own
        value = _param_value(checker, decl, type_, scope)
        if circle == (name,):
            del checker.symbols.values[name]
        from gpusched_dsl.language.checking.recursions import reads_circle_plainly

        if value is None or (circle and not reads_circle_plainly(checker, circle, value)):
            return None
        if decl.unit is None and within is None:
            kind, inferred = _infer(checker, kind, value)
            if circle and not _read_as_inferred(checker, decl, type_, inferred):
                return None
            type_ = inferred
    bounds = _bounds(checker, decl, decl.name, type_, scope)
    default = _default(checker, decl, type_, scope)
    if bounds is None or (decl.default is not None and default is None):
        return None
    return CheckedParam(name, decl.name.span, type_, kind, indexing, bounds, within, default, value, decl.doc, circle)


def _param_type(kind: str, unit: Unit) -> ValueType:
    return TextType() if kind == "symbol" else Numeric(kind in ("integer", "binary"), unit)


def _look_at_the_rest(checker: ExpressionChecker, decl: tree.ParamDecl, scope: Scope) -> None:
    """Check names and types after a wrong head nevertheless."""
    for expr in (decl.value, decl.default, *(bound.value for bound in decl.bounds)):
        if expr is not None:
            checker.check(expr, scope)


def _declared_unit(checker: ExpressionChecker, decl: tree.ParamDecl | tree.VarDecl, kind: str) -> Unit | None:
    """The unit of a declaration: that after `in`, else none; None when it is in error."""
    if decl.unit is None:
        return DIMENSIONLESS
    unit = unit_of(decl.unit, checker.diagnostics)
    if unit is not None and kind in ("binary", "symbol", "element"):
        checker.error(
            "GSM1307",
            f"`{decl.name.text}` cannot have a unit: it is {_KINDS[kind]}",
            decl.unit.span,
            "a unit",
            help="remove `in` and the unit",
        )
        return None
    return unit


_KINDS = {"binary": "`binary`, 0 or 1", "symbol": "a `symbol`, a text", "element": "an element of a set"}


def _parts_agree(checker: ExpressionChecker, decl: tree.ParamDecl) -> bool:
    name, sound = decl.name.text, True
    if decl.value is not None and decl.default is not None:
        checker.error(
            "GSM1408",
            f"`{name}` is derived, so it has no default",
            decl.default.span,
            "never used",
            secondary=[Label(decl.value.span, "this gives its value")],
            help="remove one of them",
        )
        sound = False
    if decl.kind != "real" and decl.within is not None:
        checker.error(
            "GSM1408",
            f"`{name}` is declared both as `{decl.kind}` and as an element of a set",
            decl.within.span,
            f"elements of this set cannot be `{decl.kind}`",
            help=f"remove `{decl.kind}`",
        )
        sound = False
    numeric = decl.kind != "symbol" and decl.within is None
    if not numeric and decl.bounds:
        checker.error(
            "GSM1411",
            f"`{name}` is not a number, so it has no bounds",
            decl.bounds[0].span,
            "a bound",
            help="state a condition on it in a `check`",
        )
        sound = False
    return sound


def _param_value(checker: ExpressionChecker, decl: tree.ParamDecl, type_: ValueType, scope: Scope) -> TypedExpr | None:
    assert decl.value is not None
    name = decl.name
    because = because_declared(name.text, name.span, type_.unit) if isinstance(type_, Numeric) else None
    if decl.kind == "real" and decl.unit is None and decl.within is None:
        value = ratio_as_number(checker, checker.check(decl.value, scope))
        if value is not None and isinstance(decl, tree.ReportDecl) and isinstance(value.type, IntervalType):
            checker.is_number(value)
            return None
    elif decl.kind == "binary":
        value = checker.condition(decl.value, scope)
    else:
        value = checker.value(decl.value, type_, scope, because=because, bare=decl.unit is not None)
    if value is None or not checker.data_only(value, f"the value of the parameter `{name.text}`"):
        return None
    return value


def _infer(checker: ExpressionChecker, kind: str, value: TypedExpr) -> tuple[str, ValueType]:
    """Kind and type of a derived parameter that states neither: those of its value."""
    if isinstance(value.type, Element):
        return "element", value.type
    if isinstance(value.type, TextType):
        return "symbol", value.type
    if isinstance(value.type, Logical) or kind == "binary":
        return "binary", Numeric(True)
    assert isinstance(value.type, Numeric)
    return ("integer" if value.type.integer and kind == "real" else kind), value.type


def _read_as_inferred(checker: ExpressionChecker, decl: tree.ParamDecl, read: ValueType, inferred: ValueType) -> bool:
    """Whether a recursive value has the type with which it was read: a number without a unit if nothing is stated."""
    if isinstance(read, Numeric) and isinstance(inferred, Numeric) and read.unit == inferred.unit:
        return True
    if isinstance(inferred, TextType) and read == inferred:
        return True
    if isinstance(inferred, Numeric):
        missing, what = f"in {inferred.unit}", "unit"
    else:
        missing, what = "symbol" if isinstance(inferred, TextType) else f"within {describe_all((inferred,))}", "kind"
    assert decl.indexing is not None
    end = structs.replace(decl.indexing.span, start=decl.indexing.span.end)
    checker.error(
        "GSM1470",
        f"`{decl.name.text}` is read by its own value, directly or through other parameters, and states no {what}",
        decl.name.span,
        f"its value needs `{missing}`",
        help=f"add `{missing}` to the declaration",
        fix=None if isinstance(inferred, Element) else Edit(end, f" {missing}"),
    )
    return False


def _default(checker: ExpressionChecker, decl: tree.ParamDecl, type_: ValueType, scope: Scope) -> TypedExpr | None:
    if decl.default is None:
        return None
    because = because_declared(decl.name.text, decl.name.span, type_.unit) if isinstance(type_, Numeric) else None
    bare = decl.unit is not None
    value = checker.value(decl.default, type_, scope, because=because, bare=bare)
    if value is None or not checker.data_only(value, f"the default of `{decl.name.text}`"):
        return None
    return value


def _bounds(
    checker: ExpressionChecker,
    decl: tree.ParamDecl | tree.VarDecl,
    name: tree.Identifier,
    type_: ValueType,
    scope: Scope,
) -> tuple[CheckedBound, ...] | None:
    """The bounds in the unit of the declaration; None when one is in error."""
    checked: list[CheckedBound] = []
    for bound in decl.bounds:
        assert isinstance(type_, Numeric)
        because = because_declared(name.text, name.span, type_.unit)
        value = checker.number(bound.value, scope, unit=type_.unit, because=because, bare=decl.unit is not None)
        if value is None or not checker.data_only(value, f"a bound of `{name.text}`"):
            continue
        strict = bound.op in ("<", ">")
        if strict and isinstance(decl, tree.VarDecl) and type_.integer:
            checked.append(_next_integer(bound, value))
            continue
        if bound.op == "!=" or (strict and isinstance(decl, tree.VarDecl)):
            checker.error(
                "GSM1411",
                f"a bound of `{name.text}` cannot be `{bound.op}`",
                bound.span,
                "strict" if strict else "not a bound",
                help=f"use `{bound.op}=`: solvers do not support strict bounds of continuous variables"
                if strict
                else "state a condition in a `check` or a `constraint`",
            )
            continue
        checked.append(CheckedBound(bound.op, value, bound.span))
    return tuple(checked) if len(checked) == len(decl.bounds) else None


def _next_integer(bound: tree.Bound, value: TypedExpr) -> CheckedBound:
    """A strict bound of an integer variable as the bound by the next integer."""
    kind = Numeric(True, unit_in(value))
    up = bound.op == ">"
    step = 1.0 if up else -1.0
    if isinstance(value, Constant):
        nearest = math.floor(value.value + ROUNDING) if up else math.ceil(value.value - ROUNDING)
        closed: TypedExpr = Constant(span=value.span, type=kind, value=nearest + step)
    else:
        slack = Constant(span=value.span, type=value.type, value=step * ROUNDING)
        moved = Arithmetic(span=value.span, type=value.type, op="+", left=value, right=slack)
        whole = Function(span=value.span, type=kind, name="floor" if up else "ceil", arguments=(moved,))
        one = Constant(span=value.span, type=kind, value=step)
        closed = Arithmetic(span=value.span, type=kind, op="+", left=whole, right=one)
    return CheckedBound(">=" if up else "<=", closed, bound.span)


# --- lets, variables, randoms ----------------------------------------------------------------------------------------


def check_let(checker: ExpressionChecker, decl: tree.LetDecl | tree.ReportDecl) -> CheckedLet | None:
    indexing, scope = checker.indexing(decl.indexing)
    if decl.indexing is not None and decl.indexing.where is not None:
        checker.error(
            "GSM1408",
            f"`{decl.name.text}` is an expression and cannot have a `where`",
            decl.indexing.where.span,
            "a condition",
            help="put the condition into the expression: `if ... then ... else ...`",
        )
        indexing = None
    unit = unit_of(decl.unit, checker.diagnostics) if decl.unit is not None else None
    if decl.unit is not None and unit is not None:
        because = because_declared(decl.name.text, decl.name.span, unit)
        value = checker.number(decl.value, scope, unit=unit, because=because)
    else:
        value = ratio_as_number(checker, checker.check(decl.value, scope))
    if value is None or indexing is None or (decl.unit is not None and unit is None):
        return None
    return CheckedLet(decl.name.text, decl.name.span, value.type, indexing, value, decl.doc)


def check_variable(checker: ExpressionChecker, decl: tree.VarDecl) -> CheckedVariable | None:
    """Check a variable without its bounds, which may need later declarations."""
    indexing, _ = checker.indexing(decl.indexing)
    unit = _declared_unit(checker, decl, decl.kind)
    if indexing is None or unit is None:
        return None
    type_ = Numeric(decl.kind != "real", unit)
    return CheckedVariable(decl.name.text, decl.name.span, type_, decl.kind, indexing, (), decl.doc)


def with_bounds(checker: ExpressionChecker, decl: tree.VarDecl, variable: CheckedVariable) -> CheckedVariable:
    """The same variable with its bounds, over index variables of its own."""
    indexing, scope = checker.indexing(decl.indexing)
    bounds = _bounds(checker, decl, decl.name, variable.type, scope)
    if indexing is None or bounds is None:
        return variable
    return structs.replace(variable, indexing=indexing, bounds=bounds)


def check_random(checker: ExpressionChecker, decl: tree.RandomDecl) -> CheckedRandom | None:
    from gpusched_dsl.language.checking.randoms import check_law

    indexing, scope = checker.indexing(decl.indexing)
    unit = unit_of(decl.unit, checker.diagnostics) if decl.unit is not None else DIMENSIONLESS
    declared = None
    if indexing is not None and unit is not None:
        declared = CheckedRandom(decl.name.text, decl.name.span, Numeric(False, unit), indexing, None, decl.doc)
    if decl.distribution is None:
        return declared
    law = check_law(checker, decl.distribution, declared, scope)
    return None if declared is None or law is None else structs.replace(declared, law=law)
