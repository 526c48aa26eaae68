"""Sums over jobs of what they have had: a policy knows the present jobs only, not those that ended; GSM1682."""

from __future__ import annotations

import re
from collections.abc import Iterator as Iterates
from collections.abc import Mapping

from msgspec import Struct

from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    Element,
    IndexRef,
    IndexVar,
    LetRef,
    NamedSet,
    ParamRef,
    Reduction,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checked_policy import ATTAINED, CheckedPolicy
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def check_history(policy: CheckedPolicy, diagnostics: Diagnostics) -> None:
    """Report aggregates of `attained` over jobs."""
    model, reported = policy.model, set[int]()
    for part, let in _expressions(policy):
        for each in walk(part):
            if not isinstance(each, Reduction) or each.span.start in reported:
                continue
            if any(_is_job(v) and _reads(each.body, model, v) for v in each.indexing.variables):
                reported.add(each.span.start)
                diagnostics.error(
                    "GSM1682",
                    f"`{each.span.text}` forgets the jobs that have ended: a policy knows the present jobs only",
                    each.span,
                    "less than jobs have had in all",
                    help="add it up in a parameter of the model, which an `online` block carries: "
                    f"`{_carry(policy, each, let)}`",
                )


def _is_job(variable: IndexVar) -> bool:
    return isinstance(variable.type, Element)


def _expressions(policy: CheckedPolicy) -> Iterates[tuple[Part, CheckedLet | None]]:
    for let in policy.lets.values():
        yield from ((part, let) for part in (let.value, let.indexing))
    for name in policy.__struct_fields__:
        if name not in ("model", "lets"):
            for part in _parts(getattr(policy, name)):
                yield part, None


def _parts(value: object) -> Iterates[Part]:
    if isinstance(value, TypedExpr | TypedIndexing | TypedSet):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _parts(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _parts(each)
    elif isinstance(value, Struct) and not isinstance(value, CheckedModel):
        for name in value.__struct_fields__:
            yield from _parts(getattr(value, name))


def _reads(part: Part, model: CheckedModel, job: IndexVar) -> bool:
    """Whether a part reads `attained` of the job of an index, also through `let`s."""
    if isinstance(part, ParamRef) and part.name == ATTAINED:
        return any(isinstance(s, IndexRef) and s.variable is job for s in part.subscripts)
    if isinstance(part, LetRef) and part.name in model.lets:
        let = model.lets[part.name]
        for own, subscript in zip(let.indexing.variables, part.subscripts, strict=True):
            if isinstance(subscript, IndexRef) and subscript.variable is job and _reads(let.value, model, own):
                return True
    return any(_reads(child, model, job) for child in children(part))


def _carry(policy: CheckedPolicy, part: Reduction, let: CheckedLet | None) -> str:
    """Return the line that accumulates the GPU time of jobs under the same condition."""
    model, target, names = policy.model, "used", ""
    if let is not None:
        target, names = let.name, ", ".join(v.name for v in let.indexing.variables)
    target += f"[{names}]" if names else ""
    placement = model.placement
    if placement is None:
        return f"carry {target} = previous({target}) + executed(...);"
    job, uses = placement.index("job"), placement.value("uses")
    sets = [i.domain for i in model.variables[placement.variable].indexing.iterators for _ in i.variables]
    over = [
        f"{index.name} in {domain.name if isinstance(domain, NamedSet) else '...'}"
        for index, domain in zip(placement.indices, sets, strict=True)
    ]
    where = " and ".join(c.span.text for c in part.indexing.conditions)
    if job is not None and where:
        where = re.sub(rf"\b{part.indexing.variables[0].name}\b", job.name, f" where {where}")
    amount = "" if uses is None else f"{uses.span.text} * "
    decision = f"{placement.variable}[{', '.join(index.name for index in placement.indices)}]"
    return f"carry {target} = previous({target}) + executed(sum[{', '.join(over)}{where}] {amount}{decision});"
