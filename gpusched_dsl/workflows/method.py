"""Methods of a solve: a solver, or a policy and the solver that completes its plan. Only this file separates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, structs

from gpusched_dsl.compiling.build import Built, with_counts, with_problem
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.ir.deadline import Deadline, limit
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.solving.built import solve_built
from gpusched_dsl.solving.methods import method_named
from gpusched_dsl.solving.shares.choice import shares_root
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.workflows.warm_start import Start, with_plan
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions
from gsdsl_backends.registry import WITHOUT_PROOFS, proves
from gsdsl_backends.registry import backend as registered_backend

if TYPE_CHECKING:
    from gpusched_dsl.explaining.waiting import WaitingSearch
    from gpusched_dsl.language.checked_policy import CheckedPolicy

DEFAULT = "highs"
Load = Callable[[str], Backend]  # creates a backend by name: in this process, or in a process of its own


class Method(Protocol):
    """Solves a scenario with its data."""

    @property
    def name(self) -> str: ...

    @property
    def is_policy(self) -> bool: ...

    @property
    def proves(self) -> bool:
        """Whether it ends with a proof: policies and a local search do not."""
        ...

    @property
    def draws(self) -> bool:
        """Whether the plan depends on the seed, so that a comparison repeats it for each seed."""
        ...

    def backend(self) -> Backend:
        """Return the name of the backend for results. This loads the required solver."""
        ...

    def judge(self) -> Backend:
        """Return the solver that completes plans of policies and checks them."""
        ...

    def waiting_search(self) -> WaitingSearch:
        """Return what finds why jobs wait in the plan of this method."""
        ...

    def time_to_build(self, left: float | None) -> float | None:
        """Return the time limit in seconds for building, given the remaining time; None without a limit."""
        ...

    def with_problem(self, built: Built, options: SolveOptions, clock: Deadline) -> Built:
        """Ground the parts of the problem that this method needs."""
        ...

    def solve(
        self,
        built: Built,
        options: SolveOptions,
        start: Start | None = None,
        monitor: Monitor | None = None,
        before: Solution | None = None,
    ) -> tuple[Solution, tuple[Diagnostic, ...]]:
        """Solve from a start, in the session of an earlier solution if possible; also return the warnings."""
        ...


@dataclass(frozen=True)
class SolverMethod:
    """A solver. Its time limit includes the time to build the problem. With `relax`, no variable is integer."""

    name: str
    judge_name: str = DEFAULT
    load: Load = registered_backend
    relax: bool = False

    is_policy = False

    @property
    def proves(self) -> bool:
        return proves(self.name)

    @property
    def draws(self) -> bool:
        return not self.proves and not self.relax

    def backend(self) -> Backend:
        return self.load(self.name)

    def judge(self) -> Backend:
        return self.load(self.judge_name)

    def waiting_search(self) -> WaitingSearch:
        from gpusched_dsl.explaining.waiting import WaitingSearch

        return WaitingSearch(self.judge)

    def time_to_build(self, left: float | None) -> float | None:
        return left

    def with_problem(self, built: Built, options: SolveOptions, clock: Deadline) -> Built:
        root = None if self.relax else shares_root(built, self.backend, options)
        if root is not None:
            return structs.replace(built, shares_of=root)
        return with_problem(built, aggregated=not self.relax and allows_aggregation(options.without))

    def solve(
        self,
        built: Built,
        options: SolveOptions,
        start: Start | None = None,
        monitor: Monitor | None = None,
        before: Solution | None = None,
    ) -> tuple[Solution, tuple[Diagnostic, ...]]:
        if self.relax:
            from gpusched_dsl.solving.relaxation import solve_relaxed

            return solve_relaxed(built.problem, self.backend(), options, monitor), ()
        given_start = start or Start()
        if built.shares_of is not None:
            from gpusched_dsl.solving.shares.solve import solve_by_shares_if_suitable  # loads SciPy

            if given_start.entries is None:
                prices = None if before is None else before.prices
                found = solve_by_shares_if_suitable(built, built.shares_of, self.backend(), options, monitor, prices)
                if found is not None:
                    if before is not None:
                        before.close()
                    return with_plan(found, given_start.plan, built), ()
            built = with_problem(built, aggregated=allows_aggregation(options.without))
        solved, warnings = solve_built(built, self.backend(), options, given_start.entries, monitor, before)
        return with_plan(solved, given_start.plan, built), warnings


class PolicyMethod(Struct, frozen=True):
    """A policy. It always computes its first plan: no limit applies to it."""

    policy: CheckedPolicy
    judge_name: str = DEFAULT
    load: Load = registered_backend

    is_policy = True
    proves = False

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def draws(self) -> bool:
        return bool(self.policy.draws)

    def backend(self) -> Backend:
        from gpusched_dsl.workflows.solve_by_policy import PolicyBackend

        return PolicyBackend(self.name, self.judge())

    def judge(self) -> Backend:
        return self.load(self.judge_name)

    def waiting_search(self) -> WaitingSearch:
        from gpusched_dsl.explaining.waiting import WaitingSearch

        return WaitingSearch(self.judge, self.policy)

    def time_to_build(self, left: float | None) -> float | None:
        return None

    def with_problem(self, built: Built, options: SolveOptions, clock: Deadline) -> Built:
        with limit(clock.rest_of(options.time_limit)):
            return with_counts(built, aggregated=allows_aggregation(options.without))

    def solve(
        self,
        built: Built,
        options: SolveOptions,
        start: Start | None = None,
        monitor: Monitor | None = None,
        before: Solution | None = None,
    ) -> tuple[Solution, tuple[Diagnostic, ...]]:
        from gpusched_dsl.workflows.solve_by_policy import solve_by_policy  # loads the compiler of policies

        return solve_by_policy(built, self.policy, self.judge(), options, (start or Start()).entries, monitor)


def choose_method(
    workspace: Workspace,
    name: str,
    model: CheckedModel,
    *,
    judge: str = DEFAULT,
    load: Load = registered_backend,
    relax: bool = False,
) -> Method:
    """Return the solver or policy of a name; the solver `judge` completes plans of policies.

    Raises DiagnosticError as `method_named` does, and GSM6002 for a policy with `relax` and a judge without proofs.
    Solvers are loaded when they are needed.
    """
    if judge in WITHOUT_PROOFS:
        message = f"`{judge}` cannot judge: it does not prove that a plan breaks the model, and it proves no bound"
        raise DiagnosticError([Diagnostic("GSM6002", message, help=f"choose another solver, such as {DEFAULT}")])
    method = method_named(workspace, name, model)
    if isinstance(method, str):
        return SolverMethod(method, judge, load, relax)
    if relax:
        message = f"a policy such as `{name}` cannot solve a relaxation"
        raise DiagnosticError([Diagnostic("GSM6002", message, help="choose a solver, such as highs")])
    return PolicyMethod(method, judge, load)
