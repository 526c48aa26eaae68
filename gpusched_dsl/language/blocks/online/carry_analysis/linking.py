"""Rules over several slots, which need the slots before the window, and decisions for all slots, which must be carried.

`sum[q in Slots where h - 3 < q and q <= h] starts[k, q] <= on[k, h]` keeps a node on for three slots; cut off at
the edge of a window it forgets the nodes that have just been started. What is left of such a rule must be carried, and
read by a rule for the first slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpusched_dsl.language.blocks.online.carry_analysis.scopes import RowReporter, decided_slots, listed_slots, scopes
from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, Seen
from gpusched_dsl.language.checked import CheckedParam, NamedSet, VariableRef
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


def prove_ties(online: CheckedOnline, seen: Seen, diagnostics: Diagnostics) -> None:
    """Reports GSM1645 (rules over several slots) and GSM1653 (decisions for all slots)."""
    ties = _Ties(online, seen, RowReporter(online, diagnostics))
    for owner in seen.owners:
        ties.ties(owner)
        if owner.constraint:
            ties.lasting(owner)
    for param in seen.model.params.values():
        ties.counted(param)


@dataclass
class _Ties:
    online: CheckedOnline
    seen: Seen
    teller: RowReporter

    def ties(self, owner: Owner) -> None:
        """Aggregates over slots near another slot, and rows for pairs of slots."""
        if self.seen.carried_in(owner.indexing, owner.body, edges=False):
            return
        if self.tracked & self.seen.families(owner.body):
            return
        outer = self.seen.bound(owner.indexing)
        pairs = frozenset(outer) - listed_slots(owner.indexing, outer, ()).equal
        if len(decided_slots(owner.body, pairs)) > 1:
            self._cut(owner, owner.span)
        for part, around in scopes(self.seen, owner.body, outer):
            own = self.seen.bound(part.indexing)
            if decided_slots(part.body, listed_slots(part.indexing, own, around).tied):
                self._cut(owner, part.span)

    def _cut(self, owner: Owner, span: Span) -> None:
        what = f"constraint `{owner.name}`" if owner.constraint else f"term `{owner.name}`"
        self.teller.tell(
            "GSM1645",
            f"{what} links several slots, and its part before the window is lost",
            span,
            "cut off at the edge of every window",
            owner,
            help="carry the rest of it, and read the rest in the first slots: `carry hours_to_stay[k] = ...;`",
            severity=Severity.ERROR if owner.constraint else Severity.WARNING,
        )

    @cached_property
    def tracked(self) -> frozenset[str]:
        """Return variables that some rule links slot by slot to a carried value, other than by the previous slot."""
        found: set[str] = set()
        for owner in self.seen.owners:
            by_slot = owner.constraint and self.seen.bound(owner.indexing)
            if by_slot and self.seen.carried_in(owner.indexing, owner.body, edges=False):
                found |= self.seen.families(owner.body)
        return frozenset(found)

    def counted(self, param: CheckedParam) -> None:
        """Derived parameters that count or add up the slots until another one."""
        if param.value is None or self.seen.carried_in(param.value) or self._knows_before(param.value):
            return
        for part, around in scopes(self.seen, param.value, self.seen.bound(param.indexing)):
            if listed_slots(part.indexing, self.seen.bound(part.indexing), around).bounded:
                self.teller.tell(
                    "GSM1645",
                    f"`{param.name}` counts only from the beginning of each window",
                    part.span,
                    "slots before the window do not exist",
                    None,
                    help="use the labels of the slots, or also count the slots before `first(...)`",
                    severity=Severity.WARNING,
                )

    def _knows_before(self, part: Part) -> bool:
        """Whether a rule refers to the time before the first slot of the window."""
        sets = [self.seen.model.sets[p.name].value for p in walk(part) if isinstance(p, NamedSet)]
        return any(self.seen.is_first(p) for whole in (part, *sets) if whole is not None for p in walk(whole))

    def lasting(self, owner: Owner) -> None:
        """Variables without a slot that rows of single slots read."""
        if not self.seen.bound(owner.indexing):
            return
        kept = frozenset().union(*(self.seen.families(c.value) for c in self.online.carries))
        own = [p for p in self.seen.expanded(owner.body) if isinstance(p, VariableRef)]
        if not any(self.seen.subscripts(p) for p in own):
            return
        for part in own:
            if not self.seen.subscripts(part) and part.name not in kept and self._of_no_slot(part.name):
                self.teller.tell(
                    "GSM1653",
                    f"`{part.name}` is one decision for all slots, but every window decides it again",
                    part.span,
                    "the last plan's value is forgotten",
                    None,
                    help=f"carry the decision, and constrain the next plan by it: `carry was = {part.span.text};`",
                    severity=Severity.WARNING,
                    once=part.name,
                )

    def _of_no_slot(self, name: str) -> bool:
        return not self.seen.bound(self.seen.model.variables[name].indexing)
