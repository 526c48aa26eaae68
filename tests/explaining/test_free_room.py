"""Reasons from capacities and running jobs alone, against a simulation with loops on random clusters."""

from __future__ import annotations

import inspect
import random
import re
from dataclasses import dataclass
from math import floor, inf, isclose
from types import ModuleType

import numpy as np
import pytest

from gpusched_dsl.explaining import free_room, gpu_demands, job_reason, joint_room
from gpusched_dsl.explaining.free_room import ClusterRoom, PlaceOptions
from gpusched_dsl.explaining.job_reason import NEVER, NO_ROOM, ROOM, RUNS, JobAhead, JobReason, Resource

TYPES = ("a100", "k80")


@dataclass
class Case:
    """A cluster and a job as lists: `options` are (place, amounts, way, workers, most)."""

    room: ClusterRoom
    capacity: list[list[int]]
    parts: list[tuple[int, int, list[int], float]]  # job, place, uses, end
    options: list[tuple[int, list[int], int, int, int]]

    @property
    def arrays(self) -> PlaceOptions:
        place, amounts, way, workers, most = (list(column) for column in zip(*self.options, strict=True))
        return PlaceOptions(
            np.array(place), np.array(amounts, dtype=float), np.array(way), np.array(workers),
            np.array(most, dtype=float),
        )  # fmt: skip


def random_case(draw: random.Random) -> Case:
    places, resources, gang = draw.randint(1, 5), draw.randint(1, 2), draw.random() < 0.4
    hidden = draw.random() < 0.3
    names = [Resource("GPU"), Resource("memory", "GB")][:resources] + ([Resource("")] if hidden else [])
    capacity = [[draw.randint(1, 8) for _ in range(resources)] + [0] * hidden for _ in range(places)]
    left = [list(row) for row in capacity]
    parts = []
    for job in range(draw.randint(0, 7)):
        end = draw.choice([float(draw.randint(1, 9)), inf, float("nan")] if draw.random() < 0.2 else [float(job + 1)])
        for place in draw.sample(range(places), draw.randint(1, min(2, places))):
            only_hidden = hidden and draw.random() < 0.3
            uses = [0 if only_hidden else draw.randint(0, free) for free in left[place][:resources]]
            if any(uses) or only_hidden:
                left[place] = [a - b for a, b in zip(left[place], uses + [0] * hidden, strict=True)]
                parts.append((job, place, uses + [int(only_hidden or draw.random() < 0.4)] * hidden, end))
    workers = draw.randint(2, 5) if gang else 1
    needs = [[draw.randint(1, 5 if not gang else 3) for _ in range(resources)] + [0] * hidden for _ in range(2)]
    options: list[tuple[int, list[int], int, int, int]] = []
    for way in range(draw.randint(1, 2)):
        for place in draw.sample(range(places), draw.randint(1, places)):
            number = way if gang else len(options)
            options.append((place, needs[way], number, workers, draw.randint(1, workers)))
    room = ClusterRoom(
        tuple(names),
        [f"n{p}" for p in range(places)],
        [draw.choice(TYPES) for _ in range(places)],
        np.array(capacity, dtype=float),
        [f"j{j}" for j in range(8)],
        np.array([p[0] for p in parts], dtype=np.int64),
        np.array([p[1] for p in parts], dtype=np.int64),
        np.array([p[2] for p in parts], dtype=float).reshape(len(parts), len(names)),
        np.array([p[3] for p in parts]),
        TYPES,
    )
    return Case(room, capacity, parts, options)


def free_of(case: Case, time: float, place: int) -> list[int]:
    """What a place has left once the jobs that end until then are gone."""
    free = list(case.capacity[place])
    for _, at, uses, end in case.parts:
        if at == place and not end <= time:
            free = [a - b for a, b in zip(free, uses, strict=True)]
    return free


def workers_in(free: list[int], needs: list[int], most: int) -> int:
    if any(f < 0 and not n for f, n in zip(free, needs, strict=True)):
        return 0
    return min([most, *(max(0, floor(f / n)) for f, n in zip(free, needs, strict=True) if n)])


def ways_with_room(case: Case, time: float) -> set[int]:
    found: dict[int, int] = {}
    for place, needs, way, _, most in case.options:
        found[way] = found.get(way, 0) + workers_in(free_of(case, time, place), needs, most)
    return {way for way, count in found.items() if count >= case.options[0][3]}


def ways_when_empty(case: Case) -> set[int]:
    found: dict[int, int] = {}
    for place, needs, way, _, most in case.options:
        found[way] = found.get(way, 0) + workers_in(case.capacity[place], needs, most)
    return {way for way, count in found.items() if count >= case.options[0][3]}


@pytest.mark.parametrize("seed", range(400))
def test_reasons_are_those_of_a_simulation(seed: int) -> None:
    case = random_case(random.Random(seed))
    reason = case.room.waiting_reason(case.arrays)
    possible = ways_when_empty(case)
    if not possible:
        assert reason.kind == NEVER
        return
    usable = [o for o in case.options if o[2] in possible and workers_in(case.capacity[o[0]], o[1], o[4])]
    now = ways_with_room(case, -inf)
    assert reason.kind == (ROOM if now & possible else NO_ROOM)
    fitting = {o[0] for o in usable if o[2] in now and workers_in(free_of(case, -inf, o[0]), o[1], o[4])}
    assert set(reason.fitting) == {f"n{p}" for p in fitting}
    assert reason.places == len({o[0] for o in usable})
    # The first end after which it fits, by one event after the other.
    ends = sorted({p[3] for p in case.parts if p[3] < inf})
    at = next((t for t in ends if ways_with_room(case, t) & possible), None)
    assert reason.room_at == (None if now & possible else at)
    # The first end of a job that has something that is needed on a place of the job.
    relevant = [p for p in case.parts if p[3] < inf and any(helps(case, p[2], o[1]) for o in usable if o[0] == p[1])]
    first = min((p[3] for p in relevant), default=None)
    assert (None if reason.next_end is None else reason.next_end.time) == first
    if reason.next_end is not None and reason.kind == NO_ROOM:
        assert reason.next_end.enough == bool(ways_with_room(case, reason.next_end.time) & possible)
        assert reason.next_end.job in {f"j{p[0]}" for p in relevant if p[3] == first}
    # No other place has a larger share of what the job needs there.
    if case.options[0][3] == 1:
        assert reason.best is not None
        best = max(share(case, o) for o in usable)
        own = [o for o in usable if f"n{o[0]}" == reason.best.name]
        assert any(isclose(share(case, o), best) for o in own)
        assert [v for v, r in zip(reason.best.free, case.room.resources, strict=True) if r.name] == shown(
            case, own[0][0]
        )
        assert reason.needs[0].amounts in {tuple(o[1]) for o in usable if isclose(share(case, o), best)}


def helps(case: Case, uses: list[int], needs: list[int]) -> bool:
    """Whether an end makes some of what is needed free; nobody needs a hidden resource, but all places want it."""
    return any(u and (n or not r.name) for u, n, r in zip(uses, needs, case.room.resources, strict=True))


def share(case: Case, option: tuple[int, list[int], int, int, int]) -> float:
    free = free_of(case, -inf, option[0])
    if any(f < 0 and not n for f, n in zip(free, option[1], strict=True)):
        return 0.0
    return min([1.0, *(max(f, 0) / n for f, n in zip(free, option[1], strict=True) if n)])


def shown(case: Case, place: int) -> list[float]:
    """What a job may use: nothing where a hidden resource is missing."""
    free, resources = free_of(case, -inf, place), case.room.resources
    closed = any(f < 0 and not r.name for f, r in zip(free, resources, strict=True))
    return [0 if closed else max(f, 0) for f, r in zip(free, resources, strict=True) if r.name]


# --- words -----------------------------------------------------------------------------------------------------------


def cluster(*parts: tuple[str, int, list[float], float], memory: bool = False) -> ClusterRoom:
    """Three nodes: n1 and n2 with 4 GPUs of type a100 and 80 GB, n3 with 8 of type k80 and 40 GB."""
    names = sorted({p[0] for p in parts})
    resources = (Resource("GPU"), Resource("memory", "GB"))[: 1 + memory]
    capacity = np.array([[4.0, 80.0], [4.0, 80.0], [8.0, 40.0]])[:, : 1 + memory]
    return ClusterRoom(
        resources, ("n1", "n2", "n3"), ("a100", "a100", "k80"), capacity, names,
        np.array([names.index(p[0]) for p in parts], dtype=np.int64), np.array([p[1] for p in parts], dtype=np.int64),
        np.array([p[2] for p in parts], dtype=float).reshape(len(parts), 1 + memory),
        np.array([p[3] for p in parts], dtype=float), TYPES,
    )  # fmt: skip


def on(places: list[int], *amounts: float) -> PlaceOptions:
    return PlaceOptions.of_one_node(
        np.array(places, dtype=np.int64), np.tile(np.array(amounts, dtype=float), (len(places), 1))
    )


def gang(places: list[int], amount: float, workers: int, most: float) -> PlaceOptions:
    ones = np.ones(len(places), dtype=np.int64)
    return PlaceOptions(
        np.array(places),
        np.full((len(places), 1), amount),
        0 * ones,
        workers * ones,
        np.full(len(places), most, dtype=np.float64),
    )


def words(reason: JobReason) -> list[str]:
    return reason.lines(lambda time: f"{time:g} h")


FULL = cluster(("p", 0, [1.0], 5.0), ("q", 1, [3.0], 2.0), ("r", 2, [8.0], 1.0))
AHEAD = (JobAhead("404380", "starts"), JobAhead("404430", "waits"))


@pytest.mark.parametrize(("reason", "lines"), [
    (FULL.waiting_reason(on([0, 1], 4), AHEAD), [
        "needs 4 GPUs of type a100, 3 are free on n1 (4 on all nodes together); ahead of it: 404380, 404430; "
        "next end: q at 2 h on n2, then there is room for it",
        "n1 runs p",
    ]),
    (FULL.waiting_reason(on([2], 9)), [
        "can never run: it needs 9 GPUs of type k80, and the largest place, n3, has 8 GPUs"
    ]),
    (FULL.waiting_reason(on([2], 0.5)), [
        "needs 0.5 GPUs of type k80, none is free; next end: r at 1 h on n3, then there is room for it",
        "n3 runs r",
    ]),
    (FULL.waiting_reason(on([0, 1, 2], 3)), ["needs 3 GPUs, and n1 has room for it"]),
    (FULL.waiting_reason(on([], 1)), ["can never run: there is no place for it"]),
    (FULL.waiting_reason(gang([0, 1, 2], 1, 12, 8)), [
        "needs 12 workers of 1 GPU each, there is room for 4: 3 on n1, 1 on n2; next end: r at 1 h on n3, "
        "then there is room for it",
    ]),
    (FULL.waiting_reason(gang([0, 1], 4, 2, 1)), [
        "needs 2 nodes with 4 GPUs of type a100 each, no node has room for one; next end: q at 2 h on n2, "
        "which is not enough",
        "there is room for it at 5 h, if no other job takes it",
    ]),
    (FULL.waiting_reason(gang([0, 1], 3, 2, 1)), [
        "needs 2 nodes with 3 GPUs of type a100 each, n1 has room for one; next end: q at 2 h on n2, "
        "then there is room for it",
    ]),
    (FULL.waiting_reason(gang([0, 1], 4, 3, 1)), [
        "can never run: it needs 3 nodes with 4 GPUs of type a100 each, and the empty cluster has room for 2"
    ]),
    (cluster(("p", 0, [1.0, 70.0], 5.0), memory=True).waiting_reason(on([0], 2, 20)), [
        "needs 2 GPUs of type a100 and 20 GB of memory, n1 has 10 GB of memory free; next end: p at 5 h on n1, "
        "then there is room for it",
        "n1 runs p",
    ]),
    (FULL.running_reason(on([0, 1], 3), 1, ["x", "y"]), [
        "runs on n2 with 3 GPUs of type a100, and ends at 2 h by its stated length",
        "n1 has room for it too",
        "without it there would be room for x, y",
    ]),
    (FULL.running_reason(on([2], 8), 2), [
        "runs on n3 with 8 GPUs of type k80, and ends at 1 h by its stated length", "no other node can run it",
    ]),
])  # fmt: skip
def test_words(reason: JobReason, lines: list[str]) -> None:
    assert words(reason) == lines


def test_a_running_job_has_the_amount_of_its_way() -> None:
    """With ways of 1, 2 and 3 GPUs on one node it runs with 3, and is no gang of three workers."""
    ways = PlaceOptions.of_one_node(np.array([1, 1, 1, 0]), np.array([[1.0], [2.0], [3.0], [3.0]]))
    found = FULL.running_reason(ways, 1)
    assert (found.needs[0].workers, found.needs[0].amounts) == (1, (3.0,))
    assert words(found)[1] == "n1 has room for it too"
    spread = cluster(("g", 0, [4.0], 3.0), ("g", 2, [2.0], 3.0)).running_reason(gang([0, 1, 2], 2, 3, 2), 0)
    assert words(spread)[0] == (
        "runs as 3 workers of 2 GPUs each: 2 on n1, 1 on n3, and ends at 3 h by its stated length"
    )


@pytest.mark.parametrize("seed", range(100))
def test_running_jobs_are_those_of_a_simulation(seed: int) -> None:
    """The other places with room are those that have it once the job is gone."""
    case = random_case(random.Random(1000 + seed))
    for job in {p[0] for p in case.parts if any(p[2][: len(case.room.resources)])}:
        own = [p for p in case.parts if p[0] == job]
        if len(own) > 1 or not any(u for u, r in zip(own[0][2], case.room.resources, strict=True) if r.name):
            continue
        _, here, uses, end = own[0]
        shown_uses = [u if r.name else 0 for u, r in zip(uses, case.room.resources, strict=True)]
        options = [(p, shown_uses, p, 1, 1) for p in range(len(case.capacity))]
        rest = Case(case.room, case.capacity, [p for p in case.parts if p[0] != job], options)
        found = case.room.running_reason(Case(case.room, case.capacity, case.parts, options).arrays, job)
        fitting = {f"n{p}" for p in ways_with_room(rest, -inf) if p != here}
        assert (found.kind, [room.name for room in found.rooms]) == (RUNS, [f"n{here}"])
        assert set(found.fitting) == fitting
        assert found.end == (end if end < inf else None)
        assert found.needs[0].amounts == tuple(shown_uses)


def test_many_names_are_counted() -> None:
    ahead = [JobAhead(f"j{k}", "waits") for k in range(8)]
    assert "ahead of it: j0, j1, j2, j3, j4 and 3 more;" in words(FULL.waiting_reason(on([0], 4), ahead))[0]


def test_a_job_that_has_room_on_its_own_node_alone() -> None:
    found = FULL.running_reason(on([1, 1], 3), 1)
    assert (found.kind, found.fitting, found.places) == (RUNS, (), 1)


def test_json() -> None:
    written = FULL.waiting_reason(on([0, 1], 4), AHEAD).to_dict(lambda time: f"date {time:g}")
    assert written["needs"] == [{"amounts": {"GPU": 4.0}, "types": ["a100"], "workers": 1}]
    assert written["best"] == {"place": "n1", "type": "a100", "free": {"GPU": 3.0}, "workers": 0, "jobs": ["p"]}
    assert written["ahead"] == [{"job": "404380", "state": "starts"}, {"job": "404430", "state": "waits"}]
    assert written["next_end"] == {
        "job": "q", "at": 2.0, "at_date": "date 2", "places": ["n2"], "enough": True,
    }  # fmt: skip
    assert (written["kind"], written["places"], written["room_at"], written["room_at_date"]) == (
        "no room", 2, 2.0, "date 2",
    )  # fmt: skip
    assert written["free_together"] == {"GPU": 4.0}


@pytest.mark.parametrize("module", [free_room, gpu_demands, job_reason, joint_room])
def test_reasons_need_no_model_and_no_policy(module: ModuleType) -> None:
    """`inspect` explains clusters without a model: these files read arrays, and write texts."""
    allowed = (
        "gpusched_dsl.explaining.free_room",
        "gpusched_dsl.explaining.job_reason",
        "gpusched_dsl.explaining.joint_room",
        "gpusched_dsl.ir.arrays",
        "gpusched_dsl.language.text.",
    )
    imports = re.findall(r"^\s*(?:from|import) (gpusched_dsl\S*)", inspect.getsource(module), re.MULTILINE)
    assert imports
    assert all(name.startswith(allowed) for name in imports)
