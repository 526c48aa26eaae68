"""Rules and moves by name: `place best_fit, new_node exclusive;`, `finish grow by speedup;`, `swap_tardy_any(5)`."""

from __future__ import annotations

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.rule_table import RULES, RuleShape, list_names, rules_after
from gpusched_dsl.language.blocks.policies.values import Values
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedRule
from gpusched_dsl.language.checking import Scope
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


class NamedRules:
    """Reads the rules of a line against the tables of `rules.py` and the names that other packages add; GSM1614."""

    def __init__(self, values: Values, diagnostics: Diagnostics) -> None:
        self.values = values
        self.diagnostics = diagnostics

    def of(self, line: tree.PolicyRule, scope: Scope) -> tuple[CheckedRule, ...]:
        """Return the valid rules of a line; `scope` is that of the expression after `by`."""
        return tuple(r for rule in line.rules if (r := self._one_rule(rule, line.verb, scope)) is not None)

    def _one_rule(self, rule: tree.Rule, verb: str, scope: Scope) -> CheckedRule | None:
        first, *modifiers = rule.words
        checked = CheckedRule(
            first.text, rule.span, tuple(w.text for w in modifiers), by=None if rule.by is None else rule.by.text
        )
        if rule.key is not None:
            key = self.values.key(rule.key, f"a key of `{first.text}`", scope)
            if key is None:
                return None
            checked = structs.replace(checked, key=key)
        shape = RULES[verb].get(checked.text)
        if shape is None and checked.text not in rules_after(verb):
            self._unknown_rule(rule, verb)
            return None
        return structs.replace(checked, arguments=self._arguments(rule, first, shape))

    def _arguments(self, rule: tree.Rule, first: tree.Identifier, shape: RuleShape | None) -> tuple[TypedExpr, ...]:
        """Check the integers for the parameters of a rule; a rule of another package checks its own arguments."""
        where = f"`{first.text}`"
        if shape is None:
            return tuple(c for a in rule.arguments if (c := self.values.plain(a, where)) is not None)
        at_most = len(shape.parameters)
        if len(rule.arguments) > at_most:
            takes = f"at most {at_most} argument{'' if at_most == 1 else 's'}" if at_most else "no arguments"
            span = rule.arguments[at_most].span.to(rule.arguments[-1].span)
            names = ", ".join(f"{p.name}: {p.meaning}" for p in shape.parameters)
            self.diagnostics.error(
                "GSM1614", f"rule {where} has {takes}", span, "too many", help=names or "remove the brackets"
            )
        return tuple(c for a in rule.arguments if (c := self.values.integer(a, where)) is not None)

    def _unknown_rule(self, rule: tree.Rule, verb: str) -> None:
        first, *modifiers = rule.words
        known = rules_after(verb)
        alike = [text for text in known if text.split()[0] == first.text]
        if not alike:
            names = list(dict.fromkeys(text.split()[0] for text in known))
            elsewhere = [v for v, rules in RULES.items() if any(t.split()[0] == first.text for t in rules)]
            near = did_you_mean(first.text, names)
            self.diagnostics.error(
                "GSM1614",
                f"unknown rule `{first.text}` after `{verb}`",
                first.span,
                "unknown",
                notes=[f"`{first.text}` belongs after `{v}`" for v in elsewhere]
                + ([f"rules after `{verb}` are {list_names(known)}"] if near else []),
                help=near or f"rules after `{verb}` are {list_names(known)}",
            )
            return
        fitting = f"write {list_names(alike, ' or ')}"
        words = {word for text in alike for word in text.partition(" by ")[0].split()[1:]}
        ends = {text.partition(" by ")[2] for text in alike}
        wrong = [w.span for w in modifiers if w.text not in words]
        if rule.by is not None and rule.by.text not in ends:
            wrong.append(rule.by.span)
        if rule.key is not None and "key" not in ends:
            wrong.append(rule.key.span)
        for span in wrong:
            by = span in (rule.by and rule.by.span, rule.key and rule.key.span)
            what = f"`by {span.text}`" if by else f"`{span.text}`"
            self.diagnostics.error(
                "GSM1614", f"{what} is not allowed with rule `{first.text}`", span, "not with this rule", help=fitting
            )
        if not wrong:
            self.diagnostics.error(
                "GSM1614", f"rule `{rule.span.text}` is incomplete", rule.span, "unknown", help=fitting
            )
