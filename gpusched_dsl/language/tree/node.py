"""Nodes of a syntax tree: a frozen dataclass each, whose `span` covers its text; statements and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier(Node):
    """A name in the place of a name."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Node):
    """Any element of a block that ends in `;` (or `}`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopLevelBlock(Node):
    """A top-level block."""
