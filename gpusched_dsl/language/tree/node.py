"""Nodes of a syntax tree: a frozen dataclass each, whose `span` covers its text; statements and blocks."""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language.source import Span


class Node(Struct, frozen=True, kw_only=True):
    span: Span


class Identifier(Node, frozen=True, kw_only=True):
    """A name in the place of a name."""

    text: str


class Statement(Node, frozen=True, kw_only=True):
    """Any element of a block that ends in `;` (or `}`)."""


class TopLevelBlock(Node, frozen=True, kw_only=True):
    """A top-level block."""
