"""A missing optional package is reported with the extra that installs it, before any work."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends import registry

ROOT = Path(__file__).resolve().parents[2]
MODEL = "model M { set I = 1..3; var x[I] binary; minimize n: sum[i in I] x[i]; }\n"
CAMPAIGN = MODEL + "scenario S for M { }\ncampaign C for M { solve S with highs; }\n"
WITH_SHEET = 'model M { set I; } scenario S for M { data "jobs.xlsx" { I = name; } }\n'

# For each extra: the package to hide, files, and the command line that needs it.
MISSING: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "lsp": ("pygls", {}, ["lsp"]),
    "mcp": ("mcp", {}, ["mcp"]),
    "figures": ("matplotlib", {"m.gsm": MODEL}, ["solve", "m.gsm", "--figures", "pictures"]),
    "serve": ("uvicorn", {"m.gsm": MODEL}, ["serve", "m.gsm", "--no-token"]),
    "cpsat": ("ortools", {"m.gsm": MODEL}, ["solve", "m.gsm", "--method", "cpsat"]),
    "excel": ("fastexcel", {"m.gsm": WITH_SHEET, "jobs.xlsx": "PK"}, ["solve", "m.gsm"]),
    "dask": ("distributed", {"m.gsm": CAMPAIGN}, ["campaign", "run", "m.gsm", "--engine", "dask"]),
    "slurm": ("dask_jobqueue", {"m.gsm": CAMPAIGN}, ["campaign", "run", "m.gsm", "--engine", "slurm"]),
}
INSIDE = {"predict", "kubernetes"}  # without a command of their own
FOR_DEVELOPERS = {"dev", "docs", "bench", "browser"}
OF_HOSTS = {"notebook"}  # loaded by IPython, which is there then


def hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave as if a package was not installed, and no backend had been opened."""
    registry.backend.cache_clear()
    for name in [n for n in sys.modules if n == package or n.startswith(package + ".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("extra", MISSING)
def test_the_message_names_the_extra(
    extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package, files, arguments = MISSING[extra]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    hide(package, monkeypatch)
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert f"`pip install '.[{extra}]'` in the folder of gsdsl" in told
    assert "error[GSM" in told
    assert "GSM9999" not in told


def test_every_extra_has_a_test() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras.keys() == MISSING.keys() | INSIDE | FOR_DEVELOPERS | OF_HOSTS


def learn() -> None:
    from gpusched_dsl.profiles.learners import require

    require()


def reach_kubernetes() -> None:
    from gsdsl_clusters.drivers.kubernetes.api import _sender

    _sender(None, None, 1.0)


@pytest.mark.parametrize(
    ("extra", "package", "use"), [("predict", "sklearn", learn), ("kubernetes", "kubernetes", reach_kubernetes)]
)
def test_parts_that_need_a_package_name_its_extra(
    extra: str, package: str, use: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(package, monkeypatch)
    with pytest.raises(DiagnosticError) as raised:
        use()
    assert f"`pip install '.[{extra}]'` in the folder of gsdsl" in str(raised.value)


@pytest.mark.parametrize(("extra", "package"), [("cpsat", "ortools"), ("excel", "fastexcel")])
def test_a_campaign_starts_no_run_when_one_of_them_needs_a_missing_package(
    extra: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MODEL + "scenario S for M { }\ncampaign C for M { solve S with highs, cpsat; }\n"
    if extra == "excel":
        text = WITH_SHEET + "campaign C for M { solve S with highs; }\n"
        text = text.replace("set I;", "set I; var x[I] binary; minimize n: sum[i in I] x[i];")
    (tmp_path / "m.gsm").write_text(text, encoding="utf-8")
    (tmp_path / "jobs.xlsx").write_bytes(b"PK")
    monkeypatch.chdir(tmp_path)
    hide(package, monkeypatch)
    assert main(["campaign", "run", "m.gsm", "--engine", "inline"]) == 1
    assert f"`pip install '.[{extra}]'` in the folder of gsdsl" in capsys.readouterr().err
    assert not list((tmp_path / "C.results" / "runs").rglob("*.json"))
