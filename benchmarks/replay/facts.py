"""The output of every arm about its run, which shows that all did the same work."""

from __future__ import annotations

from collections.abc import Iterable


def facts(finished: Iterable[tuple[float, float, float]]) -> dict[str, float]:
    """Of triples of submission, seconds and end: how many jobs, how many waited, and their mean time in the cluster."""
    jobs = [(end - submitted, seconds) for submitted, seconds, end in finished]
    return {
        "finished": len(jobs),
        "waited": sum(there > seconds + 1e-3 for there, seconds in jobs),
        "mean seconds": float(f"{sum(there for there, _ in jobs) / max(len(jobs), 1):.9g}"),
    }
