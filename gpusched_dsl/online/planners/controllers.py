"""Several controllers, each with its own part of the jobs and nodes, as one planner.

The hierarchical method of L. M. Kiros (Politecnico di Milano, 2020): jobs are dealt to controllers in turn as they
arrive, nodes once for all, and each controller runs its own loop: it plans when one of its own jobs arrives or ends,
and knows nothing of the others. Any policy or solver plans for a controller.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.language.checked import Element, ValueType
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.plan_codes import PlanCodes
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.protocol import ControllerState, Planner, PlanningRequest
from gpusched_dsl.policies.plan import Plan

CODE = "GSM7010"


@dataclass(frozen=True, eq=False)
class _PartOfRun(Base):
    """The data of one plan; each controller has a part of them."""

    names: frozenset[str] = frozenset()

    @property
    def input_names(self) -> frozenset[str]:
        return self.names


@dataclass(eq=False)
class ControllersPlanner:
    """`inner` are equal planners, one for each controller; `types` are the index types of the model's variables."""

    inner: Sequence[Planner]
    jobs_root: str
    places_root: str
    types: Mapping[str, tuple[ValueType, ...]]
    limits: MemoryLimits

    @property
    def name(self) -> str:
        return self.inner[0].name

    @property
    def crashes(self) -> Sequence[Diagnostic]:
        return [crash for planner in self.inner for crash in getattr(planner, "crashes", ())]

    def fresh(self) -> ControllersPlanner:
        return replace(self, inner=[planner.fresh() for planner in self.inner])

    def close(self) -> None:
        for planner in self.inner:
            planner.close()

    def plan(self, request: PlanningRequest) -> Plan | None:
        """Return the plans of the controllers that plan now, and what the others decided before.

        None if one of them has no plan. Raises DiagnosticError as they do.
        """
        state = request.controllers
        assert state is not None, "the loop of a run with controllers knows them"
        began = time.perf_counter()
        data = _PartOfRun(request.instance, self.limits, state.inputs)
        codes = PlanCodes(self.types, request.instance.store)
        found = [self._kept(request.running or {}, state)]
        for k in np.flatnonzero(state.plans).tolist():
            jobs, nodes = np.flatnonzero(state.job == k), np.flatnonzero(state.node == k)
            if not len(jobs):
                continue
            plan = self._plan_of(k, request, data, codes, data.part({self.jobs_root: jobs, self.places_root: nodes}))
            if plan is None:
                return None
            found.append(plan)
        again = [plan.again for plan in found if plan.again is not None]
        remembered: dict[str, list[VariableValues]] = {}
        for plan in found:
            for name, values in plan.remembered.items():
                remembered.setdefault(name, []).append(values)
        return Plan(
            self._merge_plans([plan.values for plan in found]),
            self.name,
            seconds=time.perf_counter() - began,
            again=_join_values(again) if again else None,
            remembered={name: _join_values(values) for name, values in remembered.items()},
        )

    def _plan_of(
        self, k: int, request: PlanningRequest, data: Base, codes: PlanCodes, part: InstanceView
    ) -> Plan | None:
        spent = 0.0 if request.seconds is None else request.seconds
        own = replace(
            request,
            instance=data.instance_of(part, {}),
            seed=request.seed + k,
            running=None if request.running is None else codes.all_inner(request.running, part),
            seconds=None if request.seconds is None else spent / len(self.inner),
            known={name: values[part.kept[self.jobs_root]] for name, values in request.known.items()},
            controllers=None,
        )
        plan = self.inner[k].plan(own)
        return None if plan is None else codes.plan_outer(plan, part)

    def _kept(self, running: PlanValues, state: ControllerState) -> Plan:
        """The part of the current plan that belongs to controllers that do not plan now, of what they decide."""
        stays = ~state.plans
        kept = {}
        first = self.inner[0]
        decided = first.decides if isinstance(first, PolicyPlanner) else running.keys()
        for name, values in running.items():
            owner = self._owner(name, values, state) if name in decided else None
            if owner is not None:
                rows = stays[owner]
                kept[name] = VariableValues(tuple(c[rows] for c in values.codes), values.values[rows])
        return Plan(kept, self.name)

    def _owner(self, name: str, values: VariableValues, state: ControllerState) -> Ints | None:
        """The controller of each value of a variable: that of its job or node; None if it has neither."""
        for kind, column in zip(self.types[name], values.codes, strict=True):
            if isinstance(kind, Element) and kind.root in (self.jobs_root, self.places_root):
                owners = state.job if kind.root == self.jobs_root else state.node
                return owners[column]
        return None

    def _merge_plans(self, plans: Sequence[PlanValues]) -> dict[str, VariableValues]:
        """The values of all controllers; variables without a job or node have no common value."""
        roots = {self.jobs_root, self.places_root}
        parts: dict[str, list[VariableValues]] = {}
        for values in plans:
            for name, given in values.items():
                if any(isinstance(kind, Element) and kind.root in roots for kind in self.types[name]):
                    parts.setdefault(name, []).append(given)
        return {name: _join_values(given) for name, given in parts.items()}


def _join_values(values: Sequence[VariableValues]) -> VariableValues:
    columns = zip(*(given.codes for given in values), strict=True)
    codes = tuple(np.concatenate(column) for column in columns)
    return VariableValues(codes, np.concatenate([given.values for given in values]))


def controllers_of(planner: Planner, online: CheckedOnline, base: Base, asked: int) -> int:
    """The number of controllers of a run: as asked for, else as the policy states, at most one for each node.

    Raises DiagnosticError (GSM7010) if several are asked for and decisions cannot be divided.
    """
    placement = online.base.placement
    count, policy = asked, planner.policy if isinstance(planner, PolicyPlanner) else None
    if count <= 1 and policy is not None and policy.split is not None:
        count = round(Evaluator(policy.model, base.store, base.limits).number(policy.split))
    reason = ""
    if online.window is not None:
        reason = "plans are computed slot by slot"
    elif isinstance(planner, PortfolioPlanner):
        reason = f"the portfolio `{planner.name}` plans for all jobs and nodes"
    elif placement is None or not placement.places_root or placement.item("job") is None:
        reason = "the placement does not name jobs and nodes"
    if reason and asked > 1:
        message = f"`{online.name}` cannot be run by {asked} controllers: {reason}"
        raise DiagnosticError([Diagnostic(CODE, message, online.span, help="run it without `--controllers`")])
    if reason or count <= 1:
        return 1
    assert placement is not None
    return min(count, len(base.all_codes(placement.places_root)))


def with_controllers(planner: Planner, count: int, online: CheckedOnline, limits: MemoryLimits) -> Planner:
    """The planner for each of several controllers, as one planner; the same planner for one."""
    placement = online.base.placement
    if count <= 1 or placement is None:
        return planner
    if isinstance(planner, PolicyPlanner):
        planner = replace(planner, policy=structs.replace(planner.policy, split=None))
    types: dict[str, tuple[ValueType, ...]] = {"": (Element(online.jobs_root),)}
    for name, declared in online.base.variables.items():
        types[name] = tuple(v.type for v in declared.indexing.variables)
    inner = [planner, *(planner.fresh() for _ in range(count - 1))]
    return ControllersPlanner(inner, online.jobs_root, placement.places_root, types, limits)


def planning_controllers(
    count: int, job: Ints, departed: Ints, arrived: Ints, nodes_changed: Ints, *, all_plan: bool
) -> Bools:
    """Which controllers plan: those of jobs that arrived or departed and of nodes that failed or recovered.

    `job` is the controller of each job of the run; the others are jobs and the controllers of nodes.
    """
    plans = np.full(count, all_plan)
    plans[job[departed]] = plans[job[arrived]] = True
    plans[nodes_changed] = True
    return plans
