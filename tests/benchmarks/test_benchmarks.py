"""The benchmarks' arms that need nothing beyond the package build one and the same model, on a small instance."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.registry import WINDOW_FORMS

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


def facts(arm: str, folder: Path, *arguments: str) -> dict[str, float]:
    return json.loads(run("benchmarks.child", arm, str(folder), *arguments).splitlines()[-1])["facts"]


@pytest.mark.slow
def test_capacity_arms_agree(tmp_path: Path) -> None:
    run("benchmarks.capacity.data", str(tmp_path), "2", "1")
    ours = facts("benchmarks.capacity.by_gsdsl", tmp_path)
    nodes, jobs, types, configs = 2, 20, 9, 32
    assert ours["columns"] == jobs * nodes * configs + nodes * types + nodes + 3 * jobs
    assert ours["rows"] == 2 * jobs * nodes * configs + jobs * nodes + nodes * types + nodes + 3 * jobs + 1
    for form in ("columns", "rows", "triplets"):
        theirs = facts(f"benchmarks.capacity.by_numpy_{form}", tmp_path)
        assert theirs == pytest.approx(ours, rel=1e-9), form


@pytest.mark.slow
@pytest.mark.parametrize("model", ["network", "triples"])
def test_natural_and_indexed_forms_agree(model: str, tmp_path: Path) -> None:
    run("benchmarks.sparse.data", str(tmp_path), "50", "600")
    natural = facts("benchmarks.sparse.by_gsdsl", tmp_path, f"{model}_natural")
    assert natural == facts("benchmarks.sparse.by_gsdsl", tmp_path, f"{model}_indexed")
    if model == "network":
        assert natural == facts("benchmarks.sparse.by_gsdsl", tmp_path, "network_plain")


@pytest.mark.slow
def test_forms_of_windows_agree(tmp_path: Path) -> None:
    run("benchmarks.windows.data", str(tmp_path), "7", "20")
    ours = facts("benchmarks.sparse.by_gsdsl", tmp_path, "range")
    for form in WINDOW_FORMS:
        assert facts("benchmarks.sparse.by_gsdsl", tmp_path, form) == ours, form


@pytest.mark.slow
def test_speed_profile_arms_agree(tmp_path: Path) -> None:
    run("benchmarks.speed_profile.data", str(tmp_path), "4")
    ours = facts("benchmarks.speed_profile.by_gsdsl", tmp_path, "exponential")
    assert ours == facts("benchmarks.speed_profile.by_cvxpy", tmp_path)
    assert facts("benchmarks.speed_profile.by_gsdsl", tmp_path, "mixed")["profiles"] == 12


@pytest.mark.slow
def test_re_solving_arms_agree(tmp_path: Path) -> None:
    run("benchmarks.resolve.data", str(tmp_path), "1", "1", "2")
    assert facts("benchmarks.resolve.by_gsdsl", tmp_path, "scratch") == {"decisions": 3}
    assert facts("benchmarks.resolve.by_gsdsl", tmp_path, "incremental") == {"decisions": 3}
