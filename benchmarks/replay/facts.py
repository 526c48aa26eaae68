"""The output of every arm about its run, which shows that all did the same work."""

from __future__ import annotations

from collections.abc import Iterable


def facts(finished: Iterable[tuple[float, float]]) -> dict[str, float]:
    """Of pairs of submission and end, in seconds: how many, and the mean time from one to the other."""
    waits = [end - submitted for submitted, end in finished]
    return {"finished": len(waits), "mean seconds": float(f"{sum(waits) / max(len(waits), 1):.9g}")}
