"""Checks the roles of gangs in a `placement`: `workers`, `rack`, `across_nodes`, `across_racks`; GSM1420."""

from __future__ import annotations

from gpusched_dsl.language.checked import (
    CheckedPlacement,
    CheckedVariable,
    Constant,
    IndexRef,
    IndexVar,
    Numeric,
    Role,
    TypedExpr,
)
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.kinds import describe
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.source import Span

CODE = "GSM1420"
_INDICES: tuple[Role, ...] = ("job", "node")
_OF_JOBS: tuple[Role, ...] = ("workers", "across_nodes", "across_racks")
_OF_GANGS: tuple[Role, ...] = ("rack", "across_nodes", "across_racks")
_EXCLUDED: dict[Role, str] = {
    "place_from_end": "the workers of a gang have no positions in queues: they start together",
    "node_rate": "the cost of a node by its GPUs in use is not known for gangs",
}


def check_gangs(checker: ExpressionChecker, placement: CheckedPlacement, declared: CheckedVariable) -> bool:
    """Whether the roles of gangs go together with the others; reports GSM1420."""
    return _Gangs(checker, placement).check(declared)


class _Gangs:
    def __init__(self, checker: ExpressionChecker, placement: CheckedPlacement) -> None:
        self.checker, self.placement = checker, placement
        self.sound = True

    def check(self, declared: CheckedVariable) -> bool:
        placement = self.placement
        workers = placement.item("workers")
        if workers is None:
            for item in placement.all(*_OF_GANGS):
                help = "add `workers NUMBER;`: the number of workers of a job, on all its nodes together"
                self._report(f"`{item.role}` needs `workers`: without it a job has one node", item.span, "alone", help)
            return self.sound
        for role in _INDICES:
            if placement.index(role) is None:
                help = f"add `{role} ...;` with the index of the {role}"
                self._report(f"`workers` needs the index of the {role}", workers.span, f"no index for `{role}`", help)
        for role, why in _EXCLUDED.items():
            if (other := placement.item(role)) is not None:
                self._report(f"`{role}` is not allowed with `workers`", other.span, "not with gangs", why, workers.span)
        if placement.index("node_type") is not None:
            help = "state the type of a node as data: `node_type type[n];`"
            span = placement.items[[i.role for i in placement.items].index("node_type")].span
            self._report("the plan chooses the types of nodes, which gangs exclude", span, "an index", help)
        if not isinstance(workers.value.type, Numeric) or not workers.value.type.integer:
            found = describe(workers.value.type)
            self._report(f"`workers` must be an integer, this is {found}", workers.value.span, found, None)
        for role in _OF_JOBS:
            self._refuse_nodes(role)
        self._check_rack()
        if declared.kind == "integer" and not _is_bounded_below(declared):
            help = f"write `var {declared.name}[...] integer >= 0`"
            text = f"`{declared.name}` counts workers, and may be negative"
            self._report(text, placement.span, "no lower bound", help, declared.span)
        return self.sound

    def _check_rack(self) -> None:
        rack, racks = self.placement.item("rack"), self.placement.item("across_racks")
        if rack is None:
            if racks is not None:
                self._report("`across_racks` needs `rack`", racks.span, "no racks", "add `rack rack[n];`")
            return
        others = [v for v in _indices(self.placement, rack.value) if v is not self.placement.index("node")]
        if others:
            text = f"`rack` must depend on the node only, this depends on `{others[0].name}`"
            self._report(text, rack.value.span, f"depends on `{others[0].name}`", None)

    def _refuse_nodes(self, role: Role) -> None:
        value, node = self.placement.value(role), self.placement.index("node")
        if value is not None and node in _indices(self.placement, value):
            text = f"`{role}` must not depend on the node: it is for the whole gang"
            self._report(text, value.span, "depends on the node", None)

    def _report(self, message: str, span: Span, label: str, help: str | None, other: Span | None = None) -> None:
        secondary = (
            [] if other is None else [Label(other, "of this placement" if label == "not with gangs" else "here")]
        )
        self.checker.error(CODE, message, span, label, help=help, secondary=secondary)
        self.sound = False


def _indices(placement: CheckedPlacement, value: TypedExpr) -> list[IndexVar]:
    """The indices of the decision that a value reads."""
    read = {part.variable for part in walk(value) if isinstance(part, IndexRef)}
    return [index for index in placement.indices if index in read]


def _is_bounded_below(declared: CheckedVariable) -> bool:
    """Whether a lower bound is stated that is not a negative number."""
    lower = [bound.value for bound in declared.bounds if bound.op in (">=", ">", "==")]
    return any(not isinstance(value, Constant) or value.value >= 0 for value in lower)
