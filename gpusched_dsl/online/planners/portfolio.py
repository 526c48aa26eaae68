"""Portfolios: of the plans of several methods, the one that costs least in simulated futures.

Every plan is simulated in the same futures. Without `continue with` its own policy goes on: policy switching, H. S.
Chang, R. Givan, E. K. P. Chong, Parallel Rollout for Online Solution of Partially Observable Markov Decision Processes,
Discrete Event Dynamic Systems 14, 2004. With it, the plan is rolled out by each of the named policies, and has the
least of their mean costs: parallel rollout, in the same paper; with one policy the rollout of D. P. Bertsekas, D. A.
Castanon, Rollout Algorithms for Stochastic Scheduling Problems, Journal of Heuristics 5, 1999.

With futures `after arrivals` plans are compared only while no arrivals are expected, or its condition is false. An
arrival changes all that follows, so which plan costs least without it may be mostly chance. Until then the method is
followed that would have cost least for the jobs so far: follow the leader (A. Kalai, S. Vempala, Efficient Algorithms
for Online Decision Problems, Journal of Computer and System Sciences 71, 2005).

With `vary` the search goes on among variations of the policies (`varying.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, StoppedEarly, limit
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedPortfolio
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.failures import is_of_solving
from gpusched_dsl.online.planners.mixtures import exchangeable_jobs, mixture, with_labels_of
from gpusched_dsl.online.planners.paired_costs import is_less, least_with_confidence, of_least_mean
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import (
    AS_BEFORE,
    FutureCost,
    Outlook,
    Planner,
    PlanningRequest,
    SimulatedFuture,
    VariedRollout,
)
from gpusched_dsl.online.planners.varying import Varied, search
from gpusched_dsl.online.planners.violations import is_large, rows_broken_for_certain
from gpusched_dsl.policies.plan import Plan, portfolio_without_run

MOST_SEED = 2**31
PLAN_OF = "plan of "
NOTHING_KNOWN = np.array([[1.0, np.inf, np.inf]])  # the costs of a plan that was not simulated
RATIO = 1.1  # of numbers of jobs for which the members are compared on the past
SECONDS_OF_PLAN = 2.0  # of a reference machine, without a time limit
SAME = 1e-9  # relative: costs that differ by less are the same
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
    _varied: Varied | None = field(default=None, init=False)  # the last variation
    _led: tuple[int, int] = field(default=(0, 0), init=False)  # the last number of jobs, and its best member
    _queue: object = field(default=None, init=False)  # of the last schedule that was found

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
        if request.seconds is None:
            request.outlook.limit_effort(SECONDS_OF_PLAN)
        compares = not self._awaits_arrivals(request, request.outlook)
        leader = 0 if compares else self._leader(request, request.outlook, began)
        found = self._candidates(request, began, compares=compares, leader=leader)
        if not found:
            return None
        plan = found[0][0]
        if len(found) > 1 or (compares and self.portfolio.variations is not None):
            plan = self._best(found, request, request.outlook, began)
        notes = (*plan.notes, f"{PLAN_OF}{plan.method}")
        return replace(plan, method=self.name, seconds=time.perf_counter() - began, notes=notes)

    def followed_method(self, notes: Sequence[str]) -> str:
        """Return whose plan a plan with these notes is: of a method, or of one with jobs of another; "" if unknown."""
        return next((note.removeprefix(PLAN_OF) for note in reversed(notes) if note.startswith(PLAN_OF)), "")

    def policy_named(self, name: str) -> CheckedPolicy | None:
        """Return the policy of a member by name; None if there is none, as for solvers and mixtures."""
        policies = (member.policy for member in self.members if isinstance(member, PolicyPlanner))
        return next((policy for policy in policies if policy.name == name), None)

    # --- plans -------------------------------------------------------------------------------------------------------

    def _awaits_arrivals(self, request: PlanningRequest, outlook: Outlook) -> bool:
        futures = self.portfolio.futures
        if self.knows_future or futures is None or futures.arrivals != "over" or not outlook.expects_arrivals():
            return False
        if futures.condition is None:
            return True
        ev = Evaluator(self.policy.model, request.instance.store, self.limits)
        return bool(ev.mask(futures.condition, Frame(1, {}))[0])

    def _leader(self, request: PlanningRequest, outlook: Outlook, began: float) -> int:
        """Return the number of the member to follow while arrivals are expected: the one that would have done best.

        Each member is simulated alone from the first arrival on, with the jobs that have arrived so far and no others,
        to the end of all of them. So with the last arrival the least of these costs is that of the best member. They
        are computed anew when the number of jobs has grown by a tenth, for the first so many jobs. Another member than
        the first must cost less by more than 1 / n of n jobs, as a few jobs say little. The first one leads while most
        jobs have not ended, as then these costs depend on what will arrive, and if a member cannot be simulated, or not
        all of them in time.
        """
        if 2 * outlook.ended() < outlook.arrived():
            return 0
        count = int(RATIO ** int(np.log(max(outlook.arrived(), 1) + 0.5) / np.log(RATIO)))
        if self._led[0] == count:
            return self._led[1]
        future = SimulatedFuture(np.inf, replayed=count)
        rest = None if request.seconds is None else max(0.0, request.seconds - (time.perf_counter() - began))
        costs: list[FutureCost] = []
        try:
            with limit(rest):
                for member in self.members:
                    rollout = outlook.varied(None, member, future)
                    if rollout is None:
                        return 0
                    costs.append(rollout.cost(rollout.unchanged))
        except StoppedEarly as stopped:
            if stopped.reason == INTERRUPT:
                raise
            self._led = (count, 0)  # a leader of few jobs may be the worst one of many
            return 0
        best, column = min(range(len(costs)), key=lambda member: costs[member]), 1 if costs[0].money else 2
        is_clear = costs[best].stuck < costs[0].stuck or costs[best][column] < costs[0][column] * (1 - 1 / count)
        self._led = (count, best if is_clear else 0)
        return self._led[1]

    def _candidates(
        self, request: PlanningRequest, began: float, *, compares: bool, leader: int = 0
    ) -> list[Candidate]:
        """Return the different plans of the members that have one in time; raise the error of a solver if none has.

        Without `compares` only the plan of the member `leader`, or of the first other one that has a plan.
        """
        found: dict[bytes, Candidate] = {}
        failure: DiagnosticError | None = None
        members = list(zip(self.members, self.portfolio.members, strict=True))
        for member, stated in [members[leader], *members[:leader], *members[leader + 1 :]]:
            rest = None if request.seconds is None else request.seconds - (time.perf_counter() - began)
            if found and (not compares or (rest is not None and rest <= 0)):
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
            raise DiagnosticError(failure.diagnostics)  # not what a local refers to: that would be a cycle
        if compares and self.continuing and request.running is not None and found:
            before = Plan(request.running, AS_BEFORE)
            found.setdefault(self._key(request.running), (before, tuple(self.continuing)))
        return list(found.values())

    def _key(self, values: PlanValues) -> bytes:
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
        """Return the plan with the least cost if nothing unknown happens, or one that costs less in drawn futures.

        What was simulated in time decides; the first candidate if nothing was. Mixtures and variations follow if there
        is time left.
        """
        rest = None if request.seconds is None else max(0.0, request.seconds - (time.perf_counter() - began))
        best = found[0][0]
        try:
            with limit(rest):
                known, drawn = self._futures(request)
                judges = drawn if len(drawn) > 1 else [known]
                if request.seconds is None:  # the other half is for mixtures and variations
                    outlook.limit_effort(SECONDS_OF_PLAN / 2)
                of_best = NOTHING_KNOWN
                least, costs = 0, list[Floats]()
                try:
                    for number, (plan, continuing) in enumerate(found):
                        costs.append(_costs(plan, continuing, [known], outlook))
                        if is_less(costs[number], costs[least]):
                            least, best = number, plan
                        of_best = costs[least]
                    first, rows = least, list[list[Floats]]()
                    for future in drawn:
                        rows.append([_costs_by_planner(*candidate, future, outlook) for candidate in found])
                        if len(rows) > 1:
                            costs = [of_least_mean(np.stack(of_plan)) for of_plan in zip(*rows, strict=True)]
                            least = least_with_confidence(costs, first)
                            best, of_best = found[least][0], costs[least]
                except StoppedEarly as stopped:
                    if request.seconds is not None or stopped.reason == INTERRUPT or len(judges) > 1:
                        raise
                outlook.limit_effort(np.inf if request.seconds is not None else SECONDS_OF_PLAN)
                for mixed in self._mixtures(found, least, costs, judges, request, outlook):
                    best, of_best = mixed
                for better in self._variations(of_best, known, judges, request, outlook):
                    best = better
        except StoppedEarly as stopped:
            if stopped.reason == INTERRUPT:
                raise
        return best

    def _mixtures(
        self,
        found: Sequence[Candidate],
        least: int,
        costs: Sequence[Floats],
        futures: Sequence[SimulatedFuture],
        request: PlanningRequest,
        outlook: Outlook,
    ) -> Iterator[tuple[Plan, Floats]]:
        """Yield plans that cost less and less: the plan `least` with parts of the others, in the order of their costs.

        A mixture must satisfy the model, and is simulated in all futures. Models that are too large to be verified have
        no mixtures.
        """
        rest = self._number_of(self.portfolio.mixtures, "mixture", request)
        placement, instance = self.policy.model.placement, request.instance
        if (
            len(costs) < len(found)
            or not rest
            or placement is None
            or is_large(instance.scenario.model, instance.store)
        ):
            return
        (best, continuing), of_best = found[least], costs[least]
        order = sorted(range(len(found)), key=lambda number: tuple(costs[number].mean(axis=0)))
        for number in order:
            other = with_labels_of(instance, best, found[number][0])
            for jobs in [] if number == least else exchangeable_jobs(placement, best, other):
                if not rest:
                    return
                rest -= 1
                plan = mixture(placement, best, other, jobs)
                of_plan = _costs(plan, continuing, futures, outlook)
                if is_less(of_plan, of_best) and rows_broken_for_certain(instance, plan) is None:
                    best, of_best = plan, of_plan
                    yield best, of_best

    def _variations(
        self,
        of_best: Floats,
        known: SimulatedFuture,
        futures: Sequence[SimulatedFuture],
        request: PlanningRequest,
        outlook: Outlook,
    ) -> Iterator[Plan]:
        """Yield plans by variations of the policies that cost less and less, and less than the best plan so far."""
        steps = self._number_of(self.portfolio.variations, "variation", request)
        if not steps:
            return
        rng = np.random.default_rng([abs(request.seed), request.number, 0x7A])
        if len(futures) == 1:
            planners, of_run = tuple(self.continuing) or tuple(self.members), futures[0]
            is_found, column = False, 1 if of_best[0, 1] else 2
            for found in outlook.best_schedules(planners, of_run, self._queue, steps, rng):
                is_found, self._queue = True, found.queue
                if of_best[0, 0] or found.less < of_best[0, column] * (1 - SAME):
                    yield self._variation(found.values, found.policy, request)
            if is_found:
                return
        rollouts: dict[str, list[VariedRollout]] = {}
        for planner in (*self.members, *self.continuing):
            of_planner = [outlook.varied(request.running, planner, future) for future in (known, *futures)]
            rollouts[planner.name] = [rollout for rollout in of_planner if rollout is not None]
        judged = {name: of_planner[1:] for name, of_planner in rollouts.items() if of_planner}
        for varied in search(judged, self._varied, steps, rng):
            self._varied = varied
            if is_less(varied.costs, of_best):
                of_best = varied.costs
                values = rollouts[varied.policy][0].plan(varied.variation)
                yield self._variation(values, varied.policy, request)

    def _variation(self, values: PlanValues, policy: str, request: PlanningRequest) -> Plan:
        """Return the plan of a variation, on the nodes that jobs run on now as far as nodes can be exchanged."""
        plan = Plan(values, f"a variation of {policy}")
        if request.running is None:
            return plan
        return with_labels_of(request.instance, Plan(request.running, AS_BEFORE), plan)

    def _number_of(self, stated: TypedExpr | None, what: str, request: PlanningRequest) -> int:
        """Return the stated number of mixtures or variations; none without a statement."""
        if stated is None:
            return 0
        count = Evaluator(self.policy.model, request.instance.store, self.limits).number(stated)
        if count < 1:
            raise _wrong_number(f"a portfolio simulates at least one {what}", stated, count)
        return round(count)

    def _futures(self, request: PlanningRequest) -> tuple[SimulatedFuture, list[SimulatedFuture]]:
        """Return the future without anything unknown, and those drawn by the seed and the number of the plan."""
        stated = self.portfolio.futures
        ev = Evaluator(self.policy.model, request.instance.store, self.limits)

        def number(expr: TypedExpr | None, otherwise: float) -> float:
            return otherwise if expr is None else ev.number(expr)

        horizon = number(self.portfolio.horizon, np.inf)
        if not horizon > 0:
            raise _wrong_number("the horizon of a lookahead must be positive", self.portfolio.horizon, horizon)
        if self.knows_future:
            return SimulatedFuture(horizon, real=True), []
        if stated is None:
            return SimulatedFuture(horizon), []
        count, seed = number(stated.count, 1), round(number(stated.seed, request.seed))
        if count < 1:
            raise _wrong_number("a portfolio needs at least one future", stated.count, count)
        if stated.arrivals == "over" and round(count) == 1:
            return SimulatedFuture(horizon), []
        streams = np.random.SeedSequence([abs(seed), request.number, 0xF07]).generate_state(round(count))
        seeds = [int(state) % MOST_SEED for state in streams]
        if stated.arrivals == "generated":  # the same at every plan: their data are read once
            of_run = np.random.SeedSequence([abs(seed), 0x6E]).generate_state(round(count))
            tables = [int(state) % MOST_SEED for state in of_run]
            drawn = [SimulatedFuture(horizon, s, generated=g) for s, g in zip(seeds, tables, strict=True)]
        else:
            drawn = [SimulatedFuture(horizon, s, stated.arrivals == "past") for s in seeds]
        return SimulatedFuture(horizon), drawn


def _costs_by_planner(plan: Plan, continuing: Sequence[Planner], future: SimulatedFuture, outlook: Outlook) -> Floats:
    """Return the costs of a plan in one future: a row for each planner that continues it, the columns of a cost."""
    return np.array([outlook.cost(plan.values, planner, future) for planner in continuing])


def _costs(plan: Plan, continuing: Sequence[Planner], futures: Sequence[SimulatedFuture], outlook: Outlook) -> Floats:
    """Return the costs of a plan in some futures, by the planner with the least mean of them."""
    return of_least_mean(np.stack([_costs_by_planner(plan, continuing, future, outlook) for future in futures]))


def _wrong_number(message: str, expr: TypedExpr | None, value: float) -> DiagnosticError:
    span = None if expr is None else expr.span
    help = "state a positive number; the data of the scenario give this one"
    return DiagnosticError([Diagnostic("GSM1670", f"{message}, it is {value:g}", span, "this number", help=help)])
