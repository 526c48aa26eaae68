"""A policy runs jobs only in ways that it lists, also where several ways use equally many GPUs of a node.

The modes of a job differ in time and cost, not in GPUs. All engines are asked: rules of `place`, draws, finishing
rules, moves, rules that place all jobs at once, and gangs. With room for all jobs each gets the first mode of its list.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs

MODES, JOBS = 4, 5

MODEL = """
model Modes {
  set Jobs ordered;  set Nodes;  set Users;
  set Modes = 1..4;
  param gpus[Nodes] integer >= 1;
  param need[Jobs] integer >= 1;
  param owner[Jobs] within Users;
  param hours[Jobs, Modes] in h > 0;
  param rate[Modes] in $/h >= 0;
  param wish[Jobs, Modes];
  var run[j in Jobs, n in Nodes, s in Modes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes, s in Modes] rate[s] * hours[j, s] * run[j, n, s]
    + sum[j in Jobs] 1000[$] * (1 - sum[n in Nodes, s in Modes] run[j, n, s]);
  constraint once[j in Jobs]: sum[n in Nodes, s in Modes] run[j, n, s] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs, s in Modes] need[j] * run[j, n, s] <= gpus[n];
  placement run[j, n, s] {
    job j;  node n;  uses need[j] of gpus[n];  lasts hours[j, s];  costs rate[s] in $/h;
    due 5[h];  weight 2[$/h];  postponed 1000[$];  user owner[j];
  }
}
"""
RULES = {
    "Queue": "place best_fit, new_node, next_choice, postpone;",
    "First": "place first_fit, new_node, wait;",
    "Exclusive": "place new_node exclusive, next_choice, postpone;",
    "Suboptimal": "place best_fit, new_node, best_suboptimal, postpone;",
    "Grown": "place best_fit, new_node, postpone;  finish grow by speedup;",
    "Moves": """place best_fit, new_node, postpone;  randomise order swapping with probability 0.3;
  repeat 5 keep best total;  improve 2 best rounds all with swap_tardy_any(10), swap_postponed_running, faster_type(10),
  double_gpus(10), regroup_gpus(10), repack_node(0), repack_two(5), insert_job(0);""",
    "Backfilled": "place backfill;",
    "Conserving": "place backfill conservative;",
    "Shared": "place fair_share;",
}


def instance(rng: np.random.Generator, gpus: int) -> str:
    """A scenario of few nodes, with random times, wishes and rates."""
    names = [f"j{j}" for j in range(JOBS)]
    head = "".join(f"  {s}" for s in range(1, MODES + 1))
    hours = "".join(f"  {n}{''.join(f' {v:.3f}' for v in rng.uniform(1, 9, MODES))}\n" for n in names)
    wish = "".join(f"  {n}{''.join(f' {v}' for v in rng.permutation(MODES))}\n" for n in names)
    jobs = "".join(f" {n} {rng.integers(1, 3)} u{rng.integers(2)}" for n in names)
    return f"""scenario Some for Modes {{
  table Nodes: gpus = n1 {gpus} n2 {gpus};
  Users = {{ u0, u1 }};
  table Jobs: need owner = {jobs};
  table hours[Jobs, Modes] in h: {head} =
{hours};
  table wish[Jobs, Modes]: {head} =
{wish};
  rate = {list(rng.integers(1, 9, MODES).tolist())}[$/h];
}}
"""


def policies(choose: str) -> str:
    return "".join(
        f"policy {name} for Modes {{ order j in Jobs by ord(j); choose s in Modes {choose}; {rules} }}\n"
        for name, rules in RULES.items()
    )


def modes_of(model: gs.Model, policy: str) -> dict[str, int]:
    """The mode of each job that runs."""
    rows = model.solve("Some", backend=policy).table("run", zeros=False)
    return dict(zip(rows["j"].to_list(), rows["s"].to_list(), strict=True))


def wishes(text: str) -> dict[str, list[int]]:
    """The modes of each job, the best of its wishes first."""
    lines = text.split("table wish[Jobs, Modes]:")[1].splitlines()[1:]
    rows = [line.split() for line in lines if line.strip().startswith("j")]
    return {row[0]: sorted(range(1, MODES + 1), key=lambda s: int(row[s])) for row in rows}


@pytest.mark.parametrize("seed", range(2))
def test_with_room_for_all_each_job_gets_the_first_mode_of_its_list(tmp_path: Path, seed: int) -> None:
    scenario = instance(np.random.default_rng(seed), gpus=20)
    path = tmp_path / "modes.gsm"
    path.write_text(MODEL + scenario + policies("by wish[j, s]"))
    wanted = {job: modes[0] for job, modes in wishes(scenario).items()}
    model = gs.load(path)
    for policy in RULES:
        if policy == "Moves":  # they compare prices
            continue
        found = modes_of(model, policy)
        assert found.items() <= wanted.items(), policy
        assert len(found) == (2 if policy == "Exclusive" else JOBS), policy  # there are two nodes


@pytest.mark.parametrize("seed", range(2))
def test_no_job_runs_in_a_mode_that_is_not_listed(tmp_path: Path, seed: int) -> None:
    """Also without room for all, and although the listed modes are among the last of the data."""
    scenario = instance(np.random.default_rng(seed), gpus=3)
    path = tmp_path / "modes.gsm"
    path.write_text(MODEL + scenario + policies("where wish[j, s] >= 2 by wish[j, s] descending"))
    listed = {job: set(modes[2:]) for job, modes in wishes(scenario).items()}
    model = gs.load(path)
    for policy in RULES:
        found = modes_of(model, policy)
        assert found, policy
        assert all(mode in listed[job] for job, mode in found.items()), (policy, found, listed)


GANG = """
model Gang {
  set Jobs ordered;  set Nodes;  set Racks;  set Modes = 1..2;
  param gpus[Nodes] integer >= 1;
  param rack[Nodes] within Racks;
  param hours[Modes] in h > 0;
  param rate[Modes] in $/h;
  var run[j in Jobs, n in Nodes, s in Modes] integer >= 0 <= gpus[n];
  placement run[j, n, s] {
    job j;  node n;  rack rack[n];  workers 6;  uses 1 of gpus[n];  lasts hours[s];  costs rate[s];
  }
}
scenario Some for Gang {
  Racks = { r };
  table Nodes: gpus rack = n1 4 r n2 4 r;
  Jobs = { a };  hours = [2, 2][h];  rate = [1, 3][$/h];
}
policy Second for Gang { order j in Jobs by ord(j); choose s in Modes where s == 2 by s; place fewest_racks, postpone; }
policy Last for Gang { order j in Jobs by ord(j); choose s in Modes by s descending; place fewest_racks, postpone; }
policy Cheap for Gang { order j in Jobs by ord(j); choose s in Modes by rate[s]; place fewest_racks, postpone; }
"""


def test_gangs_run_in_the_first_mode_of_their_list(tmp_path: Path) -> None:
    path = tmp_path / "gang.gsm"
    path.write_text(GANG)
    model = gs.load(path)
    assert {name: modes_of(model, name)["a"] for name in ("Second", "Last", "Cheap")} == {
        "Second": 2, "Last": 2, "Cheap": 1,
    }  # fmt: skip
