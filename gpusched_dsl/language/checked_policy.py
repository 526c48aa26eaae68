"""A policy with its inheritance resolved and its expressions checked against a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpusched_dsl.language.checked import CheckedLet, CheckedModel, Core, IndexingCore
from gpusched_dsl.language.source import Span


@dataclass(frozen=True, slots=True)
class CheckedKey:
    value: Core
    descending: bool = False


@dataclass(frozen=True, slots=True)
class CheckedRanking:
    """`order`, `choose`, `otherwise`: what is listed, with its condition, and by which keys, the first one first.

    `names` are those of the indices in the order in which the indexing binds them.
    """

    span: Span
    indexing: IndexingCore
    keys: tuple[CheckedKey, ...]


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """`new_node exclusive`, `grow by speedup`, `swap_tardy_any(5)`."""

    name: str
    span: Span
    modifiers: tuple[str, ...] = ()
    arguments: tuple[Core, ...] = ()
    by: str | None = None

    @property
    def text(self) -> str:
        """Name, modifiers and `by`, as the tables of `policies/rules.py` list them."""
        words = " ".join((self.name, *self.modifiers))
        return words if self.by is None else f"{words} by {self.by}"


@dataclass(frozen=True, slots=True)
class CheckedDraw:
    """`randomise order|choose|place`: `probability` of a swap, or `count` of the list drawn from and its `odds`."""

    target: str
    span: Span
    count: Core | None = None
    probability: Core | None = None
    odds: str = ""  # such as `inverse cost`


@dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """The lines of a policy after inheritance. `model` has the policy's own `let`s beside its own.

    Jobs are bound by `order` (the name of the placement's job index); `choose` and `otherwise` see it.
    """

    name: str
    span: Span
    model: CheckedModel
    order: CheckedRanking
    doc: str | None = None
    lets: Mapping[str, CheckedLet] = field(default_factory=dict)
    choose: CheckedRanking | None = None
    otherwise: CheckedRanking | None = None
    place: tuple[CheckedRule, ...] = ()
    finish: tuple[CheckedRule, ...] = ()
    keep: tuple[CheckedRule, ...] = ()
    draws: Mapping[str, CheckedDraw] = field(default_factory=dict)
    repeat: Core | None = None
    kept: str = ""  # `keep best KEPT`: an objective of the model or a price of the engine
    improve: Core | None = None  # how many of the best schedules
    moves: tuple[CheckedRule, ...] = ()
