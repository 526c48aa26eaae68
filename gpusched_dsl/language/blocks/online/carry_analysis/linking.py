"""Rules over several slots, which need the slots before the window, and decisions for all slots; both need carries.

`sum[q in Slots where h - 3 < q and q <= h] starts[k, q] <= on[k, h]` keeps a node on for three slots; cut off at the
edge of a window, it ignores nodes that were started before. The rest of such a rule must be carried, and a rule for the
first slots must read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpusched_dsl.language.blocks.online.carry_analysis.scopes import (
    RowReporter,
    classify_slots,
    scopes,
    slots_of_decisions,
)
from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, WindowView
from gpusched_dsl.language.checked import CheckedParam, NamedSet, VariableRef
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


def prove_links(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report GSM1645 (rules over several slots) and GSM1653 (decisions for all slots)."""
    ties = _Links(online, view, RowReporter(online, diagnostics))
    for owner in view.owners:
        ties.check_links(owner)
        if owner.constraint:
            ties.check_slotless_variables(owner)
    for param in view.model.params.values():
        ties.check_counts(param)


@dataclass
class _Links:
    online: CheckedOnline
    view: WindowView
    reporter: RowReporter

    def check_links(self, owner: Owner) -> None:
        """Check aggregates over slots near another slot, and rows for pairs of slots."""
        if self.view.carried_params(owner.indexing, owner.body, edges=False):
            return
        if self.carried_families & self.view.families(owner.body):
            return
        outer = self.view.slot_variables(owner.indexing)
        pairs = frozenset(outer) - classify_slots(owner.indexing, outer, ()).equal
        if len(slots_of_decisions(owner.body, pairs)) > 1:
            self._report_cut(owner, owner.span)
        for part, around in scopes(self.view, owner.body, outer):
            own_slots = self.view.slot_variables(part.indexing)
            if slots_of_decisions(part.body, classify_slots(part.indexing, own_slots, around).tied):
                self._report_cut(owner, part.span)

    def _report_cut(self, owner: Owner, span: Span) -> None:
        what = f"constraint `{owner.name}`" if owner.constraint else f"term `{owner.name}`"
        self.reporter.report(
            "GSM1645",
            f"{what} links several slots, and its part before the window is lost",
            span,
            "cut off at the edge of every window",
            owner,
            help="carry the rest of it, and read the rest in the first slots: `carry hours_to_stay[k] = ...;`",
            severity=Severity.ERROR if owner.constraint else Severity.WARNING,
        )

    @cached_property
    def carried_families(self) -> frozenset[str]:
        """Return the variables that a rule links slot by slot to a carried value, except by the previous slot."""
        found: set[str] = set()
        for owner in self.view.owners:
            by_slot = owner.constraint and self.view.slot_variables(owner.indexing)
            if by_slot and self.view.carried_params(owner.indexing, owner.body, edges=False):
                found |= self.view.families(owner.body)
        return frozenset(found)

    def check_counts(self, param: CheckedParam) -> None:
        """Check derived parameters that count or sum the slots before another slot."""
        if param.value is None or self.view.carried_params(param.value) or self._refers_to_earlier_slots(param.value):
            return
        for part, around in scopes(self.view, param.value, self.view.slot_variables(param.indexing)):
            if classify_slots(part.indexing, self.view.slot_variables(part.indexing), around).bounded:
                self.reporter.report(
                    "GSM1645",
                    f"`{param.name}` counts only from the beginning of each window",
                    part.span,
                    "slots before the window do not exist",
                    None,
                    help="use the labels of the slots, or also count the slots before `first(...)`",
                    severity=Severity.WARNING,
                )

    def _refers_to_earlier_slots(self, part: Part) -> bool:
        """Whether a rule refers to the time before the first slot of the window."""
        sets = [self.view.model.sets[p.name].value for p in walk(part) if isinstance(p, NamedSet)]
        return any(self.view.is_first(p) for root in (part, *sets) if root is not None for p in walk(root))

    def check_slotless_variables(self, owner: Owner) -> None:
        """Check variables without a slot in rows of single slots."""
        if not self.view.slot_variables(owner.indexing):
            return
        carried = frozenset().union(*(self.view.families(c.value) for c in self.online.carries))
        variables = [p for p in self.view.with_lets(owner.body) if isinstance(p, VariableRef)]
        if not any(self.view.subscripts(p) for p in variables):
            return
        for part in variables:
            if not self.view.subscripts(part) and part.name not in carried and self._is_slotless(part.name):
                self.reporter.report(
                    "GSM1653",
                    f"`{part.name}` is one decision for all slots, but every window decides it again",
                    part.span,
                    "the last plan's value is forgotten",
                    None,
                    help=f"carry the decision, and constrain the next plan by it: `carry was = {part.span.text};`",
                    severity=Severity.WARNING,
                    once=part.name,
                )

    def _is_slotless(self, name: str) -> bool:
        return not self.view.slot_variables(self.view.model.variables[name].indexing)
