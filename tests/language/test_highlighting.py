"""The TextMate grammar is in step with the grammar; the Pygments lexer reads all shipped models."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pygments.token import Error, Keyword, Name, Whitespace

from gpusched_dsl.language.highlighting.pygments_lexer import GsmLexer
from gpusched_dsl.language.highlighting.textmate import textmate_text
from gpusched_dsl.language.highlighting.words import word_classes
from gpusched_dsl.language.parsing.grammar import vocabulary

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "models").rglob("*.gsm"))


def test_the_textmate_grammar_is_in_step() -> None:
    """Run `make tables` if this fails."""
    assert (ROOT / "editors/vscode/syntaxes/gsm.tmLanguage.json").read_text(encoding="utf-8") == textmate_text()


def test_every_word_of_the_grammar_has_one_class() -> None:
    words = word_classes()
    found = [word for name in words.__dataclass_fields__ for word in getattr(words, name)]
    assert sorted(found) == sorted((*vocabulary().reserved, *vocabulary().soft))


@pytest.mark.quick(2)
@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT / "models")))
def test_pygments_reads_every_shipped_model(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    found = list(GsmLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in found) == text
    assert not [part for _, kind, part in found if kind is Error]


def test_words_are_keywords_only_where_they_are_keywords() -> None:
    text = "model A { param order[S] in h; }\npolicy P for A { order j in Jobs by order[j]; } ?"
    found = [(kind, part) for _, kind, part in GsmLexer().get_tokens_unprocessed(text) if kind is not Whitespace]
    assert [kind for kind, part in found if part == "order"] == [Name.Variable, Keyword, Name]
    assert (Name.Class, "P") in found
    assert found[-1][0] is Error


def test_the_lexer_is_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["gsm"].partition(":")
    assert getattr(import_module(module), name) is GsmLexer
