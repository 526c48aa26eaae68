"""From a real Slurm to a model that drives it: `drive --init`, `--check`, `solve`, `--act`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from slurm_service import NEEDS_ACCOUNTING, NEEDS_SLURM, SlurmService, slurm_service

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


def use_accounts(slurm: SlurmService) -> None:
    """Two accounts with shares and a limit, two QOS with priorities and limits, enforced by Slurm."""
    for words in (
        "add qos high priority=100 MaxTRESPU=gres/gpu=5", "add qos low priority=1 GrpTRES=gres/gpu=4",
        "add account vision fairshare=3 qos=normal,high,low",
        "add account speech fairshare=2 GrpTRES=gres/gpu:a100=4 qos=normal,high,low",
        "add user root account=vision,speech", "modify user root where account=vision set GrpTRES=gres/gpu=9",
    ):  # fmt: skip
        slurm.run("sacctmgr", "-i", *words.split())


@NEEDS_ACCOUNTING
def test_limits_of_a_real_slurm_are_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are read from `sacctmgr`; the plan starts what Slurm lets start, and nothing that Slurm would refuse."""
    types = ["a100", "a100", "v100", "v100"]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as short,
        slurm_service(Path(short), gpus=4, cpus=32, types=types, accounting=True) as slurm,
    ):
        for name, value in slurm.environment.items():
            monkeypatch.setenv(name, value)
        use_accounts(slurm)

        def submit(*options: str) -> str:
            given = ("sbatch", "--parsable", "--hold", "-n1", "--mem=10", "-o", "/dev/null", "-t", "30", *options)
            return slurm.run(*given, "--wrap", "sleep 300")

        speech, again = (submit("-A", "speech", "--gres=gpu:a100:3") for _ in range(2))  # 4 of a100
        low, lower = (submit("-A", "speech", "--qos=low", "--gres=gpu:v100:3") for _ in range(2))  # 4
        high, higher = (submit("-A", "vision", "--qos=high", "--gres=gpu:3") for _ in range(2))  # 5 of each user
        ours = tmp_path / "ours"
        assert main(["drive", "--init", "slurm", str(ours)]) == 0, capsys.readouterr()
        text = (ours / "cluster.gsm").read_text()
        for line in ('share["speech"] = 2;', 'share["vision"] = 3;', 'team_type_gpus["speech", "a100"] = 4;'):
            assert f"  {line}\n" in text, text
        toml = (ours / "cluster.toml").read_text()
        assert "values = { high = 101.0, low = 2.0 }" in toml.replace('"', ""), toml
        (ours / "cluster.toml").write_text(toml.replace("interval = 10 ", "interval = 1 "))
        (ours / "cluster.gsm").write_text(text.replace("# team_limits", "team_limits"))
        assert main(["drive", str(ours / "cluster.toml"), "--act", "--rounds", "25"]) == 0, capsys.readouterr()
        started = {job for job in (speech, again, low, lower, high, higher) if state(slurm, job)[0] == "RUNNING"}
        assert started == {speech, low, high}, (started, capsys.readouterr())
        slurm.run("scontrol", "release", f"{again},{lower},{higher}")
        time.sleep(5)  # what the plan left waiting, Slurm does not start either
        reasons = slurm.run("squeue", "-h", "-t", "PD", "-o", "%r").split()
        assert sorted(reasons) == ["AssocGrpGRES", "QOSGrpGRES", "QOSMaxGRESPerUser"], reasons
