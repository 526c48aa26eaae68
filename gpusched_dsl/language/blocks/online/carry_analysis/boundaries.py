"""References that leave a window: the state before its first slot must be carried, later slots are unknown.

Windows move, so the slot before the first slot of a window was executed. There, `(on[k, h-1] else was_on[k])` reads
`was_on`: the executed state if a `carry` writes it, otherwise the initial state of the scenario. A rule that omits the
first slot is lost at every edge, unless another rule replaces it there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Reference, SlotReference, WindowView, variables_in
from gpusched_dsl.language.checked import (
    ComparisonChain,
    Fallback,
    IfThenElse,
    LetRef,
    ParamRef,
    SetFunction,
    Shift,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


def prove_edges(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report GSM1642 to GSM1644 and GSM1656 for everything that constraints, objectives, `let`s and parameters read."""
    edges = _Edges(online, view, diagnostics)
    for owner in view.owners:
        edges.visit(owner.indexing, None)
        edges.visit(owner.body, None)
    for let in view.used_lets:
        edges.visit(let.indexing, None)
        edges.visit(let.value, None)
    for variable in view.model.variables.values():
        for bound in variable.bounds:
            edges.visit(bound.value, None)
    for param in view.model.params.values():
        for value in (param.value, param.default):
            if value is not None:
                edges.visit(value, None)


@dataclass
class _Edges:
    online: CheckedOnline
    view: WindowView
    diagnostics: Diagnostics
    reported: set[Span] = field(default_factory=set)

    def visit(self, part: Part, otherwise: TypedExpr | None) -> None:
        """Visit a part; `otherwise` is the alternative of a choice by the slot."""
        match part:
            case Fallback(reference=reference, fallback=fallback):
                self._check_reference(reference, fallback)
                for subscript in reference.subscripts:
                    self.visit(subscript, None)
                self.visit(fallback, None)
            case IfThenElse(condition=condition, then=then, otherwise=other) if self._chooses_slots(condition):
                self.visit(condition, None)
                self.visit(then, other)
                self.visit(other, then)
            case ParamRef() | VariableRef() | LetRef():
                if part.decision:  # missing data without an `else` are reported when they are read
                    self._check_reference(part, otherwise)
                for subscript in part.subscripts:
                    self.visit(subscript, None)
            case _:
                for child in children(part):
                    self.visit(child, otherwise)

    def _chooses_slots(self, condition: TypedExpr) -> bool:
        return any(self.view.is_first(p) for p in walk(condition))

    def _check_reference(self, reference: Reference, otherwise: TypedExpr | None) -> None:
        for subscript in self.view.subscripts(reference):
            reach = self.view.reach(subscript)
            if reach.base is None:
                if otherwise is None and not _is_end_of_window(subscript):
                    self._report_fixed_slot(reference, subscript)
            elif reach.offset is None or reach.offset < 0:
                self._check_before(reference, reach, otherwise)
            elif reach.offset > 0:
                self._check_after(reference, otherwise)

    # --- before the window -------------------------------------------------------------------------------------------

    def _check_before(self, reference: Reference, reach: SlotReference, otherwise: TypedExpr | None) -> None:
        if otherwise is None:
            if self.anchored_variables.isdisjoint(self.view.families(reference)):
                self._report_lost_link(reference, "before")
            return
        if isinstance(otherwise, TypedExpr) and otherwise.decision:
            return  # the value of another slot, which is visited separately
        carried = self.view.carried_params(otherwise)
        if not carried:
            self._report_not_carried(reference, otherwise)
        elif reach.offset != -1 and reference.decision and reach.base not in variables_in(otherwise):
            several = "several slots" if reach.offset is None else f"{-reach.offset} slots"
            self._report(
                "GSM1643",
                f"`{reference.span.text}` refers to {several}, but `{otherwise.span.text}` is a single value",
                reference.span,
                "before the window",
                [Label(otherwise.span, "the same for every slot of the window")],
                help="also index the parameter by slots, and carry a value for each slot "
                "at the beginning of the window",
            )

    def _report_not_carried(self, reference: Reference, otherwise: TypedExpr) -> None:
        params = [p for p in walk(otherwise) if isinstance(p, ParamRef)]
        if params and reference.decision:
            names = " and ".join(f"`{n}`" for n in dict.fromkeys(p.name for p in params))
            self._report(
                "GSM1642",
                f"{names} replaces `{reference.span.text}` before the window, but is not carried",
                otherwise.span,
                "value of the scenario, in every window",
                [Label(reference.span, "outside the window at its first slot")],
                help=f"add to the online block: `carry {params[0].span.text} = {self._executed_reference(reference)};`",
            )
            return
        self._report(
            "GSM1642",
            f"`{otherwise.span.text}` replaces `{reference.span.text}` before every window, not only the first",
            otherwise.span,
            "value of the scenario, in every window" if params else "the same in every window",
            [Label(reference.span, "outside the window at its first slot")],
            help="use a parameter that the online block carries, unless a restart in each window is intended",
            severity=Severity.WARNING,
        )

    def _executed_reference(self, reference: Reference) -> str:
        """Return the reference at the last executed slot: `on[k, committed]`."""
        slots = self.view.subscripts(reference)
        parts = ["committed" if any(s is p for p in slots) else s.span.text for s in reference.subscripts]
        return f"{reference.name}[{', '.join(parts)}]"

    @cached_property
    def anchored_variables(self) -> frozenset[str]:
        """Return the variables that a rule reads in the first slot of a window, together with a carried value."""
        found: set[str] = set()
        for owner in self.view.owners:
            parts = [p for root in (owner.indexing, owner.body) for p in self.view.with_lets(root)]
            if any(self._names_first(p) for p in parts) and self.view.carried_params(owner.indexing, owner.body):
                found |= self.view.families(owner.body)
        return frozenset(found)

    def _names_first(self, part: Part) -> bool:
        if isinstance(part, ComparisonChain):
            return "==" in part.ops and any(self.view.is_first(o) for o in part.operands)
        return isinstance(part, VariableRef | LetRef) and any(self.view.is_first(s) for s in part.subscripts)

    # --- after the window, and elsewhere -----------------------------------------------------------------------------

    def _check_after(self, reference: Reference, otherwise: TypedExpr | None) -> None:
        if otherwise is None:
            if self.anchored_variables.isdisjoint(self.view.families(reference)):
                self._report_lost_link(reference, "after")
            return
        self._report(
            "GSM1644",
            f"`{reference.span.text}` reads the slot after the window, which is unknown",
            reference.span,
            f"at the last slot of every window: `{otherwise.span.text}`",
            help="if the two slots depend on each other, read the slot before instead, which is carried",
            severity=Severity.WARNING,
        )

    def _report_fixed_slot(self, reference: Reference, subscript: TypedExpr) -> None:
        self._report(
            "GSM1644",
            f"slot `{subscript.span.text}` may be outside the window",
            reference.span,
            "a fixed slot, but windows move",
            help=f"give a value for windows without it: `({reference.span.text} else ...)`",
            severity=Severity.WARNING,
        )

    def _report_lost_link(self, reference: Reference, side: str) -> None:
        edge, other = ("first", "before it") if side == "before" else ("last", "after it")
        self._report(
            "GSM1656",
            f"the link of `{reference.span.text}` to the slot {side} is lost between windows",
            reference.span,
            f"the {edge} slot of a window is not linked to the slot {other}",
            help="give the value before the window, `(... else was)`, by a parameter that the online block carries",
        )

    def _report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str,
        secondary: list[Label] | None = None,
        *,
        help: str,
        severity: Severity = Severity.ERROR,
    ) -> None:
        if span in self.reported:
            return
        self.reported.add(span)
        assert self.online.window is not None
        places = [*(secondary or []), Label(self.online.window.span, f"windows of `{self.online.name}`")]
        self.diagnostics.error(code, message, span, label, secondary=places, help=help, severity=severity)


def _is_end_of_window(subscript: TypedExpr) -> bool:
    """Whether a subscript is `first(Slots)` or `last(Slots)`: those of the window."""
    while isinstance(subscript, Shift):
        subscript = subscript.operand
    return isinstance(subscript, SetFunction)
