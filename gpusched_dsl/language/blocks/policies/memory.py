"""`remember` and `again`: values that a policy keeps for its next plan, and the time of that plan; GSM1641."""

from __future__ import annotations

from collections.abc import Iterable

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.blocks.policies.scope import bound_placement, clock_unit
from gpusched_dsl.language.checked import CheckedModel, IndexVar, Numeric
from gpusched_dsl.language.checked_policy import CheckedAgain, CheckedMemory, CheckedRanking
from gpusched_dsl.language.checking import Binding, ExpressionChecker, Scope
from gpusched_dsl.language.checking.conversion import because_declared
from gpusched_dsl.language.checking.kinds import same_kind
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean

VERBS = ("remember", "again")  # read when all that lists ways has been


class MemoryLines:
    """Reads the two lines.

    They see a job and where and how it is placed: every index of the placement, and the type of node by the name that
    `choose` or `otherwise` gives it.
    """

    def __init__(self, checker: ExpressionChecker, model: CheckedModel, decisions: Decisions) -> None:
        self.checker, self.model, self.decisions = checker, model, decisions

    def remember(self, rule: tree.PolicyRule, queue: Scope, rankings: Iterable[CheckedRanking]) -> CheckedMemory | None:
        """`remember target = value;`; None where that was reported."""
        assert rule.target is not None
        assert rule.value is not None
        scope, node_types = self._scope(queue, rankings)
        target = self.model.params.get(rule.target.text)
        if target is None and rule.target.text in self.checker.symbols.poisoned:
            return None
        slots = () if target is None else slots_of(target)
        if target is None:
            reason = "is not a parameter of the model"
        elif target.value is not None:
            reason = "is derived from other data"
        elif len(slots) != 1 or not same_kind(slots[0].type, self.decisions.job.type):
            reason = "is not indexed by jobs"
        elif not isinstance(target.type, Numeric):
            reason = "is not a number"
        else:
            because = because_declared(target.name, target.span, target.type.unit)
            value = self.checker.value(rule.value, target.type, scope, because=because)
            if value is None or not self.checker.data_only(value, "the remembered value of a policy"):
                return None
            return CheckedMemory(target.name, rule.span, value, node_types)
        where = self.checker.symbols.span_of(rule.target.text)
        self.checker.diagnostics.error(
            "GSM1641",
            f"`{rule.target.text}` cannot be remembered: it {reason}",
            rule.target.span,
            reason.removeprefix("is "),
            secondary=[] if where is None else [Label(where, "declared here")],
            help=(did_you_mean(rule.target.text, self.model.params) if target is None else None)
            or "declare a numeric parameter of each job in the model, with the choice of the last plan",
        )
        return None

    def again(self, rule: tree.PolicyRule, queue: Scope, rankings: Iterable[CheckedRanking]) -> CheckedAgain | None:
        """`again after time where condition;`; None where that was reported."""
        assert rule.value is not None
        scope, node_types = self._scope(queue, rankings)
        after = self.checker.number(rule.value, scope, unit=clock_unit(self.model))
        if after is None or not self.checker.data_only(after, "the time until a policy plans again"):
            return None
        condition = None
        if rule.condition is not None:
            condition = self.checker.condition(rule.condition, scope)
            if condition is None or not self.checker.data_only(condition, "a condition of `again`"):
                return None
        return CheckedAgain(rule.span, after, condition, node_types)

    def _scope(self, queue: Scope, rankings: Iterable[CheckedRanking]) -> tuple[Scope, tuple[IndexVar, ...]]:
        """Return the scope of the lines, and its names of the type of node."""
        scope = bound_placement(self.model, self.decisions, queue)
        node_types: list[IndexVar] = []
        for ranking in rankings:
            for iterator in ranking.indexing.iterators:
                for at, variable in enumerate(iterator.variables):
                    if variable is ranking.node_type:
                        if variable.name not in {k.name for k in node_types}:
                            node_types.append(variable)
                        scope = scope.bind(node_types[-1].name, Binding(node_types[-1], iterator.domain, at))
        return scope, tuple(node_types)
