"""Portfolios: of the plans of several methods, the one that costs least in simulated futures.

Every plan is simulated in the same futures. Without `continue with` its own policy goes on: policy switching, H. S.
Chang, R. Givan, E. K. P. Chong, Parallel Rollout for Online Solution of Partially Observable Markov Decision Processes,
Discrete Event Dynamic Systems 14, 2004. With it, the plan is rolled out by each of the named policies, and has the
least of their mean costs: parallel rollout, in the same paper; with one policy the rollout of D. P. Bertsekas, D. A.
Castanon, Rollout Algorithms for Stochastic Scheduling Problems, Journal of Heuristics 5, 1999.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, StoppedEarly, limit
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedPortfolio
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.failures import is_of_solving
from gpusched_dsl.online.planners.mixtures import exchangeable_jobs, mixture, with_labels_of
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import (
    AS_BEFORE,
    FutureCost,
    Outlook,
    Plan,
    Planner,
    PlanningRequest,
    SimulatedFuture,
)
from gpusched_dsl.online.planners.violations import is_large, violation_in
from gpusched_dsl.policies.without_run import portfolio_without_run

MOST_SEED = 2**31
PLAN_OF = "plan of "
Candidate = tuple[Plan, tuple[Planner, ...]]  # with the planners that continue it


@dataclass(eq=False)
class PortfolioPlanner:
    """Follows the best plan of its `members`; `continuing` are the planners of simulated futures.

    With `knows_future` plans are simulated in the real future: what a run could cost, not what a scheduler can do.
    """

    policy: CheckedPolicy
    members: Sequence[Planner]
    continuing: Sequence[Planner]
    limits: MemoryLimits
    knows_future: bool = False

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def crashes(self) -> Sequence[Diagnostic]:
        return [crash for planner in self.members for crash in getattr(planner, "crashes", ())]

    @property
    def portfolio(self) -> CheckedPortfolio:
        assert self.policy.portfolio is not None
        return self.policy.portfolio

    def fresh(self) -> PortfolioPlanner:
        return replace(self, members=[m.fresh() for m in self.members], continuing=[p.fresh() for p in self.continuing])

    def close(self) -> None:
        for planner in (*self.members, *self.continuing):
            planner.close()

    def plan(self, request: PlanningRequest) -> Plan | None:
        """Return the best plan found in time; None if no member has one.

        Raises DiagnosticError as the members do, and as `Outlook.cost` does.
        """
        began = time.perf_counter()
        if request.outlook is None:
            raise portfolio_without_run(self.policy)
        found = self._candidates(request, began)
        if not found:
            return None
        plan = found[0][0]
        if len(found) > 1:
            plan = self._best(found, request, request.outlook, began)
        notes = (*plan.notes, f"{PLAN_OF}{plan.method}")
        return replace(plan, method=self.name, seconds=time.perf_counter() - began, notes=notes)

    def followed(self, notes: Sequence[str]) -> str:
        """Return whose plan a plan with these notes is: of a method, or of one with jobs of another; "" if unknown."""
        return next((note.removeprefix(PLAN_OF) for note in reversed(notes) if note.startswith(PLAN_OF)), "")

    def policy_named(self, name: str) -> CheckedPolicy | None:
        """Return the policy of a member by name; None if there is none, as for solvers and mixtures."""
        policies = (member.policy for member in self.members if isinstance(member, PolicyPlanner))
        return next((policy for policy in policies if policy.name == name), None)

    # --- plans -------------------------------------------------------------------------------------------------------

    def _candidates(self, request: PlanningRequest, began: float) -> list[Candidate]:
        """Return the different plans of the members that have one in time; raise the error of a solver if none has."""
        found: dict[bytes, Candidate] = {}
        failure: DiagnosticError | None = None
        for member, stated in zip(self.members, self.portfolio.members, strict=True):
            rest = None if request.seconds is None else request.seconds - (time.perf_counter() - began)
            if found and rest is not None and rest <= 0:
                break
            own = [seconds for seconds in (rest, stated.seconds) if seconds is not None]
            try:
                plan = member.plan(replace(request, seconds=min(own, default=None), outlook=None))
            except DiagnosticError as error:
                if not is_of_solving(error):
                    raise
                plan, failure = None, failure or error
            if plan is not None:
                continuing = tuple(self.continuing) or (member,)
                found.setdefault(self._key(plan.values), (plan, continuing))
        if not found and failure is not None:
            raise failure
        if self.continuing and request.running is not None and found:
            before = Plan(request.running, AS_BEFORE)
            found.setdefault(self._key(request.running), (before, tuple(self.continuing)))
        return list(found.values())

    def _key(self, values: Mapping[str, VariableValues]) -> bytes:
        """Return the chosen elements of the placement's family as bytes: equal for plans that do the same now."""
        placement = self.policy.model.placement
        given = None if placement is None else values.get(placement.variable)
        if given is None:
            return b""
        chosen = given.values > 0.5
        rows = np.stack([*(column[chosen] for column in given.codes), np.rint(given.values[chosen]).astype(np.int64)])
        return rows[:, np.lexsort(rows)].tobytes()

    # --- futures -----------------------------------------------------------------------------------------------------

    def _best(self, found: Sequence[Candidate], request: PlanningRequest, outlook: Outlook, began: float) -> Plan:
        """Return the plan with the least mean cost in all futures that were simulated in time.

        If not even the first future was, the best of those that were; the first candidate if none was. Mixtures follow
        if there is time left.
        """
        rest = None if request.seconds is None else max(0.0, request.seconds - (time.perf_counter() - began))
        sums = [[np.zeros(3) for _ in continuing] for _, continuing in found]
        complete = 0
        row: list[list[FutureCost]] = []
        mixed: Plan | None = None
        try:
            with limit(rest):
                futures = self._futures(request)
                for future in futures:
                    row = []
                    for plan, continuing in found:
                        row.append([outlook.cost(plan.values, planner, future) for planner in continuing])
                    for totals, of_plan in zip(sums, row, strict=True):
                        for total, cost in zip(totals, of_plan, strict=True):
                            total += cost
                    complete += 1
                for better in self._mixtures(found, _least(sums), futures, request, outlook):
                    mixed = better
        except StoppedEarly as stopped:
            if stopped.reason == INTERRUPT:
                raise
        if mixed is not None:
            return mixed
        costs = _least(sums if complete else row)
        return found[min(range(len(costs)), key=costs.__getitem__) if costs else 0][0]

    def _mixtures(
        self,
        found: Sequence[Candidate],
        costs: Sequence[tuple[float, ...]],
        futures: Sequence[SimulatedFuture],
        request: PlanningRequest,
        outlook: Outlook,
    ) -> Iterator[Plan]:
        """Yield plans that cost less and less: the best plan with parts of the others, in the order of their costs.

        A mixture must satisfy the model, and is simulated in all futures. Models that are too large to be verified have
        no mixtures.
        """
        rest = self._most_mixtures(request)
        placement, instance = self.policy.model.placement, request.instance
        if not rest or placement is None or is_large(instance):
            return
        order = sorted(range(len(found)), key=costs.__getitem__)
        (best, continuing), least = found[order[0]], costs[order[0]]
        for number in order[1:]:
            other = with_labels_of(instance, best, found[number][0])
            for jobs in exchangeable_jobs(placement, best, other):
                if not rest:
                    return
                rest -= 1
                plan = mixture(placement, best, other, jobs)
                cost = self._cost(plan, continuing, futures, outlook)
                if cost < least and violation_in(instance, plan) is None:
                    best, least = plan, cost
                    yield best

    def _cost(
        self, plan: Plan, continuing: Sequence[Planner], futures: Sequence[SimulatedFuture], outlook: Outlook
    ) -> tuple[float, ...]:
        """Return the sum of the costs of a plan in all futures, by the planner with the least sum."""
        return min(
            tuple(np.sum([outlook.cost(plan.values, planner, future) for future in futures], axis=0).tolist())
            for planner in continuing
        )

    def _most_mixtures(self, request: PlanningRequest) -> int:
        stated = self.portfolio.mixtures
        if stated is None:
            return 0
        count = Evaluator(self.policy.model, request.instance.store, self.limits).number(stated)
        if count < 1:
            raise _wrong_number("a portfolio mixes at least one plan", stated, count)
        return round(count)

    def _futures(self, request: PlanningRequest) -> list[SimulatedFuture]:
        """Return the futures of one plan: they depend on the seed and the number of the plan alone."""
        stated = self.portfolio.futures
        ev = Evaluator(self.policy.model, request.instance.store, self.limits)

        def number(expr: TypedExpr | None, otherwise: float) -> float:
            return otherwise if expr is None else ev.number(expr)

        horizon = number(self.portfolio.horizon, np.inf)
        if not horizon > 0:
            raise _wrong_number("the horizon of a lookahead must be positive", self.portfolio.horizon, horizon)
        if self.knows_future:
            return [SimulatedFuture(horizon, real=True)]
        if stated is None:
            return [SimulatedFuture(horizon)]
        count, seed = number(stated.count, 1), round(number(stated.seed, request.seed))
        if count < 1:
            raise _wrong_number("a portfolio needs at least one future", stated.count, count)
        streams = np.random.SeedSequence([abs(seed), request.number, 0xF07]).generate_state(round(count))
        return [SimulatedFuture(horizon, int(state) % MOST_SEED, stated.arrivals) for state in streams]


def _least(costs: Sequence[Sequence[Floats | FutureCost]]) -> list[tuple[float, ...]]:
    """Return the cost of each plan by the planner with the least one; in the order of `FutureCost`."""
    return [min(tuple(map(float, cost)) for cost in of_plan) for of_plan in costs]


def _wrong_number(message: str, expr: TypedExpr | None, value: float) -> DiagnosticError:
    span = None if expr is None else expr.span
    help = "state a positive number; the data of the scenario give this one"
    return DiagnosticError([Diagnostic("GSM1670", f"{message}, it is {value:g}", span, "this number", help=help)])
