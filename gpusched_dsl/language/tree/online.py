"""`online` blocks: how a model is driven over time."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.indexing import Index, Indexing
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock
from gpusched_dsl.language.tree.units import UnitNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Statement):
    """`window h in Slots lookahead 96 commit 4;`."""

    index: Index
    lookahead: Expr
    commit: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive(Statement):
    """`arrive j in Jobs at submitted[j];`."""

    index: Index
    at: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Node):
    """`arrival`, `completion`, or `every period` / `every 4 slots` (`every` set, `unit` the next word)."""

    event: Identifier | None = None
    every: Expr | None = None
    unit: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan(Statement):
    """`replan on arrival, completion, every period;`."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Statement):
    """`carry deadline[j] = deadline[j] - now;`."""

    target: Identifier
    indices: tuple[Identifier, ...]
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackPolicy(Statement):
    """`fallback Greedy;`: the policy that decides where a solver found no plan in time."""

    policy: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressLine(Statement):
    """One line about the real progress: `work epochs[b];`, `speed ...;`, `ends at length[j];`, `stretch ...;`.

    `verb` is `work`, `speed`, `ends` or `stretch`.
    """

    verb: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Statement):
    """`on migration delay 5[min] costs 0.1[$];`."""

    event: Identifier
    delay: Expr | None = None
    costs: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage(Statement):
    """`outage n in Nodes every exponential(mean = 500[h]) lasting deterministic(2[h]);`."""

    index: Index
    every: Expr
    lasting: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Statement):
    """`charge nodes;`, `charge energy[k in Nodes] in $ = ...;`."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    value: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Online(TopLevelBlock):
    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None
