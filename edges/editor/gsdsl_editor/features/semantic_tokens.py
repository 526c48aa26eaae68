"""Semantic tokens: keywords where they are keywords, and names by what they refer to."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from gpusched_dsl.language.parsing.grammar import vocabulary
from gsdsl_editor.document import Document, NamedPlace
from gsdsl_editor.fragments import start_in_file
from gsdsl_editor.occurrences import NameRole

TYPES = ("keyword", "type", "parameter", "variable", "property", "function", "class", "enumMember", "number", "string",
         "comment", "operator", "macro", "event")  # fmt: skip
MODIFIERS = ("declaration", "readonly")
LEGEND = types.SemanticTokensLegend(list(TYPES), list(MODIFIERS))
_NUMBER_OF = {name: number for number, name in enumerate(TYPES)}
_DECLARED = {
    "set": "type", "param": "parameter", "let": "property", "report": "property", "var": "variable",
    "random": "variable", "constraint": "function", "objective": "function", "term": "function",
    "option": "enumMember", "stage": "function", "factor": "parameter",
}  # fmt: skip
_ROLES = {
    NameRole.MODEL: "class", NameRole.SCENARIO: "class", NameRole.TEST: "event", NameRole.POLICY: "class",
    NameRole.ONLINE: "class", NameRole.CAMPAIGN: "class", NameRole.METHOD: "class", NameRole.CHOICE: "enumMember",
    NameRole.FUNCTION: "function", NameRole.RULE: "function", NameRole.ROLE: "property", NameRole.UNIT: "macro",
    NameRole.INDEX: "parameter", NameRole.FILE: "string",
}  # fmt: skip


def semantic_tokens(document: Document) -> types.SemanticTokens:
    """The tokens of a document, as the protocol encodes them: five numbers each, relative to the token before."""
    data: list[int] = []
    line = column = 0
    for start, end, kind, modifiers in sorted(_tokens(document)):
        place = document.positions.range(start, end)
        at, last = place.start, place.end
        if at.line != last.line:
            continue
        data += [at.line - line, at.character - (column if at.line == line else 0), last.character - at.character]
        data += [_NUMBER_OF[kind], modifiers]
        line, column = at.line, at.character
    return types.SemanticTokens(data)


def _tokens(document: Document) -> Iterator[tuple[int, int, str, int]]:
    """Start, end, type and modifiers of each token; the tokens do not overlap."""
    named: dict[int, tuple[str, int]] = {}
    for place in document.places():
        found = _type_of(document, place)
        if found is not None:
            named[start_in_file(place.occurrence.span)] = found
    signs = set(vocabulary().signs.values())
    for chunk in document.parsed.chunks:
        fragment = chunk.fragment
        for comment in chunk.comments:
            yield fragment.in_file(comment.start), fragment.in_file(comment.end), "comment", 0
        for token in chunk.tokens:
            start, end = fragment.in_file(token.start_pos or 0), fragment.in_file(token.end_pos or 0)
            if start in named:
                yield (start, end, *named[start])
            elif token.type == "NAME":
                yield start, end, "variable", 0
            elif token.type in ("NUMBER", "STRING"):
                yield start, end, token.type.lower(), 0
            elif token.type == "UNIT_SIGN":
                yield start, end, "macro", 0
            elif token.type not in signs:
                yield start, end, "keyword", 0
            elif token.type not in ("SEMICOLON", "COMMA", "LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE"):
                yield start, end, "operator", 0


def _type_of(document: Document, place: NamedPlace) -> tuple[str, int] | None:
    occurrence = place.occurrence
    modifiers = 1 if occurrence.declares else 0
    if occurrence.role is not NameRole.DECLARED:
        return _ROLES[occurrence.role], modifiers
    resolved = document.resolve(place)
    if resolved is None:
        return None
    if resolved.symbol.kind == "choice":
        return "enumMember", modifiers
    kind = resolved.declarations[0].kind
    return _DECLARED.get(kind, "variable"), modifiers | (2 if kind in ("set", "param", "factor") else 0)
