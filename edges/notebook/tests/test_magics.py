"""`%%gsm` cells and `%gsm` lines in an interactive shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from notebook_texts import ASSIGN

import gpusched_dsl as gs


def failure(done: Any) -> str:
    """The code of the diagnostic that a cell ended with."""
    assert isinstance(done.error_in_exec, gs.DiagnosticError), done.error_in_exec
    return done.error_in_exec.diagnostics[0].code


def test_a_cell_becomes_a_model(shell: Any) -> None:
    done = shell.run_cell(f"%%gsm assign\n{ASSIGN}")
    assert isinstance(done.result, gs.Model)
    assert shell.user_ns["assign"] is done.result
    quiet = shell.run_cell(f"%%gsm --quiet --file assign.gsm\n{ASSIGN}")
    assert quiet.result is None
    assert shell.user_ns["model"].scenarios == ("Today",)
    assert Path("assign.gsm").read_text(encoding="utf-8").strip() == ASSIGN.strip()
    # another cell imports the file
    done = shell.run_cell('%%gsm late\nimport "assign.gsm";\nscenario Late extends Today { hours["a"] = 9[h]; }')
    assert set(done.result.scenarios) == {"Today", "Late"}


def test_errors_are_underlined_and_keep_the_variable(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["assign"] = "as before"
    capsys.readouterr()
    done = shell.run_cell("%%gsm assign\n" + ASSIGN.replace("price[n] *", "price[j] *"))
    assert failure(done) == "GSM1203"
    shown = "".join(capsys.readouterr())
    assert "price[j] * hours[j]" in shown
    assert "^ an element of `Jobs`" in shown
    assert "cell:7:" in shown
    assert "Traceback" not in shown
    assert ".py" not in shown
    assert shell.user_ns["assign"] == "as before"


def test_a_syntax_error_is_underlined(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(shell.run_cell("%%gsm\nmodel M { var x in h >= ; }")) == "GSM1010"
    shown = "".join(capsys.readouterr())
    assert "^" in shown
    assert "Traceback" not in shown


def test_a_call_in_a_cell_shows_no_traceback(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["model"] = gs.loads(ASSIGN)
    assert failure(shell.run_cell("model.solve('Tody')")) == "GSM6007"
    shown = "".join(capsys.readouterr())
    assert "did you mean `Today`?" in shown
    assert "Traceback" not in shown


def test_warnings_are_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = shell.run_cell("%%gsm\nmodel M { set Jobs; param hours[Jobs] in h; }\nscenario S for M { Jobs = { a }; }")
    assert isinstance(done.result, gs.Model)
    assert "GSM2115" in capsys.readouterr().out
    shown = shell.run_cell("%gsm check").result
    assert "GSM2115" in repr(shown)
    assert "GSM2115" in shown._repr_html_()
    assert failure(shell.run_cell("%gsm check --strict")) == "GSM2115"


def test_lines_solve_and_compare(shell: Any) -> None:
    shell.user_ns["model"] = model = gs.loads(ASSIGN)
    done = shell.run_cell("found = %gsm solve --scenario Today -D 'price[slow]=2[$/h]' --gap 0 --json found.json")
    assert done.success
    found = shell.user_ns["found"]
    assert found.objective == model.solve(settings={"price[slow]": "2[$/h]"}, gap=0.0).objective
    assert '"objective"' in Path("found.json").read_text(encoding="utf-8")
    compared = shell.run_cell("%gsm compare model --methods highs,scip").result
    assert [row.method for row in compared.rows] == ["highs", "scip"]
    assert shell.run_cell("%gsm check").result == ()
    assert shell.run_cell("%gsm explain").result.status == "feasible"


def test_a_file_is_a_model_too(shell: Any) -> None:
    Path("assign.gsm").write_text(ASSIGN, encoding="utf-8")
    assert shell.run_cell("%gsm check assign.gsm").result == ()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("%gsm", "GSM6001", "which command?"),
        ("%gsm slove", "GSM6001", "did you mean `solve`?"),
        ("%gsm solve modl", "GSM6002", "did you mean `model`?"),
        ("%gsm solve --verbose", "GSM6002", "works only on the command line"),
        ("%gsm run --live events", "GSM6002", "works only on the command line"),
        ("%gsm solve --gap x", "GSM6002", "gap"),
        ("%gsm solve --json -", "GSM6002", "name a file"),
        ("%gsm solve --allow-outside", "GSM6002", "already loaded"),
        ("%gsm solve -D 'price", "GSM6002", "quotation"),
        ("%gsm solve missing.gsm", "GSM1001", "missing.gsm"),
        ("%%gsm 1x\nmodel M {}", "GSM6002", "not the name of a variable"),
    ],
)
def test_wrong_lines(line: str, code: str, words: str, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["model"] = gs.loads(ASSIGN)
    assert failure(shell.run_cell(line)) == code
    shown = "".join(capsys.readouterr())
    assert words in shown
    assert "Traceback" not in shown


def test_help_lists_only_what_works(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_cell("%gsm run --help").success
    shown = capsys.readouterr().out
    assert "--methods" in shown
    assert "--live" not in shown
    assert "--tell-from" not in shown
