"""`--profile`: where the time of a command went."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.ir import log as phases
from gpusched_dsl.ir.log import log_phase, recorded_phases

MODEL = """model M {
  set J = 1..6;
  var x[J] binary;
  maximize worth: sum[j in J] j * x[j];
  constraint c: sum[j in J] j * x[j] <= 10;
}
scenario S for M { }
"""
ROW = re.compile(r"^(\S.*?)  +(-|[\d.]+) +([\d.]+) +(\d+)$", re.MULTILINE)


def phases_of(text: str) -> dict[str, tuple[float, float]]:
    return {name: (0.0 if wall == "-" else float(wall), float(cpu)) for name, wall, cpu, _ in ROW.findall(text)}


def test_a_solve_names_its_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.gsm").write_text(MODEL, encoding="utf-8")
    assert main(["solve", str(tmp_path / "m.gsm"), "--json", "-", "--profile"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("{")  # the table is not in the document
    found = phases_of(printed.err)
    assert {"starting", "text and checks", "the rest", "all"} <= set(found)
    assert sum(wall for name, (wall, _) in found.items() if name != "all") <= found["all"][0] + 0.01
    assert found["text and checks"][0] > 0


@pytest.mark.parametrize(
    "arguments", [["check", "m.gsm"], ["export", "m.gsm", "--to", "lp", "-o", "m.lp"], ["fmt", "m.gsm", "--check"]]
)
def test_every_command_has_the_table(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.gsm").write_text(MODEL, encoding="utf-8")
    main([*arguments, "--profile"])
    assert {"the rest", "all"} <= set(phases_of(capsys.readouterr().err))
    main(arguments)
    assert phases_of(capsys.readouterr().err) == {}


def test_a_phase_does_not_have_the_time_of_those_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(phases, "time", SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0] / 2))

    def fail() -> None:
        with log_phase("inner"):
            now[0] += 5
            raise ValueError("inside")

    with recorded_phases() as record:
        for _ in range(2):
            with log_phase("outer"):
                now[0] += 2
                with pytest.raises(ValueError, match="inside"):
                    fail()
        now[0] += 1
    assert [tuple(each) for each in record.times()] == [
        ("starting", 1, 0.0, 0.0), ("outer", 2, 4.0, 2.0), ("inner", 2, 10.0, 5.0), ("the rest", 0, 1.0, 0.5)
    ]  # fmt: skip


def test_nothing_is_recorded_after_the_work() -> None:
    with recorded_phases() as record:
        pass
    with log_phase("later"):
        pass
    assert "later" not in {each.name for each in record.times()}
