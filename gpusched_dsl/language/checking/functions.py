"""Calls: `min(a, b)`, `sqrt(x)`, `count(Jobs)`, `next(h)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Arithmetic,
    Constant,
    Element,
    Function,
    Logical,
    Numeric,
    SetFunction,
    TypedExpr,
)
from gpusched_dsl.language.checking.arithmetic import shift
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS, clock_function
from gpusched_dsl.language.checking.conversion import (
    agree,
    fit,
    ratio_as_number,
    require_plain,
    unit_in,
    unit_sources,
)
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, as_element, describe, is_plain_whole, numeric_type
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.diagnostics.diagnostic import Edit, Fix, Label, did_you_mean

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


_EXTREMES = ("min", "max")
_DISTINCT = "all_different"
_OF_MANY = (*_EXTREMES, _DISTINCT, "norm")
_KEEPING = ("abs", "floor", "ceil", "round")
_PLAIN = ("exp", "log")
_PIECEWISE = "piecewise"
_COUNTS = ("count", "card")  # two names of one function
_OF_SETS = (*_COUNTS, "first", "last")
_ORDINAL = "ord"
_PRICE = "price"  # of policies only
_NEIGHBOURS = {"prev": -1, "next": 1}
_OVER_INDICES = ("sum", "prod", "any", "all", "argmin", "argmax")
FUNCTIONS = (
    *_EXTREMES, _DISTINCT, _PIECEWISE, "norm", *_KEEPING, *_PLAIN, "sqrt", *_OF_SETS, _ORDINAL, *_NEIGHBOURS,
    *CLOCK_FUNCTIONS,
)  # fmt: skip


def check_call(checker: Checker, expr: tree.Call, scope: Scope) -> TypedExpr | None:
    from gpusched_dsl.language.checking.foreign_functions import counts
    from gpusched_dsl.language.checking.ordinals import check_ordinal
    from gpusched_dsl.language.checking.piecewise import check_piecewise

    name = expr.function.text
    if name in checker.functions:
        return checker.functions[name](checker, expr, scope)
    if name == _PIECEWISE:
        return check_piecewise(checker, expr, scope)
    for argument in expr.named:
        checker.error("GSM1212", f"`{name}` has no named arguments", argument.span, "named argument")
    if name in _OF_SETS:
        return _of_set(checker, expr, scope) if _counts(checker, expr, 1) else None
    if name == _ORDINAL:
        return None if expr.named else check_ordinal(checker, expr, scope)
    if name in _OVER_INDICES:
        checker.error(
            "GSM1212",
            f"`{name}` needs indices",
            expr.function.span,
            "no index list",
            help=f"write `{name}[j in Jobs] ...`; join single values with operators or `min(a, b)`, `max(a, b)`",
        )
        return None
    if name == _PRICE and not expr.named and _names_constraint(checker, expr):
        _report_unknown(checker, expr)
        return None
    if counts(name) and checker.symbols.span_of(name) is None:  # its argument is a set
        _report_unknown(checker, expr)
        return None
    arguments = [checker.check(a, scope) for a in expr.arguments]
    if name not in FUNCTIONS:
        _report_unknown(checker, expr)
        return None
    if expr.named or not _counts(checker, expr, None if name in _OF_MANY else 1):
        return None
    typed_args = [a for a in arguments if a is not None]
    if len(typed_args) < len(arguments):
        return None
    if name in _NEIGHBOURS:
        return _neighbour(checker, expr, typed_args[0], scope)
    if name == _DISTINCT and any(isinstance(typed.type, Element) for typed in typed_args):
        return _distinct_elements(checker, expr, typed_args)
    numbers = [typed for typed in typed_args if checker.is_number(typed)]
    if len(numbers) < len(typed_args):
        return None
    if name in CLOCK_FUNCTIONS:
        return clock_function(checker, expr, typed_args[0])
    return _scalar(checker, expr, typed_args)


def _report_unknown(checker: Checker, expr: tree.Call) -> None:
    from gpusched_dsl.language.checking.foreign_functions import foreign_function

    name = expr.function.text
    declared = checker.symbols.span_of(name)
    help: str | None
    fix: Fix = None
    if name == _PRICE and _names_constraint(checker, expr):
        help = "prices of constraints follow from a relaxation of the model: only policies can read them"
    elif declared is not None:
        help = f"write subscripts in square brackets: `{name}[...]`"
        if expr.arguments and not expr.named:
            inside = expr.arguments[0].span.to(expr.arguments[-1].span).text
            fix = Edit(expr.span, f"{name}[{inside}]")
    else:
        help, meant = foreign_function(name, [a.span.text for a in expr.arguments])
        fix = None if meant is None else Edit(expr.span, meant)
        help = help or did_you_mean(name, (*FUNCTIONS, *_OVER_INDICES)) or f"the functions are {', '.join(FUNCTIONS)}"
    checker.error(
        "GSM1102",
        f"unknown function `{name}`",
        expr.function.span,
        "no function of this name",
        secondary=[Label(declared, f"`{name}` is declared here")] if declared is not None else [],
        help=help,
        fix=fix,
    )


def _names_constraint(checker: Checker, expr: tree.Call) -> bool:
    """Whether the only argument of a call names a constraint."""
    first = expr.arguments[0] if len(expr.arguments) == 1 else None
    word = first.name.text if isinstance(first, tree.Subscript) else first.text if isinstance(first, tree.Name) else ""
    return checker.symbols.others.get(word, ("",))[0] == "constraint"


def _counts(checker: Checker, expr: tree.Call, wanted: int | None) -> bool:
    """Whether there are `wanted` arguments, or at least one when it is None."""
    given = len(expr.arguments)
    if (wanted is None and given) or given == wanted:
        return True
    needs = "at least one argument" if wanted is None else "one argument"
    name = expr.function.text
    checker.error("GSM1212", f"`{name}` has {needs}, {given or 'none'} given", expr.span, f"{given or 'none'} given")
    return False


def _of_set(checker: Checker, expr: tree.Call, scope: Scope) -> TypedExpr | None:
    name = expr.function.text
    domain = checker.set_of(expr.arguments[0], scope)
    if domain is None:
        return None
    if name in _COUNTS:
        return SetFunction(span=expr.span, type=INTEGER_TYPE, name="count", domain=domain)
    if len(domain.types) > 1:
        checker.error(
            "GSM1212",
            f"`{name}` of a set of tuples",
            domain.span,
            f"tuples of {len(domain.types)}",
            help="use a set of single elements",
        )
        return None
    kind = domain.types[0]
    if isinstance(kind, Element):
        declared = checker.symbols.sets.get(getattr(domain, "name", ""))
        root = checker.symbols.sets.get(kind.root)
        if not (declared is not None and declared.ordered) and not (root is not None and root.ordered):
            checker.error(
                "GSM1209",
                f"the elements of `{kind.root}` have no order, so there is no {name} one",
                domain.span,
                "not ordered",
                secondary=[Label(root.span, f"`{kind.root}` is declared without `ordered`")] if root else [],
                help=f"declare `set {kind.root} ordered`",
            )
            return None
    return SetFunction(span=expr.span, type=kind, name=name, domain=domain)


def _neighbour(checker: Checker, expr: tree.Call, typed: TypedExpr, scope: Scope) -> TypedExpr | None:
    step = _NEIGHBOURS[expr.function.text]
    offset = Constant(span=expr.function.span, type=INTEGER_TYPE, value=float(step))
    if isinstance(typed.type, Element):
        return shift(checker, expr.span, typed, offset, scope)
    if is_plain_whole(typed) and not typed.decision:
        return Arithmetic(span=expr.span, type=INTEGER_TYPE, op="+", left=typed, right=offset)
    checker.error(
        "GSM1212",
        f"`{expr.function.text}` needs an element of an ordered set, `{typed.span.text}` is {describe(typed.type)}",
        typed.span,
        describe(typed.type),
    )
    return None


def _scalar(checker: Checker, expr: tree.Call, typed_args: list[TypedExpr]) -> TypedExpr | None:
    name = expr.function.text
    decision = any(typed.decision for typed in typed_args)
    if name in _OF_MANY:
        agreed = agree(checker, typed_args)
        if agreed is None:
            return None
        if name == "norm":
            from gpusched_dsl.language.checking.euclidean_norm import norm

            return norm(expr.span, agreed, None)
        if name == _DISTINCT:
            return Function(span=expr.span, type=Logical(), decision=decision, name=name, arguments=tuple(agreed))
        kinds = [numeric_type(typed) for typed in agreed]
        whole = all(k is not None and k.integer for k in kinds)
        kind = Numeric(whole, unit_in(agreed[0]))
        return Function(span=expr.span, type=kind, decision=decision, name=name, arguments=tuple(agreed))
    typed = typed_args[0]
    given = numeric_type(typed)
    assert given is not None
    if name == "sqrt":
        return _root(checker, expr, typed)
    if name in _PLAIN:
        argument = require_plain(checker, typed, f"the argument of `{name}`")
        if argument is None:
            return None
        return Function(span=expr.span, type=Numeric(), decision=decision, name=name, arguments=(argument,))
    if name == "abs":
        return Function(span=expr.span, type=given, decision=decision, name=name, arguments=(typed,))
    number = ratio_as_number(checker, typed)  # 90 min / 1 h is 1.5, which is rounded, not 90
    if number is None:
        return None
    kind = Numeric(True, unit_in(number))
    return Function(span=expr.span, type=kind, decision=decision, name=name, arguments=(number,))


def _distinct_elements(checker: Checker, expr: tree.Call, typed_args: list[TypedExpr]) -> TypedExpr | None:
    lead = next(typed for typed in typed_args if isinstance(typed.type, Element))
    elements = [as_element(typed, lead.type) for typed in typed_args]
    for typed, element in zip(typed_args, elements, strict=True):
        if element is None:
            checker.error(
                "GSM1203",
                f"`{lead.span.text}` is {describe(lead.type)}, `{typed.span.text}` is {describe(typed.type)}: "
                "they cannot be compared",
                typed.span,
                describe(typed.type),
            )
    found = tuple(element for element in elements if element is not None)
    if len(found) < len(elements):
        return None
    return Function(span=expr.span, type=Logical(), name=_DISTINCT, arguments=found)


def _root(checker: Checker, expr: tree.Call, typed: TypedExpr) -> TypedExpr | None:
    unit = unit_in(typed)
    root = unit.root()
    if root is None:  # `min*h` has no root as it stands, `s^2` has
        root = unit.base.root()
        if root is None:
            checker.error(
                "GSM1306",
                f"the square root of a number in `{unit}` has no unit",
                typed.span,
                f"this is in `{unit}`",
                secondary=unit_sources(checker, typed),
                help="divide by a quantity of the same dimension first",
            )
            return None
        based = fit(checker, typed, unit.base)
        if based is None:
            return None
        typed = based
    kind = Numeric(False, root)
    return Function(span=expr.span, type=kind, decision=typed.decision, name="sqrt", arguments=(typed,))
