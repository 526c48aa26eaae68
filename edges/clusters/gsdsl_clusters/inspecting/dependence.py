"""Random numbers of jobs that are alike for jobs submitted one after another, as lengths of real jobs are.

Users submit batches: jobs that come together are short together or long together. Lengths that are drawn independently
average out over a queue, so futures differ too little and quantiles of starts are too narrow. Here the normal score of
a job is the sum of a common part, which changes slowly along the order of submission (an autoregressive process of
order 1), and an own part. The law of each single job stays the same (a Gaussian copula: R. B. Nelsen, An Introduction
to Copulas, 2nd edition, Springer 2006, section 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_clusters.inspecting.snapshot import SnapshotState

LEAST_JOBS: Final = 50  # that have ended, to estimate a dependence
MOST_JOBS: Final = 2000  # the last ones by submission
NEAR, FAR = 1, 10  # distances along the order of submission
CHANCE: Final = 3.0  # standard errors up to which a correlation may be chance
SLOWEST: Final = 0.99  # of `persistence`


@dataclass(frozen=True)
class LengthDependence:
    """The correlation of normal scores of two jobs at distance d in the order of submission: share * persistence^d."""

    share: float = 0.0
    persistence: float = 0.0

    def uniforms(self, order: Ints, random: np.random.Generator) -> Floats | None:
        """Random numbers (J,), each uniform on [0, 1); None if jobs are independent.

        `order` (J,) lists the jobs by submission.
        """
        if not self.share:
            return None
        from scipy.signal import lfilter
        from scipy.special import ndtr

        steps = random.standard_normal(len(order))
        steps[1:] *= np.sqrt(1.0 - self.persistence**2)
        common = lfilter([1.0], [1.0, -self.persistence], steps)
        scores = np.sqrt(self.share) * common + np.sqrt(1.0 - self.share) * random.standard_normal(len(order))
        found = np.empty(len(order))
        found[order] = ndtr(scores)
        return np.minimum(found, np.nextafter(1.0, 0.0))


def length_dependence(jobs: pl.DataFrame) -> LengthDependence:
    """Estimate the dependence from the jobs of a snapshot that have ended, by ranks among those of the same user."""
    from scipy.special import ndtri

    past = jobs.filter((pl.col("state") == SnapshotState.ENDED.value) & (pl.col("duration") > 0))
    past = past.sort("submitted").tail(MOST_JOBS)
    if past.height < LEAST_JOBS:
        return LengthDependence()
    rank = (pl.col("duration").rank("average") - 0.5) / pl.len()
    scores = ndtri(past.select(rank.over("user")).to_series().to_numpy())
    near, far = _correlation(scores, NEAR), _correlation(scores, FAR)
    if near <= CHANCE / np.sqrt(past.height):
        return LengthDependence()
    persistence = min(max(far / near, 0.0) ** (1.0 / (FAR - NEAR)), SLOWEST)
    return LengthDependence(min(near / persistence, 1.0) if persistence > near else near, persistence)


def _correlation(scores: Floats, distance: int) -> float:
    first, second = scores[:-distance], scores[distance:]
    if not first.std() or not second.std():
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
