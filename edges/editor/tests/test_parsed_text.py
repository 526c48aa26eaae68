"""The parse of chunks gives the tree of the complete text, and keeps what an edit does not touch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree_walk import same_file
from gsdsl_editor.chunks import split
from gsdsl_editor.fragments import start_in_file
from gsdsl_editor.parsed_text import ParsedText, parse_text

MODELS = Path(__file__).resolve().parents[3] / "models"
FILES = sorted(MODELS.rglob("*.gsm"))


def places(parsed: ParsedText) -> list[tuple[str, int]]:
    return [(o.text, start_in_file(o.span)) for chunk in parsed.chunks for o in chunk.names]


def require_same(text: str, parsed: ParsedText) -> None:
    found = Diagnostics()
    whole = parse(Source("text", text), found)
    assert "".join(text[c.start : c.end] for c in split(text)) == text
    assert bool(parsed.diagnostics) == bool(len(found))
    if not found.has_errors:
        assert same_file(parsed.file, whole)
    closing = "" if found.has_errors else '"'  # a text without its closing quote is an error
    for name, at in places(parsed):
        assert text.startswith((name, f'"{name}{closing}'), at)


@pytest.mark.quick(2)
@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(MODELS)))
def test_chunks_give_the_tree_of_the_text(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    require_same(text, parse_text(text, "text"))


def test_an_edit_keeps_other_nodes_and_moves_their_places() -> None:
    text = "# one\nmodel A { set S; param p[S] >= 0; }\nmodel B { set T; }\n"
    before = parse_text(text, "text")
    edited = text.replace("# one\n", "# one\n# two\n").replace("p[S] >= 0", "p[S] >= 1")
    after = parse_text(edited, "text", None, before)
    a, b = before.file.blocks
    c, d = after.file.blocks
    assert (a is c, b is d) == (False, True)
    assert a.statements[0] is c.statements[0]  # type: ignore[attr-defined]
    assert d.name.span.line == 4  # type: ignore[attr-defined]
    require_same(edited, after)


@pytest.mark.parametrize(
    "text",
    ["model A { set S; param p[S; }\nmodel B { set T; }", "model A { when x == y { set S; } else { set T; } set U; }",
     "model A { set S = { 1, 2 }; minimize t { a: 1; } set T }", "model A {\nmodel B { set T; }", 'import "a";\n}; x',
     "model { set S; }", "model A { set S; } # end\n/* ; { */ model B { }", 'model A "a; {" { set S "b }"; }'],
)  # fmt: skip
def test_broken_texts(text: str) -> None:
    require_same(text, parse_text(text, "text"))


@pytest.mark.slow
def test_random_edits_give_the_tree_of_the_text() -> None:
    draw = random.Random(1)
    for file in draw.sample(FILES, 12):
        original = file.read_text(encoding="utf-8")
        text, parsed = original, parse_text(original, "text")
        for _ in range(30):
            at = draw.randrange(len(text))
            cut = draw.choice((0, 0, 1, 5))
            text = (
                text[:at] + draw.choice(("", ";", "{", "}", "[", "x", " ", '"', "#", "\nset Q;\n")) + text[at + cut :]
            )
            parsed = parse_text(text, "text", None, parsed)
            require_same(text, parsed)
            if draw.random() < 0.3:
                text, parsed = original, parse_text(original, "text", None, parsed)
                require_same(text, parsed)
