"""One result of the results of several solvers, and what they claim against one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from gpusched_dsl.ir.contradiction import CODE
from gpusched_dsl.ir.solver_result import MemberResult, SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.board import Board
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
    contradictions = _contradictions(solved, board)
    status, reason = _status(list(solved.values()), board, bool(contradictions))
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
        contradictions=contradictions,
        warnings=_warnings(members),
    )


def _status(solutions: Sequence[Solution], board: Board, contradicted: bool) -> tuple[Status, str]:
    found = {solution.status for solution in solutions}
    if contradicted and (board.best is None or Status.UNBOUNDED in found):
        return Status.LIMIT, "accuracy"
    if board.best is not None and Status.UNBOUNDED not in found:
        if board.is_closed():
            return Status.OPTIMAL, ""
        if contradicted:
            return Status.LIMIT, "accuracy"
        if Status.OPTIMAL in found:  # within the gap by a solver's own rounding
            return Status.OPTIMAL, ""
    for status in (Status.UNBOUNDED, Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
        if status in found and (board.best is None or status is Status.UNBOUNDED):
            return status, ""
    if board.reason in ("time", "interrupt"):
        return Status.LIMIT, board.reason
    reasons = [solution.reason for solution in solutions if solution.status is Status.LIMIT]
    own = [reason for reason in reasons if reason not in ("interrupt", "")]
    return Status.LIMIT, own[0] if own else "time"


def _contradictions(solved: dict[str, Solution], board: Board) -> tuple[Diagnostic, ...]:
    """What cannot all be true: proofs of different statuses, and what a verified point refutes."""
    found: list[str] = []
    if board.best is not None:
        for solver, solution in solved.items():
            if solution.status is Status.INFEASIBLE:
                found.append(f"`{solver}` claims that no point is feasible, but that of `{board.best_by}` is")
        for solver, bound in board.refuted_bounds().items():
            text = f"`{solver}` claims that no point is better than {bound:.9g}, but that of `{board.best_by}`"
            found.append(f"{text} has {board.value:.9g}")
    claims = {s: one.status for s, one in solved.items() if one.status in (Status.UNBOUNDED, Status.INFEASIBLE)}
    bounded = sorted(set(board.bounds) - set(board.refuted_bounds()))
    for solver, status in claims.items():
        if status is Status.UNBOUNDED:
            others = [s for s, other in claims.items() if other is Status.INFEASIBLE]
            found += [f"`{solver}` claims that the problem is unbounded, `{s}` that it is infeasible" for s in others]
            found += [f"`{solver}` claims that the problem is unbounded, but `{s}` has a bound" for s in bounded[:1]]
    return tuple(Diagnostic(CODE, f"solvers contradict one another: {text}", help=HELP) for text in found)


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
