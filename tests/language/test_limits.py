"""Small texts with very many errors: the time grows with the text, not with its square, and lists are short."""

from __future__ import annotations

import time

import pytest

from gpusched_dsl.language.checking.extends import MAX_CHAIN
from gpusched_dsl.language.checking.model import check_workspace
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.render import render_text
from gpusched_dsl.language.diagnostics.similar_names import MOST_COMPARISONS, Proposals
from gpusched_dsl.language.parsing.lexing import MAX_MENDED
from gpusched_dsl.language.workspace import workspace_from_text
from gsdsl_editor.positions import ClientPositions

SECONDS = 4.0  # CPU time; the quadratic versions took from 20 s to more than a minute


def check(text: str) -> list[Diagnostic]:
    diagnostics = Diagnostics()
    began = time.process_time()
    check_workspace(workspace_from_text(text, "t.gsm", diagnostics), diagnostics)
    render_text(diagnostics)
    assert time.process_time() - began < SECONDS
    return list(diagnostics)


def test_unknown_names_beside_many_similar_ones_are_all_reported_but_only_the_first_get_proposals() -> None:
    count = 1500
    known = "".join(f"param alpha_beta_{i:04d} = 1;\n" for i in range(count))
    unknown = "".join(f"constraint k{i}: x >= alpha_bexa_{i:04d};\n" for i in range(count))
    found = check(f"model M {{\n{known}var x >= 0; minimize c: x;\n{unknown}}}")
    assert [f.code for f in found] == ["GSM1101"] * count
    helped = [f for f in found if f.help]
    assert found[0].help == "did you mean `alpha_beta_0000`?"
    assert MOST_COMPARISONS / (count + 1) <= len(helped) <= MOST_COMPARISONS / count + 1


def test_a_new_text_gets_proposals_again() -> None:
    Proposals.left = -1
    (found,) = check("model M { param alpha = 1; var x >= alhpa; minimize c: x; }")
    assert found.help == "did you mean `alpha`?"


def test_many_duplicates() -> None:
    count = 3000
    found = check("model M {\n" + "param a = 1;\n" * count + "var x >= 0; minimize c: x; }")
    assert [f.code for f in found] == ["GSM1103"] * (count - 1)


def test_a_chain_of_extends_is_limited() -> None:
    links = 400
    models = "".join(f"model M{i + 1} extends M{i} {{ param p{i} = 1; }}\n" for i in range(links))
    found = check("model M0 { var x >= 0; minimize c: x; }\n" + models)
    assert [f.code for f in found] == ["GSM1004"] * (links + 1 - MAX_CHAIN)
    assert found[0].message == f"model `M{MAX_CHAIN}` extends a chain of more than {MAX_CHAIN} models"


def test_the_longest_chain_of_extends_is_accepted() -> None:
    models = "".join(f"model M{i + 1} extends M{i} {{ }}\n" for i in range(MAX_CHAIN - 1))
    assert check("model M0 { var x >= 0; minimize c: x; }\n" + models) == []


@pytest.mark.parametrize("sign", ["/*", "/* */ ", "// \n", "&& ", "'a' "])
def test_many_signs_of_other_languages(sign: str) -> None:
    found = check(sign * 20_000)
    assert 1 <= len(found) <= MAX_MENDED + 1
    assert {f.code for f in found} <= {"GSM1017", "GSM1019"}


def test_lists_of_choices_are_short() -> None:
    choices = ", ".join(f"c{i}" for i in range(500))
    found = check(f"model M {{ option o in {{ {choices} }} default zzzz; var x >= 0; minimize c: x; }}")
    assert found[0].help is not None
    assert len(found[0].help) < 200


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_on_a_long_line_beyond_ascii(encoding: str) -> None:
    text = "größe 😀\r\n" + "ä😀b " * 50_000
    positions = ClientPositions(text, encoding)
    began = time.process_time()
    places = [positions.position(offset) for offset in range(0, len(text), 10)]
    assert time.process_time() - began < SECONDS
    last = text[9 : (len(places) - 1) * 10]
    units = {"utf-8": len(last.encode()), "utf-16": len(last.encode("utf-16-le")) // 2, "utf-32": len(last)}
    assert (places[-1].line, places[-1].character) == (1, units[encoding])
