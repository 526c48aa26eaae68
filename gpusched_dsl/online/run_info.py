"""The request and the origin of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic


@dataclass(frozen=True, eq=False)
class RunInfo:
    """The request and the origin of a run. `inputs_sha256` has every text and data file that was read."""

    method: str
    fallback: str | None = None
    scenario: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # seed, time_limit, gap, threads
    inputs_sha256: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0  # by the wall clock, from the text to the outcome
    resumed_steps: int = 0  # that came from a journal
