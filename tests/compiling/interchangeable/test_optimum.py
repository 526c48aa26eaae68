"""Counted nodes give the optimum of the full problem: random small instances of the shipped models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import capacity_cases
import pytest
import sharing_cases
from exactness import Tally, check_same, loaded

from gpusched_dsl.language.workspace import Workspace

MODELS = ("printed", "capacity", "zoned", "sharing")


def cases(folder: Path, model: str, seeds: range) -> Workspace:
    if model == "sharing":
        return loaded(sharing_cases.write_cases(folder, seeds))
    if model == "zoned":
        return loaded(capacity_cases.write_zoned(folder, seeds))
    form = "CapacityPlanningPrinted" if model == "printed" else "CapacityPlanning"
    return loaded(capacity_cases.write_cases(folder, seeds, form))


def settings(model: str, seed: int) -> Mapping[str, str]:
    if model == "printed":
        return {}
    return sharing_cases.settings(seed) if model == "sharing" else capacity_cases.settings(seed)


def check_seeds(folder: Path, model: str, seeds: range) -> Tally:
    """Most are counted, many have a plan, and those that are refused are so for reasons that are known to be right."""
    workspace = cases(folder, model, seeds)
    tally = Tally()
    for seed in seeds:
        own = settings(model, seed)
        made = check_same(workspace, f"Seed{seed}", own, tally)
        classes = made.aggregation.attempts[0].classes if made.aggregation.attempts else None
        if made.aggregated is None and classes is not None:
            assert model == "sharing", (seed, tally.refused)
            if "which does not pay" in str(made.aggregation.attempts[0].obstacle):
                continue
            assert own["node_rule"] == "work_conserving" or own["energy_horizon"] == "system_first_end", seed
    alone = 0.3 if model == "zoned" else 0  # nodes that all differ
    least = 0.5 if model == "sharing" else 1 - alone
    assert tally.counted >= least * tally.instances, tally
    assert tally.plans >= 0.7 * tally.counted, tally
    if model in ("zoned", "sharing"):
        assert tally.several > 0, tally
    return tally


@pytest.mark.quick(1)
@pytest.mark.parametrize("model", MODELS)
def test_counting_nodes_keeps_the_optimum(tmp_path: Path, model: str) -> None:
    check_seeds(tmp_path, model, range(25))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 50))
@pytest.mark.parametrize("model", MODELS)
def test_counting_nodes_keeps_the_optimum_often(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 50))
