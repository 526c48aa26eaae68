"""Navigation: the declaration of a name, and all places of a name in all files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source_files import Place as FilePlace
from gpusched_dsl.language.source_files import imported_place
from gsdsl_editor.document import Document
from gsdsl_editor.occurrences import NameRole, Occurrence
from gsdsl_editor.resolution import Symbol


def definition(document: Document, position: types.Position) -> list[types.Location]:
    """Where the name at a place is declared, also where it is overridden; for an import, its file."""
    place = document.place_at(document.offset(position))
    if place is None:
        return []
    if place.occurrence.role is NameRole.FILE:
        return list(_file(document, place.occurrence))
    resolved = document.resolve(place)
    found = () if resolved is None else resolved.declarations
    return [location for d in found if (location := document.location_of(d.name.span)) is not None]


def _file(document: Document, occurrence: Occurrence) -> Iterator[types.Location]:
    folder = document.workspace.base
    if folder is None or document.path is None:
        return
    importer = FilePlace(document.path, document.path.name, folder)
    allowed = document.allow_outside
    place = imported_place(occurrence.text, occurrence.span, importer, Diagnostics(), allow_outside=allowed)
    if place is not None and place.path.is_file():
        start = types.Position(0, 0)
        yield types.Location(place.path.as_uri(), types.Range(start, start))


def symbol_at(document: Document, position: types.Position) -> tuple[Occurrence, Symbol] | None:
    """The name at a place, and what it refers to."""
    place = document.place_at(document.offset(position))
    resolved = None if place is None else document.resolve(place)
    return None if place is None or resolved is None else (place.occurrence, resolved.symbol)


def occurrences_of(document: Document, symbol: Symbol) -> Iterator[Occurrence]:
    """The places of a symbol in one document."""
    for place in document.places():
        if place.occurrence.text == symbol.name:
            resolved = document.resolve(place)
            if resolved is not None and resolved.symbol == symbol:
                yield place.occurrence


def references(
    document: Document, others: Iterable[Document], position: types.Position, *, declaration: bool
) -> list[types.Location]:
    """All places of the name at a place, in this document and in others; declarations only if asked for."""
    found = symbol_at(document, position)
    if found is None:
        return []
    _, symbol = found
    documents = [document] if symbol.kind == "index" else [document, *others]
    return [
        types.Location(each.uri, each.range_of(occurrence.span))
        for each in documents
        for occurrence in occurrences_of(each, symbol)
        if declaration or not occurrence.declares
    ]


def highlights(document: Document, position: types.Position) -> list[types.DocumentHighlight]:
    """All places of a name in the document: those that declare it, and those that read it."""
    found = symbol_at(document, position)
    if found is None:
        return []
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(document.range_of(o.span), kinds.Write if o.declares else kinds.Read)
        for o in occurrences_of(document, found[1])
    ]
