"""Everything that a look at a cluster shows, as one report: text of 80 columns, JSON, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusched_dsl.inspecting.blocking import blocking_jobs
from gpusched_dsl.inspecting.inspection_data import InspectionData
from gpusched_dsl.inspecting.load import load_by, load_by_type
from gpusched_dsl.inspecting.other_queues import QueueComparison, QueueOutcome, compare_queues
from gpusched_dsl.inspecting.reasons import waiting_reasons
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot
from gpusched_dsl.inspecting.starts import estimate_starts
from gpusched_dsl.inspecting.text import headline, inspection_lines
from gpusched_dsl.inspecting.unused import unused_gpus
from gpusched_dsl.inspecting.what_if import what_if

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class ClusterInspection(InspectionData):
    """What an inspection has found, as text, page and JSON."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def headline(self) -> str:
        """The state of the cluster in one sentence."""
        return headline(self)

    def lines(self) -> list[str]:
        """The output of `gsdsl inspect`, of at most 80 columns."""
        return inspection_lines(self)

    def html_text(self) -> str:
        """The page: one file that loads nothing."""
        from gpusched_dsl.inspecting.page import inspection_page

        return inspection_page(self)

    def to_html(self, path: str | Path) -> None:
        """Write the page, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write each table to a file of its own in a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path
        from gpusched_dsl.inspecting.tables import inspection_tables
        from gpusched_dsl.reporting.csv_files import write_csv_folder

        return write_csv_folder(output_path(folder), inspection_tables(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl inspect --json`. Times are in seconds, with dates if there are."""
        snapshot, starts = self.snapshot, self.starts
        iso = self.clock.iso
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
            "headline": self.headline(),
            "types": self.by_type.to_dicts(),
            "teams": self.by_team.to_dicts(),
            "waiting": [
                {
                    "job": job.job,
                    "text": [*([] if job.reason is None else job.reason.lines(self.clock.text)), *job.notes],
                    "reason": None if job.reason is None else job.reason.to_dict(iso),
                }
                for job in self.waiting
            ],
            "blocking": self.blocking.to_dicts(),
            "order": starts.order.text,
            "starts": rows,
            "coverage": None
            if starts.coverage is None
            else {"quantiles": [0.1, 0.5, 0.9], "shares": list(starts.coverage), "cases": starts.cases},
            "drift": starts.drift,
            "queues": None if self.queues is None else _comparison(self.queues),
            "changes": [{"text": c.text, "mean_wait": c.mean_wait, "starts_now": c.starts_now} for c in self.changes],
            "unused": None
            if self.unused is None
            else {
                "used_by_hour": self.unused.used.tolist(),
                "unused_by_hour": self.unused.unused.tolist(),
                "days": self.unused.days,
                "hours_with_waiting_jobs": self.unused.waited,
                "price": self.price,
            },
        }


def inspect(
    snapshot: ClusterSnapshot, *, seed: int = 1, price: float | None = None, currency: str = "$"
) -> ClusterInspection:
    """Look at a cluster. A seed gives the same estimates again; `price` is that of a GPU-hour."""
    starts = estimate_starts(snapshot, seed=seed)
    return ClusterInspection(
        snapshot,
        load_by_type(snapshot),
        load_by(snapshot),
        starts,
        tuple(waiting_reasons(snapshot, starts.order)),
        blocking_jobs(snapshot),
        compare_queues(snapshot, starts.order),
        tuple(what_if(snapshot, starts.order)),
        unused_gpus(snapshot),
        price,
        currency,
    )


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
