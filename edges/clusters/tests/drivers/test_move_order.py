"""Orders of moves keep within capacities, and exist exactly where one of all permutations is an order."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

import pytest

from gsdsl_clusters.drivers.move_order import JobMove, order_moves

NODES = ("a", "b", "c", "d")


def random_places(rng: random.Random, sizes: list[int], room: dict[str, int]) -> list[dict[str, int]] | None:
    places: list[dict[str, int]] = []
    for size in sizes:
        place: dict[str, int] = {}
        for part in (size,) if rng.random() < 0.8 or size == 1 else (1, size - 1):
            fitting = [node for node in NODES if room[node] >= part]
            if not fitting:
                return None
            node = rng.choice(fitting)
            room[node] -= part
            place[node] = place.get(node, 0) + part
        places.append(place)
    return places


def random_moves(rng: random.Random) -> tuple[dict[str, int], list[JobMove]]:
    """Free GPUs and moves between two placements that fit; some jobs start, some are halted."""
    while True:
        capacity = {node: rng.choice((2, 3, 4)) for node in NODES}
        sizes = [rng.choice((1, 1, 2, 2, 3)) for _ in range(rng.randint(2, 6))]
        old, new = random_places(rng, sizes, dict(capacity)), random_places(rng, sizes, dict(capacity))
        if old is None or new is None:
            continue
        moves = []
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            kind = rng.random()
            moves.append(JobMove(str(number), {} if kind < 0.1 else before, {} if kind > 0.9 else after))
        free = Counter(capacity)
        for move in moves:
            free.subtract(move.old)
        return dict(free), moves


def fits(free: dict[str, int], moves: tuple[JobMove, ...]) -> bool:
    """Whether moves one after the other never need more than is free."""
    left = Counter(free)
    for move in moves:
        left.update(move.old)
        left.subtract(move.new)
        if min(left.values()) < 0:
            return False
    return True


@pytest.mark.parametrize("seed", range(300))
def test_an_order_is_found_exactly_where_there_is_one(seed: int) -> None:
    free, moves = random_moves(random.Random(seed))
    found = order_moves(free, moves)
    exists = any(fits(free, order) for order in permutations(moves))
    assert (found.halted == ()) == exists
    assert found.blocked == ()
    assert sorted(job for jobs in found.rounds for job in jobs) == sorted(move.job for move in moves)
    by_job = {move.job: move for move in moves}
    left = Counter(free)
    for job in found.halted:
        left.update(by_job[job].old)
    for jobs in found.rounds:
        for job in jobs:  # all of a round start before one of them has left, but for GPUs of its own
            own = {} if job in found.halted else by_job[job].old
            for node, gpus in by_job[job].new.items():
                left[node] -= max(0, gpus - own.get(node, 0))
        assert min(left.values()) >= 0
        for job in jobs:
            own = {} if job in found.halted else by_job[job].old
            for node, gpus in own.items():
                left[node] += max(0, gpus - by_job[job].new.get(node, 0))


def test_a_chain_goes_in_rounds() -> None:
    moves = [JobMove("3", {"c": 4}, {"b": 4}), JobMove("2", {"b": 4}, {"a": 4}), JobMove("1", {"a": 4}, {"d": 4})]
    found = order_moves({"d": 4}, moves)
    assert (found.rounds, found.halted) == ((("1",), ("2",), ("3",)), ())


def test_what_is_safe_to_do_is_no_reason_to_halt() -> None:
    """If `x` takes the free GPUs of `a` first, `y` and `z` wait for one another."""
    moves = [JobMove("x", {}, {"a": 2}), JobMove("y", {"b": 2}, {"a": 2}), JobMove("z", {"a": 2}, {"b": 2})]
    found = order_moves({"a": 2}, moves)
    assert (found.rounds, found.halted) == ((("y",), ("z",), ("x",)), ())


def test_the_smallest_job_of_a_circle_is_halted() -> None:
    moves = [
        JobMove("big", {"a": 4}, {"b": 4}),
        JobMove("small", {"b": 2}, {"a": 2}),
        JobMove("other", {"b": 2}, {"a": 2}),
    ]
    found = order_moves({}, moves)
    assert found.halted == ("small", "other")
    assert found.blocked == ()


def test_a_place_that_others_occupy_blocks_and_halts_nothing() -> None:
    found = order_moves({"a": 1}, [JobMove("1", {"b": 2}, {"a": 2}), JobMove("2", {}, {"c": 1})])
    assert found.blocked == ("1", "2")
    assert (found.rounds, found.halted) == ((), ())


def test_a_job_without_a_new_place_is_halted_for_one_that_needs_its_old_place() -> None:
    found = order_moves({}, [JobMove("1", {"b": 2}, {"a": 2}), JobMove("2", {}, {"b": 2})])
    assert (found.rounds, found.halted, found.blocked) == ((("2",),), ("1",), ("1",))


def test_thousands_of_moves_need_little_time() -> None:
    chain = [JobMove(str(k), {f"n{k}": 8}, {f"n{k + 1}": 8}) for k in range(400)]
    starts = [JobMove(f"s{k}", {}, {f"m{k % 500}": 1}) for k in range(4000)]
    found = order_moves({"n400": 8} | {f"m{k}": 8 for k in range(500)}, [*starts, *chain])
    assert len(found.rounds) == 400
    assert found.blocked == found.halted == ()
