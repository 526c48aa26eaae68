"""Dates of Kubernetes as numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gsdsl_clusters.kubernetes_objects.values import UnknownValue


def seconds(text: Any) -> float | None:
    """A date in seconds since 1970, None without one. Raises UnknownValue."""
    if text is None or text == "":
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        raise UnknownValue(f"`{str(text)[:40]}` is not a date") from None


def date_text(time: float) -> str:
    """Seconds since 1970 as the API server writes dates."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
