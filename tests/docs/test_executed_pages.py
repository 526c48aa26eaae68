"""The pages that show commands with their output: executed from the first block to the last."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from execute import execute, written

from gpusched_dsl.cli import main
from gpusched_dsl.language.pages import read_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Commands of each page with blocks `console`; those of the README are in test_readme_page.py.
COMMANDS = {"tutorial": 9, "online": 4, "coming_from": 2, "estimates": 1, "recipes": 1, "result": 2}

SMALL = """\
`one.gsm`:

```gsm
model One { var x >= 1 <= 2; minimize x; }
```

```console
$ gsdsl check one.gsm
ok: 1 file
$ gsdsl check \\
    none.gsm
error...
```
"""


def executed(name: str, folder: Path, without: str = "") -> int:
    text = read_page(name)
    results = list(execute(text, folder, without))
    for result in results:
        assert result.agrees, f"$ {result.command}\n{result.printed}"
    return len(results)


def test_coming_from_other_languages(tmp_path: Path) -> None:
    assert executed("coming_from", tmp_path, without="pyomo") == COMMANDS["coming_from"]


@pytest.mark.slow
def test_estimates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command, and the lines of Python on the same file."""
    assert executed("estimates", tmp_path) == COMMANDS["estimates"]
    text = (DOCS / "reference" / "estimates.md").read_text(encoding="utf-8")
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "estimates.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("one more node like g1 5.8") for line in lines)


def test_every_page_with_commands_and_their_output_is_executed() -> None:
    shown = {p.stem for p in DOCS.rglob("*.md") if "\n```console\n" in p.read_text(encoding="utf-8")}
    assert shown == COMMANDS.keys()


@pytest.mark.slow
def test_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their tests pass; every rule is one of a file of its own."""
    monkeypatch.setenv("GSDSL_PYTHON_KERNELS", "1")  # no messages about kernels that are compiled
    assert executed("recipes", tmp_path) == COMMANDS["recipes"]
    text = (DOCS / "recipes.md").read_text(encoding="utf-8")
    assert len(list(tmp_path.glob("*.gsm"))) == text.count("\ntest ") + 1


RECIPE = re.compile(r"`(\w+\.gsm)`:\n\n```gsm\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RULE = re.compile(r"^  (?:\w+(?:\[[^\]]*\])? =|calendar) [^;\n]*;\n|(?<=Noon \{ |ours \{ )[^;{}]*;", re.MULTILINE)


def rules() -> list[tuple[str, str]]:
    """Each file of the recipes with each statement of its scenarios, except the common part and the table of jobs."""
    found = [
        (name, text) for name, text in RECIPE.findall(read_page("recipes")) if name not in ("noon.gsm", "mine.gsm")
    ]
    return [(name, rule) for name, text in found for rule in RULE.findall(text)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rule"), rules())
def test_a_recipe_fails_without_its_rule(name: str, rule: str, tmp_path: Path) -> None:
    """So its test is one of the rule, and every line of the recipe is needed."""
    for file, text in RECIPE.findall(read_page("recipes")):
        (tmp_path / file).write_text(text.replace(rule, "", 1) if file == name else text, encoding="utf-8")
    assert main(["test", str(tmp_path / name)]) == 1


def test_every_recipe_has_a_rule_that_is_tried() -> None:
    assert {name for name, _ in rules()} == {n for n, _ in RECIPE.findall(read_page("recipes"))} - {
        "noon.gsm",
        "mine.gsm",
    }


def test_what_a_solve_prints(tmp_path: Path) -> None:
    results = list(execute(read_page("result").partition("\n- **status**")[0], tmp_path))
    assert [result.agrees for result in results] == [True, True]
    assert len(results) == COMMANDS["result"]


@pytest.mark.slow
def test_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="the extra `predict` is not installed")
    page = read_page("profiles")
    command = next(line.split()[1:] for line in page.splitlines() if line.startswith("    gsdsl profile fit models/"))
    monkeypatch.chdir(tmp_path)
    assert main([str(DOCS.parent / word) if word.startswith("models/") else word for word in command]) == 0
    printed = capsys.readouterr()
    assert page.split("```\n", 2)[1].strip() == (printed.out + printed.err).strip()


@pytest.mark.slow
def test_planning_over_time(tmp_path: Path) -> None:
    """The page goes on with the files of the tutorial."""
    files = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```$", read_page("tutorial"), re.MULTILINE | re.DOTALL)
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert executed("online", tmp_path) == COMMANDS["online"]


@pytest.mark.slow
def test_the_tutorial(tmp_path: Path) -> None:
    assert executed("tutorial", tmp_path) == COMMANDS["tutorial"]


@pytest.mark.slow
def test_the_same_model_in_pyomo(tmp_path: Path) -> None:
    pytest.importorskip("pyomo", reason="the extra `bench` is not installed")
    assert executed("coming_from", tmp_path) == COMMANDS["coming_from"]


def block_of(language: str, folder: Path, name: str) -> None:
    """Write the block of a language of the comparison into a file."""
    text = (DOCS / "coming_from.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    (folder / name).write_text(found[1], encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("glpsol") is None, reason="glpsol is not installed (Debian's package glpk-utils)")
def test_the_same_model_in_ampl(tmp_path: Path) -> None:
    block_of("ampl", tmp_path, "renting.mod")
    command = ["glpsol", "--math", "renting.mod", "--output", "out.txt"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    found = (tmp_path / "out.txt").read_text()
    assert "Status:     INTEGER OPTIMAL" in found
    assert re.search(r"Objective: +cost = 6 \(MINimum\)", found)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("minizinc") is None, reason="minizinc is not installed (Debian's package minizinc)")
def test_the_same_model_in_minizinc(tmp_path: Path) -> None:
    block_of("minizinc", tmp_path, "renting.mzn")
    command = ["minizinc", "--solver", "gecode", "renting.mzn"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    assert "==========" in done.stdout  # proved
    assert "rent = [small: true, medium: false, large: true]" in done.stdout


def test_other_output_is_found_and_can_be_written(tmp_path: Path) -> None:
    first, second = execute(SMALL, tmp_path)
    assert (tmp_path / "one.gsm").exists()
    assert not second.agrees
    text = written(SMALL, [first, second])
    assert "GSM6001" in text or "none.gsm" in text.split("none.gsm", 1)[1]
    assert [result.agrees for result in execute(text, tmp_path)] == [True, True]
