"""A parsed text: its blocks, and what its syntax errors keep out of them."""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree.node import Identifier, TopLevelBlock


class File(Struct, frozen=True):
    """One parsed text.

    `lost` are the names of blocks and declarations that a syntax error keeps out of `blocks`: a reference to one of
    them needs no complaint of its own. `damaged` are the blocks that lack a statement for the same reason: that they
    lack something needs none either. `unread` is true when nothing of the text could be read.
    """

    source: Source
    blocks: tuple[TopLevelBlock, ...]
    lost: tuple[Identifier, ...] = ()
    damaged: tuple[Identifier, ...] = ()
    unread: bool = False
