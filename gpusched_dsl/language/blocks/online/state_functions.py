"""`previous(p[t])` and `executed(rate)` in `carry`: values that accumulate from plan to plan; GSM1681."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Executed, Numeric, ParamRef, TypedExpr
from gpusched_dsl.language.checked_online import CLOCK, previous_name
from gpusched_dsl.language.checking import Scope
from gpusched_dsl.language.checking.conversion import fit, unit_in
from gpusched_dsl.language.checking.protocol import Checker, GivenFunction
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import Unit

PREVIOUS, EXECUTED = "previous", "executed"


class StateFunctions(Struct, frozen=True):
    """The functions of `carry`.

    `carried` are the parameters with a `carry`. `time` is the unit over which rates are integrated, None for the
    amounts of a window.
    """

    carried: Collection[str]
    time: Unit | None

    def by_name(self) -> Mapping[str, GivenFunction]:
        return {PREVIOUS: self.previous, EXECUTED: self.executed}

    def previous(self, checker: Checker, call: tree.Call, scope: Scope) -> TypedExpr | None:
        """The value of a carried parameter in the last plan: a reference to `previous(p)`."""
        argument = call.arguments[0] if len(call.arguments) == 1 and not call.named else None
        if not isinstance(argument, tree.Name | tree.Subscript):
            span, label = (call.span, "no parameter") if argument is None else (argument.span, "not a parameter")
            message = "`previous` needs one carried parameter, with its subscripts"
            _refuse(checker, message, span, label, "write `previous(used[t])`")
            return None
        name = argument.text if isinstance(argument, tree.Name) else argument.name.text
        if name in checker.symbols.poisoned:
            return None
        if name not in self.carried:
            message = f"`{name}` has no `carry` in this block, so it has no value of the last plan"
            help = did_you_mean(name, self.carried) or f"carry it as well, or read `{name}` itself"
            _refuse(checker, message, argument.span, "not carried", help)
            return None
        again: tree.Expr
        if isinstance(argument, tree.Name):
            again = structs.replace(argument, text=previous_name(name))
        else:
            again = structs.replace(argument, name=structs.replace(argument.name, text=previous_name(name)))
        return checker.check(again, scope)

    def executed(self, checker: Checker, call: tree.Call, scope: Scope) -> TypedExpr | None:
        """The integral of a rate since the last plan, or an amount for the slots executed since then."""
        if len(call.arguments) not in (1, 2) or call.named:
            message = "`executed` needs one expression, and a half-life if it decays"
            _refuse(checker, message, call.span, "", "write `executed(rate)`, or `executed(rate, half_life)`")
            return None
        body = checker.number(call.arguments[0], scope)
        if body is None:
            return None
        for part in walk(body):
            known = isinstance(part, ParamRef) and (part.name in CLOCK or part.name.startswith(f"{PREVIOUS}("))
            if isinstance(part, TypedExpr) and (known or isinstance(part, Executed)):
                message = f"`{part.span.text}` is known at the plan only, not at each moment before it"
                help = "move it out of `executed(...)`, which reads decisions and data"
                _refuse(checker, message, part.span, "within `executed`", help)
                return None
        unit = unit_in(body) if self.time is None else unit_in(body) * self.time
        half_life = None
        if len(call.arguments) == 2:
            half_life = self._half_life(checker, call.arguments[1], scope)
            if half_life is None:
                return None
        return Executed(span=call.span, type=Numeric(False, unit), body=body, half_life=half_life)

    def _half_life(self, checker: Checker, given: tree.Expr, scope: Scope) -> TypedExpr | None:
        """The half-life of an integral, of data, in the unit of the clock."""
        if self.time is None:
            message = "with a window, `executed` is an amount for slots, not an integral that decays"
            help = "slots are planned without gaps: write `previous(...) * 0.5^(elapsed / half_life) + executed(...)`"
            _refuse(checker, message, given.span, "half-life", help)
            return None
        typed = checker.number(given, scope)
        if typed is None or not checker.data_only(typed, "the half-life of `executed`"):
            return None
        return fit(checker, typed, self.time)


def _refuse(checker: Checker, message: str, span: Span, label: str, help: str) -> None:
    checker.error("GSM1681", message, span, label, help=help)
