"""QuickXplain: a minimal set of groups that still has a property, by halving.

U. Junker: QUICKXPLAIN: Preferred explanations and relaxations for over-constrained problems, AAAI 2004. The property
must be monotone: what has it keeps it when elements are added (being infeasible, allowing an unbounded ray).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes


@dataclass(frozen=True, eq=False)
class Groups:
    """Elements in groups: group g is `members[starts[g]:starts[g+1]]`. Earlier groups are preferred in the answer."""

    members: Codes
    starts: Codes

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def between(self, low: int, high: int) -> Codes:
        """The members of groups `low .. high - 1`."""
        return self.members[self.starts[low] : self.starts[high]]

    @staticmethod
    def singles(members: Codes) -> Groups:
        return Groups(members, np.arange(len(members) + 1, dtype=np.int64))

    @staticmethod
    def by(labels: Codes, members: Codes) -> Groups:
        """Members with equal labels together, groups in the order of the labels."""
        order = np.argsort(labels, kind="stable")
        ends = np.flatnonzero(np.diff(labels[order])) + 1
        starts = np.concatenate(([0], ends, [len(members)])) if len(members) else np.zeros(1)
        return Groups(members[order], starts.astype(np.int64))


def quickxplain(suffices: Callable[[Bools], bool], background: Bools, groups: Groups) -> Bools:
    """The members of a minimal choice of groups that has the property together with `background`.

    `suffices(mask)` must only be true when that is certain. What it cannot decide makes the answer larger than need
    be, never wrong: all groups together with the background must have the property to begin with.
    """
    if not groups.count or suffices(background):
        return np.zeros(len(background), dtype=np.bool_)

    def search(kept: Bools, grown: bool, low: int, high: int) -> Bools:
        """Return the necessary members of groups `low .. high - 1` besides `kept`; `grown`: since the last call."""
        found = np.zeros(len(kept), dtype=np.bool_)
        if grown and suffices(kept):
            return found
        if high - low == 1:
            found[groups.between(low, high)] = True
            return found
        middle = (low + high) // 2
        with_first = kept.copy()
        with_first[groups.between(low, middle)] = True
        second = search(with_first, True, middle, high)
        first = search(kept | second, bool(second.any()), low, middle)
        return first | second

    return search(background, False, 0, groups.count)
