"""Errors are raised as the class of their code, which the page on Python lists."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.errors import error_class

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
CLASSES = [gs.ModelError, gs.DataError, gs.UsageError, gs.SolverError, gs.LimitError]
TEXT = "model M { set I; param p[I]; var x >= 0; minimize x; } scenario S for M { I = { a }; p = 1; }"


def test_the_page_lists_the_codes_of_each_class() -> None:
    rows = re.findall(r"^\| `gs\.(\w+)` \| [^|]* \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == [each.__name__ for each in CLASSES]
    single: dict[int, str] = {}
    whole: dict[str, str] = {}
    for name, codes in rows:
        for first, last in re.findall(r"(?:GSM)?(\d{4})(?: to (\d{4}))?", codes):
            single.update(dict.fromkeys(range(int(first), int(last or first) + 1), name))
        whole.update((prefix, name) for prefix in re.findall(r"GSM(\d+)x+", codes))
    moved = {7003: "UsageError", 7021: "UsageError"}
    for code in CODES:
        number = int(code[3:])
        by_range = next((name for prefix, name in whole.items() if str(number).startswith(prefix)), "DiagnosticError")
        expected = single.get(number) or moved.get(number) or by_range
        assert error_class(code).__name__ == expected, code


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda: gs.loads("model M { set I }"), gs.ModelError),
        (lambda: gs.loads("model M { var x; minimize y: x + z; } scenario S for M { }").solve(), gs.ModelError),
        (lambda: gs.loads(TEXT.replace("p = 1", "p[a] = 1; p[b] = 2")).ground(), gs.DataError),
        (lambda: gs.loads(TEXT.replace("p = 1;", 'data "no.csv" { p[i] = p; }')).ground(), gs.DataError),
        (lambda: gs.loads(TEXT).ground("T"), gs.UsageError),
        (lambda: gs.loads(TEXT).solve(gap="x"), gs.UsageError),  # type: ignore[arg-type]
        (lambda: gs.loads(TEXT).set("q", 1), gs.UsageError),
        (lambda: gs.loads("(" * 1000), gs.LimitError),
    ],
)
def test_what_is_raised(act: object, kind: type[gs.DiagnosticError]) -> None:
    with pytest.raises(gs.DiagnosticError) as raised:
        act()  # type: ignore[operator]
    assert type(raised.value) is kind
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is kind
    assert str(again) == str(raised.value)


def test_the_first_error_decides() -> None:
    warning = gs.Diagnostic("GSM2062", "a warning", severity=gs.Severity.WARNING)
    model, data = gs.Diagnostic("GSM1101", "one"), gs.Diagnostic("GSM2101", "two")
    error = gs.DiagnosticError(each for each in (warning, data, model))
    assert type(error) is gs.DataError
    assert error.diagnostics == (warning, data, model)
    assert type(gs.DiagnosticError([warning])) is gs.DiagnosticError
    assert type(gs.DiagnosticError([gs.Diagnostic("GSM5101", "journal")])) is gs.DiagnosticError
    assert type(gs.ModelError([data])) is gs.ModelError
