"""`parse`: a text to its syntax tree, with all independent syntax errors."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder import build_file
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source


def parse(source: Source, diagnostics: Diagnostics) -> tree.File:
    """Parse a text; never raises on any text.

    Syntax errors go to `diagnostics` (codes GSM10xx); statements in which one stands are left out of the result, all
    others are there.
    """
    with _no_collections():
        lexed = lex(source, diagnostics)
        if lexed is None:
            return tree.File(source, (), unread=True)
        reading = read_blocks(source, lexed.tokens, diagnostics)
        return build_file(source, reading.blocks, diagnostics, reading.lost, reading.damaged)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Disable garbage collection: a parse creates many small objects that all stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
