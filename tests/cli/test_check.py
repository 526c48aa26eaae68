import json
from collections.abc import Callable
from pathlib import Path

import pytest
from found_codes import shows

import gpusched_dsl as gs

Run = Callable[..., object]
TOUR = ["campaign.gsm", "capacity_planning.gsm", "figure1.gsm", "price_aware.gsm", "speed_profile.gsm"]


def test_what_is_right_is_counted(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("check", pack)
    assert (done.code, done.out, done.err) == (0, "ok: 1 model, 1 scenario, 1 test\n", "")


def test_all_findings_at_once(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("worth[i] *", "wroth[i] *", "room = 7[GB]", "room = 7[$]", "gain == 10", "gian == 10")
    done = gsdsl("check", path)
    assert done.code == 1
    assert done.out == ""
    assert "GSM1101" in done.err
    assert "did you mean `worth`?" in done.err
    assert done.err.count("error[") == 1  # what needs the model is silent while the model has errors
    path = variant("room = 7[GB]", "room = 7[$]", "a 3 2", "a 3 2 1")
    assert gsdsl("check", path).err.count("error[") == 2


def test_findings_as_json_are_the_output(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("check", "--diagnostics", "json", variant("room = 7[GB]", "room = 7[$]"))
    assert done.code == 1
    assert "GSM1302" in json.dumps(json.loads(done.out))
    assert done.err == ""
    done = gsdsl("check", "--diagnostics", "json", variant())
    assert done.code == 0
    assert "GSM" not in json.dumps(json.loads(done.out))


def test_wrong_data_are_errors(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("check", variant("b 5 3", "b -5 3"))
    assert done.code == 1
    assert "GSM2109" in done.err


def test_a_scenario_without_all_data_is_a_warning(gsdsl: Run, variant: Callable[..., Path]) -> None:
    done = gsdsl("check", variant("  room = 7[GB];\n", ""))
    assert done.code == 0
    assert done.out == "ok: 1 model, 1 scenario, 1 test\n"
    assert shows(done.err, "GSM2115", "Small", "room", severity="warning")
    assert gsdsl("solve", variant("  room = 7[GB];\n", "")).code == 1


def test_a_base_for_other_scenarios_may_be_incomplete(gsdsl: Run, variant: Callable[..., Path]) -> None:
    full = "scenario Full extends Small { room = 7[GB]; }\ntest Small {"
    path = variant("  room = 7[GB];\n", "", "test Small {", full, "solve Small", "solve Full")
    done = gsdsl("check", path)
    assert (done.code, done.err) == (0, "")


def test_a_missing_data_file_is_a_warning(gsdsl: Run, variant: Callable[..., Path]) -> None:
    path = variant("room = 7[GB];", 'data "later.csv" { room = room[GB]; }')
    done = gsdsl("check", path)
    assert done.code == 0
    assert "warning[GSM2001]" in done.err
    done = gsdsl("solve", path)
    assert done.code == 1
    assert "error[GSM2001]" in done.err


def test_data_from_outside_need_leave(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "room.csv").write_text("room\n7\n")
    path = variant("room = 7[GB];", 'data "../room.csv" { room = room[GB]; }', name="inner/pack.gsm")
    assert "GSM2002" in gsdsl("check", path).err
    assert gsdsl("check", path, "--allow-outside").code == 0
    assert gsdsl("solve", path, "--allow-outside").code == 0


def test_folders_stand_for_their_files(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    variant(name="one.gsm")
    variant("7[GB]", "7[$]", name="deep/two.gsm")
    variant("7[GB]", "7[$]", name=".hidden/three.gsm")
    done = gsdsl("check", tmp_path)
    assert done.code == 1
    assert done.out == f"{tmp_path / 'one.gsm'}: ok: 1 model, 1 scenario, 1 test\n"
    assert done.err.count("error[") == 1


def test_an_empty_folder_is_an_error(gsdsl: Run, tmp_path: Path) -> None:
    done = gsdsl("check", tmp_path)
    assert done.code == 1
    assert "error[GSM6004]" in done.err


def test_a_shared_import_is_told_once(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    variant("worth[i] * take[i]", "wroth[i] * take[i]", name="shared.gsm")
    for name in ("a.gsm", "b.gsm"):
        (tmp_path / name).write_text('import "shared.gsm";\n')
    assert gsdsl("check", tmp_path / "a.gsm", tmp_path / "b.gsm").err.count("error[") == 1


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_nothing_is_fine(gsdsl: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.gsm").write_text(text)
    assert gsdsl("check", tmp_path / "empty.gsm").out == "ok: nothing declared\n"


@pytest.mark.parametrize("content", [b"\x00\x01", b"\xff\xfeh\x00", b"model \xff {}", bytes(range(256)) * 50])
def test_garbage_is_told(gsdsl: Run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "garbage.gsm"
    path.write_bytes(content)
    for done in (gsdsl("check", path), gsdsl("solve", path), gsdsl("test", path), gsdsl("fmt", path)):
        assert done.code == 1
        assert "error[GSM10" in done.err


# --- deep and strict -------------------------------------------------------------------------------------------------

BROKEN = Path(__file__).parents[1] / "broken"


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("30xx/3001_product_of_huge_ranges.gsm", "GSM3001"),
        ("30xx/3002_decided_subscript.gsm", "GSM3002"),
        ("33xx/3304_product.gsm", "GSM3201"),
    ],
)
def test_deep_finds_what_a_solve_finds(gsdsl: Run, file: str, code: str) -> None:
    assert gsdsl("check", BROKEN / file).code == 0
    done = gsdsl("check", "--deep", BROKEN / file)
    assert done.code == 1
    assert f"error[{code}]" in done.err


def test_deep_builds_for_a_solver(gsdsl: Run, pack: Path) -> None:
    product = BROKEN / "33xx" / "3304_product.gsm"
    assert gsdsl("check", "--deep", product, "--method", "scip").out == "ok: 1 model, 1 scenario, grounded\n"
    assert gsdsl("check", "--deep", pack).out == "ok: 1 model, 1 scenario, 1 test, grounded\n"
    assert "only for `--deep`" in gsdsl("check", pack, "--method", "scip").err
    assert "GSM4001" in gsdsl("check", "--deep", pack, "--method", "scp").err
    with pytest.raises(gs.DiagnosticError, match="GSM3201"):
        gs.load(product).check(deep=True)
    assert gs.load(product).check(deep=True, method="scip") == gs.load(product).check() == ()


def test_strict_makes_warnings_errors(gsdsl: Run, variant: Callable[..., Path], pack: Path) -> None:
    missing = variant("room = 7[GB];", 'data "none.csv" { room = room[GB]; }')
    done = gsdsl("check", missing)
    assert (done.code, "warning[GSM2001]" in done.err) == (0, True)
    done = gsdsl("check", "--strict", missing)
    assert (done.code, "error[GSM2001]" in done.err, done.out) == (1, True, "")
    incomplete = variant("room = 7[GB];", "")
    assert (gsdsl("check", incomplete).code, gsdsl("check", "--strict", incomplete).code) == (0, 1)
    assert gsdsl("check", "--strict", pack).code == 0


def test_strict_keeps_notes_on_logs(gsdsl: Run, tmp_path: Path) -> None:
    """A real export of a queue has rows that cannot be used; an unused variable is a slip of the author."""
    rows = (
        "JobID|Submit|Start|End|State|ReqTRES\n1|2023-03-10T12:00:00|2023-03-10T12:10:00|2023-03-10T13:10:00|COMPLETED|"
    )
    (tmp_path / "log.txt").write_text(f"{rows}gres/gpu=2\n2|2023-03-10T12:00:00|soon|Unknown|PENDING|gres/gpu=2\n")
    model = "model M { set J; var x[J] >= 0; minimize c: sum[j in J] x[j]; }"
    path = tmp_path / "m.gsm"
    path.write_text(model + ' scenario S for M { data "log.txt" as sacct { J = job; } }', encoding="utf-8")
    done = gsdsl("check", "--strict", path)
    assert (done.code, "note[GSM2017]" in done.err) == (0, True), done.err
    path.write_text(path.read_text(encoding="utf-8").replace("set J;", "set J; var forgotten[J];"), encoding="utf-8")
    assert (gsdsl("check", path).code, gsdsl("check", "--strict", path).code) == (0, 1)


def test_a_missing_file_is_not_ok(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.gsm"
    text = 'model M { set J; var x[J]; minimize c: sum[j in J] x[j]; } scenario S for M { data "j.csv" { J = j; } }'
    path.write_text(text, encoding="utf-8")
    done = gsdsl("check", path)
    assert (done.code, done.out) == (0, "incomplete, a data file is missing: 1 model, 1 scenario\n")
