"""Name checks of `online` blocks. The loop runs in a later version; what they say is checked now."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel, IndexVar, NamedSet, Numeric
from gpusched_dsl.language.checking import EMPTY, Binding, ExpressionChecker, ExtraName, Scope, Symbols
from gpusched_dsl.language.checking.conversion import because_declared, unit_in
from gpusched_dsl.language.checking.flatten import HasModels
from gpusched_dsl.language.checking.kinds import numeric_type
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics import Diagnostics, Label, did_you_mean
from gpusched_dsl.language.outlines.policies import model_of
from gpusched_dsl.language.outlines.rules import EVENTS
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, convertible

_SLOT_WORDS = ("slot", "slots")


def check_online(workspace: HasModels, online: tree.Online, diagnostics: Diagnostics) -> bool:
    """Whether an online block is sound; reports GSM162x, unknown names, wrong types and units."""
    found = Diagnostics()
    model = None if online.model is None else model_of(workspace, online.model, found)
    if model is not None:
        _OnlineChecker(model, found, workspace.lost).run(online)
    diagnostics.extend(found)
    return not found.has_errors


class _OnlineChecker:
    def __init__(self, model: CheckedModel, diagnostics: Diagnostics, lost: Mapping[str, Span]) -> None:
        self.model = model
        self.lost = lost
        self.diagnostics = diagnostics
        self.seen: dict[str, Span] = {}

    def run(self, online: tree.Online) -> None:
        extras: dict[str, ExtraName] = {
            "now": ExtraName(None),
            "remaining": ExtraName(None),
            "done": ExtraName(None),
            "committed": ExtraName(None),
        }
        for statement in online.statements:
            if isinstance(statement, tree.Window):
                slots = self._window_set(statement)
                if slots is not None:  # the last slot that was committed
                    extras["committed"] = ExtraName(slots.types[0], span=statement.span)
            elif isinstance(statement, tree.Arrive):
                name = _reference(statement.at)
                if name is not None and name not in self.model.params:
                    extras.setdefault(name, ExtraName(None))  # a parameter that the loop brings along
        own = {n: e for n, e in extras.items() if n not in self.model.params and n not in self.model.variables}
        self.checker = self._expressions(own)
        for statement in online.statements:
            match statement:
                case tree.Window():
                    self._once("window", statement.span)
                    self._counted(statement.lookahead, "the lookahead")
                    self._counted(statement.commit, "the commitment")
                case tree.Arrive():
                    self._arrive(statement)
                case tree.Replan():
                    self._once("replan", statement.span)
                    for trigger in statement.triggers:
                        self._trigger(trigger)
                case tree.Carry():
                    self._carry(statement)

    def _expressions(self, extras: Mapping[str, ExtraName]) -> ExpressionChecker:
        symbols = Symbols.of(self.model, extras)
        symbols.poisoned.update(self.lost)
        return ExpressionChecker(symbols, self.diagnostics)

    def _once(self, what: str, span: Span) -> None:
        if what in self.seen:
            self.diagnostics.error(
                "GSM1620",
                f"`{what}` stands twice",
                span,
                "again",
                secondary=[Label(self.seen[what], "first here")],
                help="keep one of them",
            )
        self.seen.setdefault(what, span)

    def _window_set(self, window: tree.Window) -> NamedSet | None:
        core = self._expressions({}).set_of(window.index.domain)
        if core is None:
            return None
        if not isinstance(core, NamedSet) or len(core.types) != 1 or not self.model.sets[core.name].ordered:
            declared = self.model.sets[core.name].span if isinstance(core, NamedSet) else None
            self.diagnostics.error(
                "GSM1621",
                f"`{core.span.text}` is not an ordered set, so there is no window over it",
                core.span,
                "not declared `ordered`",
                secondary=[] if declared is None else [Label(declared, "declared here")],
                help=f"declare it: `set {core.span.text} ordered;`" if isinstance(core, NamedSet) else None,
            )
            return None
        return core

    def _counted(self, expr: tree.Expr, what: str) -> None:
        core = self.checker.number(expr, unit=DIMENSIONLESS)
        if core is not None and self.checker.data_only(core, what):
            self.checker.is_whole(core)

    def _arrive(self, statement: tree.Arrive) -> None:
        self._once(f"arrive {statement.index.domain.span.text}", statement.span)
        indexing = tree.Indexing(span=statement.index.span, indices=(statement.index,))
        _, scope = self.checker.indexing(indexing)
        core = self.checker.number(statement.at, scope)
        if core is not None:
            self.checker.data_only(core, "the time of an arrival")

    def _trigger(self, trigger: tree.Trigger) -> None:
        if trigger.event is not None:
            if trigger.event.text not in EVENTS:
                self.diagnostics.error(
                    "GSM1622",
                    f"unknown event `{trigger.event.text}`",
                    trigger.event.span,
                    "unknown",
                    help=did_you_mean(trigger.event.text, EVENTS)
                    or f"events are {', '.join(f'`{e}`' for e in EVENTS)}, or `every` and a time",
                )
            return
        assert trigger.every is not None
        if trigger.unit is not None:
            self._counted(trigger.every, "how often to replan")
            if trigger.unit.text not in _SLOT_WORDS:
                self.diagnostics.error(
                    "GSM1622",
                    f"`{trigger.unit.text}` is nothing to count between plans",
                    trigger.unit.span,
                    "unknown",
                    help="write `every 4 slots`, or a time: `every 15[min]`",
                )
            return
        core = self.checker.number(trigger.every)
        if core is None or not self.checker.data_only(core, "how often to replan"):
            return
        kind = numeric_type(core)
        assert kind is not None
        if kind.unit != DIMENSIONLESS and not convertible(kind.unit, UNITS["s"]):
            self.diagnostics.error(
                "GSM1302",
                f"units do not agree: `{unit_in(core)}` where a time is needed",
                core.span,
                f"this is in `{unit_in(core)}`",
            )

    def _carry(self, statement: tree.Carry) -> None:
        target = self.model.params.get(statement.target.text)
        self._once(f"carry {statement.target.text}", statement.span)
        if target is None and statement.target.text in self.lost:
            return
        if target is None or target.value is not None:
            where = self.checker.symbols.span_of(statement.target.text)
            reason = "derived by the model" if target is not None else "no parameter of the model"
            self.diagnostics.error(
                "GSM1623",
                f"`{statement.target.text}` cannot be carried: it is {reason}",
                statement.target.span,
                reason,
                secondary=[] if where is None else [Label(where, "declared here")],
                help=did_you_mean(statement.target.text, self.model.params) if target is None else None,
            )
            return
        slots = slots_of(target)
        names = statement.indices
        if len(names) != len(slots):
            place = names[0].span.to(names[-1].span) if names else statement.target.span
            self.diagnostics.error(
                "GSM1201",
                f"`{target.name}` has {len(slots) or 'no'} subscript{'' if len(slots) == 1 else 's'}, "
                f"{len(names) or 'none'} given",
                place,
                f"{len(names) or 'none'} given",
                secondary=[Label(target.span, f"`{target.name}` is declared here")],
            )
            return
        scope: Scope = EMPTY
        bound: dict[str, Span] = {}
        for name, slot in zip(names, slots, strict=True):
            if name.text in bound:
                self.diagnostics.error(
                    "GSM1105",
                    f"index `{name.text}` is named twice",
                    name.span,
                    "again",
                    secondary=[Label(bound[name.text], "first here")],
                )
            bound.setdefault(name.text, name.span)
            variable = IndexVar(name.text, slot.type, name.span)
            scope = scope.bind(name.text, Binding(variable, slot.domain, slot.component))
        because = None
        if isinstance(target.type, Numeric):
            because = because_declared(target.name, target.span, target.type.unit)
        self.checker.value(statement.value, target.type, scope, because=because)


def _reference(expr: tree.Expr) -> str | None:
    """The name that an expression is a reference to."""
    if isinstance(expr, tree.Subscript):
        return expr.name.text
    return expr.text if isinstance(expr, tree.Name) else None
