"""One largest number of threads for all ways in: a solver that starts a million threads ends the process."""

from collections.abc import Callable
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.options.reading import MOST_THREADS, MOST_WORKERS

MODEL = """
model Pack {
  set Items;
  var take[i in Items] integer >= 0 <= 9;
  maximize gain: sum[i in Items] take[i];
}
scenario Small for Pack { Items = { a, b }; }
"""
TOO_MANY = 1_000_000
BOUND = f"from 1 to {MOST_THREADS}"


@pytest.mark.parametrize(
    "block",
    [
        "test T { solve Small with highs (threads = 1000000); expect gain == 18; }",
        "campaign C { solve Small with highs (threads = 1000000); }",
        "campaign C { vary n in { 1, 1000000 }; solve Small with highs (threads = n); }",
    ],
)
def test_texts(block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.gsm").write_text(MODEL + block, encoding="utf-8")
    assert main(["check", str(tmp_path / "a.gsm")]) == 1
    err = capsys.readouterr().err
    assert "error[GSM1603]: `threads` must be an integer " + BOUND in err
    (tmp_path / "a.gsm").write_text(MODEL + block.replace("1000000", str(MOST_THREADS)), encoding="utf-8")
    assert main(["check", str(tmp_path / "a.gsm")]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threads", "1000000"], BOUND),
        (["--workers", "1000000"], f"from 1 to {MOST_WORKERS}"),
        (["--solver-option", "threads=1000000"], f"`threads` must be at most {MOST_THREADS}, not `1000000`"),
        (["--method", "cpsat", "--solver-option", "num_workers=1e9"], "`num_workers` must be at most"),
        (["--method", "highs+scip", "--solver-option", "highs:threads=1000000"], "`highs:threads` must be at most"),
    ],
)
def test_the_command_line(options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.gsm").write_text(MODEL, encoding="utf-8")
    assert main(["solve", str(tmp_path / "a.gsm"), *options]) in (1, 2)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.solve(threads=TOO_MANY),
        lambda model: model.solve(workers=TOO_MANY),
        lambda model: model.solve(solver_options={"threads": TOO_MANY}),
        lambda model: model.solve(solver_options={"threads": "1000000"}),
        lambda model: model.compare(["highs"], threads=TOO_MANY),
        lambda model: model.run(threads=TOO_MANY),
    ],
)
def test_python(call: Callable[[gs.Model], object]) -> None:
    with pytest.raises(gs.DiagnosticError) as caught:
        call(gs.loads(MODEL))
    [found] = caught.value.diagnostics
    assert found.code == "GSM4011"
    assert str(MOST_THREADS) in found.message or str(MOST_WORKERS) in found.message
