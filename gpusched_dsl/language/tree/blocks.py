"""A parsed text and its top-level blocks: imports, models and scenarios, with the assignments of a scenario."""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree.expressions import Call, Expr, Text
from gpusched_dsl.language.tree.indexing import Indexing
from gpusched_dsl.language.tree.node import Identifier, Statement, TopLevelBlock


class Import(TopLevelBlock, frozen=True, kw_only=True):
    path: Text


class ModelBlock(TopLevelBlock, frozen=True, kw_only=True):
    name: Identifier
    statements: tuple[Statement, ...]
    extends: Identifier | None = None
    doc: str | None = None


class Assign(Statement, frozen=True, kw_only=True):
    """`period = 1[h];`, `Nodes = { n1, n2 };`, `weight["j1"] = 3[$/h];`, `node_rule = force;`.

    `deadline[j in Jobs, "n1"] = 2 * length[j];` has an `indexing` instead of `subscripts`; an index of it without
    names is a fixed subscript.
    """

    target: Identifier
    value: Expr
    subscripts: tuple[Expr, ...] = ()
    indexing: Indexing | None = None


class Draw(Statement, frozen=True, kw_only=True):
    """`length ~ exponential(mean = 40[epoch]);`."""

    target: Identifier
    distribution: Call


class CalendarStatement(Statement, frozen=True, kw_only=True):
    """`calendar from "2026-10-05 00:00" in "Europe/Berlin" holidays { "2026-12-25" };`.

    The holidays may be those of a set: `holidays Holidays`.
    """

    start: Text
    zone: Text | None = None
    holidays: tuple[Text, ...] = ()
    holiday_set: Identifier | None = None


class Scenario(TopLevelBlock, frozen=True, kw_only=True):
    """`scenario B for M extends A { ... }`; with `extends`, `for M` may be left out."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None


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
