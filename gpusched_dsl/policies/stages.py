"""The subproblems that a policy solves before its queue: `profile` and `admit`, evaluated on a built instance.

Their results become parameters, so that the policy's other lines read them as they read data.

`profile` solves the single-job problem: many jobs on many kinds of GPU, each with its allowed rungs, the ways to run a
job on a kind. The best profile starts on its first used rung; what a policy reads is which rung that is, what the
profile costs, whether it meets the due date, and when the job will want a faster rung.

`admit` decides which jobs run now, on which kind of GPU and on how many: one kind after another, each by an exact
recursion. This is the proxy of the dynamic programme that Filippini et al. (2024) compare with: what it costs to run a
job now, or to let it wait, added up over the jobs. Jobs that wait on one kind are considered on the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints, spread
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import IndexVar, RandomRef, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedStage
from gpusched_dsl.policies.decision_evaluator import DecisionEvaluator
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.expected_tardiness import tardiness_profiles
from gpusched_dsl.policies.kernels.dynamic_program import allot
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, speed_profiles
from gpusched_dsl.policies.workload import NONE

# `status` of a problem.
MEETS, MISSES, NO_RUNG = 0, 1, 2


@dataclass(frozen=True, eq=False)
class ProfileResults:
    """The results of P problems with R rungs in total; in the units of the input.

    Where a problem has no rung, `status` is `NO_RUNG`, `cost`, `late` and `switch` are infinite.
    """

    status: Floats  # (P,) MEETS: the due date holds for sure, MISSES: it may be missed even on the fastest rung
    cost: Floats  # (P,) expected cost of what is left, with the tardiness cost if there is one
    time: Floats  # (P,) expected duration of what is left
    late: Floats  # (P,) time by which the due date is missed if all work up to the limit is needed
    price: Floats  # (P,) what one unit of time more until the due date would save
    switch: Floats  # (P,) time until the first used rung is left; infinite if never
    first: Floats  # (R,) 1: the first used rung of its problem, else 0
    leaves: Floats  # (R,) time until a job started on this rung leaves it; infinite if never, or if it is no good


def profile_stage(
    problems: int,
    of: Codes,
    speed: Floats,
    rate: Floats,
    laws: Laws,
    limit: Floats,
    done: Floats,
    time_left: Floats,
    shortest: Floats,
    tardiness: Floats | None = None,
) -> ProfileResults:
    """The best profiles of all problems.

    Rung r belongs to problem `of[r]` (which does not decrease) and has `speed[r]` (work per time) and `rate[r]` (cost
    per time). Arrays of problems have the shape (problems,): the law of the whole work, the most work there can be, the
    work done, the time until the due date; a rung used for no more than `shortest` work is passed over. Without
    `tardiness` profiles meet the due date even if all work is needed; with it (a cost per time) they may miss it.
    """
    counts = np.bincount(of, minlength=problems)
    some = np.flatnonzero(counts)
    row = np.cumsum(counts > 0) - 1  # of each problem among those that have rungs
    starts = np.cumsum(counts) - counts
    column = np.arange(len(of)) - starts[of]
    unbounded = np.full(problems, np.inf)
    found = ProfileResults(
        np.full(problems, float(NO_RUNG)), unbounded, unbounded.copy(), unbounded.copy(), np.zeros(problems),
        unbounded.copy(), np.zeros(len(of)), np.full(len(of), np.inf),
    )  # fmt: skip
    if not len(some):
        return found
    table = np.full((2, len(some), int(counts.max())), np.nan)
    table[0, row[of], column], table[1, row[of], column] = speed, rate
    ladders = filter_levels(table[0], table[1])
    if tardiness is None:
        best = speed_profiles(ladders, laws.take(some), time_left[some], limit[some], done[some])
    else:
        best = tardiness_profiles(ladders, laws.take(some), time_left[some], limit[some], tardiness[some], done[some])
    found.status[some] = np.where(best.status == ProfileStatus.INFEASIBLE, MISSES, MEETS)
    found.cost[some], found.time[some] = best.energy, best.time
    found.late[some], found.price[some] = best.lateness, best.deadline_price
    used = best.first_used(shortest[some])
    found.switch[some] = best.next_switch(used)
    first = np.take_along_axis(ladders.rung, used[:, None], axis=1)[:, 0]
    found.first[starts[some] + first] = 1.0
    # Every rung of a filtered ladder, so that a job that was put on another one knows when it leaves that.
    real = np.arange(ladders.speed.shape[1]) < ladders.counts[:, None]
    where, place = np.nonzero(real)
    work = best.switch_at[where, place] - best.done[where]
    stays = best.switch_at[where, place] >= best.limit[where]
    after = np.where(stays, np.inf, np.maximum(work, 0.0) / ladders.speed[where, place])
    found.leaves[starts[some][where] + ladders.rung[where, place]] = after
    return found


def admit(
    job: Ints, kind: Ints, amount: Ints, run: Floats, wait: Floats, capacity: Ints, queue: Ints, kinds: Ints
) -> Ints:
    """The option that each job gets (a place in `job`, ...), NONE where it waits; shape as `wait`.

    Option o runs `job[o]` on `amount[o]` units of `kind[o]` at the price `run[o]`. Jobs are served in the order of
    `queue` and kinds in that of `kinds`; jobs that are not in `queue` wait. Of equally cheap choices a job runs rather
    than waits, with the smaller amount. Raises ValueError for amounts below 1, and prices that are not finite.
    """
    if len(amount) and int(amount.min()) < 1:
        raise ValueError("an option must take at least one unit")
    if not (np.isfinite(run).all() and np.isfinite(wait).all()):
        raise ValueError("prices must be finite")
    found = np.full(len(wait), NONE, dtype=np.int64)
    place = np.full(len(wait), NONE, dtype=np.int64)
    place[queue] = np.arange(len(queue))
    for k in kinds.tolist():
        options = np.flatnonzero((kind == k) & (place[job] >= 0) & (found[job] == NONE))
        options = options[np.lexsort((amount[options], place[job[options]]))]
        served, counts = np.unique(place[job[options]], return_counts=True)
        if not len(served):
            continue
        jobs = queue[served]
        first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        # Beyond what all jobs together can take, capacity is worth nothing.
        most = int(np.minimum(capacity[k], np.maximum.reduceat(amount[options], first[:-1]).sum()))
        if most < 1:
            continue
        chosen = allot(first, amount[options], run[options], wait[jobs], most)
        runs = chosen != NONE
        found[jobs[runs]] = options[chosen[runs]]
    return found


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
