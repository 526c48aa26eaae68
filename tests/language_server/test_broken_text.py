"""Every feature answers on every shipped model cut off at each of its lines, and reports an error iff there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language_server.features.code_actions import code_actions
from gpusched_dsl.language_server.features.code_lenses import code_lenses
from gpusched_dsl.language_server.features.completion import completions
from gpusched_dsl.language_server.features.diagnostics import client_diagnostics
from gpusched_dsl.language_server.features.folding import folding_ranges
from gpusched_dsl.language_server.features.formatting import formatting
from gpusched_dsl.language_server.features.hover import hover
from gpusched_dsl.language_server.features.inlay_hints import inlay_hints
from gpusched_dsl.language_server.features.navigation import definition, highlights
from gpusched_dsl.language_server.features.semantic_tokens import semantic_tokens
from gpusched_dsl.language_server.features.symbols import document_symbols
from gpusched_dsl.language_server.session import EditorSession

MODELS = Path(__file__).resolve().parents[2] / "models"
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


@pytest.mark.slow
def test_every_broken_file_of_the_corpus_gets_its_diagnostics() -> None:
    for file in sorted((MODELS.parent / "tests" / "broken").glob("*.gsm")):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        session = EditorSession()
        require_answers(session, file.as_uri(), text, everything=True)


def test_every_feature_answers_on_a_text_that_is_cut_off() -> None:
    session = EditorSession()
    text = 'model A "é\U0001f600" {\n  set S;\n  param p[S] in h;\n  constraint c[s in S]: p[s'
    for cut in (len(text), len(text) - 3, 12, 11):
        require_answers(session, "untitled:A", text[:cut], everything=True)
