"""The engine's cost of a plan equals the charges of the model: by GPUs in use, with expected tardiness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from deciding_help import LIMITS, case_of
from random_cluster_texts import drawn

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.placement_reader import cluster_of

SEEDS = [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))]


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_engine_and_model_agree(seed: int, tmp_path: Path) -> None:
    text = drawn(seed).text()
    case = case_of("QuickRG", "Drawn", text)
    price = decide(case.policy, case.store, LIMITS, seed=seed).objective
    path = tmp_path / "drawn.gsm"
    path.write_text(text, encoding="utf-8")
    result = gs.load(path).solve("Drawn", "QuickRG", seed=seed)
    assert result.status == "feasible"
    assert result.objective == pytest.approx(price, rel=1e-9)


def test_rates_of_a_node_are_not_sums() -> None:
    """Two A100 cost 7.35, not twice 3.67; the table is read off `node_rate`."""
    case = case_of("Greedy", "TwoKinds")
    work = cluster_of(case.policy.model, case.store, LIMITS).work
    assert work.node_rate.tolist() == [[0, 0.9, 1.8, 2.7, 3.6], [0, 3.67, 7.35, 11.02, 14.69]]


def test_lateness_is_expected() -> None:
    """What being late costs is not told by the mean time of a way."""
    case = case_of("Greedy", "TwoKinds")
    work = cluster_of(case.policy.model, case.store, LIMITS).work
    one_k80 = work.way_at[2, 0, 1]
    # W is uniform on [0, 100] and takes W h: E (W - 30)+ = 70^2 / 200, although the mean of 50 h is 20 h late.
    assert work.late[one_k80] == pytest.approx(24.5)
    assert np.isclose(work.time[one_k80], 50)


def test_a_rate_that_counts_nothing(tmp_path: Path) -> None:
    text = """
model M {
  set Jobs; set Nodes;
  param price[Nodes] in $/h;
  var run[Jobs, Nodes] binary;
  placement run[j, n] { job j;  node n;  lasts 1[h];  node_rate price[n]; }
  minimize total: sum[j in Jobs, n in Nodes] run[j, n];
}
policy First for M { order j in Jobs by 1; choose n in Nodes by 1; place best_fit, new_node; }
scenario S for M { table Jobs: = a; table Nodes: price[$/h] = n 1; }
"""
    text = text.replace("table Jobs: = a;", "Jobs = { a };")
    case = case_of("First", "S", text)
    with pytest.raises(DiagnosticError, match="GSM3016"):
        cluster_of(case.policy.model, case.store, LIMITS)
