"""Mixtures of plans: what they are made of, that they are followed only if they cost less, and meet the model."""

from __future__ import annotations

import numpy as np
import pytest
from found_codes import raises_code
from online_texts import driver, run
from rollout_texts import cluster, some_jobs

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.language.checked import CheckedPlacement
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.planners.mixtures import exchangeable_jobs, mixture
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.policies.plan import Plan

BLOCK = "EveryArrivalAndCompletion"
Row = tuple[int, ...]


@pytest.fixture(scope="module")
def placement() -> CheckedPlacement:
    """That of capacity planning: a job, a node, its type and the GPUs of the job."""
    found = driver(cluster(some_jobs(0, 2)), BLOCK, "S", "FIFO").setup.placement
    assert [found.position(role) for role in ("job", "node", "node_type")] == [0, 1, 2]
    return found


def plan_of(rows: set[Row], name: str, **more: VariableValues) -> Plan:
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 4)
    codes: tuple[Codes, ...] = tuple(table[:, at] for at in range(4))
    return Plan({"run": VariableValues(codes, np.ones(len(table)))}, name, remembered=more)


def rows_of(plan: Plan) -> set[Row]:
    return set(zip(*(column.tolist() for column in plan.values["run"].codes), strict=True))


def random_rows(rng: np.random.Generator, kind: Ints, group: Ints) -> set[Row]:
    """Jobs on the two nodes of their groups, some waiting; a node has one type."""
    found = set()
    for job, pair in enumerate(group.tolist()):
        node = 2 * pair + int(rng.integers(2))
        if rng.random() < 0.8:
            found.add((job, node, int(kind[node]), int(rng.integers(1, 3))))
    return found


def test_no_node_and_no_job_mixes_two_plans(placement: CheckedPlacement) -> None:
    rng, several = np.random.default_rng(3), 0
    for _ in range(60):
        pairs = int(rng.integers(1, 5))
        group = rng.integers(pairs, size=int(rng.integers(2, 9)))
        ours, theirs = (random_rows(rng, rng.integers(2, size=2 * pairs), group) for _ in range(2))
        a, b = plan_of(ours, "A"), plan_of(theirs, "B")
        parts = exchangeable_jobs(placement, a, b)
        several += bool(parts)
        together = a
        for part in parts:
            mixed = rows_of(mixture(placement, a, b, part))
            assert mixed not in (ours, theirs)
            for at, count in ((0, len(group)), (1, 2 * pairs)):
                for code in range(count):
                    content = {row for row in mixed if row[at] == code}
                    assert content in [{row for row in rows if row[at] == code} for rows in (ours, theirs)]
            together = mixture(placement, together, b, part)
        if parts:
            assert rows_of(together) == theirs
    assert several >= 20


def test_what_is_remembered_is_divided_by_jobs(placement: CheckedPlacement) -> None:
    def values(**given: float) -> VariableValues:
        return VariableValues((np.array([int(name[1:]) for name in given]),), np.array([*given.values()]))

    a = plan_of({(0, 0, 0, 1), (1, 1, 0, 1), (2, 2, 0, 1)}, "A", level=values(j0=1, j1=2, j2=3))
    b = plan_of({(0, 0, 1, 1), (1, 1, 1, 1), (2, 2, 0, 1)}, "B", level=values(j0=4, j1=5), other=values(j0=6, j1=7))
    first, second = exchangeable_jobs(placement, a, b)
    assert (first.tolist(), second.tolist()) == ([0], [1])
    mixed = mixture(placement, a, b, second)
    assert mixed.method == "A with 1 job of B"
    found = {
        name: dict(zip(v.codes[0].tolist(), v.values.tolist(), strict=True)) for name, v in mixed.remembered.items()
    }
    assert found == {"level": {0: 1.0, 1: 5.0, 2: 3.0}, "other": {1: 7.0}}


# --- in runs ---------------------------------------------------------------------------------------------------------

MIXED = "policy Mixed for CapacityPlanning { portfolio Greedy, ATC, EDF; mix 8 plans; }"


def notes_of(text: str, online: str, method: str) -> tuple[RunOutcome, list[str]]:
    """The outcome of a run, and which plan was followed at each step."""
    found: list[str] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.last_result is not None
        found.append(loop.last_result.plan.notes[-1])

    return driver(text, online, "S", method, on_plan=note).run(), found


@pytest.mark.slow
def test_mixtures_are_no_worse_than_the_policies() -> None:
    """All jobs are there from the beginning, so the simulated costs are the real ones."""
    followed = 0
    for seed in range(30):
        jobs = [job._replace(submitted=0.0) for job in some_jobs(seed, 6)]
        text = cluster(jobs, nodes=4, more=MIXED)
        outcome, notes = notes_of(text, BLOCK, "Mixed")
        best = min(run(text, BLOCK, "S", base).total for base in ("Greedy", "ATC", "EDF"))
        assert outcome.total <= best * (1 + 1e-9)
        followed += sum(" of " in note.removeprefix("plan of ") for note in notes)
    assert followed >= 3


POOLS = """
model Pools {
  set Jobs;  set Nodes;
  param home[Jobs] within Nodes;  param needs[Jobs];  param most default 9;
  param length[Jobs] in h;  param remaining[Jobs] default 1;  param due_in[Jobs] in h;
  var run[j in Jobs, n in Nodes where home[j] == n] binary;
  minimize waiting in $: 1[$] * sum[j in Jobs] (1 - run[j, home[j]]);
  constraint alone[n in Nodes]: sum[j in Jobs where home[j] == n] run[j, n] <= 1;
  constraint supply: sum[j in Jobs] needs[j] * run[j, home[j]] <= most;
  placement run[j, n] { job j; node n; lasts remaining[j] * length[j]; costs 1[$/h]; due due_in[j]; weight 5[$/h]; }
}
policy Early for Pools { order j in Jobs by length[j]; place new_node exclusive, wait; keep running; }
policy Late for Pools extends Early { order j in Jobs by length[j] descending; }
policy Plain for Pools { portfolio Early, Late; }
policy Mixed extends Plain { mix 8 plans; }
policy Continued extends Mixed { continue with Late; }
policy Once extends Mixed { mix 1 plans; }
online Run for Pools {
  arrive j in Jobs at 0[h];
  carry remaining[j] = remaining[j];
  carry due_in[j] = due_in[j] - now;
}
scenario S for Pools {
  Nodes = { a, b };
  table Jobs: home length[h] due_in[h] needs = x0 a 1 1 2  x1 a 2 9 1  y0 b 1.1 9 1  y1 b 2.1 2.1 2;
}
"""


@pytest.mark.parametrize("method", ["Mixed", "Continued"])
def test_a_mixture_costs_less_than_each_plan(method: str) -> None:
    """On node a the short job is urgent, on node b the long one: each policy is late with one of them.

    With `Late`, the queue waits for node b from 2 to 2.1 h.
    """
    totals = {name: run(POOLS, "Run", "S", name).total for name in ("Early", "Late", "Plain")}
    assert totals == pytest.approx({"Early": 6.2 + 5 * 1.1, "Late": 6.2 + 5 * 2.1, "Plain": 6.2 + 5 * 1.1})
    outcome, notes = notes_of(POOLS, "Run", method)
    assert outcome.total == pytest.approx(6.2)
    assert outcome.world.first_start[[0, 3]].tolist() == [0.0, 0.0]
    assert notes[0] in ("plan of Early with 2 jobs of Late", "plan of Late with 2 jobs of Early")


def test_a_mixture_must_satisfy_the_model() -> None:
    """Either plan needs 3 of 3, their better mixture 4."""
    outcome, notes = notes_of(POOLS.replace("most default 9", "most default 3"), "Run", "Mixed")
    assert notes[0] == "plan of Early"
    assert outcome.total > 6.2


def test_the_number_of_mixtures() -> None:
    """The first mixture has the jobs of node a of the other plan, and costs more."""
    assert notes_of(POOLS, "Run", "Once")[1][0] == "plan of Early"
    text = POOLS.replace("mix 8 plans", "mix 3 - 3 plans")
    with raises_code("GSM1670", "0", at="3 - 3"):
        run(text, "Run", "S", "Mixed")


def test_without_time_nothing_is_mixed() -> None:
    assert run(POOLS, "Run", "S", "Mixed", time_limit=0.0).total == pytest.approx(6.2 + 5 * 1.1)
