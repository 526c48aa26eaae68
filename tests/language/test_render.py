"""Diagnostics as text and as JSON."""

from __future__ import annotations

import json
import subprocess
import sys

from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, Label, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.render import render_json, render_text, summary
from gpusched_dsl.language.source import Source, Span


def span(source: Source, text: str, occurrence: int = 0) -> Span:
    start = -1
    for _ in range(occurrence + 1):
        start = source.text.index(text, start + 1)
    return source.span(start, start + len(text))


MODEL = Source("m.gsm", "model M {\n  set Jobs;\n  var x[Jobs];\n\n\n  constraint c: x[1] <= y;\n}\n")


def test_one_diagnostic_in_full() -> None:
    diagnostic = Diagnostic(
        "GSM1203",
        "`y` is unknown",
        span(MODEL, "y;").source.span(MODEL.text.index("y;"), MODEL.text.index("y;") + 1),
        "not declared",
        (Label(span(MODEL, "x", 0), "this is"),),
        ("a fact", "another\non two lines"),
        "declare it",
    )
    assert render_text([diagnostic]) == (
        "error[GSM1203]: `y` is unknown\n"
        " --> m.gsm:6:25\n"
        "  |\n"
        "3 |   var x[Jobs];\n"
        "  |       - this is\n"
        "...\n"
        "6 |   constraint c: x[1] <= y;\n"
        "  |                         ^ not declared\n"
        "  |\n"
        "  = note: a fact\n"
        "  = note: another\n"
        "          on two lines\n"
        "  = help: declare it\n"
        "\n"
        "1 error\n"
    )


def test_another_file_and_a_data_cell() -> None:
    other = Source("o.gsm", "set Jobs;")
    diagnostic = Diagnostic(
        "GSM2101",
        "no value",
        Cell("d.csv", 12, "price", "n/a"),
        "not a number",
        (Label(span(other, "Jobs"), "declared here"), Label(Cell("e.csv"), "")),
        severity=Severity.WARNING,
    )
    assert render_text([diagnostic]) == (
        "warning[GSM2101]: no value\n"
        "  --> d.csv:12, column price\n"
        "   |\n"
        "12 | n/a\n"
        "   | ^^^ not a number\n"
        "  ::: o.gsm:1:5\n"
        "   |\n"
        " 1 | set Jobs;\n"
        "   |     ---- declared here\n"
        "  ::: e.csv\n"
        "\n"
        "1 warning\n"
    )


def test_without_a_place() -> None:
    assert render_text([Diagnostic("GSM1001", "cannot read", help="look")]) == (
        "error[GSM1001]: cannot read\n  = help: look\n\n1 error\n"
    )
    assert render_text([]) == ""


def test_two_marks_on_a_line_and_a_line_between() -> None:
    source = Source("a", "one two\nthree\nfour")
    marks = (Label(span(source, "one"), "first"), Label(span(source, "four"), "last"))
    text = render_text([Diagnostic("GSM1010", "m", span(source, "two"), "here", marks)])
    assert text.splitlines()[3:9] == [
        "1 | one two",
        "  | --- first",
        "  |     ^^^ here",
        "2 | three",
        "3 | four",
        "  | ---- last",
    ]


def test_spans_of_several_lines_show_the_first_and_the_last() -> None:
    source = Source("a", "model M {\n  set A;\n  set B;\n}\n")
    text = render_text([Diagnostic("GSM1010", "m", source.span(0, len(source.text)), "all of it")])
    assert text.splitlines()[3:8] == ["1 | model M {", "  | ^^^^^^^^^", "...", "4 | }", "  | ^ all of it"]


def test_tabs_wide_and_unprintable_characters() -> None:
    source = Source("a", "\tvar\t价格 x\x1b[31m y;")
    lines = render_text([Diagnostic("GSM1010", "bad \x1b[0m", span(source, "y"), "here")]).splitlines()
    assert lines[0] == "error[GSM1010]: bad �[0m"
    assert lines[3] == "1 |     var 价格 x�[31m y;"
    assert lines[4] == "  | " + " " * len("    var ????  x?[31m") + "^ here"
    assert "\x1b" not in "".join(lines)


def test_very_long_lines_are_cut_around_the_mark() -> None:
    source = Source("a", "x" * 5000 + "HERE" + "y" * 5000)
    marks = (Label(source.span(0, 1), "far away"),)
    lines = render_text([Diagnostic("GSM1010", "m", span(source, "HERE"), "!", marks)]).splitlines()
    assert max(map(len, lines)) < 200
    shown, mark = (i for i in (lines[5], lines[6]))
    assert shown[mark.index("^") : mark.index("^") + 4] == "HERE"
    assert lines[3].startswith("1 | xxx")
    assert lines[4] == "  | - far away"


def test_a_place_at_the_end_of_the_text() -> None:
    for text in ("", "ab", "ab\n"):
        source = Source("a", text)
        lines = render_text([Diagnostic("GSM1010", "m", source.span(len(text), len(text)), "end")]).splitlines()
        assert lines[4].endswith("^ end")


def test_colour_only_on_request() -> None:
    diagnostic = Diagnostic("GSM1010", "m", span(MODEL, "Jobs"), "here", help="h")
    plain, coloured = render_text([diagnostic]), render_text([diagnostic], color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31merror[GSM1010]\x1b[0m" in coloured
    stripped = coloured
    for code in ("[0m", "[1m", "[1;31m", "[1;34m", "[1;32m"):
        stripped = stripped.replace("\x1b" + code, "")
    assert stripped == plain


def test_the_order_is_that_of_the_text() -> None:
    other = Source("o", "z")
    found = [
        Diagnostic("GSM1003", "c", span(MODEL, "constraint")),
        Diagnostic("GSM1004", "d", span(other, "z")),
        Diagnostic("GSM1001", "a", span(MODEL, "model")),
    ]
    assert [d["code"] for d in json.loads(render_json(found))] == ["GSM1001", "GSM1003", "GSM1004"]
    text = render_text(found)
    assert text.index("GSM1001") < text.index("GSM1003") < text.index("GSM1004")


def test_the_summary_counts() -> None:
    kinds = [Severity.ERROR, Severity.WARNING, Severity.ERROR, Severity.NOTE]
    assert summary([Diagnostic("GSM1010", "m", severity=k) for k in kinds]) == "2 errors, 1 warning, 1 note"


def test_json_has_the_documented_fields() -> None:
    diagnostic = Diagnostic(
        "GSM1203",
        "m",
        MODEL.span(2, 14),
        "l",
        (Label(Cell("d.csv", 3, "price", "x"), "s"),),
        ("n",),
    )
    assert json.loads(render_json([diagnostic])) == [
        {
            "code": "GSM1203",
            "severity": "error",
            "message": "m",
            "file": "m.gsm",
            "line": 1,
            "column": 3,
            "end_line": 2,
            "end_column": 5,
            "data_column": None,
            "label": "l",
            "secondary": [
                {
                    "file": "d.csv",
                    "line": 3,
                    "column": None,
                    "end_line": None,
                    "end_column": None,
                    "data_column": "price",
                    "message": "s",
                }
            ],
            "notes": ["n"],
            "help": None,
            "edits": [],
        }
    ]
    assert json.loads(render_json([])) == []
    assert render_json([Diagnostic("GSM1001", "\ud800 ü")]).isascii()


def test_the_exception_shows_what_it_carries() -> None:
    error = DiagnosticError([Diagnostic("GSM1010", "m", span(MODEL, "Jobs"), "here")])
    assert "^^^^ here" in str(error)


def test_rendering_needs_only_the_standard_library() -> None:
    code = (
        "import sys, gpusched_dsl.language.diagnostics.render as r;"
        "bad = [m for m in ('lark', 'numpy', 'polars', 'rich', 'networkx') if m in sys.modules]; assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
