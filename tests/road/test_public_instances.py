"""Instances from the literature with their published optima, and generated ones with optima of dynamic programmes.

Job shops: Fisher and Thompson 1963 (ft06), Lawrence 1984 (la01). Knapsacks: Martello and Toth 1990 and Kreher and
Stinson 1999, as in the collection of Florida State University (p01 to p08).
"""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import pytest

import gpusched_dsl as gs

MODELS = Path(__file__).parent / "models"
BACKENDS = ("highs", "scip")

FT06 = """
2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1
"""
LA01 = """
1 21 0 53 4 95 3 55 2 34
0 21 3 52 4 16 2 26 1 71
3 39 4 98 1 42 2 31 0 12
1 77 0 55 4 79 2 66 3 77
0 83 3 34 2 64 1 19 4 37
1 54 2 43 4 79 0 92 3 62
3 69 4 77 1 87 2 87 0 93
2 38 0 60 1 41 3 24 4 83
3 17 1 49 4 25 0 44 2 98
4 77 3 79 2 43 1 75 0 96
"""

DISJUNCTIVE = """
model Disjunctive "each pair of operations on a machine in one order or the other, with continuous starts" {
  set Jobs ordered;
  set Machines;
  param steps integer >= 1;
  set Steps = 1..steps;
  param on[Jobs, Steps] within Machines;
  param takes[Jobs, Steps] in min >= 0;
  param horizon in min;
  var start[Jobs, 1..steps] in min >= 0 <= horizon;
  var finish in min >= 0 <= horizon;
  minimize makespan in min: finish;
  constraint order[j in Jobs, s in 2..steps]: start[j, s] >= start[j, s-1] + takes[j, s-1];
  constraint last[j in Jobs]: finish >= start[j, steps] + takes[j, steps];
  constraint apart[j in Jobs, s in 1..steps, k in Jobs, t in 1..steps where j < k and on[j, s] == on[k, t]]:
    start[j, s] + takes[j, s] <= start[k, t] or start[k, t] + takes[k, t] <= start[j, s];
}
"""


def operations(text: str) -> list[list[tuple[int, int]]]:
    """Of every job the machine and time of every step."""
    rows = [[int(word) for word in line.split()] for line in text.strip().splitlines()]
    return [list(zip(row[::2], row[1::2], strict=True)) for row in rows]


def job_shop(text: str, horizon: int) -> str:
    jobs = operations(text)
    machines = sorted({m for job in jobs for m, _ in job})
    table = "\n".join(
        f"    {j} {s} m{machine} {time}" for j, job in enumerate(jobs) for s, (machine, time) in enumerate(job, 1)
    )
    return f"""{DISJUNCTIVE}
scenario S for Disjunctive {{
  Jobs = {{ {", ".join(map(str, range(len(jobs))))} }};
  Machines = {{ {", ".join(f"m{m}" for m in machines)} }};
  steps = {len(jobs[0])};
  horizon = {horizon}[min];
  table Jobs, Steps: on takes[min] =
{table} ;
}}
"""


def check_plan(text: str, result: gs.Result) -> None:
    """Starts in order, machines with one operation at a time, and the end that is told."""
    jobs = operations(text)
    starts = {(int(j), s): value for j, s, value in result.table("start").rows()}
    busy: dict[int, list[tuple[float, float]]] = {}
    for j, job in enumerate(jobs):
        free = 0.0
        for s, (machine, time) in enumerate(job, 1):
            assert starts[j, s] >= free - 1e-5
            free = starts[j, s] + time
            busy.setdefault(machine, []).append((starts[j, s], free))
        assert result.objective is not None
        assert free <= result.objective + 1e-5
    for spans in busy.values():
        spans.sort()
        assert all(start >= end - 1e-5 for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_ft06(backend: str) -> None:
    result = gs.loads(job_shop(FT06, 60)).solve("S", backend, gap=0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(55)
    check_plan(FT06, result)


def best_of_two(jobs: list[list[tuple[int, int]]]) -> int:
    """The best end of two jobs over all orders in which their operations can be queued."""
    count, best = len(jobs[0]), sum(t for job in jobs for _, t in job)
    for places in itertools.combinations(range(2 * count), count):
        free: dict[int, int] = {}
        done, step = [0, 0], [0, 0]
        for at in range(2 * count):
            j = 0 if at in places else 1
            machine, time = jobs[j][step[j]]
            done[j] = free[machine] = max(done[j], free.get(machine, 0)) + time
            step[j] += 1
        best = min(best, max(done))
    return best


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pair", [(0, 1), (2, 4), (1, 5)])
def test_two_jobs_of_ft06(backend: str, pair: tuple[int, int]) -> None:
    text = "\n".join(FT06.strip().splitlines()[j] for j in pair)
    result = gs.loads(job_shop(text, 100)).solve("S", backend, gap=0)
    assert result.objective == pytest.approx(best_of_two(operations(text)))
    check_plan(text, result)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_la01() -> None:
    """Its optimum is the load of its busiest machine."""
    loads = [sum(time for job in operations(LA01) for m, time in job if m == machine) for machine in range(5)]
    assert max(loads) == 666
    result = gs.loads(job_shop(LA01, 800)).solve("S", "scip", gap=0, time_limit=30)
    assert result.bound is not None
    assert result.bound <= 666 + 1e-3
    if result.objective is not None:
        assert result.objective >= 666 - 1e-3
        check_plan(LA01, result)
    if result.status == "optimal":
        assert result.objective == pytest.approx(666)


# Room, sizes, worths, and the published optimum.
KNAPSACKS = {
    "p01": (165, "23 31 29 44 53 38 63 85 89 82", "92 57 49 68 60 43 67 84 87 72", 309),
    "p02": (26, "12 7 11 8 9", "24 13 23 15 16", 51),
    "p03": (190, "56 59 80 64 75 17", "50 50 64 46 50 5", 150),
    "p04": (50, "31 10 20 19 4 3 6", "70 20 39 37 7 5 10", 107),
    "p05": (104, "25 35 45 5 25 3 2 2", "350 400 450 20 70 8 5 5", 900),
    "p06": (170, "41 50 49 59 55 57 60", "442 525 511 593 546 564 617", 1735),
    "p07": (750, "70 73 77 80 82 87 90 94 98 106 110 113 115 118 120",
            "135 139 149 150 156 163 173 184 192 201 210 214 221 229 240", 1458),
    "p08": (6404180,
            "382745 799601 909247 729069 467902 44328 34610 698150 823460 903959 853665 551830 610856 670702 488960"
            " 951111 323046 446298 931161 31385 496951 264724 224916 169684",
            "825594 1677009 1676628 1523970 943972 97426 69666 1296457 1679693 1902996 1844992 1049289 1252836 1319836"
            " 953277 2067538 675367 853655 1826027 65731 901489 577243 466257 369261", 13549094),
}  # fmt: skip


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        pytest.param(name, backend, marks=pytest.mark.slow if (name, backend) == ("p08", "scip") else ())
        for name in KNAPSACKS
        for backend in BACKENDS
    ],
)
def test_knapsacks(name: str, backend: str) -> None:
    room, sizes, worths, published = KNAPSACKS[name]
    items = list(zip(map(int, sizes.split()), map(int, worths.split()), strict=True))
    if room < 1000:  # by dynamic programming over the room
        best = [0] * (room + 1)
        for size, worth in items:
            best = [max(b, best[r - size] + worth) if r >= size else b for r, b in enumerate(best)]
        assert best[room] == published
    model = gs.load(MODELS / "knapsack.gsm")
    model.set("Items", [f"i{k}" for k in range(len(items))])
    model.set("size", {f"i{k}": size for k, (size, _) in enumerate(items)})
    model.set("worth", {f"i{k}": worth for k, (_, worth) in enumerate(items)})
    model.set("room", room)
    result = model.solve("Small", backend, gap=0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(published, abs=0.1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_assignments(seed: int, backend: str) -> None:
    """Against a dynamic programme over the tasks that are taken."""
    random, count = Random(seed), 9
    cost = [[random.randint(1, 60) for _ in range(count)] for _ in range(count)]
    best = {0: 0}
    for row in cost:
        after: dict[int, int] = {}
        for taken, value in best.items():
            for t in (t for t in range(count) if not taken >> t & 1):
                now = taken | 1 << t
                after[now] = min(after.get(now, value + row[t]), value + row[t])
        best = after
    model = gs.load(MODELS / "assignment.gsm")
    model.set("People", [f"p{k}" for k in range(count)])
    model.set("Tasks", [f"t{k}" for k in range(count)])
    model.set("cost", {(f"p{p}", f"t{t}"): c for p, row in enumerate(cost) for t, c in enumerate(row)})
    result = model.solve("Team", backend, gap=0)
    assert result.objective == pytest.approx(best[(1 << count) - 1] / 60)


TARDINESS = """
model Tardiness "one machine, weighted tardiness: which job is in which place" {
  set Jobs;
  param takes[Jobs] in min > 0;
  param due[Jobs] in min >= 0;
  param weight[Jobs] in $/min >= 0;
  set Places = 1..count(Jobs);
  var at[Jobs, Places] binary;
  param longest in min = sum[j in Jobs] takes[j];
  let ends[p in Places] in min = sum[j in Jobs, q in 1..p] takes[j] * at[j, q];
  var late[Jobs] in min >= 0 <= longest;
  minimize cost in $: sum[j in Jobs] weight[j] * late[j];
  constraint placed[j in Jobs]: sum[p in Places] at[j, p] == 1;
  constraint filled[p in Places]: sum[j in Jobs] at[j, p] == 1;
  constraint tardy[j in Jobs, p in Places]: at[j, p] == 1 => late[j] >= ends[p] - due[j];
}
"""


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_weighted_tardiness(seed: int, backend: str) -> None:
    """Drawn as Crauwels, Potts and Van Wassenhove 1998 do, against a dynamic programme over the jobs that are done."""
    random, count = Random(seed), 6
    takes = [random.randint(1, 100) for _ in range(count)]
    weights = [random.randint(1, 10) for _ in range(count)]
    late, spread = random.choice((0.4, 0.6, 0.8)), random.choice((0.2, 0.6))
    total = sum(takes)
    due = [max(0, int(total * (1 - late + random.uniform(-spread, spread) / 2))) for _ in range(count)]
    best = {0: 0}
    for done in range(1, 1 << count):
        end = sum(takes[j] for j in range(count) if done >> j & 1)
        best[done] = min(best[done ^ 1 << j] + weights[j] * max(0, end - due[j]) for j in range(count) if done >> j & 1)
    rows = "\n".join(f"    j{j} {takes[j]} {due[j]} {weights[j]}" for j in range(count))
    table = f"scenario S for Tardiness {{ table Jobs: takes[min] due[min] weight[$/min] =\n{rows} ;\n}}\n"
    result = gs.loads(TARDINESS + table).solve("S", backend, gap=0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best[(1 << count) - 1], abs=1e-3)
