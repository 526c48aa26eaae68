"""Subscripts that may be outside the index set, detected without data if certain.

Integer subscripts are compared with the ends of a range as linear expressions over parameters: `k + 1` with `k in
1..n` against `1..n` exceeds it by 1 whatever n is. Shifts in an ordered set fall outside at its ends. What is not
certain, or hangs on an index that a condition speaks of, is left to be checked with the data.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedSet,
    ComprehensionSet,
    Constant,
    IndexRef,
    IndexVar,
    IntegerRange,
    Iterator,
    NamedSet,
    Negate,
    ParamRef,
    SetFunction,
    Shift,
    StringLiteral,
    TypedExpr,
    TypedSet,
)
from gpusched_dsl.language.checking.scope import Binding, Scope
from gpusched_dsl.language.checking.symbols import Subscripted, SubscriptSlot, Symbols
from gpusched_dsl.language.checking.walk import indices_in
from gpusched_dsl.language.diagnostics.diagnostic import Label as Place

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_inside(
    checker: Checker, declared: Subscripted, slots: list[SubscriptSlot], subscripts: tuple[TypedExpr, ...], scope: Scope
) -> bool:
    """Reports the subscripts of a reference that can fall outside; gives whether there is none."""
    inside = True
    for slot, expr in zip(slots, subscripts, strict=True):
        if indices_in(expr) & scope.guarded:
            continue
        found = _shift_outside(expr, scope) or _range_outside(checker.symbols, declared, slots, slot, subscripts, scope)
        if found is None:
            continue
        inside = False
        checker.error(
            "GSM1210",
            f"a subscript of `{declared.name}` may be outside of `{slot.domain.span.text}`",
            expr.span,
            found,
            secondary=[Place(slot.domain.span, f"`{declared.name}` is indexed by this")],
            help="exclude it with `where`"
            if isinstance(declared, CheckedSet)
            else f"give a value there, `({declared.name}[...] else 0)`, or exclude it with `where`",
        )
    return inside


# --- ordered sets ----------------------------------------------------------------------------------------------------


def _shift_outside(expr: TypedExpr, scope: Scope) -> str | None:
    """Return how a shift of an index over a complete ordered set leaves it, if it does."""
    offset, operand = 0, expr
    while isinstance(operand, Shift):
        if not isinstance(operand.offset, Constant):
            return None
        offset += int(operand.offset.value)
        ordering, operand = operand.ordering, operand.operand
    if not offset or not isinstance(operand, IndexRef):
        return None
    binding = scope.bindings.get(operand.variable.name)
    if binding is None or not isinstance(binding.domain, NamedSet) or binding.domain.name != ordering:
        return None
    end = "first" if offset < 0 else "last"
    many = f"{abs(offset)} " if abs(offset) > 1 else ""
    return f"at the {end} {many}element{'s' if many else ''} of `{ordering}`, `{expr.span.text}` does not exist"


# --- integer ranges --------------------------------------------------------------------------------------------------


class Linear(Struct, frozen=True):
    """`constant` plus coefficients times atoms; `texts` are how to print the atoms."""

    constant: float
    terms: Mapping[Hashable, float] = field(default_factory=dict)
    texts: Mapping[Hashable, str] = field(default_factory=dict)

    def plus(self, other: Linear, times: float = 1) -> Linear:
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * coefficient
        kept = {atom: c for atom, c in terms.items() if c}
        return Linear(self.constant + times * other.constant, kept, {**self.texts, **other.texts})

    def __str__(self) -> str:
        parts = [_term(c, self.texts[atom]) for atom, c in self.terms.items()]
        if self.constant or not parts:
            parts.append(f"{self.constant:+g}")
        text = " ".join(p if p[0] in "+-" else f"+{p}" for p in parts)
        text = text.replace(" +", " + ").replace(" -", " - ")
        return text.removeprefix("+")


def _term(coefficient: float, text: str) -> str:
    if coefficient in (1, -1):
        return f"{'+' if coefficient > 0 else '-'}{text}"
    return f"{coefficient:+g}*{text}"


Environment = Mapping[IndexVar, TypedExpr]


def _key(expr: TypedExpr, environment: Environment) -> Hashable | None:
    """Return a key that is equal for equal quantities: structure without places in the text; None if undecidable."""
    match expr:
        case IndexRef(variable=variable):
            bound = environment.get(variable)
            return _key(bound, {}) if bound is not None else ("index", id(variable))
        case ParamRef(name=name, subscripts=subscripts):
            keys = tuple(_key(s, environment) for s in subscripts)
            return None if None in keys else ("param", name, keys)
        case SetFunction(name=name, domain=NamedSet(name=domain)):
            return (name, domain)
        case StringLiteral(text=text):
            return ("label", text)
        case Constant(value=value):
            return ("number", value)
        case _:
            return None


def linear(expr: TypedExpr, environment: Environment) -> Linear | None:
    """Return an integer as a linear expression; indices in `environment` have their values there."""
    match expr:
        case Constant(value=value):
            return Linear(value)
        case IndexRef(variable=variable) if variable in environment:
            return linear(environment[variable], {})
        case Negate(operand=operand):
            inner = linear(operand, environment)
            return Linear(0).plus(inner, -1) if inner is not None else None
        case Arithmetic(op="+" | "-" as op, left=left, right=right):
            one, other = linear(left, environment), linear(right, environment)
            return None if one is None or other is None else one.plus(other, 1 if op == "+" else -1)
        case Arithmetic(op="*", left=left, right=right):
            one, other = linear(left, environment), linear(right, environment)
            if one is None or other is None or (one.terms and other.terms):
                return None
            number, rest = (one, other) if not one.terms else (other, one)
            return Linear(0).plus(rest, number.constant)
        case _:
            key = _key(expr, environment)
            return None if key is None else Linear(0, {key: 1}, {key: expr.span.text})


class _Bounds(Struct, frozen=True):
    """A range and the indices in its ends, by the component of the element that they are."""

    range: IntegerRange
    siblings: Mapping[IndexVar, int]


def _bounds(domain: TypedSet, component: int, symbols: Symbols) -> _Bounds | None:
    """Return the range of a component of a set, if the definition of the set states it."""
    match domain:
        case IntegerRange(step=None):
            return _Bounds(domain, {})
        case NamedSet(name=name):
            declared = symbols.sets.get(name)
            value = declared.value if declared is not None else None
            return _bounds(value, component, symbols) if value is not None else None
        case ComprehensionSet(element=element, indexing=indexing) if not indexing.conditions:
            siblings = {e.variable: place for place, e in enumerate(element) if isinstance(e, IndexRef)}
            here = element[component]
            inner = _iterator_of(here, indexing.iterators)
            if inner is None or not isinstance(inner.domain, IntegerRange) or inner.domain.step is not None:
                return None
            return _Bounds(inner.domain, siblings)
        case _:
            return None


def _iterator_of(expr: TypedExpr, iterators: tuple[Iterator, ...]) -> Iterator | None:
    if not isinstance(expr, IndexRef):
        return None
    return next((it for it in iterators if it.variables == (expr.variable,)), None)


def _range_outside(
    symbols: Symbols,
    declared: Subscripted,
    slots: list[SubscriptSlot],
    slot: SubscriptSlot,
    subscripts: tuple[TypedExpr, ...],
    scope: Scope,
) -> str | None:
    """How an integer subscript falls outside the range of its position, if it certainly can."""
    bounds = _bounds(slot.domain, slot.component, symbols)
    if bounds is None:
        return None
    position = slots.index(slot)
    first = next(i for i, s in enumerate(slots) if s.iterator == slot.iterator)
    environment: dict[IndexVar, TypedExpr] = dict(zip(declared.indexing.variables, subscripts, strict=True))
    environment.update({variable: subscripts[first + place] for variable, place in bounds.siblings.items()})
    expr = linear(subscripts[position], {})
    low, high = linear(bounds.range.low, environment), linear(bounds.range.high, environment)
    if expr is None:
        return None
    text = subscripts[position].span.text
    for limit, sign in ((low, -1), (high, 1)):
        if limit is None:
            continue
        excess = Linear(0).plus(expr, sign).plus(limit, -sign)
        largest, choices = _largest(excess, scope, symbols)
        if largest.terms or largest.constant <= 0:
            continue
        value = _with(expr, choices)
        at = ", ".join(f"{name} = {end}" for name, end in choices.items())
        return f"at `{at}`, `{text}` is {value}" if at else f"`{text}` is outside"
    return None


def _largest(value: Linear, scope: Scope, symbols: Symbols) -> tuple[Linear, dict[str, Linear]]:
    """The largest value over the ranges of its indices, and the index values that give it; later indices first."""
    choices: dict[str, Linear] = {}
    for name, binding in reversed(list(scope.bindings.items())):
        if binding is None:
            continue
        atom = ("index", id(binding.variable))
        coefficient = value.terms.get(atom)
        ends = _ends(binding, scope, symbols)
        if coefficient is None or ends is None:
            continue
        end = ends[1] if coefficient > 0 else ends[0]
        alone = Linear(0, {atom: coefficient}, {atom: name})
        value = value.plus(alone, -1).plus(end, coefficient)
        choices[name] = end
    return value, choices


def _ends(binding: Binding, scope: Scope, symbols: Symbols) -> tuple[Linear, Linear] | None:
    bounds = _bounds(binding.domain, binding.component, symbols)
    if bounds is None:
        return None
    together = {
        other.component: IndexRef(span=other.variable.span, type=other.variable.type, variable=other.variable)
        for other in scope.bindings.values()
        if other is not None and other.domain is binding.domain
    }
    environment = {v: together[place] for v, place in bounds.siblings.items() if place in together}
    low, high = linear(bounds.range.low, environment), linear(bounds.range.high, environment)
    return None if low is None or high is None else (low, high)


def _with(expr: Linear, choices: Mapping[str, Linear]) -> Linear:
    for atom, text in list(expr.texts.items()):
        if text in choices and isinstance(atom, tuple) and atom[0] == "index" and atom in expr.terms:
            coefficient = expr.terms[atom]
            expr = expr.plus(Linear(0, {atom: coefficient}, {atom: text}), -1).plus(choices[text], coefficient)
    return expr
