"""Checks `occupies`, `reserve`, `serve` and `fix`, the lines of policies for decisions with slots; GSM1640."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions, slot_of
from gpusched_dsl.language.blocks.policies.rule_table import (
    GANG_SLOT_PLACE,
    MAIN_SLOT_RULES,
    RESERVE,
    SERVE,
    SLOT_PLACE,
    list_names,
    rules_of,
)
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    IndexRef,
    IndexVar,
    LetRef,
    TypedExpr,
    TypedIndexing,
    VariableRef,
)
from gpusched_dsl.language.checked_policy import CheckedFix, CheckedLoads, CheckedRule, CheckedSlots
from gpusched_dsl.language.checking import ExpressionChecker, Scope
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.conversion import fit, unit_in
from gpusched_dsl.language.checking.kinds import same_kind
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS

VERBS = ("occupies", "reserve", "serve", "fix")
BESIDE = ("order", "choose", "place")  # verbs of other policies that are also allowed in those for slots; gangs: `keep`


def check_lines(decisions: Decisions, rules: Mapping[str, tree.PolicyRule], diagnostics: Diagnostics) -> None:
    """Report GSM1640 for lines that are not allowed with slots, or with a model without slots."""
    placement = Label(decisions.placement.span, "the placement")
    slotted = slot_of(decisions) is not None
    gangs = decisions.placement.has_gangs
    beside, own_rules = (*BESIDE, "keep") if gangs else BESIDE, GANG_SLOT_PLACE if gangs else SLOT_PLACE
    for line in rules.values():
        if not slotted and line.verb in VERBS:
            message = f"`{line.verb}` needs decisions in slots, but the model has none"
            _report(diagnostics, line.span, message, "has no slot", "remove it", placement)
        elif slotted and line.verb not in (*VERBS, *beside):
            message = f"`{line.verb}` is not allowed in a policy for slots"
            _report(diagnostics, line.span, message, "not with slots", "remove it", placement)
        for rule in line.rules if line.verb == "place" else ():
            if (rule.words[0].text in rules_of("slots")) == slotted:
                continue
            name = rule.words[0].text
            message = f"`{name}` does not support slots" if slotted else f"`{name}` needs decisions in slots"
            help = (
                f"for {'gangs in slots' if gangs else 'slots'} there are {list_names(own_rules)}"
                if slotted
                else "state the index of the slot in the placement"
            )
            _report(diagnostics, rule.span, message, "does not fit this model", help, placement)
    if slotted:
        _check_main_rule(rules, own_rules, diagnostics, placement)
    choose = rules.get("choose")
    sums = not gangs and any(r.words[0].text == "cheapest_block" for r in _place_rules(rules))  # gangs: `gangs.py`
    if slotted and choose is not None and sums:
        for key in choose.keys[1:] or [k for k in choose.keys if k.descending]:
            message = "`cheapest_block` needs one key, in ascending order, and sums it over slots"
            _report(diagnostics, key.span, message, "not one ascending key", "remove this")
    missing = [v for v in ("choose", "occupies") if v not in rules]
    if slotted and "order" in rules and missing:
        help = "such as `choose k in Nodes, h in Slots by price[h];`, `occupies slots_needed[j];`"
        span = rules["order"].span
        _report(
            diagnostics, span, f"a policy for slots needs a line {list_names(missing, ' and a line ')}", "missing", help
        )


def _check_main_rule(
    rules: Mapping[str, tree.PolicyRule], own: Iterable[str], diagnostics: Diagnostics, placement: Label
) -> None:
    """Report GSM1640 unless one rule says in which slots jobs run, with the others beside it."""
    found = [rule for rule in _place_rules(rules) if rule.words[0].text in MAIN_SLOT_RULES]
    known = [rule for rule in _place_rules(rules) if rule.words[0].text in rules_of("slots")]
    main = [text for text in own if text.split()[0] in MAIN_SLOT_RULES]
    if known and not found:
        message = f"`{known[0].words[0].text}` is for a rule that places jobs in slots, and there is none"
        help = f"add one of {list_names(main)}"
        _report(diagnostics, known[0].span, message, "not by itself", help, placement)
    for rule in found[1:]:
        message = f"`place` has a second rule for all slots, and `{found[0].words[0].text}` places the jobs"
        _report(diagnostics, rule.span, message, "never used", "remove one of them", Label(found[0].span, "the first"))


def _place_rules(rules: Mapping[str, tree.PolicyRule]) -> tuple[tree.Rule, ...]:
    return rules["place"].rules if "place" in rules else ()


class SlotLines:
    """Checks the lines one by one; `result` returns them together."""

    def __init__(self, checker: ExpressionChecker, model: CheckedModel, decisions: Decisions) -> None:
        self.checker, self.model, self.decisions = checker, model, decisions
        self.occupies: TypedExpr | None = None
        self.loads: dict[str, CheckedLoads] = {}
        self.fixes: list[CheckedFix] = []

    def result(self) -> CheckedSlots | None:
        slot, node = slot_of(self.decisions), self.decisions.node
        if slot is None or node is None or self.occupies is None:
            return None
        return CheckedSlots(
            node, slot, self.occupies, self.loads.get("reserve"), self.loads.get("serve"), tuple(self.fixes)
        )

    def occupy(self, rule: tree.PolicyRule, job_and_node: Scope) -> None:
        assert rule.value is not None
        expr = self.checker.number(rule.value, job_and_node, unit=DIMENSIONLESS)
        if expr is None or not self.checker.data_only(expr, "`occupies`"):
            return
        if self.decisions.placement.has_gangs or self.checker.require_integer(expr):  # of gangs it is rounded up
            self.occupies = expr

    def load(self, rule: tree.PolicyRule) -> None:
        """Check a line `reserve` or `serve`."""
        indexing, scope = self.checker.indexing(rule.indexing)
        assert rule.value is not None
        variable = None if rule.target is None else self.model.variables.get(rule.target.text)
        load = self.checker.number(rule.value, scope, unit=None if variable is None else variable.type.unit)
        if indexing is None or load is None or not self.checker.data_only(load, f"the load of `{rule.verb}`"):
            return
        if rule.target is not None and not self._has_indices(rule.target, indexing):
            return
        checked_rule = self._rule(rule.rules[0], rule.verb, load, scope)
        service = self._service(rule, indexing)
        if checked_rule is None or service is None:
            return
        by_name = {v.name: v for v in indexing.variables}
        node, slot = self.decisions.node, slot_of(self.decisions)
        assert node is not None
        assert slot is not None
        if not self._check_independence(indexing, by_name[node.name], by_name[slot.name], load, checked_rule):
            return
        target = None if rule.target is None else rule.target.text
        self.loads[rule.verb] = CheckedLoads(
            rule.span, indexing, service, by_name[node.name], by_name[slot.name], load, checked_rule, target
        )

    def fix(self, rule: tree.PolicyRule, lines: Mapping[str, tree.PolicyRule]) -> None:
        """Fix a family of variables by an expression that may read the earlier values of the plan."""
        assert rule.target is not None
        assert rule.value is not None
        name = rule.target
        indexing, scope = self.checker.indexing(rule.indexing)
        if indexing is None or not self._has_indices(name, indexing):
            return
        variable = self.model.variables[name.text]
        value = self.checker.number(
            rule.value, scope, unit=variable.type.unit, because=Label(variable.span, "declared")
        )
        if value is None:
            return
        decided = [self.decisions.placement.variable]
        for line in lines.values():
            if line is rule:
                break
            decided += [line.target.text] if line.verb in ("serve", "fix") and line.target is not None else []
        for part in _variables(value, self.model.lets):
            if part.name not in decided:
                help = f"values of the plan that are known here: {list_names(decided)}"
                self._wrong(part.span, f"the plan does not decide `{part.name}` before this line", "no value yet", help)
                return
        self.fixes.append(CheckedFix(name.text, rule.span, indexing, value))

    # --- parts -------------------------------------------------------------------------------------------------------

    def _rule(self, rule: tree.Rule, verb: str, load: TypedExpr, scope: Scope) -> CheckedRule | None:
        table = RESERVE if verb == "reserve" else SERVE
        text = " ".join(w.text for w in rule.words)
        shape = table.get(text)
        if shape is None or rule.by is not None or rule.key is not None:
            help = did_you_mean(text, table) or f"there are {list_names(table)}"
            self._wrong(rule.span, f"`{rule.span.text}` is not a rule for serving loads", "unknown", help, "GSM1614")
            return None
        parameters = (*shape.parameters, *shape.optional)
        if not len(shape.parameters) <= len(rule.arguments) <= len(parameters):
            parameters_text = ", ".join(f"{p.name}: {p.meaning}" for p in parameters) or "remove the brackets"
            numbers = " or ".join(str(n) for n in range(len(shape.parameters), len(parameters) + 1))
            what = f"`{text}` has {numbers} argument{'' if numbers == '1' else 's'}"
            self._wrong(rule.span, what, f"{len(rule.arguments)} given", parameters_text, "GSM1614")
            return None
        found: list[TypedExpr] = []
        for parameter, argument in zip(parameters, rule.arguments, strict=False):
            expr = self.checker.number(argument, scope)
            if expr is None or not self.checker.data_only(expr, f"`{text}`"):
                return None
            unit = {
                "load": unit_in(load),
                "per load": DIMENSIONLESS / unit_in(load),
                "cost per load": unit_in(found[1]) / unit_in(load) if len(found) > 1 else None,
            }.get(parameter.default)
            fitted = expr if unit is None else fit(self.checker, expr, unit, because=Label(load.span, "the load"))
            if fitted is None:
                return None
            found.append(fitted)
        first, *modifiers = rule.words
        return CheckedRule(first.text, rule.span, tuple(w.text for w in modifiers), tuple(found))

    def _check_independence(
        self, indexing: TypedIndexing, node: IndexVar, slot: IndexVar, load: TypedExpr, rule: CheckedRule
    ) -> bool:
        """Check that loads are the same for all nodes, that arguments are the same in all slots, and so are
        conditions.
        """
        parts = [(load, node, "a load must be the same for all nodes")]
        parts += [
            (expr, slot, f"the arguments of `{rule.text}` must be the same in all slots") for expr in rule.arguments
        ]
        if rule.text == "pools":
            parts.append((rule.arguments[1], node, "the bound of a service must be the same on all nodes"))
        for expr, index, message in parts:
            if index in _indices_in(expr):
                self._wrong(expr.span, message, f"depends on `{index.name}`", "use the other indices")
                return False
        for condition in indexing.conditions:
            if {node, slot} <= _indices_in(condition):
                message = "a condition here must depend on the node or on the slot, not on both"
                self._wrong(condition.span, message, "depends on both", "split it into two conditions")
                return False
        return True

    def _service(self, rule: tree.PolicyRule, indexing: TypedIndexing) -> IndexVar | None:
        """Return the index that is neither node nor slot."""
        node, slot = self.decisions.node, slot_of(self.decisions)
        if node is None or slot is None:
            return None
        names = {v.name: v for v in indexing.variables if v.name != IGNORED}
        right = all(i.name in names and same_kind(names[i.name].type, i.type) for i in (node, slot))
        others = [v for name, v in names.items() if name not in (node.name, slot.name)]
        if not right or len(others) != 1 or len(indexing.variables) != 3:
            assert rule.indexing is not None
            self._wrong(
                rule.indexing.span,
                f"`{rule.verb}` needs three indices: a service, the node `{node.name}` and the slot `{slot.name}`",
                "not these three",
                f"as in `{rule.verb} i in Services, {node.name} in Nodes, {slot.name} in Slots`",
            )
            return None
        return others[0]

    def _has_indices(self, name: tree.Identifier, indexing: TypedIndexing) -> bool:
        variable = self.model.variables.get(name.text)
        if variable is None:
            help = did_you_mean(name.text, self.model.variables) or f"there are {list_names(self.model.variables)}"
            self._wrong(name.span, f"unknown variable `{name.text}`", "not declared", help, "GSM1101")
            return False
        if name.text == self.decisions.placement.variable:
            self._wrong(name.span, f"`{name.text}` is decided by `place`", "decided already", "remove it")
            return False
        variables = variable.indexing.variables
        same = len(variables) == len(indexing.variables) and all(
            same_kind(a.type, b.type) for a, b in zip(variables, indexing.variables, strict=True)
        )
        if not same:
            text = ", ".join(v.name for v in variables)
            self._wrong(
                name.span, f"`{name.text}` has other indices", "other indices", f"list those of `{name.text}[{text}]`"
            )
        return same

    def _wrong(self, span: Span, message: str, label: str, help: str, code: str = "GSM1640") -> None:
        _report(self.checker.diagnostics, span, message, label, help, code=code)


def _indices_in(expr: TypedExpr) -> set[IndexVar]:
    """Return the indices in an expression."""
    return {part.variable for part in walk(expr) if isinstance(part, IndexRef)}


def _variables(
    expr: TypedExpr, lets: Mapping[str, CheckedLet], seen: frozenset[str] = frozenset()
) -> Iterator[VariableRef]:
    """Return all variables that an expression reads, also through `let`s."""
    for part in walk(expr):
        if isinstance(part, VariableRef):
            yield part
        elif isinstance(part, LetRef) and part.name not in seen and part.name in lets:
            yield from _variables(lets[part.name].value, lets, seen | {part.name})


def _report(
    diagnostics: Diagnostics, span: Span, message: str, label: str, help: str, also: Label | None = None,
    code: str = "GSM1640",
) -> None:  # fmt: skip
    diagnostics.error(code, message, span, label, secondary=[] if also is None else [also], help=help)
