"""The cost of a run: by term, by job and by place, integrated over time between events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints


@dataclass(eq=False)
class Ledger:
    """Amounts by term, in the unit of the term; `jobs` and `places` have one number for each of them and term."""

    job_count: int
    place_count: int
    totals: dict[str, float] = field(default_factory=dict)
    jobs: dict[str, Floats] = field(default_factory=dict)
    places: dict[str, Floats] = field(default_factory=dict)

    def add(self, term: str, amount: float) -> None:
        self.totals[term] = self.totals.get(term, 0.0) + amount

    def add_jobs(self, term: str, jobs: Ints, amounts: Floats) -> None:
        """Amounts of distinct jobs, which are no part of the total yet."""
        self.add(term, float(amounts.sum()))
        self.share_jobs(term, jobs, amounts)

    def share_jobs(self, term: str, jobs: Ints, amounts: Floats) -> None:
        """Assign amounts to jobs that are already in the total."""
        if term not in self.jobs:
            self.jobs[term] = np.zeros(self.job_count)
        self.jobs[term][jobs] += amounts

    def share_places(self, term: str, places: Ints, amounts: Floats) -> None:
        if term not in self.places:
            self.places[term] = np.zeros(self.place_count)
        self.places[term][places] += amounts

    def grow(self, jobs: int) -> None:
        """Extend the arrays for more jobs."""
        more = jobs - self.job_count
        self.job_count = jobs
        for term, amounts in self.jobs.items():
            self.jobs[term] = np.concatenate((amounts, np.zeros(more)))

    def keep_jobs(self, kept: Ints) -> None:
        """Forget the amounts of all other jobs; the totals stay."""
        self.job_count = len(kept)
        self.jobs = {term: amounts[kept] for term, amounts in self.jobs.items()}

    def add_places(self, count: int) -> None:
        """Extend the arrays for more places."""
        self.place_count += count
        for term, amounts in self.places.items():
            self.places[term] = np.concatenate((amounts, np.zeros(count)))
