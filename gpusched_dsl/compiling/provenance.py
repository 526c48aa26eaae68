"""The source of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedModel


class Provenance(Struct, frozen=True, eq=False):
    """The source of a problem. `model` and `store` are None for a problem that was read from a file.

    `inputs_sha256` has the SHA-256 of every text and data file read; `settings` what was set from outside.
    """

    model: CheckedModel | None = None
    store: ValueStore | None = None
    scenario: str | None = None
    build_seconds: float = 0.0
    inputs_sha256: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    limits: MemoryLimits | None = None
