"""The grammar itself: no conflicts, kept tables in step, the words of both kinds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lark.parsers.lalr_analysis import LALR_Analyzer, Reduce, Shift

from gpusched_dsl.language.parsing import grammar
from gpusched_dsl.language.parsing.grammar import cached_fingerprint, fingerprint, vocabulary
from gpusched_dsl.language.parsing.wording import expected_text


def test_the_kept_tables_are_those_of_the_grammar() -> None:
    words = "write them anew with `python -m gpusched_dsl.language.parsing.grammar`"
    kept = cached_fingerprint()
    assert kept is not None, words
    assert kept.split()[-1] == fingerprint().split()[-1], words


@pytest.mark.slow
def test_kept_and_compiled_parsers_are_alike() -> None:
    packed = grammar._read_fitting()
    if packed is None:
        pytest.skip("the tables were made by another version of Lark")
    kept, compiled = grammar.unpack(packed), grammar.compile_grammar()
    assert [(t.name, t.pattern.value, t.priority) for t in kept.lark.terminals] == [
        (t.name, t.pattern.value, t.priority) for t in compiled.terminals
    ]
    conf = compiled.parse_interactive("").parser_state.parse_conf
    assert len(kept.rows) == len(conf.states)
    # States are numbered anew whenever the grammar is compiled, so they are paired from the start on.
    paired, waiting = {kept.start: conf.start_state}, [kept.start]
    while waiting:
        state = waiting.pop()
        row, expected = kept.rows[state], conf.states[paired[state]]
        assert {kept.symbols[symbol] for symbol in row[::2]} == set(expected), state
        for symbol, action in zip(row[::2], row[1::2], strict=True):
            kind, argument = expected[kept.symbols[symbol]]
            assert (kind is Shift) == (action >= 0)
            if kind is Reduce:
                assert kept.lark.rules[-1 - action] == argument
            elif action not in paired:
                paired[action] = argument
                waiting.append(action)
            else:
                assert paired[action] == argument
    assert paired[kept.end] == conf.end_state
    assert len(set(paired.values())) == len(paired)


@pytest.mark.slow
def test_the_parser_works_without_kept_tables() -> None:
    code = (
        "import gpusched_dsl.language.parsing.grammar as g; g.TABLES = 'none';"
        "from gpusched_dsl.language.formatting.formatter import format_text;"
        "assert format_text('model  M { var x ; }') == 'model M { var x; }\\n'; assert g._read_fitting() is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_grammar_has_no_conflicts() -> None:
    # Otherwise Lark settles those between shift and reduce without a word.
    frontend = grammar.compile_grammar().parser
    LALR_Analyzer(frontend.parser_conf, strict=True).compute_lalr()


def test_reserved_words_are_few_and_known() -> None:
    assert " ".join(sorted(vocabulary().reserved)) == (
        "all all_different and any argmax argmin binary campaign check constraint count cross cumulative default diff "
        "drop else false if import in integer inter let max maximize min minimize model no_overlap norm not online "
        "option or override param placement policy prod random scenario set sos1 sos2 sum test then true union var "
        "when where within"
    )
    assert not set(vocabulary().reserved) & set(vocabulary().soft)


def test_every_terminal_has_words_for_messages() -> None:
    for terminal in grammar.lark().terminals:
        if terminal.name not in ("COMMENT", "BLANK"):
            assert expected_text([terminal.name]) != "nothing more", terminal.name
    assert expected_text(["$END"]) == "the end of the text"
