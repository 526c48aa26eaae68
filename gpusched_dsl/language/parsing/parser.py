"""`parse`: a text to its syntax tree, with all independent syntax errors."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder import build_file
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source

KEPT_TEXTS = 64
LONGEST_KEPT = 200_000  # characters: a longer text is one of data, and read once


def parse(source: Source, diagnostics: Diagnostics) -> tree.File:
    """Parse a text; never raises on any text.

    Syntax errors go to `diagnostics` (codes GSM10xx); statements in which one stands are left out of the result, all
    others are there. The trees of the last texts are kept, since most files are read again and again unchanged: those
    that others import, and those of an editor.
    """
    if len(source.text) > LONGEST_KEPT:
        return _parse(source, diagnostics)
    file, found = _kept(source.name, source.text, source.path)
    diagnostics.extend(found)
    return file


@lru_cache(maxsize=KEPT_TEXTS)
def _kept(name: str, text: str, path: Path | None) -> tuple[tree.File, tuple[Diagnostic, ...]]:
    diagnostics = Diagnostics()
    file = _parse(Source(name, text, path), diagnostics)
    return file, tuple(diagnostics)


def _parse(source: Source, diagnostics: Diagnostics) -> tree.File:
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
