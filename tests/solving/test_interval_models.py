"""Models with intervals: every backend against enumeration, and intervals beside all that treats a model."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import highspy
import pytest
from found_codes import raises_code
from solvers import ALL

import gpusched_dsl as gs
from gpusched_dsl.ir.json.codec import from_json
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.solving.solve import solve_problem

BACKENDS = tuple(name for name in ALL if name != "cvxpy")

SHOP = """
model Shop "operations of jobs in their order, each machine one at a time" {
  set Jobs;
  set Steps ordered = 1..%(steps)d;
  set Machines;
  param machine[Jobs, Steps] within Machines;
  param lasts[Jobs, Steps] in h integer >= 0[h];
  param horizon in h = sum[j in Jobs, k in Steps] lasts[j, k];
  var begin[Jobs, Steps] in h %(kind)s >= 0[h] <= horizon;
  var makespan in h >= 0[h];
  interval task[j in Jobs, k in Steps] "an operation" start begin[j, k] length lasts[j, k];
  minimize makespan;
  constraint one[m in Machines]: no_overlap[j in Jobs, k in Steps where machine[j, k] == m] task[j, k];
  constraint next[j in Jobs, k in Steps where ord(k) > 1]: begin[j, k - 1] + lasts[j, k - 1] <= begin[j, k];
  constraint last[j in Jobs, k in Steps]: begin[j, k] + lasts[j, k] <= makespan;
}
scenario S for Shop {
  Jobs = { %(jobs)s };
  Machines = { %(machines)s };
  table Jobs, Steps: machine lasts[h] = %(rows)s;
}
"""
Operations = list[list[tuple[int, int]]]

FT06 = (  # Fisher and Thompson 1963: machine and duration of each step
    "2 1 0 3 1 6 3 7 5 3 4 6; 1 8 2 5 4 10 5 10 0 10 3 4; 2 5 3 4 5 8 0 9 1 1 4 7;"
    "1 5 0 5 2 5 3 3 4 8 5 9; 2 9 1 3 4 5 5 4 0 3 3 1; 1 3 3 3 5 9 0 10 4 4 2 1"
)


def operations(text: str) -> Operations:
    rows = [[int(word) for word in line.split()] for line in text.split(";")]
    return [list(zip(row[::2], row[1::2], strict=True)) for row in rows]


def shop(jobs: Operations, kind: str = "integer") -> str:
    count = len(jobs[0])
    rows = "  ".join(f"j{j} {k} m{m} {t}" for j, job in enumerate(jobs) for k, (m, t) in enumerate(job, 1))
    machines = sorted({m for job in jobs for m, _ in job})
    return SHOP % {
        "steps": count, "kind": kind, "jobs": ", ".join(f"j{j}" for j in range(len(jobs))),
        "machines": ", ".join(f"m{m}" for m in machines), "rows": rows,
    }  # fmt: skip


def best_end(jobs: Operations) -> int:
    """The best end over all orders in which operations can be started as soon as machine and job are free."""
    best = sum(t for job in jobs for _, t in job)

    def search(step: tuple[int, ...], ready: tuple[int, ...], free: dict[int, int]) -> None:
        nonlocal best
        if max(ready) >= best:
            return
        if all(s == len(job) for s, job in zip(step, jobs, strict=True)):
            best = max(ready)
            return
        for j, job in enumerate(jobs):
            if step[j] < len(job):
                machine, time = job[step[j]]
                end = max(ready[j], free.get(machine, 0)) + time
                after = tuple(s + (i == j) for i, s in enumerate(step))
                search(after, tuple(end if i == j else r for i, r in enumerate(ready)), {**free, machine: end})

    search((0,) * len(jobs), (0,) * len(jobs), {})
    return best


def random_shop(seed: int) -> Operations:
    random = Random(seed)
    return [[(m, random.randint(0, 6)) for m in random.sample(range(2), 2)] for _ in range(3)]


@pytest.mark.parametrize("kind", ["integer", ""])
@pytest.mark.parametrize("backend", BACKENDS)
def test_small_job_shops(backend: str, kind: str) -> None:
    for seed in range(1):
        jobs = random_shop(seed)
        result = gs.loads(shop(jobs, kind)).solve(backend=backend, gap=0)
        assert (result.status, result.objective) == ("optimal", pytest.approx(best_end(jobs))), seed


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_job_shops(backend: str) -> None:
    for seed in range(2, 40):
        jobs = random_shop(seed)
        result = gs.loads(shop(jobs, "integer" if seed % 2 else "")).solve(backend=backend, gap=0)
        assert (result.status, result.objective) == ("optimal", pytest.approx(best_end(jobs))), seed


def test_ft06() -> None:
    result = gs.loads(shop(operations(FT06))).solve(backend="cpsat", gap=0)
    assert (result.status, result.objective, result.bound) == ("optimal", 55.0, 55.0)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_ft06_by_pairs(backend: str) -> None:
    result = gs.loads(shop(operations(FT06))).solve(backend=backend, gap=0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(55.0))


# --- gangs on named nodes --------------------------------------------------------------------------------------------

GANGS = """
model Gangs "jobs on named nodes, which may be left out" {
  set Jobs;
  set Nodes;
  param hours[Jobs] in h integer;
  param gpus[Jobs] integer;
  param worth[Jobs];
  param room[Nodes] integer;
  param horizon in h integer;
  var begin[Jobs] in h integer >= 0[h] <= horizon;
  var on[Jobs, Nodes] binary;
  interval run[j in Jobs, n in Nodes] start begin[j] length hours[j] optional on on[j, n];
  maximize profit {
    value: sum[j in Jobs, n in Nodes] worth[j] * on[j, n];
    delay: sum[j in Jobs] -0.1[1/h] * begin[j];
  }
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] <= 1;
  constraint ends[j in Jobs]: begin[j] + hours[j] <= horizon;
  constraint gpu[n in Nodes]: cumulative[j in Jobs] (run[j, n], gpus[j]) <= room[n];
}
scenario S for Gangs {
  Jobs = { %s };
  Nodes = { n0, n1 };
  horizon = %d[h];
  table Jobs: hours[h] gpus worth = %s;
  table Nodes: room = n0 %d  n1 %d;
}
"""


def random_gangs(seed: int) -> tuple[list[tuple[int, int, int]], int, tuple[int, int]]:
    random = Random(seed)
    jobs = [(random.randint(1, 3), random.randint(1, 3), random.randint(1, 9)) for _ in range(3)]
    return jobs, random.randint(3, 4), (random.randint(1, 4), random.randint(1, 4))


def gangs(jobs: list[tuple[int, int, int]], horizon: int, room: tuple[int, int]) -> str:
    names = ", ".join(f"j{j}" for j in range(len(jobs)))
    return GANGS % (names, horizon, "  ".join(f"j{j} {h} {g} {w}" for j, (h, g, w) in enumerate(jobs)), *room)


def best_profit(jobs: list[tuple[int, int, int]], horizon: int, room: tuple[int, int]) -> float:
    choices = [[(None, 0), *((n, s) for n in range(2) for s in range(horizon - hours + 1))] for hours, _, _ in jobs]
    best = 0.0
    for plan in itertools.product(*choices):
        fits = all(
            sum(g for (h, g, _), (on, s) in zip(jobs, plan, strict=True) if on == n and s <= t < s + h) <= room[n]
            for n in range(2)
            for t in range(horizon)
        )
        if fits:
            value = sum(w for (_, _, w), (on, _) in zip(jobs, plan, strict=True) if on is not None)
            best = max(best, value - 0.1 * sum(s for _, s in plan))
    return best


@pytest.mark.parametrize("backend", BACKENDS)
def test_gangs(backend: str) -> None:
    for seed in range(2):
        instance = random_gangs(seed)
        result = gs.loads(gangs(*instance)).solve(backend=backend, gap=0)
        assert (result.status, result.objective) == ("optimal", pytest.approx(best_profit(*instance))), seed


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_gangs(backend: str) -> None:
    for seed in range(2, 60):
        instance = random_gangs(seed)
        result = gs.loads(gangs(*instance)).solve(backend=backend, gap=0)
        assert (result.status, result.objective) == ("optimal", pytest.approx(best_profit(*instance))), seed


# --- beside what else there is ---------------------------------------------------------------------------------------

JOBS = [(3, 2, 5), (2, 2, 4), (2, 1, 3)]


def test_tables_of_intervals() -> None:
    result = gs.loads(gangs(JOBS, 4, (2, 2))).solve(backend="highs", gap=0)
    begin, on = {row[0]: row[1] for row in result.table("begin").rows()}, {row[:2] for row in result["on"].rows()}
    hours = {f"j{j}": job[0] for j, job in enumerate(JOBS)}
    assert result["run"].columns == ["j", "n", "start", "end"]
    expected = {(*at, begin[at[0]], begin[at[0]] + hours[at[0]]) for at in on}
    assert set(result["run"].rows()) == expected
    every = result.table("run")
    assert every.height == 6
    assert set(every.filter(every["present"]).drop("present").rows()) == expected
    with pytest.raises(KeyError, match="interval without a value"):
        result.value("run", "j0", "n0")


def test_identical_nodes() -> None:
    """Aggregation handles or leaves intervals on interchangeable nodes: the optimum stays."""
    text = gangs(JOBS, 4, (2, 2))
    alike = text.replace("set Nodes;", "set Nodes identical;")
    expected = best_profit(JOBS, 4, (2, 2))
    for source in (text, alike):
        for options in ({}, {"without": ("aggregation",)}):
            result = gs.loads(source).solve(backend="highs", gap=0, **options)
            assert result.objective == pytest.approx(expected)


@pytest.mark.parametrize("backend", ["highs", "cpsat"])
def test_changed_data_and_warm_starts(backend: str) -> None:
    model = gs.loads(gangs(JOBS, 4, (2, 2)))
    first = model.solve(backend=backend, gap=0)
    assert first.objective == pytest.approx(best_profit(JOBS, 4, (2, 2)))
    model.set("room", {"n0": 3, "n1": 1})
    again = model.resolve()
    assert again.objective == pytest.approx(best_profit(JOBS, 4, (3, 1)))
    warm = model.solve(backend=backend, gap=0, warm_start=again)
    assert warm.objective == pytest.approx(again.objective)


@pytest.mark.parametrize("backend", ["highs", "cpsat"])
def test_conflicts_name_the_intervals(backend: str) -> None:
    text = shop([[(0, 5), (1, 1)], [(0, 5), (1, 2)], [(0, 5), (1, 1)]]).replace(
        "minimize makespan;", "minimize makespan; constraint due: makespan <= 14[h];"
    )
    result = gs.loads(text).solve(backend=backend)
    assert result.status == "infeasible"
    report = gs.loads(text).explain(backend=backend)
    assert "one[m0]" in str(report)


def test_files_of_other_programs(tmp_path: Path) -> None:
    """LP and MPS files have the rows of the pairs and times; problem files keep the intervals."""
    model, expected = gs.loads(gangs(JOBS, 4, (2, 2))), best_profit(JOBS, 4, (2, 2))
    for name in ("m.lp", "m.mps"):
        model.export(tmp_path / name)
        highs = highspy.Highs()
        highs.silent()
        highs.readModel(str(tmp_path / name))
        highs.run()
        assert highs.getObjectiveValue() == pytest.approx(expected)
    model.export(tmp_path / "m.json")
    problem = from_json((tmp_path / "m.json").read_bytes())
    assert [d.op for d in problem.definitions] == ["cumulative"]
    for backend in ("highs", "cpsat"):
        assert solve_problem(problem, backend).objective == pytest.approx(expected)


def test_explanations() -> None:
    model = gs.loads(shop([[(0, 3), (1, 2)], [(1, 2), (0, 4)]]))
    assert "each pair is ordered" in str(model.explain(backend="highs"))
    assert "each pair is ordered" not in str(model.explain(backend="cpsat"))


def test_conditions_on_conditions() -> None:
    """Intervals under a decision, negated, and of data alone."""
    text = """model m {
      var fast binary; var s[1..2] integer >= 0 <= 6;
      interval t[i in 1..2] start s[i] length (if i == 1 then 2 else 3);
      interval fixed[i in 1..2] start 2 * i length 2;
      %s
      constraint rule: %s;
      check: no_overlap[i in 1..2] fixed[i];
    } scenario s for m { }"""
    cases = (
        ("minimize o: s[1] + s[2] - 4 * fast;", "fast => no_overlap[i in 1..2] t[i]", -2.0),
        ("maximize o: s[1] - s[2];", "not no_overlap[i in 1..2] t[i]", 2.0),
        ("maximize o: s[1] + 3 * s[2];", "cumulative[i in 1..2] (t[i], i) <= 2 + fast", 24.0),
        ("minimize o: s[2] - s[1] + 5 * fast;", "cumulative[i in 1..2] (t[i], i) <= 2 + fast", -6.0),
    )
    for objective, rule, best in cases:
        for backend in BACKENDS:
            result = gs.loads(text % (objective, rule)).solve(backend=backend, gap=0)
            assert result.objective == pytest.approx(best), (rule, backend)


ENDLESS = """
model Endless {
  set Jobs;
  param lasts[Jobs] integer;
  var begin[Jobs] integer >= 0;
  var end >= 0;
  interval task[j in Jobs] start begin[j] length lasts[j];
  minimize end;
  constraint after[j in Jobs]: end >= begin[j] + lasts[j];
  constraint apart: %s;
}
scenario S for Endless { table Jobs: lasts = a 1  b 3  c 2; }
"""


@pytest.mark.parametrize(
    ("condition", "least"),
    [
        ("no_overlap[j in Jobs] task[j]", 6),
        ("not no_overlap[j in Jobs] task[j]", 3),
        ("cumulative[j in Jobs] (task[j], 1) <= 1", 6),
        ("not cumulative[j in Jobs] (task[j], 1) <= 2", 3),
    ],
)
def test_starts_without_a_last_time(condition: str, least: float) -> None:
    """Pairs that can be at any time can overlap: a solver that takes conditions needs no bound, HiGHS names it."""
    model = gs.loads(ENDLESS % condition)
    assert model.solve(backend="scip", gap=0).objective == pytest.approx(least)
    with raises_code("GSM3202", condition.removeprefix("not "), "begin"):
        model.solve(backend="highs")


def test_lengths_without_a_least_value() -> None:
    """They are not negative where their interval is present."""
    text = (ENDLESS % "no_overlap[j in Jobs] task[j]").replace("param lasts[Jobs]", "var lasts[Jobs]")
    text = text.replace("minimize end", "minimize end + 4 * sum[j in Jobs] lasts[j]").replace(
        "scenario S", "scenario T for Endless { Jobs = { a, b }; }\nscenario S"
    )
    text = text.replace("constraint after", "constraint total: sum[j in Jobs] lasts[j] >= -5;\n  constraint after")
    assert gs.loads(text).solve("T", backend="scip", gap=0).objective == pytest.approx(0)
    optional = text.replace("length lasts[j];", "length lasts[j] optional on on[j];").replace(
        "var end", "var on[Jobs] binary;\n  var end"
    )
    with raises_code("GSM3202", "lasts", at="no_overlap[j in Jobs] task[j]"):
        gs.loads(optional).solve("T", backend="scip")


def test_a_data_condition_that_is_false() -> None:
    text = """model m { var x binary; maximize o: x; interval t[i in 1..2] start i length 2;
      constraint c: x == 1 => no_overlap[i in 1..2] t[i]; } scenario s for m { }"""
    assert gs.loads(text).solve().objective == 0.0


def test_units_of_intervals() -> None:
    text = """model m { var s[1..2] in min integer >= 0 <= 300; var g in GB >= 0 <= 9; minimize o: g;
      interval t[i in 1..2] start s[i] length 1.5[h];
      constraint late: s[2] <= 60[min]; constraint early: s[1] <= 45[min];
      constraint c: cumulative[i in 1..2] (t[i], 3[GB]) <= g; } scenario s for m { }"""
    for backend in BACKENDS:
        assert gs.loads(text).solve(backend=backend, gap=0).objective == pytest.approx(6.0)
    with pytest.raises(DiagnosticError, match="GSM13"):
        gs.loads(text.replace("length 1.5[h]", "length 1.5[GB]")).solve()


def test_one_layout() -> None:
    written = "model m{interval  t[ i in S ] start s[i] length 2 optional on x[i];constraint c:no_overlap [i in S]t[i]"
    laid_out = format_text(written + ";}")
    assert "interval t[i in S] start s[i] length 2 optional on x[i];" in laid_out
    assert "no_overlap[i in S] t[i];" in laid_out
    assert format_text(laid_out) == laid_out
