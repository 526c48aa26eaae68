"""Document symbols: blocks, and the declarations in them."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.source import Span
from gsdsl_editor.document import Document

_KINDS: dict[type[tree.Node], types.SymbolKind] = {
    tree.ModelBlock: types.SymbolKind.Class,
    tree.Scenario: types.SymbolKind.Object,
    tree.Test: types.SymbolKind.Event,
    tree.Policy: types.SymbolKind.Interface,
    tree.Online: types.SymbolKind.Module,
    tree.Campaign: types.SymbolKind.Package,
    tree.SetDecl: types.SymbolKind.Enum,
    tree.ParamDecl: types.SymbolKind.Constant,
    tree.VarDecl: types.SymbolKind.Variable,
    tree.RandomDecl: types.SymbolKind.Variable,
    tree.LetDecl: types.SymbolKind.Field,
    tree.ReportDecl: types.SymbolKind.Field,
    tree.ObjectiveDecl: types.SymbolKind.Function,
    tree.ObjectiveTerm: types.SymbolKind.Number,
    tree.ConstraintDecl: types.SymbolKind.Property,
    tree.OptionDecl: types.SymbolKind.EnumMember,
    tree.PolicyStage: types.SymbolKind.Method,
}


def document_symbols(document: Document) -> list[types.DocumentSymbol]:
    """The outline of a document."""
    found = []
    for extent in document.parsed.extents:
        block = extent.block
        name: tree.Identifier | None = getattr(block, "name", None)
        if name is None:
            continue
        whole = document.positions.range(extent.start, extent.end)
        children = [symbol for s in getattr(block, "statements", ()) for symbol in _statement(document, s)]
        detail = getattr(block, "doc", None) or type(block).__name__.removesuffix("Block").lower()
        found.append(
            types.DocumentSymbol(
                name.text, _KINDS[type(block)], whole, document.range_of(name.span), detail, children=children
            )
        )
    return found


def _statement(document: Document, node: tree.Node) -> Iterator[types.DocumentSymbol]:
    if isinstance(node, tree.When):
        for part in (*node.body, *node.otherwise):
            yield from _statement(document, part)
        return
    kind = _KINDS.get(type(node))
    name: tree.Identifier | None = getattr(node, "name", None)
    if isinstance(node, tree.ObjectiveDecl) and name is None:
        yield _symbol(document, node.sense, node.span, node.span, types.SymbolKind.Function, None, [])
    if kind is None or name is None:
        return
    terms = [s for t in node.terms for s in _statement(document, t)] if isinstance(node, tree.ObjectiveDecl) else []
    yield _symbol(document, name.text, node.span, name.span, kind, getattr(node, "doc", None), terms)


def _symbol(
    document: Document,
    name: str,
    whole: Span,
    own: Span,
    kind: types.SymbolKind,
    detail: str | None,
    children: list[types.DocumentSymbol],
) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name, kind, document.range_of(whole), document.range_of(own), detail, children=children or None
    )
