"""Claims of solvers that cannot all be true, and the status that verified points and the other claims leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpusched_dsl.ir.contradiction import CODE
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.solving.concurrent.board import Board


def status_after_contradiction(claimed: Collection[Status], board: Board) -> tuple[Status, str]:
    """Return the status and its reason that are left where claims contradict one another."""
    if board.best is not None and Status.UNBOUNDED not in claimed and board.is_closed():
        return Status.OPTIMAL, ""
    return Status.LIMIT, "accuracy"


def contradictions(claimed: Mapping[str, Status], board: Board, help: str) -> tuple[Diagnostic, ...]:
    """Return what cannot all be true: statuses that solvers have proved, and what a verified point refutes."""
    found: list[str] = []
    if board.best is not None:
        for solver, status in claimed.items():
            if status is Status.INFEASIBLE:
                found.append(f"`{solver}` claims that no point is feasible, but that of `{board.best_by}` is")
        for solver, bound in board.refuted_bounds().items():
            text = f"`{solver}` claims that no point is better than {bound:.9g}, but that of `{board.best_by}`"
            found.append(f"{text} has {board.value:.9g}")
    claims = {s: one for s, one in claimed.items() if one in (Status.UNBOUNDED, Status.INFEASIBLE)}
    bounded = sorted(set(board.bounds) - set(board.refuted_bounds()))
    for solver, status in claims.items():
        if status is Status.UNBOUNDED:
            others = [s for s, other in claims.items() if other is Status.INFEASIBLE]
            found += [f"`{solver}` claims that the problem is unbounded, `{s}` that it is infeasible" for s in others]
            found += [f"`{solver}` claims that the problem is unbounded, but `{s}` has a bound" for s in bounded[:1]]
    return tuple(Diagnostic(CODE, f"solvers contradict one another: {text}", help=help) for text in found)
