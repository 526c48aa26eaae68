"""A conflict in words: bounds by variable, steps to a contradiction, the parameters that a row compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.propagation import PropagationTrace, Round, contradiction
from gpusched_dsl.explaining.row_text import origin_suffix, short
from gpusched_dsl.ir.activity import Activity
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import TupleDomain, decode_column
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.text.numbers import with_unit

MOST_STEPS = 12
OF_EACH = 3  # bounds that one row gives at once
MOST_OF_VARIABLE = 4
MOST_PARAMETERS = 6  # of one row


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
    names = [entry_name(family, int(c)) for c in columns[:MOST_OF_VARIABLE]]
    few = ", ".join(names)
    more = f" and {len(columns) - MOST_OF_VARIABLE:,} more" if len(columns) > MOST_OF_VARIABLE else ""
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


def steps_of(conflict: Conflict) -> list[str]:
    """Sentences such as `stock[v1] leaves hosts[n1,v1] <= 0`; empty where propagation does not get to the end.

    A conflict of one row needs no steps: its bounds say all.
    """
    part = Elements(conflict.problem).part(conflict.mask)
    if len(part.rows) < 2:
        return []
    trace = contradiction(Elements(part.problem))
    if trace is None or not trace.rounds:
        return []
    names = _StepNames(conflict.problem, part.problem, part.rows, part.columns.astype(np.int64))
    _, used = trace.reasons()
    lines = [line for one, hit in zip(trace.rounds, used, strict=True) for line in names.round(one, hit)]
    return [] if len(lines) >= MOST_STEPS else [*lines, names.end(trace)]


class _StepNames:
    """Names rows and columns of a part as in the complete problem."""

    def __init__(self, complete: Problem, part: Problem, rows: np.ndarray, columns: np.ndarray) -> None:
        self.complete, self.part, self.rows, self.columns = complete, part, rows, columns
        self.lower, self.upper = part.lower.copy(), part.upper.copy()

    def round(self, one: Round, hit: np.ndarray) -> list[str]:
        """A sentence for every row that gives bounds which are needed later."""
        count = self.part.columns
        lines = []
        for row in np.unique(one.rows[hit]):
            bounds = np.flatnonzero(hit & (one.rows == row))
            shown = [self._bound(int(one.bounds[k]), float(one.values[k])) for k in bounds[:OF_EACH]]
            more = f" and {len(bounds) - OF_EACH} more" if len(bounds) > OF_EACH else ""
            suffix = " for integers" if one.rounded[bounds].any() else ""
            lines.append(f"{self._row(int(row))} implies {', '.join(shown)}{more}{suffix}")
        below = one.bounds < count
        self.lower[one.bounds[below]] = one.values[below]
        self.upper[one.bounds[~below] - count] = one.values[~below]
        return lines

    def end(self, trace: PropagationTrace) -> str:
        if trace.column is not None:
            low, high = (short(float(b[trace.column])) for b in (self.lower, self.upper))
            return f"{self._column(trace.column)} must be at least {low} and at most {high}"
        assert trace.row is not None
        activity = Activity.of(self.part.matrix, self.lower, self.upper)
        reached = activity.smallest_values if trace.upper else activity.largest_values
        side = (self.part.row_upper if trace.upper else self.part.row_lower)[trace.row]
        unit = self.complete.row_family(int(self.rows[trace.row])).unit
        allowed, value = (with_unit(short(float(v)), unit) for v in (side, reached[trace.row]))
        word, limit = ("at least", "at most") if trace.upper else ("at most", "at least")
        return f"{self._row(trace.row)} sums to {word} {value}, but must be {limit} {allowed}"

    def _bound(self, bound: int, value: float) -> str:
        at, column = divmod(bound, self.part.columns)
        unit = self.complete.column_family(int(self.columns[column])).unit
        return f"{self._column(column)} {'<=' if at else '>='} {with_unit(short(value), unit)}"

    def _row(self, row: int) -> str:
        number = int(self.rows[row])
        return entry_name(self.complete.row_family(number), number)

    def _column(self, column: int) -> str:
        number = int(self.columns[column])
        return entry_name(self.complete.column_family(number), number)


if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.frames import Frame
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.language.checked import ParamRef


def row_data(origins: Provenance, family: Family, row: int) -> list[str]:
    """The values of the parameters of a constraint that depend on the row's own indices only; none without a model."""
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.free_variables import free_variables
    from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
    from gpusched_dsl.language.checked import ParamRef
    from gpusched_dsl.language.checking.walk import walk

    model, store = origins.model, origins.store
    declared = None if model is None else model.constraints.get(family.name)
    if declared is None or model is None or store is None:
        return []
    evaluator = Evaluator(model, store, origins.limits or MemoryLimits())
    domain = family.domain
    if domain.arity:
        at = np.array([row - family.first])
        domain = TupleDomain(domain.components, tuple(c[at] for c in domain.columns()))
    frame = evaluator.domain_frame(declared.indexing, domain)
    own = frozenset(declared.indexing.variables)
    references = [p for p in walk(declared.body) if isinstance(p, ParamRef) and free_variables(p) <= own]
    texts = dict.fromkeys(text for reference in references for text in _parameter_text(evaluator, reference, frame))
    return list(texts)[:MOST_PARAMETERS]


def _parameter_text(evaluator: Evaluator, reference: ParamRef, frame: Frame) -> Iterator[str]:
    from gpusched_dsl.language.checked import Element, Numeric
    from gpusched_dsl.language.diagnostics.errors import DiagnosticError

    try:
        value = np.asarray(evaluator.values(reference, frame)).reshape(-1)[0]
        subscripts = [
            decode_column(evaluator.store.component(s.type), evaluator.codes(s, frame).reshape(-1)[:1])[0]
            for s in reference.subscripts
        ]
    except (DiagnosticError, IndexError):  # not there for this row: a branch that it does not take
        return
    name = f"{reference.name}[{','.join(map(str, subscripts))}]" if subscripts else reference.name
    type_ = reference.type
    if isinstance(type_, Element):
        yield f"{name} = {evaluator.store.universes[type_.root].labels[int(value)]}"
    elif isinstance(type_, Numeric):
        unit = type_.unit.text
        yield f"{name} = {with_unit(short(float(value)), '' if unit == '1' else unit)}"
