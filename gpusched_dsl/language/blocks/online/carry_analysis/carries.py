"""Carried values: they are read, equal the executed decisions, and are integer if required."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.online.carry_analysis.integrality import is_implied_integer
from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView, variables_in
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedParam,
    Constant,
    Executed,
    Function,
    IfThenElse,
    IndexVar,
    LetRef,
    Negate,
    Numeric,
    ParamRef,
    Reduction,
    Shift,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CheckedCarry, CheckedOnline
from gpusched_dsl.language.checking.kinds import numeric_type
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.tree_walk import nodes_in


def prove_carries(
    online: CheckedOnline, view: WindowView, diagnostics: Diagnostics, workspace: Workspace | None
) -> None:
    """Report GSM1647 (never read), GSM1648 (fractions) and GSM1649 (not the executed decisions)."""
    carries = _Carries(online, view, diagnostics)
    read = {*_params_of_model(online), *(() if workspace is None else _names_of_policies(workspace))}
    read |= _read_by_carries(online, read)
    for carry in online.carries:
        target = online.base.params[carry.target]
        if carry.target not in read:
            carries.report_unread(carry, target, workspace is None)
        carries.check_fraction(carry, target)
        if online.window is not None:
            carries.check_executed(carry)


def _params_of_model(online: CheckedOnline) -> Iterates[str]:
    """Return the parameters in the model, outside of their own declarations, and in charges."""
    model = online.base
    parts: list[Part | None] = []
    for row in model.constraints.values():
        parts += [row.indexing, row.body]
    parts += [t.value for o in model.objectives for t in o.terms]
    for let in model.lets.values():
        parts += [let.indexing, let.value]
    for variable in model.variables.values():
        parts += [variable.indexing, *(b.value for b in variable.bounds)]
    for declared in model.sets.values():
        parts += [declared.value, declared.within]
    for check in model.checks:
        parts += [check.indexing, check.condition]
    for random in model.randoms.values():
        parts += [random.indexing, random.law]
    if model.placement is not None:
        parts += [p for i in model.placement.items for p in (i.value, i.of)]
    parts += [c.value for c in online.charges]
    for part in parts:
        if part is not None:
            yield from _params(part)
    for param in model.params.values():
        for part_of_param in (
            param.indexing,
            param.value,
            param.default,
            param.within,
            *(b.value for b in param.bounds),
        ):
            if part_of_param is not None:
                yield from (name for name in _params(part_of_param) if name != param.name)


def _read_by_carries(online: CheckedOnline, read: set[str]) -> set[str]:
    """Return the parameters that others, which are `read`, accumulate: by `previous` on their right-hand sides."""
    previous, found = online.previous_names, set(read)
    waiting = [c for c in online.carries if c.target in found]
    while waiting:
        carry = waiting.pop()
        new = {previous[name] for name in _params(carry.value) if name in previous} - found
        found |= new
        waiting += [c for c in online.carries if c.target in new]
    return found


def _params(part: Part) -> Iterates[str]:
    return (p.name for p in walk(part) if isinstance(p, ParamRef))


def _names_of_policies(workspace: Workspace) -> Iterates[str]:
    for policy in workspace.policies.values():
        yield from (n.text for n in nodes_in(policy, tree.Name))
        yield from (n.name.text for n in nodes_in(policy, tree.Subscript))


@dataclass
class _Carries:
    online: CheckedOnline
    view: WindowView
    diagnostics: Diagnostics

    def report_unread(self, carry: CheckedCarry, target: CheckedParam, alone: bool) -> None:
        self.diagnostics.error(
            "GSM1647",
            f"`{carry.target}` is carried but never read by the model{'' if alone else ' and its policies'}",
            carry.span,
            "has no effect on any plan",
            secondary=[Label(target.span, f"`{carry.target}` is declared here")],
            help="remove it, or read it in references to the slot before the window",
            severity=Severity.WARNING,
        )

    def check_fraction(self, carry: CheckedCarry, target: CheckedParam) -> None:
        if not isinstance(target.type, Numeric) or not target.type.integer or _is_integer(carry.value):
            return
        if isinstance(carry.value, VariableRef) and is_implied_integer(self.view, carry.value.name):
            return
        variables = self.online.base.variables
        decisions = (p for p in walk(carry.value) if isinstance(p, VariableRef | LetRef) and p.decision)
        variable = next((p for p in decisions if isinstance(p, LetRef) or not variables[p.name].type.integer), None)
        places = [Label(target.span, f"`{carry.target}` is declared `{target.kind}`")]
        if isinstance(variable, VariableRef):
            declared = variables[variable.name]
            places.insert(0, Label(declared.span, f"`{variable.name}` is declared without `integer` or `binary`"))
        help = (
            "declare the variable `binary` or `integer`, or carry `round(...)` if the model always makes it an integer"
        )
        if variable is None:
            help = f"write `round({carry.value.span.text})`, or `floor` or `ceil`"
        self.diagnostics.error(
            "GSM1648",
            f"`{carry.value.span.text}` may be fractional, but `{carry.target}` is {target.kind}",
            carry.value.span,
            "the run stops if this is not within 0.000001 of an integer",
            secondary=places,
            help=help,
            severity=Severity.WARNING,
        )

    def check_executed(self, carry: CheckedCarry) -> None:
        """Report decisions of slots that will be planned again before they are executed."""
        for part, slots in self._decisions(carry.value, frozenset(carry.variables)):
            if isinstance(part, Reduction):
                self._report_planned_slots(carry, part, "adds up all planned slots, not only the executed ones")
                continue
            for subscript in self.view.subscripts(part):
                if not self._is_executed(subscript, slots):
                    what = f"reads slot `{subscript.span.text}`, not the last executed slot"
                    self._report_planned_slots(carry, part, what)

    def _decisions(
        self, expr: TypedExpr, slots: frozenset[IndexVar]
    ) -> Iterates[tuple[VariableRef | LetRef | Reduction, frozenset[IndexVar]]]:
        """Return references to decisions with their possible slots; aggregates over all slots, also in `let`s."""
        waiting: list[tuple[Part, frozenset[IndexVar]]] = [(expr, slots)]
        while waiting:
            part, inside = waiting.pop()
            if isinstance(part, Executed):
                continue
            if isinstance(part, Reduction):
                own_slots = self.view.slot_variables(part.indexing)
                if own_slots and part.body.decision and not _ends_at_committed(part):
                    yield part, inside
                inside |= frozenset(own_slots)
            elif isinstance(part, LetRef) and part.decision:
                yield part, inside
                let = self.view.model.lets[part.name]
                for each in self.view.with_lets(let.value):
                    if isinstance(each, Reduction) and each.decision and self._sums_slots(each, let.indexing.variables):
                        yield each, inside
            elif isinstance(part, VariableRef):
                yield part, inside
            waiting += [(child, inside) for child in children(part)]

    def _sums_slots(self, part: Reduction, let_variables: tuple[IndexVar, ...]) -> bool:
        slots = self.view.slot_variables(part.indexing)
        fixed_slots = frozenset().union(*(variables_in(c) for c in part.indexing.conditions)) & frozenset(let_variables)
        return bool(slots) and not fixed_slots

    def _is_executed(self, subscript: TypedExpr, slots: frozenset[IndexVar]) -> bool:
        reach = self.view.reach(subscript)
        if reach.base is not None:
            return reach.base in slots
        names = set(_params(subscript))
        return "committed" in names and not _is_after_committed(subscript)

    def _report_planned_slots(self, carry: CheckedCarry, part: TypedExpr, what: str) -> None:
        assert self.online.window is not None
        self.diagnostics.error(
            "GSM1649",
            f"the value carried to `{carry.target}` {what}",
            part.span,
            "may be planned again",
            secondary=[
                Label(carry.span, "carried here"),
                Label(self.online.window.span, "only its first slots are executed"),
            ],
            help="read the decisions of slot `committed`",
            severity=Severity.WARNING,
        )


def _is_integer(expr: TypedExpr) -> bool:
    """Whether a number is always integer; `running` and `requested` are 0 or 1."""
    kind = numeric_type(expr)
    match expr:
        case ParamRef(name="running" | "requested"):
            return True
        case Negate(operand=operand):
            return _is_integer(operand)
        case Function(name="max" | "min", arguments=parts):
            return all(_is_integer(part) for part in parts)
        case Arithmetic(op="+" | "-" | "*", left=left, right=right) | IfThenElse(then=left, otherwise=right):
            return _is_integer(left) and _is_integer(right)
    return kind is not None and kind.integer


def _ends_at_committed(part: Reduction) -> bool:
    return any("committed" in set(_params(c)) for c in part.indexing.conditions)


def _is_after_committed(subscript: TypedExpr) -> bool:
    """Whether a subscript is a slot after `committed`."""
    if isinstance(subscript, Shift):
        return isinstance(subscript.offset, Constant) and subscript.offset.value > 0
    return isinstance(subscript, Arithmetic) and subscript.op == "+"
