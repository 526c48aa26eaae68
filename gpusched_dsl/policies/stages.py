"""The subproblems that a policy solves before its queue: `profile` and `admit`, evaluated on a built instance.

Their results become parameters, so that the policy's other lines read them as they read data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, spread
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import IndexVar, RandomRef, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedStage
from gpusched_dsl.policies.decision_evaluator import DecisionEvaluator
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.dynamic_program import admit
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.profile_stage import NO_RUNG, profile_stage

# What a result reads where its problem or its choice is left out by a condition.
_ABSENT = {
    "status": float(NO_RUNG), "cost": np.inf, "time": np.inf, "late": np.inf, "price": 0.0, "switch": np.inf,
    "first": 0.0, "leaves": np.inf, "runs": 0.0, "amount": 0.0, "taken": 0.0,
}  # fmt: skip


def with_stages(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> ValueStore:
    """The store with the results of all stages of a policy; the same one where it has none.

    Raises DiagnosticError as evaluation does, GSM3017 where the numbers of a stage cannot be.
    """
    if not policy.stages:
        return store
    found = structs.replace(store, params=store.params.copy())
    for stage in policy.stages:
        results = _SOLVE[stage.verb](stage, DecisionEvaluator(policy.model, found, limits))
        found.params.update(results)
    return found


class _Stage:
    """The frames of a stage: one row for each pair of job and kind of node, one for each choice of a pair."""

    def __init__(self, stage: CheckedStage, ev: Evaluator) -> None:
        self.stage, self.ev = stage, ev
        domain = ev.index_domain(stage.indexing, stage.span)
        self.pairs = ev.domain_frame(stage.indexing, domain)
        grown = ev.expand(self.pairs, stage.over, stage.span)
        self.choices, self.pair_of = grown.frame, grown.parents()
        # Of results over the same rows: these, the domain, and the places of the rows in it.
        self._places: dict[tuple[int, ...], tuple[Frame, Domain, Codes]] = {}

    def numbers(self, role: str, frame: Frame, otherwise: float = 0.0) -> Floats:
        expr = self.stage.parts.get(role)
        return np.full(frame.size, otherwise) if expr is None else self._numbers(expr, frame)

    def _numbers(self, expr: TypedExpr, frame: Frame) -> Floats:
        values = self.ev.number_column(expr, frame)
        self.ev.refuse_where(~np.isfinite(values), "GSM3017", "no finite value", expr, frame, "not finite")
        return values

    def checked_numbers(self, role: str, frame: Frame, wrong: Callable[[Floats], Bools], what: str) -> Floats:
        """Numbers of a part, refused where they cannot be."""
        values = self.numbers(role, frame)
        expr = self.stage.parts.get(role)
        if expr is not None:
            self.ev.refuse_where(wrong(values), "GSM3017", f"`{role}` {what}", expr, frame, what)
        return values

    def order(self, role: str, variable: IndexVar, elements: Codes) -> Codes:
        """Return the positions of some elements in the order of the keys of a part, unchanged without keys."""
        keys = self.stage.keys.get(role, ())
        frame = Frame(len(elements), {variable: elements})
        columns = [self._numbers(key.value, frame) * (-1.0 if key.descending else 1.0) for key in keys]
        table = np.stack(columns, axis=1) if columns else np.zeros((len(elements), 0))
        return order_rows(table)

    def result(self, word: str, frame: Frame, values: Floats) -> tuple[str, Param]:
        """A parameter that has `values` in the rows of a frame."""
        declared = self.stage.results[word]
        variables = declared.indexing.variables
        key = (id(frame), *map(id, variables))  # both stay as long as this does
        if key not in self._places:
            domain: Domain = self.ev.index_domain(declared.indexing, declared.span)
            columns = tuple(spread(frame.columns[v], frame.size) for v in variables)
            self._places[key] = frame, domain, domain.locate(columns) if frame.size else np.zeros(0, dtype=np.int64)
        _, domain, places = self._places[key]
        values_of_all = np.full(domain.size, _ABSENT[word])
        values_of_all[places] = values
        return declared.name, Param(domain, values_of_all)


def _profile(stage: CheckedStage, ev: Evaluator) -> Mapping[str, Param]:
    at = _Stage(stage, ev)
    pairs, choices = at.pairs, at.choices
    length = stage.parts["work"]
    assert isinstance(length, RandomRef)
    speed = at.checked_numbers("speed", choices, lambda v: ~(v > 0), "must be positive")
    rate = at.checked_numbers("rate", choices, lambda v: ~(v >= 0), "must not be negative")
    done = at.checked_numbers("done", pairs, lambda v: ~(v >= 0), "must not be negative")
    laws = ev.store.randoms[length.name]
    law = laws.which[ev.random_position(length, pairs)]
    tardiness = None
    if "tardiness" in stage.parts:
        tardiness = at.checked_numbers("tardiness", pairs, lambda v: ~(v >= 0), "must not be negative")
    found = profile_stage(
        pairs.size, at.pair_of, speed, rate, Laws.of(laws.laws).take(law), at.numbers("limit", pairs), done,
        at.numbers("time_left", pairs), at.numbers("shortest", pairs), tardiness,
    )  # fmt: skip
    results = {word: at.result(word, pairs, getattr(found, word)) for word in ("status", "cost", "time", "late")}
    results |= {word: at.result(word, pairs, getattr(found, word)) for word in ("price", "switch")}
    results |= {word: at.result(word, choices, getattr(found, word)) for word in ("first", "leaves")}
    return dict(results.values())


def _admit(stage: CheckedStage, ev: Evaluator) -> Mapping[str, Param]:
    at = _Stage(stage, ev)
    job, kind = stage.indexing.variables
    jobs, kinds = (ev.domain(iterator.domain).columns()[0] for iterator in stage.indexing.iterators)
    of_jobs, of_kinds = Frame(len(jobs), {job: jobs}), Frame(len(kinds), {kind: kinds})
    amount = at.checked_numbers("uses", at.choices, _is_no_count, "must be an integer of at least 1")
    capacity = np.floor(at.numbers("capacity", of_kinds) + ROUNDING).astype(np.int64)
    wait = at.numbers("wait", of_jobs)
    job_of, kind_of = _places(jobs, at.choices, job), _places(kinds, at.choices, kind)
    chosen = admit(
        job_of, kind_of, np.rint(amount).astype(np.int64), at.numbers("run", at.choices), wait, capacity,
        at.order("queue", job, jobs), at.order("kinds", kind, kinds),
    )  # fmt: skip
    taken = np.zeros(at.choices.size)
    taken[chosen[chosen >= 0]] = 1.0
    amounts = np.bincount(at.pair_of, weights=taken * amount, minlength=at.pairs.size)
    return dict(
        (
            at.result("runs", of_jobs, (chosen >= 0).astype(np.float64)),
            at.result("amount", at.pairs, amounts.astype(np.float64)),
            at.result("taken", at.choices, taken),
        )
    )


def _is_no_count(values: Floats) -> Bools:
    return (values < 1 - ROUNDING) | (np.abs(values - np.rint(values)) > ROUNDING)


def _places(elements: Codes, frame: Frame, variable: IndexVar) -> Codes:
    """Return the positions of the elements of a frame's column in a list of them."""
    order = np.argsort(elements, kind="stable")
    column = spread(frame.columns[variable], frame.size)
    return order[np.searchsorted(elements[order], column)]


_SOLVE = {"profile": _profile, "admit": _admit}
