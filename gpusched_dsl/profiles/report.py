"""The results of a fit as text and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.profiles.errors import Errors
from gpusched_dsl.profiles.fitting import FittedProfile
from gpusched_dsl.profiles.profile import NO, YES

HEADINGS = ("quantity", "learner", "error for", "pairs", "mean error", "median", "R2")


def lines_of(fitted: FittedProfile) -> list[str]:
    """Return the counts, a table of errors, and the number of predictions."""
    profile = fitted.profile
    fit, unfit = int((profile.fits == YES).sum()), int((profile.fits == NO).sum())
    counts = [f"{count_text(len(profile.job), 'row')}: {fit} fit, {unfit} do not"]
    if profile.zeros:
        counts.append(f"{profile.zeros} of them have a time of 0")
    if profile.recomputed:
        counts.append(f"{count_text(profile.recomputed, 'prediction')} recomputed")
    jobs, types = count_text(len(profile.jobs), "job"), count_text(len(profile.types), "GPU model")
    lines = [", ".join(counts), f"{jobs}, {types}, described by "
             f"{', '.join(f.name for f in profile.features) or 'only the GPU model'}", ""]  # fmt: skip
    rows: list[tuple[str, ...]] = [HEADINGS]
    for p in fitted.predictors:
        rows.append((p.target, p.learner, f"new {fitted.group}s", *_cells(p.new_job_errors)))
        if p.known_job_errors is not None:
            rows.append(("", "", "known jobs", *_cells(p.known_job_errors)))
        rows.append(("", "", "the mean", *_cells(p.mean)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADINGS))]
    for row in rows:
        cells = [c.ljust(w) if at < 3 else c.rjust(w) for at, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    without_features = int((fitted.fits == NO).sum())
    lines += [
        "",
        f"{len(fitted.job)} pairs predicted" + (f", {without_features} of them do not fit" if without_features else ""),
    ]
    return lines


def _cells(errors: Errors) -> tuple[str, str, str, str]:
    return (str(errors.rows), _percent(errors.mape), _percent(errors.median),
            "-" if np.isnan(errors.r2) else f"{errors.r2:.3f}")  # fmt: skip


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f} %"


def document_of(fitted: FittedProfile) -> dict[str, Any]:
    """The same for programs; errors as fractions, null where there are none."""
    profile = fitted.profile
    return {
        "rows": len(profile.job), "fit": int((profile.fits == YES).sum()),
        "do_not_fit": int((profile.fits == NO).sum()), "zero_times": profile.zeros,
        "jobs": len(profile.jobs), "gpu_types": list(profile.types),
        "features": [f.name for f in profile.features], "group": fitted.group,
        "predictors": [
            {"target": p.target, "learner": p.learner, "new_jobs": _errors(p.new_job_errors),
             "known_jobs": None if p.known_job_errors is None else _errors(p.known_job_errors), "mean": _errors(p.mean)}
            for p in fitted.predictors
        ],
        "predicted_pairs": len(fitted.job), "predicted_not_to_fit": int((fitted.fits == NO).sum()),
    }  # fmt: skip


def _errors(errors: Errors) -> dict[str, float | int | None]:
    values = {"mape": errors.mape, "median": errors.median, "r2": errors.r2}
    return {"pairs": errors.rows, **{k: v if np.isfinite(v) else None for k, v in values.items()}}
