"""References that leave a window: the state before its first slot must be carried, later slots are unknown.

A window moves on, so the slot before its first one is a slot that was executed. `(on[k, h-1] else was_on[k])` reads
there what `was_on` says: the truth if a `carry` writes it, what the scenario says of the very first slot if none does.
A rule that just leaves out the first slot is lost at every edge, unless another rule takes its place there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Reference, Seen, SlotReference, variables_in
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


def prove_edges(online: CheckedOnline, seen: Seen, diagnostics: Diagnostics) -> None:
    """Report GSM1642 to GSM1644 and GSM1656 for everything that constraints, objectives, `let`s and parameters read."""
    edges = _Edges(online, seen, diagnostics)
    for owner in seen.owners:
        edges.visit(owner.indexing, None)
        edges.visit(owner.body, None)
    for let in seen.used_lets:
        edges.visit(let.indexing, None)
        edges.visit(let.value, None)
    for variable in seen.model.variables.values():
        for bound in variable.bounds:
            edges.visit(bound.value, None)
    for param in seen.model.params.values():
        for value in (param.value, param.default):
            if value is not None:
                edges.visit(value, None)


@dataclass
class _Edges:
    online: CheckedOnline
    seen: Seen
    diagnostics: Diagnostics
    told: set[Span] = field(default_factory=set)

    def visit(self, part: Part, otherwise: TypedExpr | None) -> None:
        """Visit a part; `otherwise` is the alternative of a choice by the slot."""
        match part:
            case Fallback(reference=reference, fallback=fallback):
                self._reference(reference, fallback)
                for subscript in reference.subscripts:
                    self.visit(subscript, None)
                self.visit(fallback, None)
            case IfThenElse(condition=condition, then=then, otherwise=other) if self._chooses_slots(condition):
                self.visit(condition, None)
                self.visit(then, other)
                self.visit(other, then)
            case ParamRef() | VariableRef() | LetRef():
                if part.decision:  # data without an `else` that are not there are found when they are read
                    self._reference(part, otherwise)
                for subscript in part.subscripts:
                    self.visit(subscript, None)
            case _:
                for child in children(part):
                    self.visit(child, otherwise)

    def _chooses_slots(self, condition: TypedExpr) -> bool:
        return any(self.seen.is_first(p) for p in walk(condition))

    def _reference(self, reference: Reference, otherwise: TypedExpr | None) -> None:
        for subscript in self.seen.subscripts(reference):
            reach = self.seen.reach(subscript)
            if reach.base is None:
                if otherwise is None and not _at_an_end(subscript):
                    self._fixed(reference, subscript)
            elif reach.offset is None or reach.offset < 0:
                self._before(reference, reach, otherwise)
            elif reach.offset > 0:
                self._after(reference, otherwise)

    # --- before the window -------------------------------------------------------------------------------------------

    def _before(self, reference: Reference, reach: SlotReference, otherwise: TypedExpr | None) -> None:
        if otherwise is None:
            if self.anchored.isdisjoint(self.seen.families(reference)):
                self._lost(reference, "before")
            return
        if isinstance(otherwise, TypedExpr) and otherwise.decision:
            return  # another slot's value stands there, which is looked at by itself
        carried = self.seen.carried_in(otherwise)
        if not carried:
            self._not_carried(reference, otherwise)
        elif reach.offset != -1 and reference.decision and reach.base not in variables_in(otherwise):
            several = "several slots" if reach.offset is None else f"{-reach.offset} slots"
            self._tell(
                "GSM1643",
                f"`{reference.span.text}` refers to {several}, but `{otherwise.span.text}` is a single value",
                reference.span,
                "before the window",
                [Label(otherwise.span, "the same for every slot of the window")],
                help="also index the parameter by slots, and carry a value for each slot "
                "at the beginning of the window",
            )

    def _not_carried(self, reference: Reference, otherwise: TypedExpr) -> None:
        named = [p for p in walk(otherwise) if isinstance(p, ParamRef)]
        if named and reference.decision:
            names = " and ".join(f"`{n}`" for n in dict.fromkeys(p.name for p in named))
            self._tell(
                "GSM1642",
                f"{names} replaces `{reference.span.text}` before the window, but is not carried",
                otherwise.span,
                "value of the scenario, in every window",
                [Label(reference.span, "outside the window at its first slot")],
                help=f"add to the online block: `carry {named[0].span.text} = {self._executed(reference)};`",
            )
            return
        self._tell(
            "GSM1642",
            f"`{otherwise.span.text}` replaces `{reference.span.text}` before every window, not only the first",
            otherwise.span,
            "value of the scenario, in every window" if named else "the same in every window",
            [Label(reference.span, "outside the window at its first slot")],
            help="use a parameter that the online block carries, unless a restart in each window is intended",
            severity=Severity.WARNING,
        )

    def _executed(self, reference: Reference) -> str:
        """The reference at the last slot that was executed: `on[k, committed]`."""
        slots = self.seen.subscripts(reference)
        parts = ["committed" if any(s is p for p in slots) else s.span.text for s in reference.subscripts]
        return f"{reference.name}[{', '.join(parts)}]"

    @cached_property
    def anchored(self) -> frozenset[str]:
        """Return the variables that some rule reads in the first slot of a window, together with a carried value."""
        found: set[str] = set()
        for owner in self.seen.owners:
            parts = [p for whole in (owner.indexing, owner.body) for p in self.seen.expanded(whole)]
            if any(self._names_first(p) for p in parts) and self.seen.carried_in(owner.indexing, owner.body):
                found |= self.seen.families(owner.body)
        return frozenset(found)

    def _names_first(self, part: Part) -> bool:
        if isinstance(part, ComparisonChain):
            return "==" in part.ops and any(self.seen.is_first(o) for o in part.operands)
        return isinstance(part, VariableRef | LetRef) and any(self.seen.is_first(s) for s in part.subscripts)

    # --- after the window, and elsewhere -----------------------------------------------------------------------------

    def _after(self, reference: Reference, otherwise: TypedExpr | None) -> None:
        if otherwise is None:
            if self.anchored.isdisjoint(self.seen.families(reference)):
                self._lost(reference, "after")
            return
        self._tell(
            "GSM1644",
            f"`{reference.span.text}` reads the slot after the window, which is unknown",
            reference.span,
            f"at the last slot of every window: `{otherwise.span.text}`",
            help="if the two slots depend on each other, read the slot before instead, which is carried",
            severity=Severity.WARNING,
        )

    def _fixed(self, reference: Reference, subscript: TypedExpr) -> None:
        self._tell(
            "GSM1644",
            f"slot `{subscript.span.text}` may be outside the window",
            reference.span,
            "a fixed slot, but windows move",
            help=f"give a value for windows without it: `({reference.span.text} else ...)`",
            severity=Severity.WARNING,
        )

    def _lost(self, reference: Reference, side: str) -> None:
        edge, other = ("first", "before it") if side == "before" else ("last", "after it")
        self._tell(
            "GSM1656",
            f"the link of `{reference.span.text}` to the slot {side} is lost between windows",
            reference.span,
            f"the {edge} slot of a window is not linked to the slot {other}",
            help="give the value before the window, `(... else was)`, by a parameter that the online block carries",
        )

    def _tell(
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
        if span in self.told:
            return
        self.told.add(span)
        assert self.online.window is not None
        places = [*(secondary or []), Label(self.online.window.span, f"windows of `{self.online.name}`")]
        self.diagnostics.error(code, message, span, label, secondary=places, help=help, severity=severity)


def _at_an_end(subscript: TypedExpr) -> bool:
    """`first(Slots)`, `last(Slots)`: of a window, its own."""
    while isinstance(subscript, Shift):
        subscript = subscript.operand
    return isinstance(subscript, SetFunction)
