"""Checks `placement`: the meaning of a family of variables in the cluster."""

from __future__ import annotations

from typing import cast, get_args

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedPlacement,
    CheckedPlacementItem,
    CheckedVariable,
    IndexVar,
    Numeric,
    Role,
    TypedExpr,
)
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.conversion import agree, fit, say, unit_in, unit_sources
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.gangs import check_gangs
from gpusched_dsl.language.checking.kinds import describe, is_plain_whole
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import EMPTY, Binding, Scope
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import CURRENCIES, Unit, has_dimension, unit_of

PLACES = ("job", "node", "node_type", "slot", "mode", "place_from_end")
LABELS = ("family", "user", "rack")  # elements or integers, not of the decision
MONEY, PRICE, TIME, PLAIN = ("money", "money per time", "a time", "a plain number")
# What a quantity of a placement is; policies read the second line, tables the first.
QUANTITIES = {
    "uses": "", "lasts": TIME, "costs": f"{MONEY}, or {PRICE}",
    "due": TIME, "weight": PRICE, "postponed": MONEY, "idle": MONEY, "node_price": PRICE, "stock": "",
    "late": MONEY, "node_rate": PRICE, "share": "", "quota": "",
    "workers": "", "across_nodes": PLAIN, "across_racks": PLAIN,
}  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
_KINDS = {"binary": "a binary", "integer": "an integer"}


def check_placement(checker: ExpressionChecker, decl: tree.PlacementDecl) -> CheckedPlacement | None:
    name = decl.variable.text
    declared = checker.symbols.values.get(name)
    kinds = ("binary", "integer") if any(item.role.text == "workers" for item in decl.items) else ("binary",)
    if declared is None or not isinstance(declared, CheckedVariable) or declared.kind not in kinds:
        if name not in checker.symbols.poisoned:
            _report_family(checker, decl, kinds)
        return None
    bound = _bind(checker, decl, declared)
    if bound is None:
        return None
    variables, scope = bound
    items: list[CheckedPlacementItem] = []
    seen: dict[str, Span] = {}
    for item in decl.items:
        checked = _check_item(checker, item, scope, seen)
        if checked is not None:
            items.append(checked)
    if len(items) < len(decl.items) or not _check_currency(checker, items):
        return None
    placement = CheckedPlacement(name, decl.variable.span, variables, tuple(items))
    return placement if check_gangs(checker, placement, declared) else None


def _check_currency(checker: ExpressionChecker, items: list[CheckedPlacementItem]) -> bool:
    """Report GSM1413 if amounts of money are in several currencies: a run adds them up."""
    first: tuple[CheckedPlacementItem, str] | None = None
    for item in items:
        found = unit_in(item.value)
        currency = next((name for name, _ in found.dimension if name in CURRENCIES), None)
        if currency is None or MONEY not in QUANTITIES.get(item.role, ""):
            continue
        if first is not None and first[1] != currency:
            checker.error(
                "GSM1413",
                f"`{item.role}` and `{first[0].role}` are in different currencies",
                item.value.span,
                f"in {say(found)}",
                secondary=[Label(first[0].value.span, f"in {say(unit_in(first[0].value))}")],
                help="multiply by an exchange rate, a parameter in such a unit as `$/EUR`",
            )
            return False
        first = first or (item, currency)
    return True


def _report_family(checker: ExpressionChecker, decl: tree.PlacementDecl, kinds: tuple[str, ...]) -> None:
    name = decl.variable.text
    span = checker.symbols.span_of(name)
    if span is None:
        families = [n for n, v in checker.symbols.values.items() if isinstance(v, CheckedVariable)]
        checker.error(
            "GSM1101",
            f"unknown variable `{name}`",
            decl.variable.span,
            "not declared",
            help=did_you_mean(name, families),
        )
        return
    declared = checker.symbols.values.get(name)
    is_integer = isinstance(declared, CheckedVariable) and declared.kind == "integer"
    checker.error(
        "GSM1413",
        f"a placement needs {' or '.join(_KINDS[k] for k in kinds)} variable, `{name}` is not {' or '.join(kinds)}",
        decl.variable.span,
        f"not {' or '.join(_KINDS[k] for k in kinds)} variable",
        secondary=[Label(span, f"`{name}` is declared here")],
        help="if it counts the workers of a job on a node, add `workers NUMBER;`" if is_integer else None,
    )


def _bind(
    checker: ExpressionChecker, decl: tree.PlacementDecl, declared: CheckedVariable
) -> tuple[tuple[IndexVar, ...], Scope] | None:
    """Bind the names of the index positions over the index sets of the variable."""
    slots = slots_of(declared)
    if len(slots) != len(decl.indices):
        place = decl.indices[0].span.to(decl.indices[-1].span) if decl.indices else decl.variable.span
        checker.error(
            "GSM1201",
            f"`{declared.name}` has {len(slots)} subscript{'' if len(slots) == 1 else 's'}, "
            f"{len(decl.indices) or 'none'} given",
            place,
            f"{len(decl.indices) or 'none'} given",
            secondary=[Label(declared.span, f"`{declared.name}` is declared here")],
        )
        return None
    scope, variables = EMPTY, []
    for name, slot in zip(decl.indices, slots, strict=True):
        variable = IndexVar(name.text, slot.type, name.span)
        variables.append(variable)
        if name.text == IGNORED:
            continue
        hidden = checker.symbols.quantity_span(name.text)
        if name.text in scope.bindings:
            checker.error("GSM1105", f"index `{name.text}` is named twice", name.span, "again")
            return None
        if hidden is not None:
            checker.error(
                "GSM1104",
                f"index `{name.text}` hides a declaration",
                name.span,
                "an index of this name",
                secondary=[Label(hidden, f"`{name.text}` is declared here")],
                help="give the index another name",
            )
            return None
        scope = scope.bind(name.text, Binding(variable, slot.domain, slot.component))
    return tuple(variables), scope


def _check_item(
    checker: ExpressionChecker, item: tree.PlacementItem, scope: Scope, seen: dict[str, Span]
) -> CheckedPlacementItem | None:
    role = cast("Role", item.role.text)
    if role not in ROLES:
        checker.error(
            "GSM1412",
            f"unknown role `{role}`",
            item.role.span,
            "not a role of a placement",
            help=did_you_mean(role, ROLES) or f"roles are {', '.join(ROLES)}",
        )
        return None
    if role in seen and role != "uses":
        checker.error(
            "GSM1413",
            f"`{role}` is stated twice",
            item.role.span,
            "again",
            secondary=[Label(seen[role], "first here")],
            help="state it once",
        )
        return None
    seen.setdefault(role, item.role.span)
    if not _clauses_fit(checker, item):
        return None
    unit = unit_of(item.unit, checker.diagnostics) if item.unit is not None else None
    value = checker.check(item.value, scope)
    of = checker.number(item.of, scope) if item.of is not None else None
    if value is None or (item.of is not None and of is None) or (item.unit is not None and unit is None):
        return None
    if not checker.data_only(value, f"`{role}` of a placement"):
        return None
    if of is not None and not checker.data_only(of, f"`{role}` of a placement"):
        return None
    if role in PLACES or role in LABELS:
        return CheckedPlacementItem(role, item.role.span, value) if _is_index(checker, role, value) else None
    return _quantity(checker, item, role, value, of, unit)


def _clauses_fit(checker: ExpressionChecker, item: tree.PlacementItem) -> bool:
    role = item.role.text
    if item.of is not None and role != "uses":
        checker.error("GSM1413", f"`{role}` cannot have an `of`", item.of.span, "only `uses` can have it")
        return False
    if item.unit is not None and role not in QUANTITIES:
        checker.error("GSM1413", f"`{role}` has no unit", item.unit.span, "a unit")
        return False
    return True


def _is_index(checker: ExpressionChecker, role: str, value: TypedExpr) -> bool:
    if not isinstance(value.type, Numeric) or is_plain_whole(value):
        return True
    checker.error(
        "GSM1413",
        f"`{role}` must be an element or an integer, `{value.span.text}` is {describe(value.type)}",
        value.span,
        describe(value.type),
        secondary=declaration_labels(checker, value),
    )
    return False


def _quantity(
    checker: ExpressionChecker,
    item: tree.PlacementItem,
    role: Role,
    value: TypedExpr,
    of: TypedExpr | None,
    unit: Unit | None,
) -> CheckedPlacementItem | None:
    if not checker.is_number(value):
        return None
    if of is not None:
        pair = agree(checker, [value, of])
        if pair is None:
            return None
        value, of = pair
    if unit is not None:
        assert item.unit is not None
        fitted = fit(checker, value, unit, because=Label(item.unit.span, f"expected `{unit}`"))
        if fitted is None:
            return None
        assert isinstance(fitted.type, Numeric)
        with_symbols = structs.replace(fitted.type, unit=unit)  # of the stated unit
        value = structs.replace(fitted, type=with_symbols)
    found = unit_in(value)
    fits = {
        "": True,
        TIME: has_dimension(found, time=1),
        MONEY: has_dimension(found, money=1),
        PRICE: has_dimension(found, money=1, time=-1),
        PLAIN: False,
        f"{MONEY}, or {PRICE}": has_dimension(found, money=1) or has_dimension(found, money=1, time=-1),
    }
    what = QUANTITIES[role]
    if not fits[what] and found.dimension:
        checker.error(
            "GSM1413",
            f"`{role}` is {what}, this is in {say(found)}",
            value.span,
            f"in {say(found)}",
            secondary=unit_sources(checker, value),
        )
        return None
    return CheckedPlacementItem(role, item.role.span, value, of)
