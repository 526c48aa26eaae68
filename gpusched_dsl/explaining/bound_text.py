"""Bounds and integrality of a conflict, one line per variable: `take[a] <= 9, take[b] <= 9`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.row_text import origin_suffix, short
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.text.numbers import with_unit

MOST = 4  # of one variable


@dataclass(frozen=True, eq=False)
class BoundGroup:
    """The part of one variable in a conflict: `kind` is `lower`, `upper` or `integer`, `columns` of the problem."""

    family: Family
    kind: str
    columns: Codes
    text: str

    @property
    def label(self) -> str:
        """A few words for under the declaration."""
        what = {"lower": "lower bound", "upper": "upper bound", "integer": "integrality"}[self.kind]
        return f"{what} of {len(self.columns):,} entries" if self.family.size > 1 and len(self.columns) > 1 else what


def bound_groups(conflict: Conflict, declared: Problem | None = None) -> list[BoundGroup]:
    """Return the bounds and integrality of a conflict by variable and kind; mark those that are not `declared`."""
    groups = []
    for family in conflict.problem.column_families:
        for kind, columns in (("lower", conflict.lower), ("upper", conflict.upper), ("integer", conflict.integer)):
            own = columns[(columns >= family.first) & (columns < family.stop)]
            if len(own):
                text = _text(conflict.problem, family, kind, own)
                found_out = "" if declared is None else _implied_bounds_remark(conflict.problem, declared, kind, own)
                groups.append(BoundGroup(family, kind, own, text + (origin_suffix(family) or found_out)))
    return groups


def _implied_bounds_remark(problem: Problem, declared: Problem, kind: str, columns: Codes) -> str:
    """Return a remark on bounds of declared variables that terms imply."""
    own = columns[columns < declared.columns]
    if kind == "lower":
        tighter = problem.lower[own] > declared.lower[own]
    elif kind == "upper":
        tighter = problem.upper[own] < declared.upper[own]
    else:
        return ""
    return " (implied by conditions and terms that contain them)" if tighter.any() else ""


def _text(problem: Problem, family: Family, kind: str, columns: Codes) -> str:
    names = [entry_name(family, int(c)) for c in columns[:MOST]]
    few = ", ".join(names)
    more = f" and {len(columns) - MOST:,} more" if len(columns) > MOST else ""
    if more:
        few = f"{len(columns):,} of `{family.name}` ({names[0]}, ...)"
    if kind == "integer":
        return f"{few} integer"
    bounds = (problem.lower if kind == "lower" else problem.upper)[columns]
    sign = ">=" if kind == "lower" else "<="
    if np.all(bounds == bounds[0]):
        return f"{few} {sign} {with_unit(short(float(bounds[0])), family.unit)}"
    shown = [f"{n} {sign} {with_unit(short(float(b)), family.unit)}" for n, b in zip(names, bounds, strict=False)]
    return ", ".join(shown) + more
