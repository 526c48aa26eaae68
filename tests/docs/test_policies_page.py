"""The examples of the two pages on policies are correct: policies, their test, their descriptions, Python."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.language.pages import read_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = read_page("policies") + "\n" + read_page("policies_in_detail")


def block_after(words: str, language: str = "") -> str:
    """The first fenced block of a language after some words."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE[PAGE.index(words) :], re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the page, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("own.gsm").write_text(block_after("`own.gsm`:", "gsm"), encoding="utf-8")
    return Path("own.gsm")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(list(arguments)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_the_policies_check_and_are_formatted(own: Path, printed: Callable[..., str]) -> None:
    assert ": ok" in printed("check", str(own)) or printed("check", str(own)).startswith("ok: ")
    printed("fmt", "--check", str(own))


def test_their_test_passes(own: Path, printed: Callable[..., str]) -> None:
    assert "2 passed" in printed("test", str(own))


def test_the_test_of_prices_passes(tmp_path: Path, printed: Callable[..., str]) -> None:
    path = tmp_path / "surplus.gsm"
    path.write_text(block_after("## Prices of constraints", "gsm"), encoding="utf-8")
    assert "2 passed" in printed("test", str(path))


def test_the_words_are_those_shown(own: Path, printed: Callable[..., str]) -> None:
    shown = block_after("reads the policy back in words")
    assert printed("explain", str(own), "--scenario", "GavelAtMost", "--policy", "LeastSlack").strip() == shown.strip()


def test_the_comparison_runs(own: Path, printed: Callable[..., str]) -> None:
    arguments = re.search(r"`gsdsl (compare own\.gsm [^`]*)`", PAGE)
    assert arguments is not None
    lines = printed(*arguments[1].split()).splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["highs", "LeastSlack", "LeastSlackDrawn"]
    assert all("optimal" in lines[4] if at == 0 else "feasible" in line for at, line in enumerate(lines[4:7]))


def test_the_python_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(block_after("## Use one", "python"), "policies.md", "exec"), {})
    assert capsys.readouterr().out.startswith("feasible ")


def test_every_policy_named_is_there() -> None:
    from gpusched_dsl.language.workspace import Workspace
    from gpusched_dsl.policies.library import policy_names

    table = PAGE[PAGE.index("## What there is") :].partition("\n# ")[0]
    named = set(re.findall(r"`([A-Z]\w+)`", "\n".join(line for line in table.splitlines() if line.startswith("|"))))
    assert len(named) >= 15
    assert named <= policy_names(Workspace(None))


@pytest.mark.slow
def test_a_rule_of_another_package_is_found_and_followed(tmp_path: Path) -> None:
    """Installed as a package is: a module, and beside it what its metadata say."""
    part = PAGE[PAGE.index("## Add a rule") :]
    python, toml, gsm = (re.search(rf"^```{k}\n(.*?)^```$", part, re.M | re.S) for k in ("python", "toml", "gsm"))
    assert python is not None
    assert toml is not None
    assert gsm is not None
    (tmp_path / "emptiest.py").write_text(python[1], encoding="utf-8")
    (tmp_path / "spread.gsm").write_text(gsm[1], encoding="utf-8")
    ((group, names),) = tomllib.loads(toml[1])["project"]["entry-points"].items()
    metadata = tmp_path / "emptiest-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: emptiest\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in names.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "GSDSL_PYTHON_KERNELS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "gpusched_dsl", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert re.search(
        r"^emptiest +on the node in use.*\(from another package\)", run("policies", "--rules"), re.MULTILINE
    )
    rules = json.loads(run("policies", "--rules", "--json", "-"))["rules"]
    assert [(rule["verb"], rule["text"]) for rule in rules if rule["added"]] == [("place", "emptiest")]
    found = json.loads(run("solve", "spread.gsm", "--scenario", "GavelAtMost", "--backend", "Spread", "--json", "-"))
    assert found["status"] == "feasible"
    assert len(found["placement"]) >= 30
