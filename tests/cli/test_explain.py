import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from found_codes import shows

Run = Callable[..., object]

FEASIBLE = """\
Pack, scenario Small
MILP: linear, with integer variables
2 columns (2 integer), 1 row, 2 nonzeros

variables
  variable  columns  integer  bounds  nonzeros
  --------  -------  -------  ------  --------
  take            2        2  0 .. 9         2

constraints
  constraint  rows  nonzeros  coefficients  sides
  ----------  ----  --------  ------------  -----
  fits           1         2  2 .. 3        7
"""

# Whether it has a solution is hard to tell.
SPLIT = """
model Split {
  set Rows;
  set Items;
  param weight[Rows, Items];
  param half[r in Rows] = floor(sum[i in Items] weight[r, i] / 2);
  var left[Items] binary;
  constraint equal[r in Rows]: sum[i in Items] weight[r, i] * left[i] == half[r];
}
scenario S for Split {
  Rows = { r1, r2, r3, r4, r5 };
  Items = 1..40;
  data "weights.csv" { weight[row, item] = weight; }
}
"""


def test_a_feasible_problem(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("explain", pack)
    assert done.code == 0
    assert done.out.startswith(FEASIBLE)
    assert "feasible: some values satisfy all constraints" in done.out
    assert done.err == ""


def test_nothing_is_solved_without_why(gsdsl: Run, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched_dsl.explaining import explain

    monkeypatch.setattr(explain, "search_conflict", None)
    assert gsdsl("explain", pack, "--no-why").out == FEASIBLE


def test_tightening_can_be_left_out(gsdsl: Run, pack: Path) -> None:
    assert gsdsl("explain", pack, "--no-why", "--without", "all").out == FEASIBLE
    done = gsdsl("explain", pack, "--no-why", "--without", "everything")
    assert done.code == 1
    assert "error[GSM4011]" in done.err
    assert "`all`" in done.err


def test_an_infeasible_problem(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    path = variant("<= room;", ">= 100[GB];")
    done = gsdsl("explain", path, "--json", tmp_path / "out.json")
    assert done.code == 3
    assert shows(done.out, "GSM3301", "fits")
    assert "fits: 2 take[a] + 3 take[b] >= 100 GB, but it is at most 45 GB" in done.out
    assert "there is a solution with 45 GB instead of 100 GB in `fits` (55 GB less)" in done.out
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["status"] == "infeasible"
    assert [row["entry"] for row in found["conflict"]["rows"]] == ["fits"]
    assert [(b["entry"], b["kind"], b["value"]) for b in found["conflict"]["bounds"]] == [
        ("take[a]", "upper", 9.0), ("take[b]", "upper", 9.0),
    ]  # fmt: skip
    assert found["relaxations"][0]["changes"][0]["new_lower"] == 45.0
    assert found["conflict"]["rows"][0]["line"] == 11


def test_an_unbounded_problem(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("explain", variant(" integer >= 0 <= 9", " >= 0", "<= room", ">= room"), "--json", "-")
    assert done.code == 4
    found = json.loads(done.out)
    assert found["status"] == "unbounded"
    assert found["ray"]["objective"] == "gain"
    assert len(found["ray"]["steps"]) == 1


def test_findings_for_programs(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("--diagnostics", "json", "explain", variant("<= room;", ">= 100[GB];"))
    (finding,) = json.loads(done.err)
    assert (finding["code"], finding["line"]) == ("GSM3301", 11)


def test_settings_and_problem_files(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    assert gsdsl("explain", pack, "--set", "room=-1[GB]").code == 1  # a value out of its bounds
    file = tmp_path / "problem.json"
    assert gsdsl("export", pack, "--to", "json", "--out", file).code == 0
    assert gsdsl("explain", file).code == 0


def test_no_time_no_claim(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("explain", pack, "--time-limit", 0)
    assert done.code == 5
    assert "unknown" in done.out


def test_solve_points_here(gsdsl: Run, variant: Callable[..., Path]) -> None:
    assert "gsdsl explain" in gsdsl("solve", variant("<= room;", ">= 100[GB];")).out


def weights(seed: int) -> str:
    """Of market split problems (Cornuejols and Dawande), from a generator of our own."""
    state, lines = seed, ["row,item,weight"]
    for row in range(1, 6):
        for item in range(1, 41):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            lines.append(f"r{row},{item},{(state >> 33) % 100}")
    return "\n".join(lines) + "\n"


def stopped_after(seconds: float, folder: Path, child: Callable[..., Any]) -> tuple[int, str, str]:
    """Explain the model in a process of its own and stop it so long after the search has begun."""
    (folder / "hard.gsm").write_text(SPLIT)
    command = [sys.executable, "-m", "gpusched_dsl", "explain", "hard.gsm", "--json", "out.json"]
    process = child(command, cwd=folder)
    while "sides" not in process.stdout.readline():  # the table of constraints comes before the search
        pass
    time.sleep(seconds)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_before_anything_is_known(tmp_path: Path, child: Callable[..., Any]) -> None:
    (tmp_path / "weights.csv").write_text(weights(3))
    code, out, err = stopped_after(1.0, tmp_path, child)
    assert code == 130, err
    assert "unknown" in out, err
    assert json.loads((tmp_path / "out.json").read_text())["conflict"] is None
