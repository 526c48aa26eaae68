"""Checks and types expressions: the only place that defines the meaning of an expression before there are data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    Constant,
    Element,
    Expected,
    IfThenElse,
    LetRef,
    Logical,
    Negate,
    Numeric,
    StringLiteral,
    TextType,
    TypedExpr,
    TypedIndexing,
    TypedSet,
    ValueType,
)
from gpusched_dsl.language.checking import (
    aggregates,
    arithmetic,
    indexings,
    logic,
    references,
    sets,
)
from gpusched_dsl.language.checking.conversion import alternatives, fit
from gpusched_dsl.language.checking.kinds import as_element, describe, is_truth, numeric_type
from gpusched_dsl.language.checking.scope import EMPTY, Scope
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.checking.walk import first_decision, indices_in
from gpusched_dsl.language.diagnostics.diagnostic import Fix, Severity
from gpusched_dsl.language.diagnostics.diagnostic import Label as Place
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, unit_of

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import GivenFunction


class ExpressionChecker:
    """Checks expressions against a table of names.

    For the declarations of a model, and with `Symbols.of(model, extras)` for scenarios, tests and policies:

        checker = ExpressionChecker(Symbols.of(model, {"status": ExtraName(TextType()), ...}), diagnostics)
        typed = checker.number(expr, unit=model.params["period"].type.unit)    # converted, or None if in error

    Every method gives None when something was wrong (it has then been reported, or comes from a declaration that
    was); parts of the same expression that are right do not hide faults in others. Methods:

    - `check(expr, scope)`: any value.
    - `number(expr, scope, unit=...)`: a number, converted to the unit when one is given.
    - `condition(expr, scope)`: true or false, or a value that can only be 0 or 1.
    - `value(expr, type, scope)`: a value for something of that declared type (labels may be quoted texts).
    - `set_of(expr, scope, expected)`: a set; `expected` types give quoted labels their set.
    - `indexing(node, scope)`: iterators and conditions, with the scope in which their indices are bound.
    - `data_only(typed, where)`: reports the first variable in it.

    With `decided` the values of variables are known, as in an `expect` after a solve: they may stand everywhere.
    `functions` are those that only this place has.
    """

    def __init__(
        self,
        symbols: Symbols,
        diagnostics: Diagnostics,
        *,
        decided: bool = False,
        functions: Mapping[str, GivenFunction] | None = None,
    ) -> None:
        self.decided = decided
        self.symbols = symbols
        self.diagnostics = diagnostics
        self.functions: Mapping[str, GivenFunction] = functions or {}

    def error(
        self,
        code: str,
        message: str,
        primary: Span,
        label: str = "",
        *,
        secondary: Iterable[Place] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
        severity: Severity = Severity.ERROR,
        fix: Fix = None,
    ) -> None:
        self.diagnostics.error(
            code, message, primary, label, secondary=secondary, notes=notes, help=help, severity=severity, fix=fix
        )

    # --- what others ask for -----------------------------------------------------------------------------------------

    def check(self, expr: tree.Expr, scope: Scope = EMPTY) -> TypedExpr | None:
        """Type any expression that has a value."""
        match expr:
            case tree.Number():
                return self._number(expr)
            case tree.Text(value=text):
                return StringLiteral(span=expr.span, type=TextType(), text=text)
            case tree.Boolean(value=value):
                return Constant(span=expr.span, type=Logical(), value=float(value))
            case tree.Name() | tree.Subscript() | tree.Otherwise():
                return references.check_reference(self, expr, scope)
            case tree.UnaryExpr():
                return self._unary(expr, scope)
            case tree.Binary(op="in" | "not in"):
                return logic.check_membership(self, expr, scope)
            case tree.Binary(op="and" | "or" | "=>" | "<=>"):
                return logic.check_logic(self, expr, scope)
            case tree.Binary(op="+" | "-" | "*" | "/" | "^" | "div" | "mod"):
                return arithmetic.check_binary(self, expr, scope)
            case tree.Compare():
                return logic.check_comparison(self, expr, scope)
            case tree.Conditional():
                return self._conditional(expr, scope)
            case tree.Call():
                from gpusched_dsl.language.checking.functions import check_call

                return check_call(self, expr, scope)
            case tree.Aggregate():
                return aggregates.check_aggregate(self, expr, scope)
            case tree.IntervalExpr():
                from gpusched_dsl.language.checking.time_intervals import check_interval

                return check_interval(self, expr, scope)
            case tree.Expectation():
                return self._expectation(expr, scope)
            case tree.TupleExpr():
                self._reject_tuple(expr, scope)
            case _:
                self._reject_set(expr)
        return None

    def number(
        self,
        expr: tree.Expr,
        scope: Scope = EMPTY,
        *,
        unit: Unit | None = None,
        because: Place | None = None,
        bare: bool = False,
    ) -> TypedExpr | None:
        """Return a number, in `unit` if given; `bare` accepts a literal without a unit.

        `because` is the place that asks for the unit, shown beside a disagreement.
        """
        typed = self.check(expr, scope)
        if typed is None or not self.is_number(typed):
            return None
        if unit is None:
            return typed
        if (
            bare
            and isinstance(typed, Constant)
            and isinstance(typed.type, Numeric)
            and typed.type.unit == DIMENSIONLESS
        ):
            return Constant(span=typed.span, type=Numeric(typed.type.integer, unit), value=typed.value)
        return fit(self, typed, unit, because=because)

    def is_number(self, typed: TypedExpr) -> bool:
        """Whether it counts as a number; reports when it does not."""
        if numeric_type(typed) is not None:
            return True
        self.error(
            "GSM1204",
            f"`{typed.span.text}` is {describe(typed.type)}, not a number",
            typed.span,
            "a number is needed here",
            secondary=references.declaration_labels(self, typed),
        )
        return False

    def condition(self, expr: tree.Expr, scope: Scope = EMPTY) -> TypedExpr | None:
        """A condition; a binary variable or parameter is one too."""
        typed = self.check(expr, scope)
        if typed is None:
            return None
        if is_truth(typed, self.symbols):
            if isinstance(typed, Constant) and isinstance(typed.type, Numeric):
                self._warn_of_number(typed)
            return typed
        literal = isinstance(typed, Constant)
        self.error(
            "GSM1205",
            f"a condition is needed, `{typed.span.text}` is {describe(typed.type)}",
            typed.span,
            "neither true nor false",
            secondary=references.declaration_labels(self, typed),
            help="compare a variable or parameter with it"
            if literal
            else f"compare it, as in `{typed.span.text} {'>= 1' if typed.decision else '> 0'}`"
            if numeric_type(typed) is not None
            else None,
        )
        return None

    def _warn_of_number(self, typed: Constant) -> None:
        truth = "true" if typed.value else "false"
        self.error(
            "GSM1221",
            f"the number `{typed.span.text}` stands in the place of a condition and is always {truth}",
            typed.span,
            f"always {truth}",
            help=f"compare a variable with it, as in `x == {typed.span.text}`, or write `{truth}` if this is meant",
            severity=Severity.WARNING,
        )

    def value(
        self,
        expr: tree.Expr,
        kind: ValueType,
        scope: Scope = EMPTY,
        *,
        because: Place | None = None,
        bare: bool = False,
    ) -> TypedExpr | None:
        """A value for something declared with type `kind`."""
        if isinstance(kind, Numeric):
            typed = self.number(expr, scope, unit=kind.unit, because=because, bare=bare)
            return typed if typed is None or not kind.integer or self.require_integer(typed) else None
        found = self.check(expr, scope)
        if found is None:
            return None
        fitted = as_element(found, kind) if isinstance(kind, Element) else found if found.type == kind else None
        if fitted is None:
            self.error(
                "GSM1203" if isinstance(kind, Element) else "GSM1206",
                f"{describe(kind)} is needed, `{found.span.text}` is {describe(found.type)}",
                found.span,
                describe(found.type),
                secondary=[*([because] if because is not None else []), *references.declaration_labels(self, found)],
            )
        return fitted

    def require_integer(self, typed: TypedExpr) -> bool:
        """Whether it is always an integer; reports if it may be fractional."""
        kind = numeric_type(typed)
        if kind is not None and kind.integer:
            return True
        self.error(
            "GSM1207",
            f"an integer is needed, `{typed.span.text}` may be fractional",
            typed.span,
            "may be fractional",
            secondary=references.declaration_labels(self, typed),
            help="declare it `integer`, or use `floor`, `ceil` or `round`",
        )
        return False

    def set_of(
        self, expr: tree.Expr, scope: Scope = EMPTY, expected: tuple[ValueType, ...] | None = None
    ) -> TypedSet | None:
        return sets.check_set(self, expr, scope, expected)

    def indexing(self, node: tree.Indexing | None, scope: Scope = EMPTY) -> tuple[TypedIndexing | None, Scope]:
        """The iterators and conditions of an index list. The scope is usable even when the typed index list is None."""
        return indexings.check_indexing(self, node, scope)

    def data_only(self, typed: TypedExpr, where: str) -> bool:
        """Whether no variable occurs; `where` completes the report (`the bound of x`, `a condition after where`)."""
        if self.decided or not typed.decision:
            return True
        part = first_decision(typed)
        name = part.name if part is not None else typed.span.text
        declared = self.symbols.span_of(name)
        what = "depends on variables" if isinstance(part, LetRef) else "is declared as a variable"
        self.error(
            "GSM1211",
            f"{where} must be data and cannot contain a variable",
            part.span if part is not None else typed.span,
            f"`{name}` is known only after the solve",
            secondary=[Place(declared, f"`{name}` {what}")] if declared is not None else [],
        )
        return False

    # --- expressions too small for a file of their own ---------------------------------------------------------------

    def _number(self, expr: tree.Number) -> TypedExpr | None:
        unit = unit_of(expr.unit, self.diagnostics) if expr.unit is not None else DIMENSIONLESS
        if unit is None:
            return None
        whole = expr.is_integer or float(expr.value).is_integer()
        return Constant(span=expr.span, type=Numeric(whole, unit), value=expr.value)

    def _unary(self, expr: tree.UnaryExpr, scope: Scope) -> TypedExpr | None:
        if expr.op == "not":
            return logic.check_not(self, expr, scope)
        typed = self.check(expr.operand, scope)
        if typed is None or not self.is_number(typed):
            return None
        kind = numeric_type(typed)
        assert kind is not None
        if expr.op == "+":
            return typed
        if isinstance(typed, Constant):
            return Constant(span=expr.span, type=kind, value=-typed.value)
        return Negate(span=expr.span, type=kind, decision=typed.decision, operand=typed)

    def _conditional(self, expr: tree.Conditional, scope: Scope) -> TypedExpr | None:
        condition = self.condition(expr.condition, scope)
        inner = scope.guard(indices_in(condition)) if condition is not None else scope
        then, otherwise = self.check(expr.then, inner), self.check(expr.otherwise, inner)
        if condition is None or then is None or otherwise is None:
            return None
        branches = alternatives(self, then, otherwise)
        if branches is None:
            return None
        then, otherwise, kind = branches
        decision = condition.decision or then.decision or otherwise.decision
        return IfThenElse(
            span=expr.span, type=kind, decision=decision, condition=condition, then=then, otherwise=otherwise
        )

    def _expectation(self, expr: tree.Expectation, scope: Scope) -> TypedExpr | None:
        inside = scope.expect()
        body = self.condition(expr.body, inside) if expr.op == "P" else self.check(expr.body, inside)
        given = self.condition(expr.given, inside) if expr.given is not None else None
        if body is None or (expr.given is not None and given is None) or not self.is_number(body):
            return None
        if given is not None and not self.data_only(given, "the condition after `given`"):
            return None
        kind = numeric_type(body)
        assert kind is not None
        unit = DIMENSIONLESS if expr.op == "P" else kind.unit
        return Expected(
            span=expr.span, type=Numeric(False, unit), decision=body.decision, op=expr.op, body=body, given=given
        )

    def _reject_tuple(self, expr: tree.TupleExpr, scope: Scope) -> None:
        for item in expr.items:
            self.check(item, scope)
        self.error(
            "GSM1216",
            "a tuple is used as a value",
            expr.span,
            "a tuple",
            help="write its parts separately, as in `x[j, v, g]`; tuples are allowed before `in` and in sets",
        )

    def _reject_set(self, expr: tree.Expr) -> None:
        self.error(
            "GSM1106",
            "a set is used as a value",
            expr.span,
            "a set",
            help="iterate over it, as in `sum[j in ...]`, or count its elements with `count(...)`",
        )
