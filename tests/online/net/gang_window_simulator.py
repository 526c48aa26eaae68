"""The simulator for gangs with a window, from online.md, language.md#gangs and state.md alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from gang_windows import RACKS, GangWindowCase
from state_window_simulator import SMALL, StateWindowSimulation, Train
from window_simulator import Running


class GangWindowSimulation(StateWindowSimulation):
    """A run to its end. A place is the workers on each node, sorted by node."""

    case: GangWindowCase

    def places(self, slot: int, there: set[int]) -> dict[int, Any]:
        """Gangs whose nodes are all up: others are skipped in this slot."""
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

    # --- the policy --------------------------------------------------------------------------------------------------

    def refuted(self, train: Train, slots: range, there: list[Running], objective: float | None) -> list[str]:
        if self.case.method == "highs":
            return super().refuted(train, slots, there, objective)
        taken: Train = {}
        for one in sorted(there, key=lambda one: (-one.job.price, one.number)):
            own = {key: count for key, count in train.items() if key[0] == one.number}
            found = self.candidates(one, slots, taken)
            least = min(found, default=None)
            key = (self.key(own), len({h for _, _, h in own})) if own else None
            if (least is None) != (key is None) or (
                least and key and not math.isclose(least[0], key[0], rel_tol=SMALL)
            ):
                return [
                    f"j{one.number} has {own}, of key {key}, not {least}; work {one.job.length - one.done}, {taken}"
                ]
            taken |= own
        return []

    def key(self, train: Train) -> float:
        return sum(self.tariff[h] * self.case.nodes[k].power * count for (_, k, h), count in train.items())

    def candidates(self, one: Running, slots: range, taken: Train) -> list[tuple[float, int]]:
        """The key and the number of slots of each candidate of a gang."""
        case, found = self.case, []
        up = [k for k, is_up in enumerate(self.up) if is_up]
        racks = [[k for k in up if case.racks[k] == rack] for rack in RACKS]
        work = max(one.job.length - one.done, 0.0)
        for nodes in [*([k] for k in up), *racks, up]:
            for factor in {1.0, *case.across}:
                length = math.ceil(work * factor - SMALL)
                for first in range(slots.start, slots.stop - length + 1):
                    found += self.spread_over(one, nodes, range(first, first + length), factor, taken)
        return found

    def spread_over(
        self, one: Running, nodes: list[int], block: range, factor: float, taken: Train
    ) -> list[tuple[float, int]]:
        """Candidates in these slots on these nodes with this factor, that fill cheap or large nodes first."""
        case = self.case
        used = {
            k: max((sum(c for (_, n, h), c in taken.items() if (n, h) == (k, s)) for s in block), default=0)
            for k in nodes
        }
        room = {k: case.rooms[k] - used[k] for k in nodes}
        cheap = sorted(nodes, key=lambda k: (case.nodes[k].power, k))
        large = sorted(nodes, key=lambda k: (-room[k], case.nodes[k].power, k))
        found = []
        for order in (cheap, large):
            left, spread = case.workers[one.number], {}
            for k in order:
                count = min(left, room[k])
                if count > 0:
                    spread[k] = count
                    left -= count
            if not left and case.factor(spread) == factor:
                train = {(one.number, k, h): count for k, count in spread.items() for h in block}
                found.append((self.key(train), len(block)))
        return found
