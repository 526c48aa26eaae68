"""Parses a text again after an edit: only the chunks that have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from lark import Token
from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder import build_file
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source, Span
from gsdsl_editor.chunks import HEADS, Chunk, split
from gsdsl_editor.fragments import Fragment, FragmentOrigin
from gsdsl_editor.occurrences import Occurrence, occurrences_in

ChunkKey: TypeAlias = tuple[str, bool, str]


@dataclass(slots=True, eq=False)
class ParsedChunk:
    """A chunk with its tokens (with their roles), comments and nodes; `file` has them as a text of its own."""

    fragment: Fragment
    file: tree.File
    tokens: tuple[Token, ...]
    comments: tuple[Span, ...]
    diagnostics: tuple[Diagnostic, ...]
    _names: tuple[Occurrence, ...] | None = None

    @property
    def names(self) -> tuple[Occurrence, ...]:
        """The names in it, found when they are asked for."""
        if self._names is None:
            self._names = occurrences_in(self.file.blocks, self.fragment.first, self.fragment.last)
        return self._names

    @property
    def statements(self) -> tuple[tree.Statement, ...]:
        return tuple(s for block in self.file.blocks for s in getattr(block, "statements", ()))


@dataclass(frozen=True, slots=True)
class BlockExtent:
    """A block and its place in the file: `start` and `end` are offsets, blanks and comments before it excluded."""

    block: tree.TopLevelBlock
    start: int
    end: int


@dataclass(slots=True)
class ParsedText:
    """One state of a text. Nodes of unchanged chunks are the same objects in the next state."""

    source: Source
    file: tree.File
    chunks: list[ParsedChunk]
    extents: list[BlockExtent]
    diagnostics: tuple[Diagnostic, ...]
    known: Mapping[ChunkKey, list[ParsedChunk]] = field(default_factory=dict)


def parse_text(text: str, name: str, path: Path | None = None, before: ParsedText | None = None) -> ParsedText:
    """Parse a text; `before` is its previous state, whose unchanged chunks are used again."""
    source = Source(name, text, path)
    waiting = {key: list(chunks) for key, chunks in before.known.items()} if before is not None else {}
    known: dict[ChunkKey, list[ParsedChunk]] = {}
    chunks: list[ParsedChunk] = []
    line = counted = 0
    parts = split(text)
    for chunk in parts:
        key = (chunk.kind, chunk.end_of_block, text[chunk.start : chunk.end])
        usable = waiting.get(key)
        parsed = usable.pop(0) if usable else _parse_chunk(key, name, path)
        line += text.count("\n", counted, chunk.start)
        counted = chunk.start
        parsed.fragment.origin.offset, parsed.fragment.origin.lines = chunk.start, line
        chunks.append(parsed)
        known.setdefault(key, []).append(parsed)
    extents = list(_blocks(parts, chunks, before))
    file = tree.File(
        source,
        tuple(e.block for e in extents),
        tuple(name for c in chunks for name in c.file.lost),
        tuple(_damaged_blocks(parts, chunks)),
        any(c.file.unread for c in chunks),
    )
    return ParsedText(source, file, chunks, extents, tuple(d for c in chunks for d in c.diagnostics), known)


def _parse_chunk(key: ChunkKey, name: str, path: Path | None) -> ParsedChunk:
    kind, closes, text = key
    head, end = HEADS.get(kind, ""), "}" if kind == "head" or (kind and not closes) else ""
    fragment = Fragment(name, head + text + end, path, len(head), len(head) + len(text), FragmentOrigin())
    found = Diagnostics()
    lexed = lex(fragment, found)
    if lexed is None:
        return ParsedChunk(fragment, tree.File(fragment, (), unread=True), (), (), tuple(found))
    reading = read_blocks(fragment, lexed.tokens, found)
    file = build_file(fragment, reading.blocks, found, reading.lost, reading.damaged)
    own = tuple(t for t in reading.tokens if fragment.first <= (t.start_pos or 0) < (t.end_pos or 0) <= fragment.last)
    return ParsedChunk(fragment, file, own, tuple(lexed.comments), tuple(found))


def _blocks(parts: list[Chunk], chunks: list[ParsedChunk], before: ParsedText | None) -> Iterable[BlockExtent]:
    """The blocks of the chunks; a block whose chunks have not changed is the same object as before."""
    earlier = {} if before is None else {_identity(e.block): e.block for e in before.extents}
    at = 0
    while at < len(parts):
        parsed = chunks[at]
        if parts[at].kind != "head":
            for block in parsed.file.blocks:
                span = block.span
                yield BlockExtent(block, parsed.fragment.in_file(span.start), parsed.fragment.in_file(span.end))
            at += 1
            continue
        last = at + 1
        while not parts[last].end_of_block:
            last += 1
        inside = chunks[at + 1 : last + 1]
        start = parsed.fragment.in_file(parsed.tokens[0].start_pos or 0) if parsed.tokens else parts[at].start
        for block in parsed.file.blocks:
            statements = tuple(s for c in inside for s in c.statements)
            made = structs.replace(block, statements=statements)
            yield BlockExtent(earlier.get(_identity(made), made), start, parts[last].end)
        at = last + 1


def _identity(block: tree.TopLevelBlock) -> tuple[int, ...]:
    """Equal for blocks with the same head and the same statements, as objects."""
    name = getattr(block, "name", None)
    return (id(block) if name is None else id(name), *map(id, getattr(block, "statements", ())))


def _damaged_blocks(parts: list[Chunk], chunks: list[ParsedChunk]) -> Iterable[tree.Identifier]:
    """The names of blocks with an unreadable statement."""
    name: tree.Identifier | None = None
    for part, parsed in zip(parts, chunks, strict=True):
        if part.kind == "head":
            name = next((b.name for b in parsed.file.blocks if hasattr(b, "name")), None)
        elif not part.kind:
            yield from parsed.file.damaged
        elif parsed.file.damaged and name is not None:
            yield name
