"""One result of the results of several solvers, and what they claim against one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from gpusched_dsl.ir.solver_result import MemberResult, SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.board import Board
from gpusched_dsl.solving.concurrent.contradictions import contradictions, status_after_contradiction
from gpusched_dsl.solving.concurrent.member import Member
from gpusched_dsl.solving.solution import Solution

HELP = "do not use this result: solve with each of them alone, and report the defect, if possible with the input"
NO_POINT = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def combine(members: Sequence[Member], board: Board, seconds: float) -> SolverResult:
    """Return the best point with the best bound, and the status that they and the proofs give.

    Raises what a solver raised if no solver has a result, and the failure of a solver that is a defect.
    """
    for member in members:
        if member.failure is not None:
            raise member.failure
    solved = {member.name: member.solution for member in members if member.solution is not None}
    if not solved and not board.reason and board.best is None:
        raise _all_refused(members)
    found = contradictions({name: solution.status for name, solution in solved.items()}, board, HELP)
    status, reason = _status(list(solved.values()), board, bool(found))
    bound = None if status in NO_POINT else board.bound()
    point = None if status in NO_POINT else board.best
    by = solved.get(board.best_by)
    proved = status is Status.OPTIMAL and point is not None and by is not None and by.point is point.point
    return SolverResult(
        status,
        None if point is None else point.point,
        board.value if point is not None and board.objective is not None else None,
        None if bound is None else bound[1],
        row_duals=by.row_duals if proved and by is not None else None,
        reduced_costs=by.reduced_costs if proved and by is not None else None,
        reason=reason,
        solve_seconds=seconds,
        statistics=_statistics(solved.values()),
        members=tuple(
            _member_result(m, board, point is not None, None if bound is None else bound[0]) for m in members
        ),
        contradictions=found,
        warnings=_warnings(members),
    )


def _status(solutions: Sequence[Solution], board: Board, contradicted: bool) -> tuple[Status, str]:
    found = {solution.status for solution in solutions}
    if contradicted:
        return status_after_contradiction(found, board)
    proved = board.is_closed() or Status.OPTIMAL in found  # the latter: within the gap by a solver's own rounding
    if board.best is not None and Status.UNBOUNDED not in found and proved:
        return Status.OPTIMAL, ""
    for status in (Status.UNBOUNDED, Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
        if status in found and (board.best is None or status is Status.UNBOUNDED):
            return status, ""
    if board.reason in ("time", "interrupt"):
        return Status.LIMIT, board.reason
    reasons = [solution.reason for solution in solutions if solution.status is Status.LIMIT]
    own = [reason for reason in reasons if reason not in ("interrupt", "")]
    return Status.LIMIT, own[0] if own else "time"


def _member_result(member: Member, board: Board, has_point: bool, bound_by: str | None) -> MemberResult:
    solution, name = member.solution, member.name
    result = MemberResult(
        name, None, seconds=member.seconds, bound=board.bounds.get(name),
        gave_point=has_point and board.best_by == name, gave_bound=bound_by == name,
    )  # fmt: skip
    if solution is not None:
        return structs.replace(result, status=solution.status, reason=solution.reason, objective=solution.objective)
    if member.refusal is not None and not member.killed:
        return structs.replace(result, error=member.refusal.diagnostics[0].message)
    return structs.replace(result, reason="stopped")


def _statistics(solutions: Iterable[Solution]) -> dict[str, float]:
    total: dict[str, float] = {}
    for solution in solutions:
        for name, count in solution.statistics.items():
            total[name] = total.get(name, 0.0) + count
    return total


def _warnings(members: Sequence[Member]) -> tuple[Diagnostic, ...]:
    """Crashes of solvers, and what all solvers say alike, once."""
    found: dict[tuple[str, str], Diagnostic] = {}
    for member in members:
        own = member.solution.warnings if member.solution is not None else ()
        if member.crashed and member.refusal is not None:
            own = tuple(structs.replace(d, severity=Severity.WARNING) for d in member.refusal.diagnostics)
        for diagnostic in own:
            found.setdefault((diagnostic.code, diagnostic.message), diagnostic)
    return tuple(found.values())


def _all_refused(members: Sequence[Member]) -> DiagnosticError:
    found: dict[tuple[str, str], Diagnostic] = {}
    for member in members:
        for diagnostic in member.refusal.diagnostics if member.refusal is not None else ():
            found.setdefault((diagnostic.code, diagnostic.message), diagnostic)
    return DiagnosticError(list(found.values()))
