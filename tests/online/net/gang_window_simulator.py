"""The simulator for gangs with a window, from online.md, language.md#gangs and state.md alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gang_windows import GangWindowCase
from state_window_simulator import StateWindowSimulation, Train
from window_simulator import Running


class GangWindowSimulation(StateWindowSimulation):
    """A run to its end. A place is the workers on each node, sorted by node."""

    case: GangWindowCase

    def places(self, slot: int, there: set[int]) -> dict[int, Any]:
        """Gangs of which all nodes are up: others are skipped in this slot."""
        planned: dict[int, list[tuple[int, int]]] = {}
        for (j, k, h), count in self.train.items():
            if h == slot:
                planned.setdefault(j, []).append((k, count))
        where = {
            j: tuple(sorted(place)) for j, place in planned.items() if j in there and all(self.up[k] for k, _ in place)
        }
        self.skip({(j, k, slot) for j, place in planned.items() if j not in where for k, _ in place})
        return where

    def nodes_at(self, place: Any) -> set[int]:
        return {k for k, _ in place}

    def move(self, before: Any, after: Any) -> str:
        return "resize" if self.nodes_at(before) == self.nodes_at(after) else "migration"

    def pace_at(self, place: Any) -> float:
        nodes = self.nodes_at(place)
        return min(self.case.nodes[k].pace for k in nodes) / self.case.factor(nodes)

    def fits(self, now: dict[tuple[int, int], int]) -> bool:
        used: Counter[int] = Counter()
        workers: Counter[int] = Counter()
        for (j, k), count in now.items():
            used[k] += count
            workers[j] += count
        case = self.case
        all_or_none = all(count == case.workers[j] for j, count in workers.items())
        return all_or_none and all(count <= case.rooms[k] for k, count in used.items())

    def done_by(self, j: int, train: Train, slots: range) -> float:
        spreads = [{k for i, k, h in train if (i, h) == (j, slot)} for slot in slots]
        return sum(1 / self.case.factor(nodes) for nodes in spreads if nodes)

    def ways(self, one: Running) -> list[list[tuple[tuple[int, int], int]]]:
        up = [k for k, is_up in enumerate(self.up) if is_up]
        spreads = self.case.spreads(one.number, up)
        return [[], *([((one.number, k), count) for k, count in spread.items()] for spread in spreads)]
