"""Values set from outside: single values, files of values, and options of generators."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from found_codes import shows

import gpusched_dsl as gs

Run = Callable[..., object]

MORE = """\
model Timed extends Pack {
  set Nodes;
  param time[i in Items, n in Nodes] in h default 1[h];
}
scenario Both for Timed extends Small {
  Nodes = { n1, "n-2", 3x };
}
test Small {"""

DRAWN = """\
import "gsdsl:capacity_planning/model.gsm";
scenario Drawn for CapacityPlanning {
  period = 1[h];
  node_rule = at_most;
  generate capacity_nodes (nodes = 2) { Nodes = node; }
  generate capacity_types (catalogue = full9) { Types = type; gpus[type] = gpus; price[type] = price; }
  generate capacity_jobs (seed = 1, jobs = 4) { Jobs = job; deadline[job] = deadline; weight[job] = weight; }
  generate capacity_times (seed = 1, jobs = 4) { Runnable = (job, type, gpus); exec_time[job, type, gpus] = time; }
}
"""


@pytest.fixture
def timed(variant: Callable[..., Path]) -> Path:
    return variant("test Small {", MORE.replace("3x", '"3x"'))


def values(path: Path, name: str, settings: dict[str, object]) -> dict[tuple[str, ...], float]:
    """The values of a parameter of the scenario `Both`, by key."""
    table = gs.load(path).solve("Both", settings=settings)[name]
    *keys, value = table.columns
    return {tuple(row[:-1]): row[-1] for row in table.select(*keys, value).iter_rows()}


@pytest.mark.parametrize(
    ("name", "value", "changed"),
    [
        ("time[a, n1]", "90[min]", {("a", "n1"): 1.5}),
        ('time["a","n-2"]', "2[h]", {("a", "n-2"): 2}),
        ('time[(b, "3x")]', "2[h]", {("b", "3x"): 2}),
        ("time[i in Items, n1]", "3[h]", {("a", "n1"): 3, ("b", "n1"): 3}),
        ("time[i in Items, n in Nodes where size[i] == 2[GB]]", "4[h]", {("a", n): 4 for n in ("n1", "n-2", "3x")}),
        ("time[a, n1]", "time[b, n1] * 2", None),
    ],
)
def test_single_values(timed: Path, name: str, value: str, changed: dict[tuple[str, ...], float] | None) -> None:
    if changed is None:
        with pytest.raises(gs.DiagnosticError):  # a value may not depend on the parameter itself
            values(timed, "time", {name: value})
        return
    found = values(timed, "time", {name: value})
    assert found == {(i, n): 1.0 for i in "ab" for n in ("n1", "n-2", "3x")} | changed


def test_the_command_line_and_python_set_alike(gsdsl: Run, pack: Path, tmp_path: Path) -> None:
    found = json.loads(gsdsl("solve", pack, "--set", "worth[a]=10[$]", "-D", "room=9[GB]", "--json", "-").out)
    assert found["settings"] == {"worth[a]": "10[$]", "room": "9[GB]"}
    assert found["objective"] == 39
    assert gs.load(pack).solve(settings={"worth[a]": "10[$]", "room": "9[GB]"}).objective == 39
    file = tmp_path / "set.csv"
    file.write_text('name,value,unit\n# a comment\n\nworth[a],3,$\n"worth[b]",5[$],\nroom,9,GB\n')
    found = json.loads(gsdsl("solve", pack, "--set-file", file, "--set", 'worth["a"]=10[$]', "--json", "-").out)
    assert found["settings"] == {"worth[b]": "5[$]", "room": "9[GB]", 'worth["a"]': "10[$]"}
    assert found["objective"] == 39
    settings = gs.read_settings(file)
    assert settings == {"worth[a]": "3[$]", "worth[b]": "5[$]", "room": "9[GB]"}
    assert gs.load(pack).solve(settings={**settings, "worth[a]": "10[$]"}).objective == 39


@pytest.mark.parametrize(
    ("setting", "code", "words"),
    [
        ("worth[c]=1[$]", "GSM2103", "`c` is not an element of `Items`"),
        ("worth[a]=1[GB]", "GSM1302", "`$` is needed"),
        ("worth[a]=1", "GSM1303", "write `1[$]`"),
        ("wrth[a]=1[$]", "GSM1504", "did you mean `worth`?"),
        ("worth[a,b]=1[$]", "GSM1507", "has 1 subscript, 2 given"),
        ("worth=1[$]", "GSM1515", "`--set 'worth[key]=...'`"),
        ("worth[n-1]=1[$]", "GSM1522", 'quote it if it is a label, `"n-1"`'),
        ("worth[a]=-1[$]", "GSM2109", "must be >= 0 $"),
        ("worth[a=1[$]", "GSM6003", "does not set a value"),
        ("worth[a]", "GSM6003", "does not set a value"),
        ("worth[a]=1[$", "GSM1513", "is not closed"),
        ("seed=1", "GSM1504", "no set, parameter or option `seed`"),
    ],
)
def test_wrong_values(gsdsl: Run, pack: Path, setting: str, code: str, words: str) -> None:
    done = gsdsl("solve", pack, "--set", setting)
    assert done.code == 1
    assert f"error[{code}]" in done.err
    assert words in done.err


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("name,value\nworth[c],1[$]\n", "GSM2103", "set.csv:2:1"),
        ("name,value\nroom,1[GB]\nroom,1[\n", "GSM1513", "set.csv:3:1"),
        ("name,vlue\n", "GSM6003", "did you mean `value`?"),
        ("", "GSM6003", "has no settings"),
        ("name,value\nroom,1[GB],x\n,2\n", "GSM6003", "3 cells, but 2 columns"),
    ],
)
def test_wrong_files(gsdsl: Run, pack: Path, tmp_path: Path, text: str, code: str, words: str) -> None:
    (tmp_path / "set.csv").write_text(text)
    done = gsdsl("solve", pack, "--set-file", tmp_path / "set.csv")
    assert (done.code, f"error[{code}]" in done.err, words in done.err) == (1, True, True), done.err
    assert shows(gsdsl("solve", pack, "--set-file", tmp_path / "none.csv").err, "GSM6003", str(tmp_path / "none.csv"))


def test_integer_keys_and_places_in_a_file(gsdsl: Run, tmp_path: Path) -> None:
    model = tmp_path / "m.gsm"
    model.write_text(
        "model M { set J; param w[J] in $ >= 0 default 1[$]; var x[J] >= 1; minimize t: sum[j in J] w[j] * x[j]; }\n"
        "scenario S for M { J = 1..4; }\n"
    )
    (tmp_path / "set.csv").write_text("name,value,unit\nw[1],10,$\n\nw[3],7[$],\n")
    done = gsdsl("solve", model, "--set-file", tmp_path / "set.csv", "--json", "-")
    assert json.loads(done.out)["objective"] == 19
    (tmp_path / "set.csv").write_text("name,value,unit\nw[1],10,$\n\nw[9],7,$\nw[03],7,$\n")
    done = gsdsl("solve", model, "--set-file", tmp_path / "set.csv")
    assert "`03` is read as the integer 3, not as a label" in done.err
    assert "set.csv:5:3" in done.err


def test_options_of_generators(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "drawn.gsm"
    path.write_text(DRAWN)

    def drawn(**settings: object) -> str:
        return gs.load(path).solve(settings=settings, gap=0).to_dict()

    same, other = drawn(seed=1), drawn(seed=2)
    assert drawn()["objective"] == same["objective"] != other["objective"]
    written = tmp_path / "written.gsm"
    written.write_text(DRAWN.replace("seed = 1", "seed = 2").replace("jobs = 4", "jobs = 5"))
    expected = gs.load(written).solve(gap=0)
    done = json.loads(gsdsl("solve", path, "--set", "seed=2", "--set", "jobs=5", "--gap", 0, "--json", "-").out)
    assert done["objective"] == pytest.approx(expected.objective)
    assert done["settings"] == {"seed": "2", "jobs": "5"}
    written.write_text(DRAWN + "test T { solve Drawn (seed = 2, jobs = 5) with highs; expect count(Jobs) == 5; }\n")
    assert "1 passed" in gsdsl("test", written).out
    several = {"capacity_jobs.jobs": 5, "capacity_times.jobs": 5, "seed": "2"}
    assert gs.load(path).solve(settings=several, gap=0).objective == pytest.approx(expected.objective)
    for setting, words in (
        ("capacity_jobs.sed=1", "did you mean `seed`?"),
        ("capacty_jobs.seed=1", "did you mean `capacity_jobs`?"),
        ("seed=x", "it is an integer"),
        ("sed=1", "did you mean `seed`?"),
    ):
        assert words in gsdsl("solve", path, "--set", setting).err
