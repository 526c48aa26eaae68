"""Index lists with slots: their dependence on other slots, the decisions that they read, and reports about them."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass, field

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, Seen, variables_in
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
class Listed:
    """The slots of an index list: compared with another slot, the same as another slot, and free.

    Those of `tied` that a condition by itself puts before or after another slot are `bounded`.
    """

    tied: frozenset[IndexVar]
    equal: frozenset[IndexVar]
    free: frozenset[IndexVar]
    bounded: frozenset[IndexVar]


def listed_slots(indexing: TypedIndexing, own: tuple[IndexVar, ...], around: tuple[IndexVar, ...]) -> Listed:
    """Return the conditions of an index list on its own slots, and on those bound around it."""
    tied: set[IndexVar] = set()
    equal: set[IndexVar] = set()
    bounded: set[IndexVar] = set()
    all_slots = frozenset((*own, *around))
    for iterator in indexing.iterators:
        mine = frozenset(iterator.variables) & frozenset(own)
        if len(mine) > 1 or (mine and variables_in(iterator.domain) & all_slots):
            tied |= mine
    for condition in indexing.conditions:
        mentioned = variables_in(condition) & all_slots
        if len(mentioned) < 2:
            continue
        mentioned &= frozenset(own)
        compares = isinstance(condition, ComparisonChain)
        same = isinstance(condition, ComparisonChain) and set(condition.ops) == {"=="}
        if same and all(isinstance(p, IndexRef) for p in children(condition)):
            equal |= mentioned
        else:
            tied |= mentioned
            bounded |= mentioned if compares and not same else set()
    tied -= equal
    return Listed(frozenset(tied), frozenset(equal), frozenset(own) - tied - equal, frozenset(bounded))


def decided_slots(expr: TypedExpr, slots: frozenset[IndexVar]) -> frozenset[IndexVar]:
    """Those of some slots for which an expression reads decisions."""
    found: frozenset[IndexVar] = frozenset()
    for part in walk(expr):
        if isinstance(part, VariableRef | LetRef) and part.decision:
            found |= frozenset().union(*(variables_in(s) for s in part.subscripts)) & slots
    return found


def scopes(
    seen: Seen, expr: TypedExpr, outer: tuple[IndexVar, ...]
) -> Iterates[tuple[Reduction, tuple[IndexVar, ...]]]:
    """Return every aggregate with the slots that are bound around it, also in `let`s (with their own slots)."""
    waiting: list[tuple[Part, tuple[IndexVar, ...]]] = [(expr, outer)]
    told: set[str] = set()
    while waiting:
        part, around = waiting.pop()
        if isinstance(part, Reduction):
            yield part, around
            around = (*around, *seen.bound(part.indexing))
        elif isinstance(part, LetRef) and part.name not in told:
            told.add(part.name)
            let = seen.model.lets[part.name]
            waiting.append((let.value, seen.bound(let.indexing)))
        waiting += [(child, around) for child in children(part)]


@dataclass
class RowReporter:
    """Reports each row once per code, with the place of the window."""

    online: CheckedOnline
    diagnostics: Diagnostics
    told: set[tuple[str, Span]] = field(default_factory=set)

    def tell(
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
        if key in self.told:
            return
        self.told.add(key)
        assert self.online.window is not None
        places = [Label(self.online.window.span, f"windows of `{self.online.name}`")]
        if owner is not None and owner.span != span:
            places.insert(0, Label(owner.span, f"`{owner.name}` is stated here"))
        self.diagnostics.error(code, message, span, label, secondary=places, help=help, severity=severity)
