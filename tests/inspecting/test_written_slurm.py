"""From a real Slurm to a model that drives it: `drive --init`, `--check`, `solve`, `--act`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from slurm_service import NEEDS_SLURM, SlurmService, slurm_service

from gpusched_dsl.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), NEEDS_SLURM]


def state(slurm: SlurmService, job: str) -> tuple[str, str]:
    line = slurm.run("scontrol", "-o", "show", "job", job)
    words = dict(word.split("=", 1) for word in line.split() if "=" in word)
    return words["JobState"], words["NodeList"]


def test_from_a_real_slurm_to_started_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory() as short, slurm_service(Path(short), nodes=4, gpus=4) as slurm:
        for name, value in slurm.environment.items():
            monkeypatch.setenv(name, value)

        def submit(*options: str) -> str:
            given = ("sbatch", "--parsable", "--hold", "-t", "30", "--wrap", "sleep 2", *options)
            return slurm.run(*given)

        slurm.run("sbatch", "--parsable", "-t", "30", "--gres=gpu:1", "--wrap", "sleep 60")
        gang, typed, alone = submit("-N2", "--gres=gpu:4"), submit("--gres=gpu:h200:3"), submit("--gres=gpu:4")
        ours = tmp_path / "ours"
        assert main(["drive", "--init", "slurm", str(ours)]) == 0, capsys.readouterr()
        assert main(["solve", str(ours / "now.gsm"), "--scenario", "Now", "--method", "EASY"]) == 0
        assert main(["drive", str(ours / "cluster.toml"), "--check"]) == 0
        shown = capsys.readouterr().out
        assert "needs = 8" in shown
        assert "workers = 2" in shown
        text = (ours / "cluster.toml").read_text()
        (ours / "cluster.toml").write_text(text.replace("interval = 10 ", "interval = 1 "))
        assert main(["drive", str(ours / "cluster.toml"), "--act", "--rounds", "20"]) == 0, capsys.readouterr()
        time.sleep(1)
        states = {job: state(slurm, job) for job in (gang, typed, alone)}
        assert {one for one, _ in states.values()} <= {"RUNNING", "COMPLETED", "COMPLETING"}, states
        assert states[gang][1].count("-") + states[gang][1].count(",") == 1  # g[1-2] or g[1,3]
        capsys.readouterr()
        assert main(["drive", str(ours / "cluster.toml"), "--report"]) == 0, capsys.readouterr()
        assert "cluster " in capsys.readouterr().out
