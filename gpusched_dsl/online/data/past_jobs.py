"""Whether right sides of `carry` read jobs that ended before the last plan.

Sums over jobs range over all jobs that have arrived. Where each summand is 0 without a decision of its job, only the
jobs of the last plan count: the others need not be kept.
"""

from __future__ import annotations

from gpusched_dsl.language.blocks.online.carry_analysis.vanishing import vanishes
from gpusched_dsl.language.checked import (
    CheckedModel,
    Element,
    IndexVar,
    LetRef,
    Membership,
    NamedSet,
    Reduction,
    SetFunction,
    TypedSet,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, children


def reads_all_jobs(online: CheckedOnline) -> bool:
    """Whether a right side of `carry` may depend on a job that is neither present nor in the last plan."""
    root, seen = online.jobs_root, set[str]()
    return bool(root) and any(_depends(carry.value, online.model, root, seen) for carry in online.carries)


def _depends(part: Part, model: CheckedModel, root: str, seen: set[str]) -> bool:
    if isinstance(part, Reduction):
        jobs = [v for v in part.indexing.variables if _is_job(v, root)]
        if jobs and not (part.op == "sum" and all(vanishes(part.body, model, job) for job in jobs)):
            return True
        return any(_depends(c, model, root, seen) for c in (*part.indexing.conditions, part.body))
    if isinstance(part, SetFunction | Membership | TypedSet) and _ranges_over(part, root):
        return True
    if isinstance(part, LetRef) and part.name in model.lets and part.name not in seen:
        seen.add(part.name)
        if _depends(model.lets[part.name].value, model, root, seen):
            return True
    return any(_depends(child, model, root, seen) for child in children(part))


def _ranges_over(part: Part, root: str) -> bool:
    """Whether the elements of a set with jobs are counted or compared; `j in Fast` concerns `j` alone."""
    domain = part.domain if isinstance(part, SetFunction | Membership) else part
    if not isinstance(domain, TypedSet) or (isinstance(domain, NamedSet) and not isinstance(part, SetFunction)):
        return False
    return any(isinstance(kind, Element) and kind.root == root for kind in domain.types)


def _is_job(variable: IndexVar, root: str) -> bool:
    return isinstance(variable.type, Element) and variable.type.root == root
