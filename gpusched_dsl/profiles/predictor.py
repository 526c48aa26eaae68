"""One quantity of a profile learnt: predictions for new jobs and for known jobs on other GPUs, each with its error.

f is fitted to rows of features. A fold consists of complete groups of jobs (a job, or all jobs of a DNN model), so
that the error for *new* jobs is that of a fit without any of their data. A *known* job was measured on other GPUs, and
the error of f there predicts its error elsewhere: with residuals e of an f that has not seen the job, e[j, t] =
b[j] + w[j, t], the best linear prediction of b[j] from n residuals is v_b / (v_b + v_w / n) times their mean, with
the variances v_b and v_w of b and w from the analysis of variance. The same f, not one that has seen the job, must
then predict the missing pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.profiles.columns import is_logarithmic
from gpusched_dsl.profiles.design import Design
from gpusched_dsl.profiles.errors import Errors, errors_of
from gpusched_dsl.profiles.folds import folds_of
from gpusched_dsl.profiles.learners import Learner, learn

LARGEST_EXPONENT = 700.0  # beyond, numbers are 0 or infinite


@dataclass(frozen=True, eq=False)
class JobEffects:
    """The errors of f by job: sums and counts of residuals, and the two variances."""

    sums: Floats  # (J,)
    counts: Floats  # (J,)
    between: float
    within: float

    def shift(self, job: Ints, without: Floats | None = None) -> Floats:
        """The expected residual of some pairs of jobs; `without`: each pair's own residual is not known."""
        total, count = self.sums[job], self.counts[job]
        if without is not None:
            total, count = total - without, count - 1
        weight = self.between * count + self.within
        return np.where(weight > 0, self.between * total / np.where(weight > 0, weight, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Predictor:
    """`fold_fits[f]` was fitted without fold f; `fold` is the fold of every job, -1 for jobs without a pair."""

    target: str
    learner: str
    design: Design
    complete_fit: Learner
    fold_fits: tuple[Learner, ...]
    fold: Ints  # (J,)
    effects: JobEffects
    new_job_errors: Errors
    known_job_errors: Errors | None
    mean: Errors  # of predicting the mean of the other folds
    supported: Ints  # (T,) measured pairs of each GPU model

    def predict(self, job: Ints, type_: Ints) -> Floats:
        """The quantity of some pairs, in its own unit."""
        rows, found = self.design.rows(job, type_), np.zeros(len(job))
        for fold in np.unique(self.fold[job]).tolist():
            at = self.fold[job] == fold
            found[at] = (self.complete_fit if fold < 0 else self.fold_fits[fold]).predict(rows[at])
        found += self.effects.shift(job)
        if not is_logarithmic(self.target):
            return np.maximum(found, 0.0)
        return np.exp(np.clip(found, -LARGEST_EXPONENT, LARGEST_EXPONENT))


def fit_predictor(
    target: str, design: Design, job: Ints, type_: Ints, values: Floats, groups: Ints, types: int, *,
    folds: int, kind: str, seed: int,
) -> Predictor:  # fmt: skip
    """Learn a target from P measured pairs. `groups` is (J,), the group of every job; at least two must occur."""
    logarithmic = is_logarithmic(target)
    true = np.log(values) if logarithmic else values
    rows, group = design.rows(job, type_), groups[job]
    fold = folds_of(group, folds, seed)
    predicted, mean, fold_fits = np.zeros(len(true)), np.zeros(len(true)), []
    for each in range(int(fold.max(initial=-1)) + 1):
        inside = fold != each
        learner, _ = learn(kind, rows[inside], true[inside], group[inside], seed)
        predicted[~inside], mean[~inside] = learner.predict(rows[~inside]), true[inside].mean()
        fold_fits.append(learner)
    complete_fit, name = learn(kind, rows, true, group, seed)
    of_job = np.full(len(groups), -1)
    of_job[job] = fold
    effects = _effects(job, true - predicted, len(groups))
    repeated = effects.counts[job] > 1
    shifted = predicted + effects.shift(job, without=true - predicted)
    known = errors_of(true[repeated], shifted[repeated], logarithmic=logarithmic) if repeated.any() else None
    return Predictor(
        target, name, design, complete_fit, tuple(fold_fits), of_job, effects,
        new_job_errors=errors_of(true, predicted, logarithmic=logarithmic),
        known_job_errors=known,
        mean=errors_of(true, mean, logarithmic=logarithmic),
        supported=np.bincount(type_, minlength=types),
    )  # fmt: skip


def _effects(job: Ints, residual: Floats, jobs: int) -> JobEffects:
    """Estimate variances by the analysis of variance of residuals by job; undefined without repeated jobs."""
    counts = np.bincount(job, minlength=jobs).astype(np.float64)
    sums = np.bincount(job, weights=residual, minlength=jobs).astype(np.float64)
    present, pairs = counts > 0, len(job)
    free = pairs - int(present.sum())
    if free == 0 or present.sum() < 2:
        return JobEffects(sums, counts, 0.0, 1.0)
    inside = float(((residual - (sums / np.maximum(counts, 1))[job]) ** 2).sum()) / free
    middle = float((residual**2).sum()) / pairs  # residuals of a held fold have no mean of their own to lose
    return JobEffects(sums, counts, max(middle - inside, 0.0), inside)
