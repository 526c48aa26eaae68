"""A checked model: its declarations by name."""

from __future__ import annotations

from msgspec import Struct, field

from gpusched_dsl.language.checked.declarations import (
    CheckedCheck,
    CheckedConstraint,
    CheckedLet,
    CheckedObjective,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedVariable,
)
from gpusched_dsl.language.checked.placement import CheckedPlacement
from gpusched_dsl.language.source import Span


class CheckedModel(Struct, frozen=True):
    """A model with its inheritance and its options resolved.

    `data_order` names every set, parameter and random so that each comes after all that its definition reads.
    `options` are the choices this model was checked with; `start_options` those choices of other options (`start from`)
    whose solutions satisfy this model too; `decompose` is the root set of `decompose by ...;`. `reports`
    are evaluated at solutions only; nothing refers to them.
    """

    name: str
    span: Span
    sets: dict[str, CheckedSet]
    params: dict[str, CheckedParam]
    lets: dict[str, CheckedLet]
    variables: dict[str, CheckedVariable]
    constraints: dict[str, CheckedConstraint]
    objectives: tuple[CheckedObjective, ...]
    checks: tuple[CheckedCheck, ...]
    placement: CheckedPlacement | None
    options: dict[str, str]
    option_choices: dict[str, tuple[str, ...]]
    data_order: tuple[str, ...]
    randoms: dict[str, CheckedRandom] = field(default_factory=dict)
    doc: str | None = None
    decompose: str | None = None
    reports: dict[str, CheckedLet] = field(default_factory=dict)
    start_options: dict[str, str] = field(default_factory=dict)
