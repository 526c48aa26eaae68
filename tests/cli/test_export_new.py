import json
from collections.abc import Callable
from pathlib import Path

import highspy
import pytest
from found_codes import shows

from gpusched_dsl.cli.starters import TEMPLATES, starter_files
from gpusched_dsl.ir.json.codec import from_json

Run = Callable[..., object]


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_other_solvers_read_what_is_exported(gsdsl: Run, pack: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"pack.{form}"
    done = gsdsl("export", pack, "--to", form, "--out", out)
    assert (done.code, done.out) == (0, f"wrote {out}: 2 columns (2 integer), 1 row, 2 nonzeros\n")
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(out)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(10.0)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_without_a_file_it_goes_to_standard_output(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    for form in ("lp", "mps", "json"):
        gsdsl("export", pack, "--to", form, "--out", tmp_path / "out")
        assert gsdsl("export", pack, "--to", form).out == (tmp_path / "out").read_text()


def test_json_is_the_problem(gsdsl: Run, pack: Path) -> None:
    problem = from_json(gsdsl("export", pack, "--to", "json", "--set", "room=9[GB]").out.encode())
    assert problem.name == "Pack"
    assert problem.row_upper.tolist() == [9.0]


TERMS = """\
model Terms {
  var x[i in 1..3] binary;
  var y >= 0 <= 5;
  var n integer >= 0 <= 4;
  maximize t: y * x[1] + max(x[2] * 2, y - 1) - n * n - y + 3 * x[3];
  constraint c: x[1] + n >= 1;
  constraint d: x[3] == 1 => y <= 2;
}
scenario S for Terms { }
"""


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_terms_are_made_linear(gsdsl: Run, tmp_path: Path, form: str) -> None:
    model, out = tmp_path / "terms.gsm", tmp_path / f"terms.{form}"
    model.write_text(TERMS)
    done = gsdsl("export", model, "--to", form, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "x * y: " in out.read_text().partition("maximize")[0]
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(out)) == highspy.HighsStatus.kOk
    assert f"{highs.getNumCol()} columns" in done.out
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(5.0)  # enumerated by hand


def test_terms_are_kept_in_json(gsdsl: Run, tmp_path: Path) -> None:
    model, out = tmp_path / "terms.gsm", tmp_path / "terms.json"
    model.write_text(TERMS)
    assert gsdsl("export", model, "--to", "json", "--out", out).code == 0
    direct = json.loads(gsdsl("solve", model, "--json", "-").out)
    read = json.loads(gsdsl("solve", out, "--json", "-").out)
    assert read["objectives"][0]["value"] == direct["objectives"][0]["value"] == pytest.approx(5.0)
    assert read["variables"] == direct["variables"] != {}
    assert gsdsl("export", out, "--to", "lp").out == gsdsl("export", model, "--to", "lp").out


def test_terms_that_no_file_of_rows_can_say(gsdsl: Run, tmp_path: Path) -> None:
    model, out = tmp_path / "terms.gsm", tmp_path / "out.lp"
    model.write_text(TERMS.replace("y * x[1]", "y * y"))
    done = gsdsl("export", model, "--to", "lp", "--out", out)
    assert done.code == 1
    assert shows(done.err, "GSM3201", "lp", "y^2")
    assert "export as JSON" in done.err
    assert not out.exists()
    assert gsdsl("export", model, "--to", "json", "--out", out).code == 0


@pytest.mark.parametrize(
    ("form", "words"), [("lp", "named in comments"), ("mps", "free rows"), ("json", ""), ("python", "")]
)
def test_what_a_format_cannot_say_is_told(gsdsl: Run, variant: Callable[..., Path], form: str, words: str) -> None:
    path = variant("  constraint fits", "  then minimize pieces: sum[i in Items] take[i];\n  constraint fits")
    done = gsdsl("export", path, "--to", form)
    assert done.code == 0
    assert ("warning[GSM6017]" in done.err) == bool(words)
    assert words in done.err


def test_errors_leave_nothing_behind(gsdsl: Run, variant: Callable[..., Path], tmp_path: Path) -> None:
    done = gsdsl("export", variant("7[GB]", "7[$]"), "--to", "mps", "--out", tmp_path / "out.mps")
    assert done.code == 1
    assert not (tmp_path / "out.mps").exists()
    done = gsdsl("export", variant(), "--to", "mps", "--out", tmp_path / "none" / "out.mps")
    assert "error[GSM6008]" in done.err


def test_the_starter_project_works_as_it_stands(gsdsl: Run, tmp_path: Path) -> None:
    folder = tmp_path / "my-cluster"
    done = gsdsl("new", folder)
    assert done.code == 0
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "jobs.csv", "my-cluster.gsm"]
    model = folder / "my-cluster.gsm"
    assert f"next: gsdsl solve {model}" in done.out
    done = gsdsl("check", model)
    assert (done.code, done.out, done.err) == (0, "ok: 1 model, 1 scenario, 1 test, 1 online block\n", "")
    assert "2 passed" in gsdsl("test", model).out
    assert gsdsl("fmt", "--check", model).code == 0
    found = json.loads(gsdsl("solve", model, "--json", "-").out)
    assert found["status"] == "optimal"
    assert len(found["placement"]) == 4


@pytest.mark.parametrize(
    ("template", "passed", "ended"),
    [("decision", "2 passed", "finished"), ("events", "3 passed", "finished"), ("windows", "2 passed", "horizon")],
)
def test_every_template_works_at_once(gsdsl: Run, tmp_path: Path, template: str, passed: str, ended: str) -> None:
    gsdsl("new", tmp_path / "demo", "--template", template)
    model = tmp_path / "demo" / "demo.gsm"
    assert gsdsl("check", "--deep", "--strict", model).code == 0
    assert gsdsl("fmt", "--check", model).code == 0
    assert json.loads(gsdsl("solve", model, "--json", "-").out)["status"] == "optimal"
    run = json.loads(gsdsl("run", model, "--json", "-").out)
    assert run["ended"] == ended
    assert run["metrics"]["jobs_unfinished"] == 0
    assert passed in gsdsl("test", model).out
    assert f"gsdsl run   {'' if template != 'events' else '  '}demo.gsm" in model.read_text()


def test_templates_are_listed(gsdsl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [line.split()[0] for line in gsdsl("new", "--list").out.splitlines()] == list(TEMPLATES)
    assert "did you mean `windows`?" in gsdsl("new", "demo", "--template", "window").err
    assert gsdsl("new").code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_model_as_mathematics(gsdsl: Run, tmp_path: Path) -> None:
    file = tmp_path / "m.gsm"
    one, two = "minimize t: x;", "maximize u: sum[j in J] y[j];"
    file.write_text(f"model One {{ var x >= 0; {one} }} model Two {{ set J; var y[J] <= 1; {two} }}")
    page = gsdsl("export", file, "--to", "markdown").out
    assert "## One" in page
    assert "## Two" in page
    latex = gsdsl("export", file, "--to", "latex", "--model", "Two", "--out", tmp_path / "two.tex")
    assert (latex.code, "Two" in latex.err + latex.out) == (0, True)
    assert r"\sum_{j \in \mathcal{J}} y_{j}" in (tmp_path / "two.tex").read_text()
    wrong = gsdsl("export", file, "--to", "latex", "--model", "Too")
    assert wrong.code == 1
    assert "error[GSM6018]" in wrong.err
    assert gsdsl("export", file, "--to", "lp", "--model", "Two").code != 0


def test_nothing_is_overwritten(gsdsl: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert gsdsl("new", tmp_path / "empty").code == 0
    for name in ("empty", "file"):
        (tmp_path / "file").write_text("")
        done = gsdsl("new", tmp_path / name)
        assert done.code == 1
        assert "error[GSM6011]" in done.err


@pytest.mark.parametrize("name", ["-x", "a b", "ü", ".hidden", "..", "a\0b"])
def test_names_that_make_no_project(gsdsl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = gsdsl("new", "--", name)
    assert done.code == 1
    assert "error[GSM6002]" in done.err
    assert list(tmp_path.iterdir()) == []


def test_starter_files_name_the_project() -> None:
    for template in TEMPLATES:
        files = starter_files("demo", template)
        assert "gsdsl solve" in files["demo.gsm"]
        assert "{" + "name}" not in "".join(files.values())
        assert "{{" not in "".join(files.values())
