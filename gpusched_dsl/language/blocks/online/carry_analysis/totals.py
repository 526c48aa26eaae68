"""Totals over all slots: a window has only its own slots, but every window must satisfy the complete total.

`sum[h in Slots] train[b, h] >= epochs[b]` requires all epochs in every window, unless `epochs` is the remaining number.
A demand that is not tracked is an error: all work is repeated. A limit may apply to each window: it is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass
from itertools import pairwise

from gpusched_dsl.language.blocks.online.carry_analysis.scopes import (
    RowReporter,
    classify_slots,
    scopes,
    slots_of_decisions,
)
from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, WindowView
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Constant,
    Fallback,
    Function,
    IfThenElse,
    IndexVar,
    LetRef,
    Logic,
    Negate,
    Ordinal,
    Reduction,
    SetFunction,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

_OPPOSITE = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}


def prove_totals(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report GSM1646."""
    totals = _Totals(view, RowReporter(online, diagnostics))
    for owner in view.owners:
        if owner.constraint:
            totals.check_budgets(owner)
        else:
            totals.check_peaks(owner)


@dataclass(frozen=True, slots=True)
class Total:
    """An aggregate over all slots; `sign` is its sign in the row (None: unknown), `span` its place in the row."""

    op: str
    sign: int | None
    span: Span
    expr: Reduction


@dataclass
class _Totals:
    view: WindowView
    reporter: RowReporter

    def check_budgets(self, owner: Owner) -> None:
        if self.view.carried_params(owner.indexing, owner.body, edges=False):
            return
        around = self.view.slot_variables(owner.indexing)
        for comparison, sure in _comparisons(owner.body):
            if isinstance(comparison, Reduction) and self._is_total(comparison, around):
                self._check_budget(owner, Total("any", 1, comparison.span, comparison), ">=", comparison, sure)
            if not isinstance(comparison, ComparisonChain):
                continue
            for (left, right), op in zip(pairwise(comparison.operands), comparison.ops, strict=True):
                found = [*self._totals(left, 1, around), *self._totals(right, -1, around)]
                for total in found:
                    self._check_budget(owner, total, op, comparison, sure)

    def _check_budget(self, owner: Owner, total: Total, op: str, row: TypedExpr, sure: bool) -> None:
        if total.sign is not None and total.sign < 0:
            op = _OPPOSITE[op]
        demand, cap = op in (">=", ">") and total.sign is not None, op in ("<=", "<") and total.sign is not None
        if (total.op == "max" and cap) or (total.op == "min" and demand):
            return  # equivalent to a rule for each slot
        scaled, plain, defines = self._is_scaled(row), self._compares_totals_only(row), _defines(row)
        if (cap and scaled) or (demand and defines):
            return
        certain = not cap and sure and not scaled and not plain and not defines and total.sign is not None
        what = (
            "requires the complete amount in every window" if not cap else "allows the complete amount in every window"
        )
        self.reporter.report(
            "GSM1646",
            f"constraint `{owner.name}` {what}: its total over all slots is not tracked",
            total.span,
            "of the slots of one window",
            owner,
            help="compare it with a carried parameter that is the remaining amount: "
            "`carry epochs[b] = epochs[b] - done[b];`",
            severity=Severity.ERROR if certain else Severity.WARNING,
        )

    def _totals(self, expr: TypedExpr, sign: int | None, around: tuple[IndexVar, ...]) -> Iterates[Total]:
        """Yield the aggregates over all slots in an expression, with their signs."""
        parts: list[tuple[TypedExpr, int | None]] = []
        opposite = None if sign is None else -sign
        match expr:
            case Arithmetic(op="+" | "-" as op, left=left, right=right):
                parts = [(left, sign), (right, sign if op == "+" else opposite)]
            case Arithmetic(op=op, left=left, right=right):
                factor_sign = opposite if _is_negative(left) or _is_negative(right) else sign
                parts = [(left, factor_sign), (right, factor_sign if op == "*" else None)]
            case Negate(operand=operand):
                parts = [(operand, opposite)]
            case IfThenElse(then=then, otherwise=otherwise):
                parts = [(then, sign), (otherwise, sign)]
            case Fallback(reference=reference):
                parts = [(reference, sign)]
            case Function(name=name, arguments=arguments):
                parts = [(a, sign if name in ("min", "max") else None) for a in arguments]
            case LetRef(name=name):
                let = self.view.model.lets[name]
                for total in self._totals(let.value, sign, self.view.slot_variables(let.indexing)):
                    yield Total(total.op, total.sign, expr.span, total.expr)
            case Reduction(op=op, body=body):
                if self._is_total(expr, around):
                    yield Total(op, sign, expr.span, expr)
                else:
                    around = (*around, *self.view.slot_variables(expr.indexing))
                    parts = [(body, sign if op in ("sum", "min", "max") else None)]
        for part, part_sign in parts:
            yield from self._totals(part, part_sign, around)

    def _is_total(self, expr: Reduction, around: tuple[IndexVar, ...]) -> bool:
        """Whether an aggregate covers all slots and reads decisions of them."""
        own_slots = self.view.slot_variables(expr.indexing)
        return bool(slots_of_decisions(expr.body, classify_slots(expr.indexing, own_slots, around).free))

    def _is_scaled(self, row: TypedExpr) -> bool:
        """Whether the row also counts or sums data of the slots, so that it concerns the complete window."""
        for part in self.view.with_lets(row):
            if isinstance(part, Reduction) and not part.decision and self.view.slot_variables(part.indexing):
                return True
            match part:
                case Ordinal(domain=domain) | SetFunction(name="count", domain=domain):
                    if any(self.view.positions(domain)):
                        return True
        return False

    def _compares_totals_only(self, row: TypedExpr) -> bool:
        """Whether the row compares totals only with 0 and with each other."""
        waiting: list[TypedExpr] = [row]
        while waiting:
            expr = waiting.pop()
            match expr:
                case ComparisonChain(operands=operands):
                    waiting += operands
                case Arithmetic(op="+" | "-", left=left, right=right):
                    waiting += [left, right]
                case Constant(value=0):
                    pass
                case Reduction(op="sum") if self._is_total(expr, ()):
                    pass
                case LetRef(name=name) if expr.decision:
                    waiting.append(self.view.model.lets[name].value)
                case _:
                    return False
        return True

    def check_peaks(self, owner: Owner) -> None:
        """Check terms that charge the largest value of all slots."""
        if self.view.carried_params(owner.body, edges=False):
            return
        for part, around in scopes(self.view, owner.body, ()):
            if part.op in ("max", "min") and self._is_total(part, around):
                self.reporter.report(
                    "GSM1646",
                    f"term `{owner.name}` concerns the complete horizon, but each window has only its own slots",
                    part.span,
                    f"the {'largest' if part.op == 'max' else 'smallest'} value of one window",
                    owner,
                    help="compare it with a carried parameter, such as the peak so far",
                    severity=Severity.WARNING,
                )


def _comparisons(expr: TypedExpr) -> Iterates[tuple[TypedExpr, bool]]:
    """Return the comparisons and the `any` of a condition, and whether each is implied by the condition."""
    waiting: list[tuple[TypedExpr, bool]] = [(expr, True)]
    while waiting:
        part, sure = waiting.pop()
        match part:
            case ComparisonChain() | Reduction(op="any"):
                yield part, sure
            case Reduction(op="all", body=body):
                waiting.append((body, sure))
            case Logic(op="and", operands=operands):
                waiting += [(o, sure) for o in operands]
            case Logic(op="=>", operands=(condition, conclusion)):
                waiting += [(condition, False), (conclusion, sure)]
            case Logic(operands=operands):
                waiting += [(o, False) for o in operands]
            case IfThenElse(then=then, otherwise=otherwise):
                waiting += [(then, sure), (otherwise, sure)]


def _defines(row: TypedExpr) -> bool:
    """Whether a row defines a variable, or bounds it above or below."""
    return isinstance(row, ComparisonChain) and any(isinstance(o, VariableRef) for o in row.operands)


def _is_negative(expr: TypedExpr) -> bool:
    return isinstance(expr, Negate) or (isinstance(expr, Constant) and expr.value < 0)
