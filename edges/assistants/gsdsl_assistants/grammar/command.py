"""`gsdsl grammar`: the grammar of the language for other programs, also over characters for constrained output."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import check_targets, write_document
from gpusched_dsl.cli.output import Output


def run(options: argparse.Namespace, output: Output) -> int:
    check_targets(out=options.out)
    if options.to == "lark":
        from gpusched_dsl.language.parsing.grammar import grammar_text

        text = grammar_text()
    else:
        from gsdsl_assistants.grammar.gbnf import gbnf

        text = gbnf()
    write_document(text, options.out, output)
    return exits.OK
