"""`online` blocks: how a model is driven over time."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr, UnitNode
from gpusched_dsl.language.tree.indexing import Index, Indexing
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock


class Window(Statement, frozen=True, kw_only=True):
    """`window h in Slots lookahead 96 commit 4;`."""

    index: Index
    lookahead: Expr
    commit: Expr


class Arrive(Statement, frozen=True, kw_only=True):
    """`arrive j in Jobs at submitted[j];`."""

    index: Index
    at: Expr


class Trigger(Node, frozen=True, kw_only=True):
    """`arrival`, `completion`, or `every period` / `every 4 slots` (`every` set, `unit` the next word)."""

    event: Identifier | None = None
    every: Expr | None = None
    unit: Identifier | None = None


class Replan(Statement, frozen=True, kw_only=True):
    """`replan on arrival, completion, every period;`."""

    triggers: tuple[Trigger, ...]


class ClockTime(Node, frozen=True, kw_only=True):
    """`9:00`, as written: the clock of the wall shows it."""

    hour: str
    minute: str


class ReplanAt(Statement, frozen=True, kw_only=True):
    """`replan at 9:00, 18:00 on weekdays;`; without `days` each day."""

    times: tuple[ClockTime, ...]
    days: tuple[Identifier, ...] = ()


class Carry(Statement, frozen=True, kw_only=True):
    """`carry deadline[j] = deadline[j] - now;`."""

    target: Identifier
    indices: tuple[Identifier, ...]
    value: Expr


class FallbackPolicy(Statement, frozen=True, kw_only=True):
    """`fallback Greedy;`: the policy that decides where a solver found no plan in time."""

    policy: Identifier


class ProgressLine(Statement, frozen=True, kw_only=True):
    """One line about the real progress: `work epochs[b];`, `speed ...;`, `ends at length[j];`, `stretch ...;`.

    `verb` is `work`, `speed`, `ends` or `stretch`.
    """

    verb: str
    value: Expr


class Change(Statement, frozen=True, kw_only=True):
    """`on migration delay 5[min] costs 0.1[$];`."""

    event: Identifier
    delay: Expr | None = None
    costs: Expr | None = None


class Outage(Statement, frozen=True, kw_only=True):
    """`outage n in Nodes every exponential(mean = 500[h]) lasting deterministic(2[h]);`."""

    index: Index
    every: Expr
    lasting: Expr


class Charge(Statement, frozen=True, kw_only=True):
    """`charge nodes;`, `charge energy[k in Nodes] in $ = ...;`."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    value: Expr | None = None


class Online(TopLevelBlock, frozen=True, kw_only=True):
    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None
