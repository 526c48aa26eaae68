"""One name for one thing: methods, limits with units, shipped models, codes, contents of files, completion."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli.arguments.parse import parse
from gpusched_dsl.cli.completion import SCRIPTS, candidates
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.options.reading import duration, fraction, time_of_run

Run = Callable[..., object]
FIGURE1 = "gsdsl:capacity_planning/scenarios/figure1.gsm"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1e3", 1000), ("90s", 90), ("5m", 300), ("5[min]", 300), ("1h30m", 5400), ("1h 30m", 5400),
     (".5h", 1800), ("250ms", 0.25), ("2d", 172800), ("0", 0)],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "m", "5 parsecs", "5x", "1h30", "-5m", "-5", "nan", "5m!"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="`"):
        duration(text)


def test_gaps_and_times_of_a_run() -> None:
    assert fraction("1%") == pytest.approx(0.01) == fraction("0.01")
    for text in ("%", "1%%", "-1%", "x"):
        with pytest.raises(ValueError, match="`"):
            fraction(text)
    assert time_of_run("11.7h") == "11.7h"
    hours = RunClock("h")
    assert hours.read("11.7h") == pytest.approx(11.7) == hours.read(11.7) == hours.read("11.7")
    assert hours.read("90m") == pytest.approx(1.5) == hours.read("1.5h")
    assert RunClock("1").read("11") == 11
    for at, unit in (("11h", "1"), ("11parsecs", "h"), ("late", "h"), ("2026-10-25", "h"), ("2026-10-25", "1")):
        with pytest.raises(gs.DiagnosticError, match="GSM4011"):
            RunClock(unit).read(at)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["solve", "a.gsm", "--backend", "scip"], {"method": "scip"}),
        (["solve", "a.gsm", "-mscip", "-t5m", "-g", "1%", "-s", "S", "-D", "a=1", "-v", "-q"],
         {"method": "scip", "time_limit": 300.0, "gap": 0.01, "scenario": "S", "set": ["a=1"], "verbose": True,
          "quiet": True}),
        (["explain", "a.gsm", "--method", "scip"], {"method": "scip"}),
        (["test", "a.gsm", "--method", "scip"], {"method": "scip"}),
        (["compare", "a.gsm", "--method", "scip,highs", "--without", "all"],
         {"methods": ("scip", "highs"), "without": ["all"]}),
        (["run", "a.gsm", "--backend", "scip", "--without", "all"], {"method": "scip", "without": ["all"]}),
        (["why", "a.gsm", "--job", "j", "--at", "11.7h", "--patience", "2m"], {"at": "11.7h", "patience": 120.0}),
        (["estimate", "a.gsm", "--job", "j", "--gap", "2%"], {"gap": 0.02, "at": None}),
    ],
)  # fmt: skip
def test_options_have_one_name(words: list[str], expected: dict[str, object]) -> None:
    options = vars(parse(words))
    assert {name: options[name] for name in expected} == expected


def test_method_is_the_name_in_python_too(pack: Path) -> None:
    model = gs.load(pack)
    assert model.solve(method="scip").objective == model.solve("Small", "highs").objective == 10
    assert model.explain(method="scip", why=False).to_dict()["backend"] == "scip"
    with pytest.raises(gs.DiagnosticError, match="GSM4011"):
        model.solve(method=3)


# --- shipped models --------------------------------------------------------------------------------------------------


def test_shipped_models_by_name(gsdsl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = gsdsl("solve", "gsdsl:figure1.gsm", "--json", "out.json")
    assert done.code == 0
    assert done.out.startswith("CapacityPlanning, scenario Figure1, ")
    inputs = json.loads(Path("out.json").read_text())["inputs_sha256"]
    assert FIGURE1 in inputs
    assert gsdsl("check", "gsdsl:figure1").out.startswith("ok")
    assert "model.gsm: ok" in gsdsl("check", "gsdsl:allocation").out
    assert "already formatted" in gsdsl("fmt", "--check", FIGURE1).out
    assert gs.load("gsdsl:figure1.gsm").scenarios[0] == "Figure1"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("figure1.gsm", "for the shipped model, write `gsdsl:figure1.gsm`"),
        ("gsdsl:figre1.gsm", "did you mean `gsdsl:figure1.gsm`?"),
        ("gsdsl:policies", "may be any of 7 shipped models"),
        ("gsdsl:", "`gsdsl show gsdsl:` lists"),
        ("gsdsl:online/capacity_planning.gsm", "did you mean `gsdsl:capacity_planning/online.gsm`?"),
        ("gsdsl:nothing_like_it", "there is no shipped model"),
        ("gsdsl:day.gsm", "there are 3 scenarios: `DayByNode`"),
    ],
)
def test_names_that_mean_no_shipped_model(
    gsdsl: Run, name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = gsdsl("solve", name)
    assert done.code == 1
    assert words in done.err


def test_only_one_scenario_can_be_meant(gsdsl: Run, variant: Callable[..., Path]) -> None:
    more = "scenario Large extends Small { room = 20[GB]; }\nscenario Part for Pack { room = 1[GB]; }\ntest Small {"
    assert gsdsl("solve", variant("test Small {", more)).code == 1
    assert "scenario Large" in gsdsl("solve", variant("test Small {", more, name="large.gsm")).out
    part = "scenario Part for Pack { room = 1[GB]; }\ntest Small {"
    assert "scenario Small" in gsdsl("solve", variant("test Small {", part)).out
    other = "model Setting { param a; }\nscenario First for Setting { a = 1; }\ntest Small {"
    assert "scenario Small" in gsdsl("solve", variant("test Small {", other)).out


# --- show, explain CODE ----------------------------------------------------------------------------------------------


def test_show_lists_the_contents(gsdsl: Run, pack: Path) -> None:
    done = gsdsl("show", pack)
    assert done.code == 0
    assert "model Pack: how many of each" in done.out
    assert "Items 2" in done.out
    document = json.loads(gsdsl("show", pack, "--json", "-").out)
    assert document["scenarios"][0]["sets"] == {"Items": 2}
    assert document["scenarios"][0]["parameters"] == {"worth": 2, "size": 2, "room": 1}
    assert document["models"][0]["constraints"] == ["fits"]
    assert json.loads(gsdsl("show", pack, "--no-data", "--json", "-").out)["scenarios"][0]["sets"] is None
    figure = gsdsl("show", "gsdsl:figure1.gsm", "--scenario", "Figure1OneNode").out
    assert "node_rule = paper (or force, at_most)" in figure
    assert "Nodes 1, Types 3" in figure
    assert "did you mean `Small`?" in gsdsl("show", pack, "--scenario", "Smal").err


def test_show_tells_what_is_wrong(gsdsl: Run, variant: Callable[..., Path]) -> None:
    missing = gsdsl("show", variant("room = 7[GB];", ""))
    assert missing.code == 0
    assert "no data for room" in missing.out
    wrong = gsdsl("show", variant("a 3 2", "a -3 2"))
    assert wrong.code == 1
    assert "error[" in wrong.err


def test_show_lists_the_shipped_models(gsdsl: Run) -> None:
    listed = gsdsl("show").out
    assert FIGURE1 in listed
    assert "/tests/" not in listed
    files = json.loads(gsdsl("show", "gsdsl:allocation", "--json", "-").out)["files"]
    assert [entry["scenarios"] for entry in files if "zeus" in entry["file"]] == [["Zeus"]]


def test_codes_are_explained(gsdsl: Run) -> None:
    done = gsdsl("explain", "gsm3002")
    assert done.code == 0
    assert done.out.startswith("GSM3002 subscript outside the declared index set\n")
    assert "What to do: restrict" in done.out
    assert "\n    param used[j in Jobs]" in done.out
    assert json.loads(gsdsl("explain", "6001", "--json", "-").out)["title"] == CODES["GSM6001"]


@pytest.mark.parametrize(("word", "words"), [("GMS3002", "did you mean `GSM3002`"), ("GSM9998", "`GSM9999`")])
def test_unknown_codes(gsdsl: Run, word: str, words: str) -> None:
    done = gsdsl("explain", word)
    assert done.code == 2
    assert words in done.err


# --- completion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("so", {"solve"}),
        ("solve --time", {"--time-limit"}),
        ("solve -", {"--method", "--backend", "--json"}),
        ("run x.gsm --verify ", {"none", "sample", "rows", "full"}),
        ("solve ", {":files"}),
        ("solve gsdsl:capacity_planning/scenarios/f", {FIGURE1}),
        ("explain GSM300", {"GSM3002"}),
        (f"solve {FIGURE1} --scenario Figure1O", {"Figure1OneNode"}),
        (f"compare {FIGURE1} --methods highs,Gree", {"highs,Greedy"}),
        (f"solve {FIGURE1} --method s", {"scip"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("solve x.gsm --json ", {":files"}),
    ],
)
def test_candidates(line: str, found: set[str]) -> None:
    *before, typed = line.split(" ")
    assert found <= {name for name, _ in candidates(before, typed)}


def test_completion_scripts(gsdsl: Run) -> None:
    for shell, script in SCRIPTS.items():
        assert gsdsl("completion", shell).out == script
    assert gsdsl("--complete", "solve", "no_such.gsm", "--scenario", "").out == ""
    assert gsdsl("--complete", "chec").out == "check\tcheck syntax, names, units and data without solving\n"
    subprocess.run(["bash", "-n"], input=SCRIPTS["bash"], text=True, check=True)
