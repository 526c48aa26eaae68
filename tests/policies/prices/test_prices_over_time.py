"""Policies with prices in runs over time: plan by plan, recorded, divided, in portfolios, and never replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from online_texts import driver, machines, run, setup

import gpusched_dsl as gs
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.offered_load import plans_alone
from gpusched_dsl.online.replay.eligibility import replay_facts, replay_obstacles

# Of the present jobs, the prices of `once` are what each gains beyond the price of a machine: the shortest first. Jobs
# without a price wait.
PRICED = """
policy Priced for Machines {
  let gain[j in Jobs] in $ = price(once[j]) + price(alone) * 1[1];
  order j in Jobs by gain[j] descending, left[j];
  place new_node exclusive, wait;
}
policy Again for Machines extends Priced { keep nodes; }
policy Both for Machines { portfolio Priced, Again; }
policy Pair for Machines extends Priced { split 2 controllers; }
policy PairOfQueues for Machines extends SRPT { split 2 controllers; }
"""


def jobs(seed: int, count: int = 7) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    return [(float(round(rng.uniform(0, 5), 2)), float(round(rng.uniform(0.5, 4), 2))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.quick(2)
def test_prices_of_every_plan_are_those_of_its_jobs(seed: int) -> None:
    text = machines(2, jobs(seed))
    priced, queue = run(text + PRICED, "Events", "S", "Priced"), run(text + PRICED, "Events", "S", "SRPT")
    assert priced.world.end == pytest.approx(queue.world.end)
    assert priced.total == pytest.approx(queue.total)


def test_runs_with_prices_are_not_replayed() -> None:
    text = machines(2, jobs(3)) + PRICED
    made = setup(text, "Events", "S", "Priced")
    workspace = workspace_from_text(text, "test.gsm", Diagnostics())
    policy = check_policy(workspace, workspace.policies["Priced"], Diagnostics(), made.online.model)
    assert policy is not None
    assert "the policy has a line `price`" in replay_obstacles(policy, replay_facts(made.online))
    loop = driver(text, "Events", "S", "Priced")
    assert plans_alone(loop.planner)  # it plans by the cost of one decision


@pytest.mark.parametrize(("method", "same"), [("Both", "Priced"), ("Pair", "PairOfQueues")])
def test_portfolios_and_controllers(method: str, same: str) -> None:
    text = machines(4, jobs(4, 9)) + PRICED
    one, other = run(text, "Events", "S", method), run(text, "Events", "S", same)
    assert one.world.end == pytest.approx(other.world.end)


def test_a_recorded_run_goes_on_with_the_same_prices(tmp_path: Path) -> None:
    path = tmp_path / "recorded.gsm"
    path.write_text(machines(2, jobs(5, 6)) + PRICED)
    model, stops = gs.load(path), iter([False] * 5 + [True] * 100)
    options = {"online": "Events", "method": "Priced", "journal": tmp_path / "run.db"}
    assert model.run(**options, stop=lambda: next(stops)).ended == "interrupt"
    assert model.run(**options).total == pytest.approx(model.run(online="Events", method="Priced").total)
