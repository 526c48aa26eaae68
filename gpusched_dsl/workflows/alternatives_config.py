"""What alternatives a solve is to find."""

from __future__ import annotations

from msgspec import Struct

WITHIN = 0.01


class AlternativesConfig(Struct, frozen=True):
    """Up to `count` solutions within this share of the best, distinct by these variables (empty: by the default)."""

    count: int
    within: float = WITHIN
    distinct_by: tuple[str, ...] = ()
