"""Counts agree with their nouns, and shares and times have sensible digits in all output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.packages import sources
from gpusched_dsl.api import compile as compiled
from gpusched_dsl.cli import main
from gpusched_dsl.cli.progress import ProgressMonitor
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text, percent_text
from gsdsl_backends.protocol import SolverProgress

ROOT = Path(__file__).resolve().parents[2]
# A count in a text whose noun does not follow it: `{len(files)} files`.
UNGUARDED = re.compile(
    r"\{(?:len\([\w.]+\)|[\w.]*(?:count|total|height|rows|number)[\w.]*)(?::,)?\}"
    r" (?:files|rows|nodes|plans|events|jobs|references)\b"
)
# Said only of several.
SEVERAL = {
    "gpusched_dsl/ir/json/arrays.py",
    "gpusched_dsl/ir/json/checks.py",
    "gpusched_dsl/data/sources/delimited.py",  # a difference of two counts
    "gpusched_dsl/data/reports.py",
    "edges/formats/gsdsl_formats/generators/price_aware_tables.py",
    "gpusched_dsl/online/journal/integrity.py",
    "gpusched_dsl/online/journal/records.py",
    "gpusched_dsl/online/replay/trace_reader.py",
    "gpusched_dsl/profiles/profile.py",
}


@pytest.mark.parametrize(("count", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (1024, "1,024 nodes")])
def test_counts(count: int, text: str) -> None:
    assert count_text(count, "node") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.29e-16, "0 %"),
        (-2e-17, "0 %"),
        (1e-8, "1.0e-06 %"),
        (1.2e-4, "0.012 %"),
        (0.034, "3.4 %"),
        (1.0, "100 %"),
        (11.0, "above 1000 %"),
        (None, "-"),
    ],
)
def test_shares(share: float | None, text: str) -> None:
    assert percent_text(share) == text


def test_no_count_has_a_noun_that_cannot_follow_it() -> None:
    found = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name not in SEVERAL:
            text = path.read_text(encoding="utf-8")
            found += [f"{name}: {match.group()}" for match in UNGUARDED.finditer(text)]
    assert found == []


@pytest.mark.parametrize(("count", "nodes", "plans"), [(1, "1 node", "1 plan"), (2, "2 nodes", "2 plans")])
def test_progress(count: int, nodes: str, plans: str) -> None:
    watch = ProgressMonitor(lambda text: None)
    watch.progress(SolverProgress(0.1, 1.0, 1.0, nodes=count))
    assert watch.line().endswith(nodes)
    watch.progress(SolverProgress(0.1, 1.0, None, iterations=count))
    assert re.search(rf"\b{plans}\b", watch.line())


@pytest.mark.parametrize("count", [1, 2])
def test_files_that_were_written(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variables = " ".join(f"var x{i} >= 1;" for i in range(count))
    total = " + ".join(f"x{i}" for i in range(count))
    (tmp_path / "m.gsm").write_text(f"model M {{ {variables} minimize {total}; }} scenario S for M {{ }}")
    assert main(["solve", str(tmp_path / "m.gsm"), "--csv", str(tmp_path / "out")]) == 0
    written = len(list((tmp_path / "out").glob("*.csv")))
    assert f"wrote {count_text(written, 'file')} into" in capsys.readouterr().err


def test_references_that_fall_outside_are_counted() -> None:
    """A subscript that is the same for all rows falls outside in each of them."""
    text = """
    model M {
      set Jobs; set Other within Jobs; param weight[Other]; var x[Jobs] >= 0;
      minimize sum[j in Jobs] x[j];
      constraint c[j in Jobs, k in Jobs where k == last(Jobs) and j != k]: x[j] >= weight["a"];
    }
    scenario S for M { Jobs = { a, b, c }; Other = { b }; weight["b"] = 1; }
    """.replace("set Jobs;", "set Jobs ordered;")
    with pytest.raises(DiagnosticError) as caught:
        compiled(text)
    [finding] = caught.value.diagnostics
    assert finding.notes == ("2 of 2 references are outside",)
