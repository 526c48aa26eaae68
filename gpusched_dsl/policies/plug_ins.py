"""Rules of other packages: entry points of the group `gpusched_dsl.rules` name a `PlaceRule`, `FinishRule` or `Move`.

With such a rule in `place` or `finish`, the loop over jobs runs in Python and calls compiled and added rules in turn.
Added rules have codes from `FIRST_ADDED`, in the order of their names.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.blocks.policies.rule_table import GROUP, PLACE
from gpusched_dsl.policies.kernels.candidate_search import OPEN, OPENED
from gpusched_dsl.policies.kernels.construct import (
    NEXT_CHOICE,
    PLACED,
    POSTPONE,
    WAIT,
    Lookups,
    Scratch,
    begin,
    first_choice,
    has_part,
    list_node,
    place_jobs,
    state_of,
    sum_odds,
    unlist_node,
)
from gpusched_dsl.policies.kernels.drawing import SchedulePool, draw_queue, keep
from gpusched_dsl.policies.kernels.finishing import finish
from gpusched_dsl.policies.kernels.free_capacity import (
    copy_schedule,
    has_capacity_when_empty,
    has_room,
    put,
    tightest_gpu,
)
from gpusched_dsl.policies.kernels.pricing import price
from gpusched_dsl.policies.kernels.row_guard import (
    CLOSES,
    RowGuard,
    admits,
    enter,
    holds,
    last_refusal,
    note_refusal,
    restart,
)
from gpusched_dsl.policies.rules import FINISH_CODES, MOVE_CODES, PLACE_CODES
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload, copy_of

FIRST_ADDED = 1_000
_OF_ANY_WAY = frozenset(code for text, code in PLACE_CODES.items() if PLACE[text].takes == "any way")

Place = tuple[int, int]  # a node and a way


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """`function(work, plan, job, way)` returns a node and a way to run the job on it; None passes to the next rule.

    `way` is the job's choice, NONE if it has none. The function changes nothing; the returned node must have room.
    `words` describe the rule for `gsdsl explain --policy`.
    """

    name: str
    words: str
    function: Callable[[Workload, Schedule, int, int], Place | None]


@dataclass(frozen=True, slots=True)
class FinishRule:
    """`function(work, plan, queue)` changes a schedule in place after all jobs were placed."""

    name: str
    words: str
    function: Callable[[Workload, Schedule, Ints], None]


@dataclass(frozen=True, slots=True)
class Move:
    """`function` is a move of local search, described in `local_search.py`."""

    name: str
    words: str
    function: Callable[..., float]


@dataclass(frozen=True, slots=True)
class PlugIns:
    """The rules of other packages by name."""

    place: Mapping[str, PlaceRule] = field(default_factory=dict)
    finish: Mapping[str, FinishRule] = field(default_factory=dict)
    moves: Mapping[str, Move] = field(default_factory=dict)

    def place_codes(self) -> dict[str, int]:
        """Return the codes of all placing rules, built in and added."""
        return PLACE_CODES | {name: FIRST_ADDED + at for at, name in enumerate(sorted(self.place))}

    def finish_codes(self) -> dict[str, int]:
        """Return the codes of all finishing rules, built in and added."""
        return FINISH_CODES | {name: FIRST_ADDED + at for at, name in enumerate(sorted(self.finish))}


@functools.cache
def plug_ins() -> PlugIns:
    """Return the rules of installed packages. Raises ValueError for invalid rules and for used names."""
    found = PlugIns({}, {}, {})
    places, finishes, moves = dict(found.place), dict(found.finish), dict(found.moves)
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        rule = entry.load()
        if isinstance(rule, PlaceRule):
            _add(places, rule.name, rule, PLACE_CODES)
        elif isinstance(rule, FinishRule):
            _add(finishes, rule.name, rule, FINISH_CODES)
        elif isinstance(rule, Move):
            _add(moves, rule.name, rule, MOVE_CODES)
        else:
            raise ValueError(f"entry point `{entry.name}` of {GROUP} is not a PlaceRule, FinishRule or Move")
    return PlugIns(places, finishes, moves)


_Rule = TypeVar("_Rule")


def _add(rules: dict[str, _Rule], name: str, rule: _Rule, builtin: Mapping[str, int]) -> None:
    if name in builtin or name in rules:
        raise ValueError(f"a rule named `{name}` exists already; an entry point of {GROUP} adds another one")
    rules[name] = rule


def uses_added(instructions: Instructions) -> bool:
    """Whether a policy names rules that are not built in."""
    return bool((instructions.place >= FIRST_ADDED).any() or (instructions.finish >= FIRST_ADDED).any())


def run_passes(
    work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, start: Schedule, plan: Schedule,
    pool: SchedulePool, first: int, stop: int, kind_of_price: int, rng: np.random.Generator,
    guard: RowGuard | None = None,
) -> None:  # fmt: skip
    """Run passes like `drawing.randomised`, with the loop over jobs in Python."""
    queue = scratch.queue[: len(instructions.order)]
    for turn in range(first, stop):
        copy_schedule(start, plan)
        draw_queue(instructions.order, instructions.swap_chance, queue, turn > 0, rng)
        begin(work, look, scratch, plan)
        if guard is not None:
            restart(guard)
        one = PlacementPass(work, look, instructions, scratch, plan, turn > 0, rng, guard=guard)
        for j in queue.tolist():
            if plan.node[j] == NONE and not one.place(j):
                break
        one.finish(queue, start)
        cost = price(work, plan, kind_of_price)
        if guard is not None and guard.ints[CLOSES] == 1 and not holds(guard, plan.node, plan.way):
            cost = np.inf
        keep(work, pool, plan, cost, turn)


class PlacementPass:
    """One pass over the queue, rule by rule. `on_rule(rule, way, placed)` receives each tried rule."""

    def __init__(
        self, work: Workload, look: Lookups, instructions: Instructions, scratch: Scratch, plan: Schedule,
        drawing: bool, rng: np.random.Generator, on_rule: Callable[[int, int, bool], None] | None = None,
        guard: RowGuard | None = None,
    ) -> None:  # fmt: skip
        self.on_rule, self.guard = on_rule, guard
        self.refusing = int(NONE)  # the row that refused the last job last, NONE: none did
        self.work, self.look, self.instructions, self.scratch = work, look, instructions, scratch
        self.plan, self.drawing, self.rng = plan, drawing, rng
        sum_odds(work, instructions, scratch)
        rules = plug_ins()
        self.place_rules = [rules.place[name] for name in sorted(rules.place)]
        self.finish_rules = [rules.finish[name] for name in sorted(rules.finish)]
        self.codes = instructions.place.tolist()

    def place(self, j: int) -> bool:
        """Try the rules in their order; return False if the queue stops at this job."""
        lines, work = self.instructions, self.work
        self.refusing = int(NONE)
        first = first_choice(
            work.first_way, lines.ranked, lines.preferred, lines.way_list, lines.way_odds, self.scratch.odds, j,
            self.drawing, self.rng,
        )  # fmt: skip
        for at, code in enumerate(self.codes):
            if code == WAIT:
                return False
            if code == POSTPONE:
                return True
            if code == NEXT_CHOICE:
                if any(
                    self._try_and_report(before, j, w)
                    for w in self._others(j, first)
                    for before in self._rules_before(at)
                ):
                    return True
            elif self._try_and_report(at, j, first):
                return True
        return True

    def _others(self, j: int, first: int) -> Iterator[int]:
        ways = self.instructions.ranked[self.work.first_way[j] : self.work.first_way[j + 1]].tolist()
        return (w for w in ways if w not in (NONE, first))

    def _rules_before(self, at: int) -> list[int]:
        """Return the rules before `next_choice` that depend on the way."""
        others = _OF_ANY_WAY | {NEXT_CHOICE}
        return [before for before in range(at) if self.codes[before] not in others]

    def _try_and_report(self, at: int, j: int, w: int) -> bool:
        placed = self._try_rule(at, j, w)
        if self.guard is not None and not placed and (row := last_refusal(self.guard, j)) != NONE:
            self.refusing = row
        if self.on_rule is not None:
            self.on_rule(at, w, placed)
        return placed

    def _try_rule(self, at: int, j: int, w: int) -> bool:
        code = self.codes[at]
        if code >= FIRST_ADDED:
            rule = self.place_rules[code - FIRST_ADDED]
            found = rule.function(self.work, self.plan, j, w)
            if found is None:
                return False
            if self.guard is not None and not self._admits_added(j, int(found[0]), int(found[1])):
                return False
            self._apply_added_rule(rule.name, j, int(found[0]), int(found[1]))
            return True
        queue = np.array([j], dtype=np.int64)
        if w == NONE and code not in _OF_ANY_WAY:
            return False
        return bool(
            place_jobs(
                self.work, self.look, self.instructions, self.scratch, self.plan, queue, w, at, at + 1, self.drawing,
                self.rng, self.guard,
            )
            == PLACED
        )  # fmt: skip

    def _admits_added(self, j: int, n: int, w: int) -> bool:
        """Whether the rows allow the place of an added rule; what is no place at all is refused where it is applied."""
        assert self.guard is not None
        if not (0 <= n < len(self.plan.kind) and 0 <= w < len(self.work.job)):
            return True
        allowed = bool(admits(self.guard, w, n))
        if not allowed:
            note_refusal(self.guard, j)
        return allowed

    def _apply_added_rule(self, name: str, j: int, n: int, w: int) -> None:
        """Apply the result of an added rule, if it is valid."""
        work, plan, scratch = self.work, self.plan, self.scratch
        if not (0 <= n < len(plan.kind) and 0 <= w < len(work.job) and work.job[w] == j):
            raise ValueError(
                f"rule `{name}` gives node {n} and way {w} for job {j}: no such node, or no way of the job"
            )
        k, size, opens = int(work.kind[w]), int(work.size[w]), bool(plan.jobs[n] == 0)
        rents = opens and work.node_kind[n] == NONE
        if opens:
            room = scratch.kinds[k] < work.stock[k] if rents else plan.kind[n] == k
            room = room and has_capacity_when_empty(work.units, work.parts, work.needs, work.room, k, size, w)
        else:
            room = plan.kind[n] == k and has_room(work, plan, n, w)
        if not room:
            raise ValueError(f"rule `{name}` places job {j} on node {n} in way {w}, but the node has no room for it")
        gpu = tightest_gpu(plan.spare, n, size) if size < work.parts and not opens else NONE
        put(work, plan, j, n, w, gpu, int(scratch.counts[OPENED]))
        if self.guard is not None:
            enter(self.guard, w, n)
        scratch.states[n] = state_of(work.units, work.family, plan.used, plan.kind, n)
        full = plan.used[n] == work.units[k] and not has_part(plan.spare, n)
        if opens:
            scratch.counts[OPENED] += 1
            scratch.kinds[k] += rents
            if not full:
                list_node(scratch.nodes, scratch.counts, work.node_kind, plan.opened, n)
        elif full and n in scratch.nodes[: scratch.counts[OPEN]]:
            unlist_node(scratch.nodes, scratch.counts, n)

    def finish(self, queue: Ints, start: Schedule) -> None:
        """Apply the finishing rules in order."""
        for code in self.instructions.finish.tolist():
            if code < FIRST_ADDED:
                finish(self.work, self.look, np.array([code], dtype=np.int64), self.plan, queue, start, self.guard)
                continue
            before = copy_of(self.plan) if self.guard is not None else None
            self.finish_rules[code - FIRST_ADDED].function(self.work, self.plan, queue.copy())
            if self.guard is not None and before is not None and not holds(self.guard, self.plan.node, self.plan.way):
                copy_schedule(before, self.plan)
