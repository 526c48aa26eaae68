"""A profile to predictors and to a table without gaps: every measured pair as it is, every other one predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.profiles.columns import (
    FITS,
    GPU,
    JOB,
    MEASURED,
    MEMORY_USED,
    MODEL,
    PREDICTED,
    SOURCE,
    TIME,
)
from gpusched_dsl.profiles.design import Design
from gpusched_dsl.profiles.learners import AUTO, require
from gpusched_dsl.profiles.memory import fit_of
from gpusched_dsl.profiles.predictor import Predictor, fit_predictor
from gpusched_dsl.profiles.profile import NO, UNKNOWN, YES, Profile, without_features

if TYPE_CHECKING:
    import polars as pl

LEAST_PAIRS = 4
DIGITS = 6  # of predictions
BY_JOB, BY_MODEL = "job", "model"


@dataclass(frozen=True, slots=True)
class FitSettings:
    """`group` is never split between training and test data: a job, or all jobs of a DNN model (then not a feature)."""

    folds: int = 5
    seed: int = 0
    group: str = BY_JOB
    learner: str = AUTO


@dataclass(frozen=True, eq=False)
class FittedProfile:
    """`missing` pairs of `job` and `type`, with their predicted targets and whether they fit."""

    profile: Profile
    predictors: tuple[Predictor, ...]
    job: Ints
    type: Ints
    fits: Ints
    predictions: dict[str, Floats]
    group: str = BY_JOB

    @property
    def has_data(self) -> Bools:
        """Return which rows of the profile have data; the other rows are missing pairs."""
        return _rows_with_data(self.profile)

    def table(self) -> pl.DataFrame:
        """The columns that scenarios read: measured rows in the order of the profile, then predicted ones."""
        import polars as pl

        profile, kept = self.profile, self.has_data
        jobs, types = np.array(profile.jobs, dtype=object), np.array(profile.types, dtype=object)
        columns = {
            JOB: np.concatenate((jobs[profile.job[kept]], jobs[self.job])).tolist(),
            GPU: np.concatenate((types[profile.type[kept]], types[self.type])).tolist(),
            SOURCE: [MEASURED] * int(kept.sum()) + [PREDICTED] * len(self.job),
            FITS: np.concatenate((profile.fits[kept] == YES, self.fits != NO)).tolist(),
        }
        frame = pl.DataFrame(columns, schema={JOB: pl.String, GPU: pl.String, SOURCE: pl.String, FITS: pl.Boolean})
        for target, values in profile.targets.items():
            guessed = self.predictions.get(target, np.full(len(self.job), np.nan))
            both = np.concatenate((values[kept], np.where(self.fits == NO, np.nan, guessed)))
            frame = frame.with_columns(pl.Series(target, both).fill_nan(None))
        return frame


def fit_profile(profile: Profile, settings: FitSettings, diagnostics: Diagnostics) -> FittedProfile | None:
    """Learn every measured quantity of a profile and predict the pairs that are missing; None after a finding.

    Reports GSM2304 (too little to learn from) and, as a warning, GSM2308 (pairs left out, fits not decided);
    raises DiagnosticError (GSM2307) when scikit-learn is not installed.
    """
    require()
    groups = _groups(profile, settings, diagnostics)
    if groups is None:
        return None
    if settings.group == BY_MODEL:
        profile = without_features(profile, MODEL)
    design, predictors = Design(profile), []
    for target in profile.targets:
        usable = profile.learnable_pairs(target)
        if _enough(target, usable, groups[profile.job[usable]], diagnostics):
            predictors.append(
                fit_predictor(
                    target, design, profile.job[usable], profile.type[usable], profile.targets[target][usable],
                    groups, len(profile.types), folds=settings.folds, kind=settings.learner, seed=settings.seed,
                )
            )  # fmt: skip
    if not any(p.target == TIME for p in predictors):
        return None
    return _fill(profile, tuple(predictors), settings.group, diagnostics)


def _groups(profile: Profile, settings: FitSettings, diagnostics: Diagnostics) -> Ints | None:
    if settings.group == BY_JOB:
        return np.arange(len(profile.jobs))
    model = next((f for f in profile.features if f.name == MODEL), None)
    if model is None:
        diagnostics.error(
            "GSM2304",
            f"jobs cannot be grouped by model: there is no column `{MODEL}`",
            help=f"give `{MODEL}` in the profile or in the table of jobs, or group by job",
        )
        return None
    return model.values.astype(np.int64)


def _enough(target: str, usable: Bools, groups: Ints, diagnostics: Diagnostics) -> bool:
    """Whether a target can be learnt and its error measured; only the time must be there."""
    pairs, distinct = int(usable.sum()), len(np.unique(groups))
    if pairs >= LEAST_PAIRS and distinct >= 2:
        return True
    if pairs or target == TIME:
        diagnostics.error(
            "GSM2304",
            f"`{target}` was measured for {pairs} pairs of {distinct} groups: too few to fit a model",
            help=f"at least {LEAST_PAIRS} fitting pairs of at least two jobs (or models, "
            "if grouped by them) are needed",
            severity=Severity.ERROR if target == TIME else Severity.WARNING,
        )
    return False


def _rows_with_data(profile: Profile) -> Bools:
    has_data: Bools = (profile.fits == NO) | ((profile.fits == YES) & np.isfinite(profile.targets[TIME]))
    return has_data


def _fill(profile: Profile, predictors: tuple[Predictor, ...], group: str, diagnostics: Diagnostics) -> FittedProfile:
    """Every pair that was not tried, job by job; those on GPU models without a measurement are left out."""
    has_data = _rows_with_data(profile)
    is_present = np.zeros((len(profile.jobs), len(profile.types)), dtype=np.bool_)
    is_present[profile.job[has_data], profile.type[has_data]] = True
    supported = next(p for p in predictors if p.target == TIME).supported > 0
    job, type_ = np.nonzero(~is_present & supported)
    _warn_without_predictions(profile, np.flatnonzero(~supported), diagnostics)
    exact = {p.target: p.predict(job, type_) for p in predictors}
    used = next((exact[name] for name in MEMORY_USED if name in exact), None)
    fits = fit_of(profile, job, type_, used)
    stated_fits = np.full(is_present.shape, UNKNOWN)
    stated_fits[profile.job, profile.type] = profile.fits
    fits = np.where(stated_fits[job, type_] == YES, YES, fits)
    undecided = int((fits == UNKNOWN).sum())
    if undecided and (profile.fits == NO).any():
        diagnostics.error(
            "GSM2308",
            f"it is unknown whether {undecided} predicted pairs fit: they are assumed to fit",
            notes=("other pairs of the profile do not fit",),
            help="give the memory of the GPU models: `--gpus` names a table with `gpu_type` and `memory_mb`",
            severity=Severity.WARNING,
        )
    return FittedProfile(
        profile, predictors, job, type_, fits, {t: round_digits(values) for t, values in exact.items()}, group
    )


def _warn_without_predictions(profile: Profile, types: Ints, diagnostics: Diagnostics) -> None:
    if len(types):
        names = ", ".join(f"`{profile.types[t]}`" for t in types)
        diagnostics.error(
            "GSM2308",
            f"no predictions for {names}: no fitting job was measured there",
            help="measure a few jobs on it",
            severity=Severity.WARNING,
        )


def round_digits(values: Floats) -> Floats:
    """To `DIGITS` significant digits: more would only look exact, and differ from machine to machine."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.where(values > 0, np.floor(np.log10(np.abs(values))), 0)
    scale = 10.0 ** (DIGITS - 1 - power)
    return np.rint(values * scale) / scale
