"""The scenarios and policies of the package fit together: no plan violates the model that evaluates it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.blocks.policies.describe import PolicyListing

MODELS = Path(gs.__file__).parents[1] / "models"
# With hard deadlines these end jobs late, which their papers do not forbid: docs of the policies say so.
DEADLINES_BIND = {"FIFO", "FIFOExclusive", "EPRONS", "EPRONSExclusive", "PAMBT", "PAMBTExclusive"}
# A job that waits costs nothing as long as its mean length meets its due date, so it may wait beside idle GPUs, which
# the rule of the scenario forbids.
MAY_IDLE = {"AvgDPShares"}
SCENARIOS = [
    ("gpu_sharing/scenarios/cluster_10x20.gsm", "Sharing10x20", "GpuSharing", MAY_IDLE),
    ("capacity_planning/scenarios/figure1.gsm", "Figure1", "CapacityPlanning", set()),
    ("capacity_planning/scenarios/gavel_40_jobs.gsm", "Gavel40", "CapacityPlanning", set()),
    ("capacity_planning/scenarios/three_jobs.gsm", "ThreeJobs", "CapacityPlanning", set()),
    ("allocation/scenarios/zeus.gsm", "Zeus", "Allocation", set()),
    ("price_aware/scenarios/day.gsm", "DayByNode", "PriceAware", DEADLINES_BIND),
    ("price_aware/scenarios/day.gsm", "DayByNodeMigrating", "PriceAware", DEADLINES_BIND),
]


def broken(file: str, scenario: str, names: list[str]) -> dict[str, str]:
    """The policies whose plans do not keep to the model, with the status of each."""
    with gs.load(MODELS / file) as model:
        found = model.compare(names, scenario, time_limit=200)
    statuses = {row.method: "refused" if row.result is None else str(row.result.status) for row in found.rows}
    return {name: status for name, status in statuses.items() if status not in ("feasible", "optimal")}


def is_portfolio(policy: PolicyListing) -> bool:
    return any(text.startswith("portfolio ") for text, _ in policy.lines)


def test_the_scheduler_of_the_paper_goes_with_its_instance() -> None:
    names = ["STS", "STSPostponing", "Greedy", "EDF", "FIFO", "DPShares"]
    assert broken("gpu_sharing/scenarios/cluster_10x20.gsm", "Sharing10x20", names) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("file", "scenario", "used", "known"), SCENARIOS)
def test_all_policies_go_with_the_scenario(file: str, scenario: str, used: str, known: set[str]) -> None:
    with gs.load(MODELS / file) as model:
        policies = [listed.policy for listed in model.policies(used)]
    names = [policy.name for policy in policies if not is_portfolio(policy)]  # portfolios need a run
    assert len(names) >= 3
    assert set(broken(file, scenario, names)) == known
