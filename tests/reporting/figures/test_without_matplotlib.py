"""Without Matplotlib: every use of figures names the extra before any work, and nothing else needs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.figures.drawing.files import write_figures
from gpusched_dsl.reporting.pages.fragment import data_uri

COMMAND = "`pip install '.[figures]'` in the folder of gsdsl"
MODEL = """model M { set I = 1..3; var x[I] binary; maximize n: sum[i in I] x[i]; }
scenario S for M { }
campaign C for M { solve S with highs; }
"""
PLANNED = "gsdsl:figure1"


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.parametrize(
    "words",
    [
        "solve m.gsm", "solve m.gsm --alternatives 2", "solve gsdsl:gavel_at_most.gsm --method EDF",
        "compare m.gsm --methods highs,scip", "run gsdsl:philly_sample.gsm --methods FIFO,SJF",
        "run gsdsl:philly_sample.gsm --method FIFO", "campaign run m.gsm", "campaign show m.gsm",
    ],
)  # fmt: skip
def test_a_command_is_refused_before_it_works(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.gsm").write_text(MODEL, encoding="utf-8")
    assert main([*words.split(), "--figures", "pictures", "--html", "page.html"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("error[") == 1
    assert "GSM6023" in output.err
    assert "figures need the package matplotlib, which is not installed" in output.err
    assert COMMAND in output.err
    assert {path.name for path in tmp_path.iterdir()} == {"m.gsm"}


@pytest.mark.parametrize(
    "use",
    [
        lambda: gs.load(PLANNED).solve().to_figures("pictures"),
        lambda: gs.load(PLANNED).compare(("highs", "EDF")).to_figures("pictures"),
        lambda: write_figures({}, "pictures"),
        lambda: data_uri(gs.load(PLANNED).solve().figures()[0]),
    ],
    ids=["result", "comparison", "files", "image"],
)
def test_python_names_the_extra(use: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError, match="GSM6023") as raised:
        use()
    assert COMMAND in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_pages_need_no_matplotlib(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["solve", f"{PLANNED}.gsm", "--html", str(page), "-q"]) == 0
    assert "echarts" in page.read_text(encoding="utf-8")


def test_notebooks_show_a_note_in_place_of_figures() -> None:
    result = gs.load(PLANNED).solve()
    shown = result._repr_html_()
    assert "<img" not in shown
    assert shown.count("<b>GSM6023</b>") == 1
    assert "pip install &#39;.[figures]&#39;" in shown
    assert "optimal" in shown


def test_a_notebook_command_is_refused_before_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gsdsl_notebook.commands import parser_of, refuse_others

    parser = parser_of("solve", "m")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError, match="GSM6023"):
        refuse_others("solve", parser.parse_args(["m", "--figures", "pictures"]), parser)
    refuse_others("solve", parser.parse_args(["m", "--html", "page.html"]), parser)
