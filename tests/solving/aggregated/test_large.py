"""Plans verified only where they are nonzero: results equal those of the full problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sharing_cases
import small_cluster

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.solving import aggregated as folding

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[gs.Model, dict[str, Any]], tuple[gs.Result, gs.Result]]:
    """A scenario solved with the plan checked in the whole problem, and where it is not zero only."""

    def solve(model: gs.Model, options: dict[str, Any]) -> tuple[gs.Result, gs.Result]:
        whole = model.solve(gap=0, **options)
        with monkeypatch.context() as patch:
            patch.setattr(folding, "MOST_NONZEROS", 0)
            patch.setattr(Built, "problem", property(lambda self: pytest.fail("it was grounded whole")))
            small = model.solve(gap=0, **options)
        return whole, small

    return solve


def plain(result: gs.Result) -> dict[str, Any]:
    """What a result says, apart from times."""
    found = json.loads(json.dumps(result.to_dict()))
    return {key: value for key, value in found.items() if not key.endswith("seconds") and key != "created"}


def without_zeros(found: Any) -> Any:
    """Numbers are rounded, zeros and times left out at every depth."""
    if isinstance(found, dict):
        rounded = {k: without_zeros(v) for k, v in found.items() if not k.endswith("seconds")}
        return {k: v for k, v in rounded.items() if v != 0}
    if isinstance(found, list):
        return [without_zeros(v) for v in found]
    return round(found, 9) if isinstance(found, float) else found


def rounded(text: str) -> str:
    """Numbers have nine digits after the point at most, as costs of other plans are sums in another order."""
    return re.sub(r"\d+\.\d{10,}", lambda number: str(round(float(number[0]), 9)), text)


def check_the_same(whole: gs.Result, small: gs.Result, folder: Path) -> None:
    assert whole.status == small.status
    if not whole.has_point:
        assert not small.has_point
        return
    assert small.problem.columns < whole.problem.columns
    assert whole.objectives[0].value == pytest.approx(small.objectives[0].value)
    assert whole.terms == pytest.approx(small.terms)
    model = whole.provenance.model
    for name in (*model.variables, *model.lets):
        one, other = whole[name], small[name]
        assert one.columns == other.columns, name
        assert sorted(one.rows()) == [pytest.approx(row) for row in sorted(other.rows())], name
    for name in model.lets:
        one, other = whole.table(name), small.table(name)
        assert sorted(r for r in other.rows() if r[-1] != 0) == sorted(r for r in one.rows() if r[-1] != 0), name
    assert whole.placement is not None
    assert small.placement is not None
    assert whole.placement.rows() == small.placement.rows()
    one, other = plain(whole), plain(small)
    assert set(one) == set(other)
    for key in set(one) - {"sizes", "statistics"}:
        assert without_zeros(one[key]) == without_zeros(other[key]), key
    files = [sorted(p.name for p in r.to_csv(folder / n)) for n, r in (("w", whole), ("s", small))]
    assert files[0] == files[1]
    for name in files[0]:
        lines = [sorted(rounded((folder / n / name).read_text(encoding="utf-8")).splitlines()) for n in ("w", "s")]
        assert lines[0] == lines[1], name


@pytest.mark.parametrize("settings", [{}, {"deadline_terms": "printed"}, {"node_rule": "at_most"}])
def test_capacity_planning(tmp_path: Path, both: Any, settings: dict[str, str]) -> None:
    whole, small = both(gs.load(small_cluster.write(tmp_path)), {"settings": settings})
    check_the_same(whole, small, tmp_path)
    for node in ("n1", "n2", "n3", "n4"):
        for kind in small_cluster.GPUS:
            assert small.value("hosts", node, kind) == whole.value("hosts", node, kind)
    for labels in (("n5", "small"), ("n1", "tiny"), ("n1",)):
        with pytest.raises(KeyError):
            small.value("hosts", *labels)


@pytest.mark.slow
def test_gpu_sharing(tmp_path: Path, both: Any) -> None:
    model = gs.load(sharing_cases.write_cases(tmp_path, range(8)))
    found = 0
    for seed in range(8):
        settings = sharing_cases.settings(seed)
        if settings["node_rule"] == "work_conserving" or settings["energy_horizon"] == "system_first_end":
            continue
        found += 1
        check_the_same(*both(model, {"scenario": f"Seed{seed}", "settings": settings}), tmp_path)
    assert found > 2


TESTS = """
test Counted {
  solve Four with highs (gap = 0);
  expect status == optimal;
  expect total > 0;
  expect sum[n in Nodes, v in Types] hosts[n, v] == 4;
  expect rented == 4;
  expect sum[j in Jobs] runs[j] == sum[j in Jobs, n in Nodes, (v, g) in Configs] run[j, n, v, g];
  expect all[n in Nodes] sum[v in Types] hosts[n, v] == 1;
  expect all[n in Nodes, v in Types]
    sum[j in Jobs, g in 1..gpus[v]] g * run[j, n, v, g] <= gpus[v] * hosts[n, v];
  expect idle_gpus == idle_penalty_paid;
}
"""


@pytest.mark.parametrize("most", [0, folding.MOST_NONZEROS])
def test_expectations(tmp_path: Path, gsdsl: Run, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(folding, "MOST_NONZEROS", most)
    path = small_cluster.write(tmp_path, TESTS.replace("  expect idle_gpus == idle_penalty_paid;\n", ""))
    code, out, err = gsdsl("test", path)
    assert (code, err) == (0, ""), out + err
    path = small_cluster.write(tmp_path, TESTS.replace("idle_penalty_paid", "count(Nodes) + 77"))
    code, out, err = gsdsl("test", path)
    assert code == 1
    assert "77" in out + err
