"""What alternatives a solve is to find."""

from __future__ import annotations

from dataclasses import dataclass

WITHIN = 0.01


@dataclass(frozen=True, slots=True)
class AlternativesConfig:
    """Up to `count` solutions within this share of the best, distinct by these variables (empty: by the default)."""

    count: int
    within: float = WITHIN
    distinct_by: tuple[str, ...] = ()
