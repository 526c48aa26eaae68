"""The results of several solvers that worked at once, as text, table and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched_dsl.ir.solver_result import MemberResult, Status

if TYPE_CHECKING:
    import polars as pl

PROOFS = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def members_text(members: Sequence[MemberResult]) -> str:
    """`point by scip, bound by highs; cpsat: stopped`, for the last of several objectives."""
    last = [member for member in members if member.goal == members[-1].goal]
    parts = [f"point by {m.solver}" for m in last if m.gave_point] + [
        f"bound by {m.solver}" for m in last if m.gave_bound
    ]
    if not parts:
        parts = [f"proof by {m.solver}" for m in last if m.status in PROOFS]
    others = [m for m in last if not (m.gave_point or m.gave_bound) and (m.error or not parts)]
    failed = [f"{m.solver}: {m.error or (m.status.value if m.status else m.reason)}" for m in others]
    return "; ".join([", ".join(parts), *failed] if parts else failed)


def members_document(members: Sequence[MemberResult]) -> list[dict[str, Any]]:
    """Return a dictionary for each solver, with the keys of `members_table`."""
    return [
        {
            "solver": member.solver,
            "objective_name": member.goal,
            "status": None if member.status is None else member.status.value,
            "reason": member.reason,
            "objective": member.objective,
            "bound": member.bound,
            "seconds": round(member.seconds, 6),
            "gave_point": member.gave_point,
            "gave_bound": member.gave_bound,
            "error": member.error,
        }
        for member in members
    ]


def members_table(members: Sequence[MemberResult]) -> pl.DataFrame:
    """Return a table with a row for each solver."""
    import polars as pl

    schema = {
        "solver": pl.String,
        "objective_name": pl.String,
        "status": pl.String,
        "reason": pl.String,
        "objective": pl.Float64,
        "bound": pl.Float64,
        "seconds": pl.Float64,
        "gave_point": pl.Boolean,
        "gave_bound": pl.Boolean,
        "error": pl.String,
    }
    return pl.DataFrame(members_document(members), schema=schema)
