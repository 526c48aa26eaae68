"""An order of moves in which no node ever has more GPUs in use than it has.

A job moves by leaving its old place and starting in its new one, so it waits until the new place is free (its own GPUs
count as free for it). Jobs that wait for one another in a circle have no such order: one of them is halted for a while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gsdsl_clusters.drivers.protocol import Allocation

MOST_CHECKS = 50_000  # of whether a move has room, in the search for an order


@dataclass(frozen=True)
class JobMove:
    """A job and its GPUs by node before and after. A job that starts has no old place, a halted job has no new one."""

    job: str
    old: Allocation
    new: Allocation

    @property
    def gpus(self) -> int:
        return sum(self.old.values())


@dataclass(frozen=True)
class MoveOrder:
    """Moves by rounds: all of a round have room at once, before any of them has left its old place.

    Jobs in `halted` leave their old places before the first round. The new places of `blocked` jobs do not become free
    by these moves.
    """

    rounds: tuple[tuple[str, ...], ...]
    halted: tuple[str, ...]
    blocked: tuple[str, ...]


def order_moves(free: Mapping[str, int], moves: Sequence[JobMove]) -> MoveOrder:
    """Order moves, given the free GPUs of each node before the first one.

    Without a circle nothing is halted, as far as a search over `MOST_CHECKS` steps shows. Of a circle the job with the
    fewest GPUs is halted whose place another move needs. Equal moves keep their order.
    """
    state = _State(Counter(free), list(moves))
    halted: list[JobMove] = []
    while True:
        state.take_safe()
        if not state.search():
            state.take_any()
        found = state.blocking()
        if found is None:
            break
        halted.append(found)
        state.halt(found)
    before = Counter(free)
    for move in halted:
        before.update(move.old)
    return MoveOrder(_rounds(before, state.done), tuple(m.job for m in halted), tuple(m.job for m in state.left))


@dataclass
class _State:
    """Free GPUs, moves that are left, and moves that are done, in their order."""

    free: Counter[str]
    left: list[JobMove]
    done: list[JobMove] = field(default_factory=list)
    checks: int = 0

    def take_safe(self) -> None:
        """Do moves to nodes that have room for all that come: they take nothing that another move needs."""
        coming: Counter[str] = Counter()
        for move in self.left:
            coming.update(_added(move))
        again = True
        while again:
            again, waiting = False, []
            for move in self.left:
                if all(self.free[node] >= coming[node] for node in _added(move)):
                    self._do(move)
                    coming.subtract(_added(move))
                    again = True
                else:
                    waiting.append(move)
            self.left = waiting

    def search(self) -> bool:
        """Do all moves whose places can become free, if an order is found. Sets that lead nowhere are tried once."""
        moves, hopeless = self._split()
        failed: set[frozenset[int]] = set()
        chosen: list[int] = []
        free = Counter(self.free)
        tries = [iter(range(len(moves)))]
        while tries:
            if len(chosen) == len(moves):
                for at in chosen:
                    self._do(moves[at])
                self.left = hopeless
                return True
            for at in tries[-1]:
                self.checks += 1
                if self.checks > MOST_CHECKS:
                    return False
                move = moves[at]
                if at not in chosen and _has_room(free, move) and frozenset((*chosen, at)) not in failed:
                    _apply(free, move)
                    chosen.append(at)
                    tries.append(iter(range(len(moves))))
                    break
            else:
                failed.add(frozenset(chosen))
                tries.pop()
                if chosen:
                    _undo(free, moves[chosen.pop()])
        return False

    def _split(self) -> tuple[list[JobMove], list[JobMove]]:
        """The moves whose places are free once all of these have left, and those that wait for others than these."""
        moves, hopeless = self.left, list[JobMove]()
        while True:
            most = Counter(self.free)
            for move in moves:
                most.update(move.old)
            found = [move for move in moves if not _has_room(most, move)]
            if not found:
                return moves, hopeless
            hopeless += found
            moves = [move for move in moves if _has_room(most, move)]

    def take_any(self) -> None:
        """Do what has room, one move after the other."""
        count = -1
        while count != len(self.left):
            count, waiting = len(self.left), []
            for move in self.left:
                if _has_room(self.free, move):
                    self._do(move)
                else:
                    waiting.append(move)
            self.left = waiting

    def blocking(self) -> JobMove | None:
        """The smallest job whose place another move needs."""
        needed = {
            node: [move.job for move in self.left if _added(move).get(node, 0) > 0]
            for node in {node for move in self.left for node in move.old}
        }
        found = [m for m in self.left if any(set(needed[node]) - {m.job} for node in m.old)]
        return min(found, key=lambda move: move.gpus, default=None)

    def halt(self, move: JobMove) -> None:
        """Free the old place of a job, which starts later."""
        self.free.update(move.old)
        self.left[self.left.index(move)] = JobMove(move.job, {}, move.new)

    def _do(self, move: JobMove) -> None:
        _apply(self.free, move)
        self.done.append(move)


def _rounds(free: Counter[str], moves: Sequence[JobMove]) -> tuple[tuple[str, ...], ...]:
    """Do each move of an order as early as the free GPUs before its round permit; none overtakes another to a node."""
    rounds = []
    free, left = Counter(free), list(moves)
    while left:
        room, awaited = Counter(free), set[str]()
        now, later = list[JobMove](), list[JobMove]()
        for move in left:
            if awaited.isdisjoint(_added(move)) and _has_room(room, move):
                room.subtract(_added(move))
                now.append(move)
            else:
                awaited.update(_added(move))
                later.append(move)
        for move in now:
            _apply(free, move)
        rounds.append(tuple(move.job for move in now))
        left = later
    return tuple(rounds)


def _added(move: JobMove) -> dict[str, int]:
    """The GPUs of each node that a move needs beyond its own."""
    return {node: gpus - move.old.get(node, 0) for node, gpus in move.new.items() if gpus > move.old.get(node, 0)}


def _has_room(free: Counter[str], move: JobMove) -> bool:
    return all(free[node] >= gpus for node, gpus in _added(move).items())


def _apply(free: Counter[str], move: JobMove) -> None:
    free.update(move.old)
    free.subtract(move.new)


def _undo(free: Counter[str], move: JobMove) -> None:
    free.subtract(move.old)
    free.update(move.new)
