"""The jobs of a placement that a plan leaves waiting, and why each of them waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.domains import decode_column
from gpusched_dsl.language.checked import NamedSet
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.grid import Grid, GridColumn

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.ir.arrays import Codes
    from gpusched_dsl.language.checked import CheckedModel
    from gpusched_dsl.reporting.placement import Placement

TOO_LARGE = "too large"  # even without other jobs
NO_ROOM = "no room"  # other jobs use what it needs
CONFLICT = "conflict"  # several rows together exclude it
COST = "cost"  # it fits, but the plan would have another value
NO_WAY = "no way"  # the placement has no element for it
NOT_EXAMINED = "not examined"


class WaitingReason(Struct, frozen=True):
    """Why a job waits.

    `kind` is one of the words above. `binds` are constraints; `row` is the one that misses least, which `needs` so much
    and has so much `free`, in `unit`. `change` is by how much the first objective would change with the job.
    """

    job: str | int
    kind: str = NOT_EXAMINED
    text: str = "not examined"
    binds: tuple[str, ...] = ()
    row: str | None = None
    needs: float | None = None
    free: float | None = None
    unit: str = ""
    change: float | None = None


@dataclass(frozen=True, eq=False)
class WaitingJobs:
    """`codes` and `labels` of the jobs without a placement, of `jobs` jobs; `reasons` has one entry per label."""

    jobs: int
    codes: Codes
    labels: tuple[str | int, ...]
    reasons: tuple[WaitingReason, ...] = field(default=())

    @property
    def placed(self) -> int:
        return self.jobs - len(self.labels)

    @property
    def caption(self) -> str:
        """`35 of 60 jobs placed; 25 wait`."""
        count = len(self.labels)
        verb = "waits" if count == 1 else "wait"
        return f"{self.placed:,} of {count_text(self.jobs, 'job')} placed; {count:,} {verb}"

    def records(self) -> list[dict[str, object]]:
        """Return a dictionary for each waiting job, for JSON."""
        return [
            {
                "job": r.job, "reason": r.kind, "binds": list(r.binds), "row": r.row, "needs": r.needs, "free": r.free,
                "unit": r.unit, "change": r.change, "text": r.text,
            }
            for r in self.known_reasons
        ]  # fmt: skip

    @property
    def known_reasons(self) -> tuple[WaitingReason, ...]:
        """Return a reason for each job, `not examined` if none was sought."""
        return self.reasons or tuple(WaitingReason(label) for label in self.labels)

    @property
    def table(self) -> pl.DataFrame:
        """A row per waiting job: `job`, `reason`, `binds`, `row`, `needs`, `free`, `unit`, `change`, `text`."""
        import polars as pl

        found = self.known_reasons
        return pl.DataFrame(
            {
                "job": pl.Series([str(r.job) for r in found], dtype=pl.String),
                "reason": pl.Series([r.kind for r in found], dtype=pl.String),
                "binds": pl.Series([", ".join(r.binds) for r in found], dtype=pl.String),
                "row": pl.Series([r.row for r in found], dtype=pl.String),
                "needs": pl.Series([r.needs for r in found], dtype=pl.Float64),
                "free": pl.Series([r.free for r in found], dtype=pl.Float64),
                "unit": pl.Series([r.unit for r in found], dtype=pl.String),
                "change": pl.Series([r.change for r in found], dtype=pl.Float64),
                "text": pl.Series([r.text for r in found], dtype=pl.String),
            }
        )

    def grid(self) -> Grid:
        """The jobs as texts, with the reasons if they were sought."""
        found = self.known_reasons
        if not self.reasons:
            return Grid((GridColumn("job", [str(r.job) for r in found]),))
        return Grid(
            (
                GridColumn("job", [str(r.job) for r in found]),
                GridColumn("why it waits", [r.text for r in found], wraps=True),
            )
        )


def waiting_jobs(model: CheckedModel, store: ValueStore, placed: Placement) -> WaitingJobs | None:
    """Return the jobs without a placement; None if the placement has no index for its jobs."""
    declared = model.placement
    if declared is None or "job" not in placed.codes:
        return None
    index, place = declared.index("job"), declared.position("job")
    if index is None or place is None:
        return None
    component = store.component(index.type)
    codes: Codes | None = None if component is None else np.arange(len(component.labels), dtype=np.int64)
    for iterator in model.variables[declared.variable].indexing.iterators:
        if place == 0 and len(iterator.variables) == 1 and isinstance(iterator.domain, NamedSet):
            members = store.sets.get(iterator.domain.name)
            codes = codes if members is None else members.columns()[0]
        place -= len(iterator.variables)
    if codes is None:
        return None
    waiting = codes[~np.isin(codes, np.asarray(placed.codes["job"]))]
    return WaitingJobs(len(codes), waiting, tuple(decode_column(component, waiting)))
