"""Any text at all: parsing, formatting and rendering answer with diagnostics, never with anything else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.diagnostics.render import render_json, render_text
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source, Span
from gpusched_dsl.language.tree_walk import nodes_in, same_file
from gpusched_dsl.language.workspace import workspace_from_text

ROOT = Path(__file__).parent.parent
TEXTS = [p.read_text() for p in sorted([*(ROOT / "tour").glob("*.gsm"), *(ROOT.parent / "models").rglob("*.gsm")])]
SNIPPETS = [
    *vocabulary().reserved,
    *vocabulary().soft,
    *vocabulary().signs,
    *("x", "j", "Jobs", "3", "2.5", "1e400", "99999999999999999999", "h", "$", '"a"', "x[j]", "1[h]"),
    *("\n", "#", "//", "'", '"', "\\", "\t", "\r", "\0", "é", "𝒳", "\ufeff", "\u202e"),
    "sum[j in Jobs] ",
    "model M {",
    "scenario S for M {",
    "table T: a =",
    "};",
]

FAST = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A piece of a real text with a few words removed, doubled, swapped or put in."""
    source = draw(st.sampled_from(TEXTS))
    begin = draw(st.integers(0, len(source)))
    text = source[begin : begin + draw(st.integers(0, 1500))] if draw(st.booleans()) else source
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 25))
        kind = draw(st.sampled_from(["cut", "put", "double", "move"]))
        if kind == "cut":
            text = text[:at] + text[at + length :]
        elif kind == "put":
            text = f"{text[:at]} {draw(st.sampled_from(SNIPPETS))} {text[at:]}"
        elif kind == "double":
            text = text[: at + length] + text[at:]
        else:
            to = draw(st.integers(0, len(text)))
            text = text[:to] + text[at : at + length] + text[to:]
    return text


soup = st.lists(st.sampled_from(SNIPPETS), max_size=60).map(" ".join)
anything = st.one_of(st.text(max_size=300), soup, mutated())


def spans_of(file: tree.File) -> list[Span]:
    return [n.span for block in file.blocks for n in nodes_in(block, tree.Node)] + [n.span for n in file.lost]


def check_text(text: str) -> None:
    diagnostics = Diagnostics()
    file = parse(Source("f.gsm", text), diagnostics)
    for found in diagnostics:
        assert found.code in CODES
        assert found.code != "GSM9999"
        places = [found.primary, *(label.place for label in found.secondary)]
        assert all(isinstance(p, Span) and 0 <= p.start <= p.end <= len(text) for p in places)
    for span in spans_of(file):
        assert 0 <= span.start <= span.end <= len(text)
    shown = render_text(diagnostics)
    assert shown.isprintable() or set(shown) - {"\n"} <= {c for c in shown if c.isprintable()}
    render_json(diagnostics)
    try:
        formatted = format_text(text)
    except DiagnosticError:
        formatted = None
    assert diagnostics.has_errors == (formatted is None)
    if formatted is None:
        return
    again = Diagnostics()
    assert same_file(file, parse(Source("g.gsm", formatted), again))
    assert not again.has_errors
    assert format_text(formatted) == formatted


@settings(FAST, max_examples=60)
@given(anything)
def test_any_text(text: str) -> None:
    check_text(text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@LONG
@given(anything)
def test_any_text_at_length(text: str) -> None:
    check_text(text)


@st.composite
def rearranged(draw: st.DrawFn) -> str:
    """A real text with other blanks, line breaks and comments between its words."""
    text = draw(st.sampled_from(TEXTS))
    chance = draw(st.sampled_from([0.02, 0.2, 0.6]))
    dice = random.Random(draw(st.integers(0, 2**32)))
    lexed = lex(Source("t", text), Diagnostics())
    assert lexed is not None
    parts: list[str] = []
    last = 0
    sign = False
    for token in lexed.tokens:
        gap = text[last : token.start_pos]
        apart = gap or not sign  # a sign apart from its number is an error in a table
        if gap and "#" not in gap and dice.random() < chance:
            gap = " "
        if apart and dice.random() < chance:
            gap += dice.choice(["\n", "\n\n\n", "  ", "\t", " # c\n", "\n# c\n", "\n\n  # a\n# b\n", "\r\n"])
        parts += [gap, str(token)]
        last = token.end_pos or 0
        sign = token == "-"
    return "".join(parts) + text[last:]


def check_layout(text: str) -> None:
    formatted = format_text(text)
    assert format_text(formatted) == formatted
    assert same_file(parse(Source("a", text), Diagnostics()), parse(Source("b", formatted), Diagnostics()))


@pytest.mark.slow
@settings(FAST, max_examples=40)
@given(rearranged())
def test_any_layout(text: str) -> None:
    check_layout(text)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(LONG, max_examples=300)
@given(rearranged())
def test_any_layout_at_length(text: str) -> None:
    check_layout(text)


@FAST
@given(
    st.one_of(
        st.text(max_size=30), st.lists(st.sampled_from(["..", "/", "a", "\\", "gsdsl:", "\0", "~", "C:"])).map("".join)
    )
)
def test_any_import(path: str) -> None:
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    diagnostics = Diagnostics()
    workspace_from_text(f'import "{quoted}";', "t", diagnostics, ROOT / "tour")
    assert all(d.code in CODES for d in diagnostics)
