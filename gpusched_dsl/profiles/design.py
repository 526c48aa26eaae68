"""Pairs of job and GPU model as rows of numbers for learners.

Numbers that are positive for all jobs enter as logarithms (a job of twice the epochs takes twice the time), others as
they are; words and GPU models as one 0/1 column each.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.profiles.profile import Profile


class Design:
    """The features of jobs and GPU models; `rows` returns those of pairs."""

    def __init__(self, profile: Profile) -> None:
        columns: list[Floats] = []
        for feature in profile.features:
            if feature.labels:
                columns.extend((feature.values == code).astype(np.float64) for code in np.unique(feature.values))
            elif (feature.values > 0).all():
                columns.append(np.log(feature.values))
            else:
                columns.append(feature.values)
        self._jobs: Floats = np.stack(columns, axis=1) if columns else np.zeros((len(profile.jobs), 0))
        self._types: Floats = np.eye(len(profile.types))

    def rows(self, job: Ints, type_: Ints) -> Floats:
        """(P, F) for P pairs."""
        return np.concatenate((self._jobs[job], self._types[type_]), axis=1)
