"""Every feature answers on every shipped model cut off at each of its lines, and reports an error iff there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import FOLDER, corpus
from lsprotocol import types

from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gsdsl_editor.features.code_actions import code_actions
from gsdsl_editor.features.code_lenses import code_lenses
from gsdsl_editor.features.completion import completions
from gsdsl_editor.features.diagnostics import client_diagnostics
from gsdsl_editor.features.folding import folding_ranges
from gsdsl_editor.features.formatting import formatting
from gsdsl_editor.features.hover import hover
from gsdsl_editor.features.inlay_hints import inlay_hints
from gsdsl_editor.features.navigation import definition, highlights
from gsdsl_editor.features.semantic_tokens import semantic_tokens
from gsdsl_editor.features.symbols import document_symbols
from gsdsl_editor.session import EditorSession

MODELS = Path(__file__).resolve().parents[3] / "models"
FILES = sorted(MODELS.rglob("*.gsm"))
ALL = types.Range(types.Position(0, 0), types.Position(10_000, 0))


def require_answers(session: EditorSession, uri: str, text: str, *, everything: bool) -> None:
    """Ask for everything at the end of a text; the findings are errors iff the text has syntax errors."""
    document = session.open(uri, text)
    found = session.found(uri)
    syntax = Diagnostics()
    parse(Source("text", text), syntax)
    if syntax.has_errors:
        assert any(d.severity is Severity.ERROR for d in found)
    shown = client_diagnostics(document, found)
    lines = text.split("\n")
    for diagnostic in shown:
        end = diagnostic.range.end
        assert end.line < len(lines)
        assert end.character <= len(lines[end.line].encode("utf-16-le")) // 2
    last = document.positions.position(len(text.rstrip()))
    completions(document, last)
    hover(document, last)
    definition(document, last)
    code_actions(document, found, ALL)
    if everything:
        highlights(document, last)
        document_symbols(document)
        semantic_tokens(document)
        folding_ranges(document)
        inlay_hints(document, ALL)
        code_lenses(document)
        formatting(document)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(MODELS)))
def test_every_feature_answers_on_truncated_models(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    uri = file.as_uri()
    session = EditorSession()
    lines = text.split("\n")
    for count in range(1, len(lines) + 1):
        require_answers(session, uri, "\n".join(lines[:count]), everything=count % 7 == 0)
    require_answers(session, uri, text, everything=True)
    assert session.found(uri) == ()
    for at in range(0, len(text), max(len(text) // 40, 1)):  # places inside of words and brackets
        require_answers(session, uri, text[:at], everything=False)


IN_ANOTHER_PROCESS = {  # by the installed solvers, the complete file, or the data
    "14xx/1421_unused_variable.gsm": {"GSM1421"},
    "16xx/1603_choice_of_a_solver.gsm": {"GSM1603"},
    "16xx/1609_file_of_a_solver.gsm": {"GSM1609"},
    "16xx/1609_misspelt_option.gsm": {"GSM1609"},
    "21xx/2112_element_of_an_indexed_set.gsm": {"GSM1506"},
}


@pytest.mark.slow
def test_every_broken_file_of_the_corpus_gets_its_diagnostics() -> None:
    """Those of the text; the process that checks the data of an opened file finds the others."""
    missing = {}
    for broken in corpus():
        file = FOLDER / broken.name
        session = EditorSession()
        require_answers(session, file.as_uri(), file.read_text(encoding="utf-8"), everything=True)
        of_the_text = {code for code in broken.codes if code < "GSM20"} if broken.command == ("check",) else set()
        if left := of_the_text - {d.code for d in session.found(file.as_uri())}:
            missing[broken.name] = left
    assert missing == IN_ANOTHER_PROCESS


def test_every_feature_answers_on_a_text_that_is_cut_off() -> None:
    session = EditorSession()
    text = 'model A "é\U0001f600" {\n  set S;\n  param p[S] in h;\n  constraint c[s in S]: p[s'
    for cut in (len(text), len(text) - 3, 12, 11):
        require_answers(session, "untitled:A", text[:cut], everything=True)
