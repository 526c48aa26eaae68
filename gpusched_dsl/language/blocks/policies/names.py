"""The names that lines of a policy may bind: the indices of the model's placement."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacement,
    Element,
    IndexRef,
    IndexVar,
    TypedExpr,
    TypedIndexing,
    ValueType,
)
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.kinds import describe, same_kind
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


class Decisions(Struct, frozen=True):
    """The indices of a placement by their role.

    `choices` must be bound in lists of configurations, `open` may be. `node_type` is the type of node if it is no
    index: then one more name may be bound to a type. If nodes have queues, `place` is the index of the position;
    policies choose nodes and find the position themselves.
    """

    placement: CheckedPlacement
    job: IndexVar
    node: IndexVar | None
    choices: tuple[IndexVar, ...]
    open: tuple[IndexVar, ...]
    node_type: TypedExpr | None
    place: IndexVar | None = None


def decisions_of(model: CheckedModel) -> Decisions | None:
    """Return the decisions, None if the model has no placement or its placement does not state the job."""
    placement = model.placement
    if placement is None:
        return None
    job, node, slot = placement.index("job"), placement.index("node"), placement.index("slot")
    if job is None or job.name == IGNORED:
        return None
    place = placement.index("place_from_end")
    if place is not None:
        listed = tuple(i for i in placement.indices if i not in (job, slot, place) and i.name != IGNORED)
        return Decisions(placement, job, node, listed, (), None, place)
    node_type = placement.value("node_type")
    chosen = tuple(i for i in placement.indices if i not in (job, node, slot) and i.name != IGNORED)
    # If `choose` lists nodes by name, each is its own type; not if the type is chosen when a node is opened.
    open_ = tuple(i for i in (slot, None if isinstance(node_type, IndexRef) else node) if i is not None)
    return Decisions(placement, job, node, chosen, open_, None if isinstance(node_type, IndexRef) else node_type)


def slot_of(decisions: Decisions) -> IndexVar | None:
    """Return the slot index of the placement; None without slots, or if nodes have no names."""
    return None if decisions.node is None else decisions.placement.index("slot")


def can_plan(decisions: Decisions, policy: tree.Policy, diagnostics: Diagnostics) -> None:
    """Report GSM1689 for an index that policies for slots or queues would not decide: modes, positions, clock rates."""
    position = decisions.place or slot_of(decisions)
    if position is None:
        return
    known = (decisions.job, decisions.node, position)
    extra = [index for index in decisions.placement.indices if index not in known]
    if extra:
        what = "positions in queues" if decisions.place is not None else "slots"
        diagnostics.error(
            "GSM1689",
            f"policies for {what} cannot decide `{extra[0].name}` of the placement",
            policy.name.span,
            f"decides the job, the node and the {'position' if decisions.place is not None else 'slot'}",
            secondary=[Label(extra[0].span, "another decision")],
            help=f"plan with a solver, or let the data say which `{extra[0].name}` a job has",
        )


def fits_order(decisions: Decisions, rule: tree.PolicyRule, expr: TypedIndexing, diagnostics: Diagnostics) -> bool:
    """Whether `order` binds exactly the job; report GSM1619."""
    assert rule.indexing is not None
    job = decisions.job
    variables = expr.variables
    wrong = [v for v in variables if v.name != job.name or not same_kind(v.type, job.type)]
    if not wrong and len(variables) == 1:
        return True
    bound = wrong[0] if wrong else variables[1]
    same_type = same_kind(bound.type, job.type)
    diagnostics.error(
        "GSM1619",
        f"`order` lists jobs, and the index of jobs in the placement is `{job.name}`",
        bound.span if bound.name != IGNORED else rule.indexing.span,
        f"not `{job.name}`" if same_type else describe(bound.type),
        secondary=[Label(job.span, f"`{job.name}` is {describe(job.type)}")],
        help=f"write `order {job.name} in {_set_of(job.type)} by ...`",
    )
    return False


def fits_configurations(
    decisions: Decisions, rule: tree.PolicyRule, expr: TypedIndexing, diagnostics: Diagnostics
) -> bool:
    """Whether the names of `choose` or `otherwise` identify a way to run a job; reports GSM1619 and GSM1630."""
    named = {v.name: v for v in expr.variables if v.name != IGNORED}
    known = {i.name: i for i in (*decisions.choices, *decisions.open)}
    extra = extra_name(decisions, expr)
    sound = True
    for name, bound in named.items():
        index = known.get(name)
        if bound is extra or (index is not None and same_kind(index.type, bound.type)):
            continue
        _report_name(decisions, bound, index, known, diagnostics)
        sound = False
    missing = [i for i in decisions.choices if i.name not in named]
    if missing and sound:
        assert rule.indexing is not None
        names = ", ".join(f"`{i.name}`" for i in missing)
        diagnostics.error(
            "GSM1630",
            f"`{rule.verb}` does not bind {names} of the placement",
            rule.indexing.span,
            f"{names} not bound",
            secondary=[Label(missing[0].span, "an index of the placement")],
            help=f"bind {names}, as in `{rule.verb} {_tuple(decisions.choices)} in ... by ...`",
        )
        sound = False
    return sound


def lists_nodes_only(decisions: Decisions, rule: tree.PolicyRule, diagnostics: Diagnostics) -> bool:
    """Whether `choose by keys;` can list the ways of the placement: not with slots or queues; reports GSM1630."""
    listed = slot_of(decisions) or decisions.place
    if listed is None:
        return True
    what = "slots" if decisions.place is None else "positions in queues"
    names = [i.name for i in (decisions.node, slot_of(decisions)) if i is not None]
    diagnostics.error(
        "GSM1630",
        f"`{rule.verb}` must list {'nodes and slots' if decisions.place is None else 'nodes'}: decisions have {what}",
        rule.span,
        "lists nothing",
        secondary=[Label(listed.span, "an index of the placement")],
        help=f"write the list, as in `{rule.verb} {', '.join(f'{name} in ...' for name in names)} by ...;`",
    )
    return False


def extra_name(decisions: Decisions, expr: TypedIndexing) -> IndexVar | None:
    """Return the name besides those of the placement: the type of node of a way, if the placement computes it."""
    kind = decisions.node_type
    if kind is None:
        return None
    names = {i.name for i in decisions.placement.indices}
    found = [v for v in expr.variables if v.name != IGNORED and v.name not in names and same_kind(v.type, kind.type)]
    return found[0] if found else None


def _report_name(
    decisions: Decisions,
    bound: IndexVar,
    index: IndexVar | None,
    known: Iterable[str],
    diagnostics: Diagnostics,
) -> None:
    node = decisions.node
    help = did_you_mean(bound.name, known) or f"a way to run a job is identified by {_tuple(decisions.choices)}"
    label = "not in the placement"
    secondary = [Label(decisions.placement.span, "the placement of this variable")]
    if index is not None:
        label = describe(bound.type)
        secondary = [Label(index.span, f"`{index.name}` is {describe(index.type)}")]
        help = "use the set of this index in the placement"
    elif node is not None and bound.name == node.name:
        label = "the node"
        help = "remove it: `place` chooses the node"
    elif len(same := [i for i in decisions.choices if same_kind(i.type, bound.type)]) == 1:
        help = f"name it `{same[0].name}`, as in the placement"
    diagnostics.error(
        "GSM1619",
        f"`{bound.name}` does not identify a way to run a job",
        bound.span,
        label,
        secondary=secondary,
        help=help,
    )


def _set_of(kind: ValueType) -> str:
    return kind.root if isinstance(kind, Element) else "..."


def _tuple(indices: tuple[IndexVar, ...]) -> str:
    names = ", ".join(i.name for i in indices)
    return f"({names})" if len(indices) != 1 else names
