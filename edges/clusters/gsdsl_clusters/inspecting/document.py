"""An inspection as JSON."""

from __future__ import annotations

from typing import Any

from gsdsl_clusters.inspecting.inspection import ClusterInspection
from gsdsl_clusters.inspecting.other_queues import QueueComparison, QueueOutcome
from gsdsl_clusters.inspecting.text import headline

SCHEMA_VERSION = 1


def inspection_document(found: ClusterInspection) -> dict[str, Any]:
    """Return the document of `gsdsl inspect --json`. Times are in seconds, with dates if there are."""
    snapshot, starts = found.snapshot, found.starts
    iso = found.clock.iso
    rows = [
        {**row, **{f"{name}_date": iso(snapshot.now + row[name]) for name in ("q10", "q50", "q90")}}
        for row in starts.table.iter_rows(named=True)
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "source": snapshot.source,
        "files": dict(snapshot.files),
        "now": snapshot.now,
        "now_date": iso(snapshot.now),
        "inferred": snapshot.inferred or None,
        "unread": list(snapshot.unread),
        "notes": list(snapshot.notes),
        "headline": headline(found),
        "types": found.by_type.to_dicts(),
        "teams": found.by_team.to_dicts(),
        "waiting": [
            {
                "job": job.job,
                "text": [*([] if job.reason is None else job.reason.lines(found.clock.text)), *job.notes],
                "reason": None if job.reason is None else job.reason.to_dict(iso),
            }
            for job in found.waiting
        ],
        "blocking": found.blocking.to_dicts(),
        "order": starts.order.text,
        "starts": rows,
        "coverage": None
        if starts.coverage is None
        else {"quantiles": [0.1, 0.5, 0.9], "shares": list(starts.coverage), "cases": starts.cases},
        "drift": starts.drift,
        "queues": None if found.queues is None else _comparison(found.queues),
        "changes": [{"text": c.text, "mean_wait": c.mean_wait, "starts_now": c.starts_now} for c in found.changes],
        "unused": None
        if found.unused is None
        else {
            "used_by_hour": found.unused.used.tolist(),
            "unused_by_hour": found.unused.unused.tolist(),
            "days": found.unused.days,
            "hours_with_waiting_jobs": found.unused.waited,
            "price": found.price,
        },
    }


def _comparison(queues: QueueComparison) -> dict[str, Any]:
    def outcome(found: QueueOutcome) -> dict[str, Any]:
        return {
            "queue": found.name, "mean_wait": found.mean_wait, "weighted_wait": found.weighted_wait,
            "wait_95": found.wait_95, "used": found.used,
        }  # fmt: skip

    return {
        "cluster": None if queues.real is None or not queues.jobs else outcome(queues.real),
        "simulated": outcome(queues.own) if queues.jobs else None,
        "others": [outcome(found) for found in queues.others if queues.jobs],
        "jobs": queues.jobs,
        "left_out": queues.left_out,
        "explains": queues.explains,
    }
