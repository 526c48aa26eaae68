"""`gsdsl export` of interchangeable elements: named one by one, or aggregated; the file says which."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import highspy
import pytest
from found_codes import shows

import gpusched_dsl as gs
from gpusched_dsl.ir.json.codec import from_json
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.workflows import exported_form

Run = Callable[..., object]
MODEL = """model Rooms {
  set Nodes identical; set Jobs; param size[Jobs]; param price[Nodes] default 1;
  var on[Nodes] binary; var x[Jobs, Nodes] binary;
  minimize o: sum[n in Nodes] price[n] * on[n];
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
  constraint room[n in Nodes]: sum[j in Jobs] size[j] * x[j, n] <= 10 * on[n];
}
scenario S for Rooms { Nodes = { n1, n2, n3, n4, n5, n6 }; table Jobs: size = a 3 b 4 c 5 d 6 e 7 f 2 g 3; }
"""
# No two nodes and no two jobs have equal data.
PRICES = "table Nodes: price = n1 1 n2 2 n3 3 n4 4 n5 5 n6 6; table Jobs"
APART = (
    MODEL.replace("Nodes identical", "Nodes")
    .replace("Nodes = { n1, n2, n3, n4, n5, n6 }; table Jobs", PRICES)
    .replace("g 3", "g 1")
)
LEAST = 3.0
NAMED, SIZE = "48 columns (48 integer), 13 rows, 90 nonzeros", "18 columns (18 integer), 14 rows, 47 nonzeros"


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    file = tmp_path / "rooms.gsm"
    file.write_text(MODEL, encoding="utf-8")
    return file


def optimum(file: Path) -> float:
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(file)) == highspy.HighsStatus.kOk
    highs.run()
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("form", ["lp", "mps", "python", "python-scip"])
@pytest.mark.parametrize("aggregated", [False, True])
def test_a_file_says_which_form_it_has(gsdsl: Run, rooms: Path, tmp_path: Path, form: str, aggregated: bool) -> None:
    out = tmp_path / f"out.{'py' if form.startswith('python') else form}"
    done = gsdsl("export", rooms, "--to", form, "--out", out, *["--aggregated"] * aggregated)
    said = "are aggregated: columns count elements" if aggregated else "are named one by one here"
    other = NAMED if aggregated else SIZE
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wrote {out}: {SIZE if aggregated else NAMED}\n")
    for text in (done.out, out.read_text("utf-8")[:1000]):
        assert f"interchangeable elements of Nodes {said}" in text
        assert other in text
    if form in ("lp", "mps"):
        assert optimum(out) == pytest.approx(LEAST)
    else:
        ran = subprocess.run([sys.executable, out], capture_output=True, text=True, check=True)
        assert f"objective {LEAST:g}" in ran.stdout.replace(f"{LEAST}", f"{LEAST:g}")


def test_json_has_no_head_but_the_terminal_says_it(gsdsl: Run, rooms: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = gsdsl("export", rooms, "--to", "json", "--out", out)
    assert "are named one by one here" in done.out
    assert from_json(out.read_bytes()).columns == 48
    done = gsdsl("export", rooms, "--to", "json", "--out", out, "--aggregated")
    assert "are aggregated" in done.out
    assert gs.solve(from_json(out.read_bytes())).objective == pytest.approx(LEAST)
    refused = gsdsl("export", out, "--to", "lp", "--aggregated")
    assert refused.code == 1
    assert shows(refused.err, "GSM6016", "--aggregated", ".gsm")


def test_what_has_no_aggregated_form(gsdsl: Run, rooms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms.write_text(APART)
    done = gsdsl("export", rooms, "--to", "lp")
    assert "interchangeable" not in done.out
    refused = gsdsl("export", rooms, "--to", "lp", "--aggregated")
    assert refused.code == 1
    assert "error[GSM6008]: the problem has no aggregated form: no elements are interchangeable" in refused.err
    rooms.write_text(MODEL)
    monkeypatch.setattr(exported_form, "is_pooled", lambda aggregated: True)
    assert "generated while it is solved" in gsdsl("export", rooms, "--to", "lp", "--aggregated").err
    named = gsdsl("export", rooms, "--to", "lp").out
    assert "`gsdsl solve` aggregates them" in named
    assert "--aggregated" not in named


def test_mathematics_has_no_forms(gsdsl: Run, rooms: Path) -> None:
    refused = gsdsl("export", rooms, "--to", "markdown", "--aggregated")
    assert refused.code == 2
    assert shows(refused.err, "GSM6002", "--aggregated")


def test_python(tmp_path: Path) -> None:
    model, out = gs.loads(MODEL), tmp_path / "rooms.mps"
    assert "are named one by one here" in model.export(out).read_text("utf-8")
    assert "are aggregated" in model.export(out, aggregated=True).read_text("utf-8")
    assert optimum(out) == pytest.approx(LEAST)
    with pytest.raises(DiagnosticError) as error:
        gs.loads(APART).export(out, aggregated=True)
    assert error.value.diagnostics[0].code == "GSM6008"
