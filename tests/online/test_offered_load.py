"""The load that jobs offer against all intervals, and the warning of methods that plan each decision alone under it."""

from __future__ import annotations

import numpy as np
import pytest
from found_codes import message_values
from online_texts import MACHINES, run, setup

from gpusched_dsl.online.offered_load import NO_LOAD, largest_load, offered_load, plans_alone

# Two machines, eight jobs of two hours that arrive within 0.7 h; they need 16 of the 2 * due machine hours.
JOBS = 8
DRAWN = """
policy Drawn for Machines extends SRPT { repeat 3 keep best total; }
"""


def text(due: float, weight: float = 1.0) -> str:
    rows = "  ".join(f"j{i} {0.1 * i!r} 2.0 {due!r} {weight!r}" for i in range(JOBS))
    jobs = f"table Jobs: submitted[h] length[h] due_in[h] weight[$/h] = {rows};"
    return f"{MACHINES}{DRAWN}scenario S for Machines {{ Nodes = 1..2; {jobs} }}"


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_load_of_all_intervals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, nodes = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    came = np.round(rng.uniform(0, 5, jobs), 1)
    due, need = came + rng.uniform(0.5, 4, jobs), rng.uniform(0.1, 3, jobs)
    best = 0.0
    for a in came:
        for d in due[due > a]:
            inside = (came >= a) & (due <= d)
            if inside.sum() > nodes:
                best = max(best, float(need[inside].sum() / (2.5 * (d - a))))
    assert largest_load(came, due, need, 2.5, nodes).value == pytest.approx(best)


def test_the_load_of_a_scenario() -> None:
    load = offered_load(setup(text(8.0), method="Drawn"))
    assert load.value == pytest.approx(16 / (2 * 8.0))
    assert (load.begin, load.end, load.jobs) == (0.0, pytest.approx(8.0), 8)


def test_jobs_that_nobody_pays_for_are_no_load() -> None:
    assert offered_load(setup(text(8.0, weight=0.0), method="Drawn")) == NO_LOAD


def test_a_search_under_load_is_warned_of() -> None:
    [warning] = [w for w in run(text(8.0), method="Drawn").warnings if w.code == "GSM7009"]
    assert {"8", "0", "100"} <= set(message_values(warning.message))
    for method, due in (("SRPT", 8.0), ("Drawn", 20.0)):
        assert [w.code for w in run(text(due), method=method).warnings] == []


def test_which_methods_plan_a_decision_alone() -> None:
    assert {m: plans_alone(setup(text(8.0), method=m).planner) for m in ("FIFO", "SRPT", "Drawn", "highs")} == {
        "FIFO": False, "SRPT": False, "Drawn": True, "highs": True,
    }  # fmt: skip
