"""One open document: its text, tree, workspace and names, each computed when a feature asks for it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gsdsl_editor.fragments import end_in_file, start_in_file
from gsdsl_editor.occurrences import Occurrence
from gsdsl_editor.parsed_text import BlockExtent, ParsedChunk, ParsedText
from gsdsl_editor.positions import ClientPositions
from gsdsl_editor.resolution import Resolved, Resolver
from gsdsl_editor.texts import Texts


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A name at a place of a document, with the block around it."""

    occurrence: Occurrence
    block: tree.TopLevelBlock | None


class Document:
    """One state of the text of a document. A new state is made after each edit; `texts` keeps what has not changed."""

    def __init__(
        self,
        uri: str,
        path: Path | None,
        text: str,
        texts: Texts,
        *,
        encoding: str = "utf-16",
        allow_outside: bool = False,
        version: int | None = None,
    ) -> None:
        self.uri = uri
        self.path = path
        self.text = text
        self.texts = texts
        self.version = version
        self.positions = ClientPositions(text, encoding)
        self.allow_outside = allow_outside

    @cached_property
    def _loaded(self) -> tuple[Workspace, tuple[Diagnostic, ...]]:
        found = Diagnostics()
        if self.path is not None:
            workspace = load_workspace(self.path, found, allow_outside=self.allow_outside, files=self.texts)
        else:
            workspace = workspace_from_text(self.text, self.uri, found, files=self.texts)
        return workspace, tuple(found)

    @property
    def workspace(self) -> Workspace:
        """The blocks of the document and of its imports."""
        return self._loaded[0]

    @property
    def reading_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Syntax errors, errors of imports, blocks that are declared twice."""
        return self._loaded[1]

    @cached_property
    def parsed(self) -> ParsedText:
        main = self.workspace.main
        assert main is not None
        return self.texts.parsed(main.source)

    @cached_property
    def resolver(self) -> Resolver:
        return Resolver(self.workspace)

    # --- places ------------------------------------------------------------------------------------------------------

    def offset(self, position: types.Position) -> int:
        return self.positions.offset(position)

    def range_of(self, span: Span) -> types.Range:
        """The range of a span of this document."""
        return self.positions.range(start_in_file(span), end_in_file(span))

    def is_own(self, span: Span) -> bool:
        """Whether a span is in this document."""
        source = span.source
        return source.path == self.path if source.path is not None else source.name == self.uri

    def location_of(self, span: Span) -> types.Location | None:
        """The location of a span of this document or of another file; None if it is in no file."""
        if self.is_own(span):
            return types.Location(self.uri, self.range_of(span))
        path = span.source.path
        text = None if path is None else self.texts.text_of(path)
        if path is None or text is None:
            return None
        positions = ClientPositions(text, self.positions.encoding)
        return types.Location(path.as_uri(), positions.range(start_in_file(span), end_in_file(span)))

    def block_at(self, offset: int) -> BlockExtent | None:
        """The block around a place."""
        starts = [extent.start for extent in self.parsed.extents]
        at = bisect_right(starts, offset) - 1
        if at < 0 or offset > self.parsed.extents[at].end:
            return None
        return self.parsed.extents[at]

    def chunk_at(self, offset: int) -> ParsedChunk | None:
        """The chunk around a place; at the border of two, the first one if it is not a complete statement."""
        chunks = self.parsed.chunks
        starts = [chunk.fragment.origin.offset for chunk in chunks]
        at = bisect_right(starts, offset) - 1
        return chunks[at] if at >= 0 else None

    # --- names -------------------------------------------------------------------------------------------------------

    def places(self) -> Iterator[NamedPlace]:
        """All names of the document in their order."""
        for chunk in self.parsed.chunks:
            for occurrence in chunk.names:
                extent = self.block_at(start_in_file(occurrence.span))
                yield NamedPlace(occurrence, None if extent is None else extent.block)

    def place_at(self, offset: int) -> NamedPlace | None:
        """The name at or directly before a place."""
        for at in (offset, offset - 1):
            chunk = self.chunk_at(at)
            for occurrence in chunk.names if chunk is not None else ():
                start, end = start_in_file(occurrence.span), end_in_file(occurrence.span)
                if start <= offset <= end:
                    extent = self.block_at(start)
                    return NamedPlace(occurrence, None if extent is None else extent.block)
        return None

    def resolve(self, place: NamedPlace) -> Resolved | None:
        return self.resolver.resolve(place.occurrence, place.block)
