"""Regressions by scikit-learn, and the choice among them. The only file that imports it.

A law such as c[GPU] * batch^a * epochs is linear in logarithms; `interactions` adds that GPUs and models respond in
different ways, `forest` what has no such form, and `both` gives a forest what the line leaves over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.diagnostics.extras import require_extra
from gpusched_dsl.profiles.folds import folds_of

AUTO: Final = "auto"
INNER_FOLDS: Final = 3
MOST_COLUMNS: Final = 60  # beyond, their products are too many
TREES: Final = 100
TREES_TO_CHOOSE: Final = 25


class Learner(Protocol):
    def fit(self, rows: Floats, values: Floats) -> object: ...

    def predict(self, rows: Floats) -> Floats: ...


def require() -> None:
    """Raise DiagnosticError (GSM2307) when scikit-learn is not there."""
    require_extra("predict", "predictions need", "GSM2307")


def _ridge(products: bool) -> Any:
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    strengths = np.logspace(-6, 3, 19)
    if not products:
        return make_pipeline(StandardScaler(), RidgeCV(alphas=strengths))
    return make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler(), RidgeCV(alphas=strengths)
    )


def _forest(seed: int, trees: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(n_estimators=trees, random_state=seed, n_jobs=1)


class _Both:
    """A linear model, and a forest of its residuals."""

    def __init__(self, seed: int, trees: int) -> None:
        self._line, self._forest = _ridge(products=False), _forest(seed, trees)

    def fit(self, rows: Floats, values: Floats) -> _Both:
        self._line.fit(rows, values)
        self._forest.fit(rows, values - self._line.predict(rows))
        return self

    def predict(self, rows: Floats) -> Floats:
        found: Floats = self._line.predict(rows) + self._forest.predict(rows)
        return found


LEARNERS: Final[dict[str, Callable[[int, int], Learner]]] = {
    "linear": lambda seed, trees: _ridge(products=False),
    "interactions": lambda seed, trees: _ridge(products=True),
    "forest": _forest,
    "both": _Both,
}


def learn(kind: str, rows: Floats, values: Floats, groups: Ints, seed: int) -> tuple[Learner, str]:
    """Return a fitted learner and its name; `auto` selects the least absolute error over folds of the groups.

    Whoever measures the error of `auto` must hold back rows from this choice too.
    """
    if kind == AUTO:
        kind = _best(rows, values, groups, seed)
    learner = LEARNERS[kind](seed, TREES)
    learner.fit(rows, values)
    return learner, kind


def _best(rows: Floats, values: Floats, groups: Ints, seed: int) -> str:
    fold = folds_of(groups, INNER_FOLDS, seed)
    names = [name for name in LEARNERS if name != "interactions" or rows.shape[1] <= MOST_COLUMNS]
    if fold.max(initial=0) < 1:
        return names[0]
    errors = []
    for name in names:
        missed = 0.0
        for left_out in range(int(fold.max()) + 1):
            inside = fold != left_out
            learner = LEARNERS[name](seed, TREES_TO_CHOOSE)
            learner.fit(rows[inside], values[inside])
            missed += float(np.abs(learner.predict(rows[~inside]) - values[~inside]).sum())
        errors.append(missed)
    return names[int(np.argmin(errors))]
