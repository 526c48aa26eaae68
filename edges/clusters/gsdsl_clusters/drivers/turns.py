"""Turns of jobs that may not run everywhere, for models that do not know on which nodes a job may run.

The jobs that may run on one set of nodes arrive together, while the plan gets no further GPUs of the other nodes.
Whatever it does not place leaves again, and the next set has its turn. When something has changed, all have their turns
again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

NodeSet = frozenset[str]


@dataclass
class NodeSetTurns:
    """`on_turn` are the jobs whose turn it is."""

    on_turn: frozenset[str] = frozenset()
    _had: dict[NodeSet, frozenset[str]] = field(default_factory=dict)  # the jobs of each set when it had its turn
    _number: int = 0
    _latest: dict[NodeSet, int] = field(default_factory=dict)  # the number of the last turn of each set

    def begin_again(self) -> None:
        """Something has changed: all sets may have room now."""
        self._had = {}

    def end(self) -> Collection[str]:
        """End the turn; return its jobs."""
        ended, self.on_turn = self.on_turn, frozenset()
        return ended

    def choose(self, groups: Mapping[NodeSet, Sequence[str]]) -> NodeSet | None:
        """Begin the turn of the next set of nodes that has jobs which had none since the last change, if there is one.

        The set that has waited longest comes first, also where something changes before all have had their turns.
        """
        self._latest = {nodes: number for nodes, number in self._latest.items() if nodes in groups}
        due = [nodes for nodes, jobs in groups.items() if nodes and not set(jobs) <= self._had.get(nodes, frozenset())]
        if not due:
            return None
        chosen = min(due, key=lambda nodes: self._latest.get(nodes, 0))
        self._number += 1
        self._latest[chosen] = self._number
        self.on_turn = frozenset(groups[chosen])
        self._had[chosen] = self.on_turn | self._had.get(chosen, frozenset())
        return chosen
