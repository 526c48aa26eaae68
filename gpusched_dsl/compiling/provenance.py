"""The source of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedModel


@dataclass(frozen=True, eq=False)
class Provenance:
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
