"""Writers of reports are found by the class and the form, and imported when they are called."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.reporting.report import IllustratedReport, Report, write

MODEL = """\
model M { set Items; var x[i in Items] >= 0 <= 2; minimize cost: sum[i in Items] 3 * x[i];
  constraint c[i in Items]: x[i] >= 1; }
scenario S for M { Items = {a, b}; }
"""


def kinds(base: type[Report] = Report) -> list[type[Report]]:
    """All classes of reports; those of tests begin with `_`."""
    for name in gs.__all__:  # they are imported at first use
        getattr(gs, name)
    found = [kind for kind in base.__subclasses__() if not kind.__name__.startswith("_")]
    return [*found, *(below for kind in found for below in kinds(kind))]


WRITERS = [(kind, form) for kind in kinds() for form in kind.writers]


@pytest.mark.parametrize(("kind", "form"), WRITERS, ids=lambda each: getattr(each, "__name__", each))
def test_each_writer_takes_its_class(kind: type[Report], form: str) -> None:
    module, _, name = kind.writers[form].partition(":")
    first = next(iter(inspect.signature(getattr(import_module(module), name)).parameters.values()))
    assert first.annotation.partition("[")[0] in [each.__name__ for each in kind.__mro__]


def test_each_report_has_a_document_and_a_text() -> None:
    for kind in kinds():
        own = [name for each in kind.__mro__ if each not in (Report, IllustratedReport) for name in vars(each)]
        if kind not in (IllustratedReport,) and not inspect.isabstract(kind) and not kind.__subclasses__():
            assert "json" in kind.writers or "to_dict" in own, kind
            assert {"text"} & set(kind.writers) or {"lines", "__str__"} & set(own), kind
    assert len(WRITERS) > 20


def test_each_form_of_a_solve(tmp_path: Path) -> None:
    result = gs.loads(MODEL).solve()
    assert write(result, "json") == result.to_dict()
    assert write(result, "csv")["x"].equals(result["x"])
    assert write(result, "text")[0].split() == ["status", "optimal"]
    assert str(result).splitlines() == result.lines() == write(result, "text")
    assert write(result, "html") == result.html_text()
    assert "<html" not in write(result, "notebook") == result._repr_html_()
    result.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == result.html_text()
    assert [path.name for path in result.to_csv(tmp_path / "tables")] == ["x.csv"]


def test_a_form_that_a_report_does_not_have() -> None:
    with pytest.raises(ValueError, match="a Explanation has no form `csv`; it has notebook, json, text"):
        write(gs.loads(MODEL).explain(why=False), "csv")


class _Count(Report):
    """A report of another package, with a writer of its own."""

    writers = Report.writers | {"json": f"{__name__}:_count", "text": f"{__name__}:_texts"}


def _count(report: _Count) -> dict[str, int]:
    return {"count": 3}


def _texts(report: _Count) -> list[str]:
    return ["3 < 4"]


def test_a_class_brings_its_writers() -> None:
    assert _Count().to_dict() == {"count": 3}
    assert str(_Count()) == "3 < 4"
    assert "3 &lt; 4" in _Count()._repr_html_()
    assert _Count().json_text() == '{\n  "count": 3\n}\n'


def test_writers_are_imported_when_they_are_called() -> None:
    program = f"""
import sys, gpusched_dsl as gs
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.result import Result
result = gs.loads({MODEL!r}).solve()
names = [kind.writers[form].partition(":")[0] for kind in (Result, RunResult) for form in kind.writers]
early = set(names) & set(sys.modules)
result.to_dict()
print(sorted(early), "gpusched_dsl.reporting.result_document" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "[] True"
