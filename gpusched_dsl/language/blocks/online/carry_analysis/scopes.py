"""Index lists with slots: their dependence on other slots, the decisions that they read, and reports about them."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass, field

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, WindowView, variables_in
from gpusched_dsl.language.checked import (
    ComparisonChain,
    IndexRef,
    IndexVar,
    LetRef,
    Reduction,
    TypedExpr,
    TypedIndexing,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


@dataclass(frozen=True, slots=True)
class ListedSlots:
    """The slots of an index list: `tied` are compared with another slot, `equal` equal one, others are `free`.

    `bounded` are the `tied` slots that a condition puts before or after another slot.
    """

    tied: frozenset[IndexVar]
    equal: frozenset[IndexVar]
    free: frozenset[IndexVar]
    bounded: frozenset[IndexVar]


def classify_slots(
    indexing: TypedIndexing, own_slots: tuple[IndexVar, ...], around: tuple[IndexVar, ...]
) -> ListedSlots:
    """Classify the slots of an index list by its conditions; `around` are the slots of outer lists."""
    tied: set[IndexVar] = set()
    equal: set[IndexVar] = set()
    bounded: set[IndexVar] = set()
    all_slots = frozenset((*own_slots, *around))
    for iterator in indexing.iterators:
        slots_of_iterator = frozenset(iterator.variables) & frozenset(own_slots)
        if len(slots_of_iterator) > 1 or (slots_of_iterator and variables_in(iterator.domain) & all_slots):
            tied |= slots_of_iterator
    for condition in indexing.conditions:
        mentioned = variables_in(condition) & all_slots
        if len(mentioned) < 2:
            continue
        mentioned &= frozenset(own_slots)
        compares = isinstance(condition, ComparisonChain)
        same = isinstance(condition, ComparisonChain) and set(condition.ops) == {"=="}
        if same and all(isinstance(p, IndexRef) for p in children(condition)):
            equal |= mentioned
        else:
            tied |= mentioned
            bounded |= mentioned if compares and not same else set()
    tied -= equal
    return ListedSlots(frozenset(tied), frozenset(equal), frozenset(own_slots) - tied - equal, frozenset(bounded))


def slots_of_decisions(expr: TypedExpr, slots: frozenset[IndexVar]) -> frozenset[IndexVar]:
    """Return the given slots for which an expression reads decisions."""
    found: frozenset[IndexVar] = frozenset()
    for part in walk(expr):
        if isinstance(part, VariableRef | LetRef) and part.decision:
            found |= frozenset().union(*(variables_in(s) for s in part.subscripts)) & slots
    return found


def scopes(
    view: WindowView, expr: TypedExpr, outer: tuple[IndexVar, ...]
) -> Iterates[tuple[Reduction, tuple[IndexVar, ...]]]:
    """Yield every aggregate with the slots of outer lists, also in `let`s (with their own slots)."""
    waiting: list[tuple[Part, tuple[IndexVar, ...]]] = [(expr, outer)]
    visited_lets: set[str] = set()
    while waiting:
        part, around = waiting.pop()
        if isinstance(part, Reduction):
            yield part, around
            around = (*around, *view.slot_variables(part.indexing))
        elif isinstance(part, LetRef) and part.name not in visited_lets:
            visited_lets.add(part.name)
            let = view.model.lets[part.name]
            waiting.append((let.value, view.slot_variables(let.indexing)))
        waiting += [(child, around) for child in children(part)]


@dataclass
class RowReporter:
    """Reports each row once per code, with the place of the window."""

    online: CheckedOnline
    diagnostics: Diagnostics
    reported: set[tuple[str, Span]] = field(default_factory=set)

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str,
        owner: Owner | None,
        *,
        help: str,
        severity: Severity,
        once: str = "",
    ) -> None:
        key = (code + once, self.online.span if once else span if owner is None else owner.span)
        if key in self.reported:
            return
        self.reported.add(key)
        assert self.online.window is not None
        places = [Label(self.online.window.span, f"windows of `{self.online.name}`")]
        if owner is not None and owner.span != span:
            places.insert(0, Label(owner.span, f"`{owner.name}` is stated here"))
        self.diagnostics.error(code, message, span, label, secondary=places, help=help, severity=severity)
