"""Expressions of a policy as formulas over the state of a rollout: work left, attained service, the clock.

A rollout evaluates the keys of its policy at every event. What is constant during the rollout is evaluated once by the
evaluator, over all jobs; the rest becomes a formula on arrays, with the rows of the frame that the expression is for:

- a parameter that `carry` sets to the fraction of work left reads that of its job;
- one that grows with the clock adds its slope times the time since its value was read;
- aggregates over jobs skip the jobs that are not present.

What has no such form raises NotOnArrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Element,
    Function,
    IfThenElse,
    IndexVar,
    LetRef,
    Logic,
    Negate,
    ParamRef,
    Reduction,
    SetFunction,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checked_policy import ATTAINED, NOW, SHORTEST
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS
from gpusched_dsl.online.replay.constancy import Constancy


class NotOnArrays(Exception):
    """A rollout on arrays may differ from the run; the reason is the end of `... because`."""


@dataclass
class JobStates:
    """What formulas read: the clock, and of each job the fraction left, its service, and whether it is present."""

    now: float
    left: Floats
    attained: Floats
    present: Bools


@dataclass(frozen=True, eq=False)
class Readings:
    """When values were read: `now` by the clock, in the unit of the run; for each job its own time and fraction left.

    `policy_time` is the unit of the clock of policies.
    """

    now: float
    read_at: Floats
    left: Floats
    policy_time: float


Formula = Callable[[JobStates], Any]  # an array over the rows, or a number for all

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power,
    "==": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "round": lambda values: np.floor(values + 0.5),
}  # fmt: skip
_EMPTY = {"min": np.inf, "max": -np.inf, "prod": 1.0}
_REDUCE = {"min": np.minimum, "max": np.maximum, "prod": np.multiply}


class RolloutFormulas:
    """Makes formulas of the expressions of one policy, over the elements of one store.

    `still` knows what changes; `fractions` and `slopes` are the carried parameters with a form (`Dependences`).
    """

    def __init__(
        self, ev: Evaluator, still: Constancy, fractions: frozenset[str], slopes: Mapping[str, float], when: Readings
    ) -> None:
        self.ev, self.still, self.fractions, self.slopes, self.when = ev, still, fractions, slopes, when

    def of(self, expr: TypedExpr, frame: Frame) -> Formula:
        """Return the formula of a number or a condition. Raises NotOnArrays."""
        if self.still.change_in(expr) is None:
            return self._constant(expr, frame)
        match expr:
            case ParamRef() | LetRef():
                return self._reference(expr, frame)
            case Negate():
                inner = self.of(expr.operand, frame)
                return lambda state: -inner(state)
            case Arithmetic() if expr.op in _BINARY:
                return _apply(_BINARY[expr.op], self.of(expr.left, frame), self.of(expr.right, frame))
            case ComparisonChain() if not any(isinstance(o.type, Element) for o in expr.operands):
                parts = [self.of(operand, frame) for operand in expr.operands]
                pairs = [_apply(_BINARY[op], *parts[at : at + 2]) for at, op in enumerate(expr.ops)]
                return _all(pairs)
            case Logic() if expr.op in ("and", "or", "not"):
                return self._logic(expr, frame)
            case IfThenElse():
                condition, then, otherwise = (self.of(e, frame) for e in (expr.condition, expr.then, expr.otherwise))
                return lambda state: np.where(condition(state), then(state), otherwise(state))
            case Function() if expr.name in ("min", "max"):
                found, *more = (self.of(argument, frame) for argument in expr.arguments)
                for one in more:
                    found = _apply(_REDUCE[expr.name], found, one)
                return found
            case Function() if expr.name in _UNARY:
                return _apply(_UNARY[expr.name], self.of(expr.arguments[0], frame))
            case Function() if expr.name in CLOCK_FUNCTIONS and self.ev.store.calendar is not None:
                return _apply(getattr(self.ev.store.calendar, expr.name), self.of(expr.arguments[0], frame))
            case Reduction() if expr.op in ("sum", "min", "max", "prod", "count", "any", "all"):
                return self._reduction(expr, frame)
            case SetFunction() if expr.name == "count":
                return self._count(expr)
        raise NotOnArrays(f"`{expr.span.text}` has no formula over time")

    def _constant(self, expr: TypedExpr, frame: Frame) -> Formula:
        values = np.broadcast_to(np.asarray(self.ev.values(expr, frame)), (frame.size,))
        if isinstance(expr.type, Element):
            values = self.ev.numbers(expr, frame)
        elif values.dtype == object:
            raise NotOnArrays(f"`{expr.span.text}` is a text")
        return lambda state: values

    # --- references --------------------------------------------------------------------------------------------------

    def _reference(self, expr: ParamRef | LetRef, frame: Frame) -> Formula:
        if any(self.still.change_in(subscript) is not None for subscript in expr.subscripts):
            raise NotOnArrays(f"an index of `{expr.span.text}` changes")
        when = self.when
        if isinstance(expr, LetRef) and expr.name == NOW and self.still.own_clock:
            return lambda state: state.now / when.policy_time
        if isinstance(expr, ParamRef) and expr.name in (*self.fractions, ATTAINED, SHORTEST):
            return self._of_job(expr, frame)
        if isinstance(expr, ParamRef) and expr.name in self.slopes:
            job = self._job_of(expr, frame)
            slope, values = self.slopes[expr.name], self.ev.number_column(expr, frame)
            since = when.now if job is None else when.read_at[job]
            return lambda state: values + slope * (state.now - since)
        model = self.still.model
        declared = model.params.get(expr.name) if isinstance(expr, ParamRef) else model.lets.get(expr.name)
        if declared is None or declared.value is None or getattr(declared, "recursive", False):
            raise NotOnArrays(f"`{expr.name}` changes in another way than the work left and the clock")
        columns = {
            variable: np.broadcast_to(self.ev.codes(subscript, frame), (frame.size,))
            for variable, subscript in zip(declared.indexing.variables, expr.subscripts, strict=True)
        }
        if len(free_variables(expr.subscripts)) < len(frame.columns):
            return self._of_distinct(declared.value, frame.size, columns)
        return self.of(declared.value, Frame(frame.size, columns))

    def _of_distinct(self, value: TypedExpr, size: int, columns: Mapping[IndexVar, Codes]) -> Formula:
        """The formula of a declared value that many rows share: it is evaluated once for each list of subscripts."""
        if not columns:
            alone = self.of(value, Frame(1, {}))
            return lambda state: _column(alone(state), 1)[0]
        rows, which = np.unique(np.stack(list(columns.values())), axis=1, return_inverse=True)
        count = rows.shape[1]
        inner = self.of(value, Frame(count, dict(zip(columns, rows, strict=True))))
        place = which.reshape(size)
        return lambda state: _column(inner(state), count)[place]

    def _of_job(self, expr: ParamRef, frame: Frame) -> Formula:
        """The fraction of work left, the service, or the shortest time of the job of each row."""
        job, when = self._job_of(expr, frame), self.when
        if job is None or len(expr.subscripts) != 1:
            raise NotOnArrays(f"`{expr.name}` is not of one job")
        if expr.name == ATTAINED:
            return lambda state: state.attained[job] / when.policy_time
        if expr.name in self.fractions:
            return lambda state: state.left[job]
        per_work = self.ev.number_column(expr, frame) / when.left[job]
        return lambda state: per_work * state.left[job]

    def _job_of(self, expr: ParamRef, frame: Frame) -> Codes | None:
        """The job among the indices of a parameter, None if there is none."""
        jobs = [s for s in expr.subscripts if isinstance(s.type, Element) and s.type.root == self.still.jobs]
        if len(jobs) > 1:
            raise NotOnArrays(f"`{expr.span.text}` is of several jobs")
        return np.broadcast_to(self.ev.codes(jobs[0], frame), (frame.size,)) if jobs else None

    # --- conditions and aggregates -----------------------------------------------------------------------------------

    def _logic(self, expr: Logic, frame: Frame) -> Formula:
        parts = [self.of(operand, frame) for operand in expr.operands]
        if expr.op == "not":
            return _apply(np.logical_not, parts[0])
        if expr.op == "and":
            return _all(parts)
        negated = _all([_apply(np.logical_not, part) for part in parts])
        return lambda state: np.logical_not(negated(state))

    def conditions(self, indexing: TypedIndexing) -> tuple[TypedIndexing, list[TypedExpr]]:
        """Return an index list with its constant conditions, and the others. Raises NotOnArrays for changing sets."""
        bare = TypedIndexing(indexing.iterators)
        if (change := self.still.change_in_listed(bare)) is not None:
            raise NotOnArrays(f"the elements of `{indexing.iterators[0].span.text}` change: {change}")
        fixed: list[TypedExpr] = []
        moving: list[TypedExpr] = []
        open_ = list(indexing.conditions)
        while open_:
            condition = open_.pop(0)
            if isinstance(condition, Logic) and condition.op == "and":
                open_ = [*condition.operands, *open_]
            else:
                (fixed if self.still.change_in(condition) is None else moving).append(condition)
        return TypedIndexing(indexing.iterators, tuple(fixed)), moving

    def _reduction(self, expr: Reduction, frame: Frame) -> Formula:
        fixed, moving = self.conditions(expr.indexing)
        grown = self.ev.expand(frame, fixed, expr.span)
        rows, parent, size = grown.frame, grown.parents(), frame.size
        masks = [self.of(condition, rows) for condition in moving]
        for variable in expr.indexing.variables:
            if isinstance(variable.type, Element) and variable.type.root == self.still.jobs:
                masks.append(_present(np.broadcast_to(rows.columns[variable], (rows.size,))))
        body = self.of(expr.body, rows)
        if expr.op in ("count", "any", "all", "sum"):
            return _total(expr.op, body, _all(masks) if masks else None, parent, size)
        counts = np.bincount(parent, minlength=size)
        filled, starts = counts > 0, (np.cumsum(counts) - counts)[counts > 0]
        reduce, empty = _REDUCE[expr.op], _EMPTY[expr.op]
        listed = _all(masks) if masks else None

        def extreme(state: JobStates) -> Floats:
            values = _column(body(state), len(parent))
            if listed is not None:
                values = np.where(listed(state), values, empty)
            found = np.full(size, empty)
            if len(values):
                found[filled] = reduce.reduceat(values, starts)
            return found

        return extreme

    def _count(self, expr: SetFunction) -> Formula:
        domain = expr.domain
        types = domain.types
        if len(types) != 1 or not isinstance(types[0], Element) or types[0].root != self.still.jobs:
            raise NotOnArrays(f"`{expr.span.text}` depends on the present jobs")
        codes = self.ev.domain(domain).columns()[0]
        return lambda state: float(np.count_nonzero(state.present[codes]))


def _column(values: Any, rows: int) -> Any:
    """Return values as an array over the rows: as they are if they have one for each (`broadcast_to` takes longer)."""
    return values if np.shape(values) == (rows,) else np.broadcast_to(values, (rows,))


def _present(job: Codes) -> Formula:
    return lambda state: state.present[job]


def _apply(function: Callable[..., Any], *parts: Formula) -> Formula:
    if len(parts) == 1:
        [only] = parts
        return lambda state: function(only(state))
    left, right = parts
    return lambda state: function(left(state), right(state))


def _all(parts: list[Formula]) -> Formula:
    """Whether all of some conditions are true."""
    if len(parts) == 1:
        return parts[0]
    return lambda state: np.logical_and.reduce(np.broadcast_arrays(*(part(state) for part in parts)))


def _total(op: str, body: Formula, listed: Formula | None, parent: Codes, size: int) -> Formula:
    """The sum of numbers, or the count of true conditions, of the rows of each parent."""

    def count(state: JobStates) -> Any:
        values = _column(np.asarray(body(state), dtype=np.float64), len(parent))
        if op == "all":
            values = 1.0 - values
        if listed is not None:
            values = np.where(listed(state), values, 0.0)
        total = np.bincount(parent, weights=values, minlength=size)
        return total > 0 if op == "any" else total == 0 if op == "all" else total

    return count
