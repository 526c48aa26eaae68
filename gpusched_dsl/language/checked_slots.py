"""What policies for models with slots say beside the queue and the choice: slots taken, loads, values of variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import Core, IndexingCore, IndexVar
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.checked_policy import CheckedRule


@dataclass(frozen=True, slots=True)
class CheckedLoads:
    """`reserve ... of LOAD with RULE`, `serve x[...] of LOAD with RULE`: loads of services, and by what rule.

    `indexing` binds the service, the node and the slot, in any order. `arguments` of the rule are in the units in which
    they meet the load. `variable` is the family that receives what nodes serve; `reserve` has none.
    """

    span: Span
    indexing: IndexingCore
    service: IndexVar
    node: IndexVar
    slot: IndexVar
    load: Core
    rule: CheckedRule
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedFix:
    """`fix on[k in Nodes, h in Slots] = 1;`: `value` in the unit of the variable, may read what is known then."""

    variable: str
    span: Span
    indexing: IndexingCore
    value: Core


@dataclass(frozen=True, slots=True)
class CheckedSlots:
    """`occupies` is seen for one job on one node; `node` and `slot` are the names of the placement's indices."""

    node: IndexVar
    slot: IndexVar
    occupies: Core
    reserve: CheckedLoads | None = None
    serve: CheckedLoads | None = None
    fixes: tuple[CheckedFix, ...] = ()
