"""Name checks of `policy` blocks. Policies run in a later version; what they say is checked now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import EMPTY, ExpressionChecker, ExtraName, Scope, Symbols, check_model
from gpusched_dsl.language.checking.circles import report_circle
from gpusched_dsl.language.checking.declarations import check_let
from gpusched_dsl.language.checking.flatten import HasModels
from gpusched_dsl.language.diagnostics import Diagnostics, Label, did_you_mean
from gpusched_dsl.language.outlines.rules import RULES, WEIGHTS, RuleShape
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS


class HasPolicies(HasModels, Protocol):
    """What is needed of a workspace here."""

    @property
    def policies(self) -> Mapping[str, tree.Policy]: ...


def check_policy(workspace: HasPolicies, policy: tree.Policy, diagnostics: Diagnostics) -> bool:
    """Whether a policy is sound; reports GSM161x, unknown names, wrong types and units."""
    found = Diagnostics()
    chain = _chain(workspace, policy, found)
    model = _model(workspace, chain, found) if chain is not None else None
    if chain is not None and model is not None:
        _PolicyChecker(model, found, workspace.lost).run(chain)
    diagnostics.extend(found)
    return not found.has_errors


def _chain(workspace: HasPolicies, policy: tree.Policy, diagnostics: Diagnostics) -> list[tree.Policy] | None:
    """The policy preceded by all that it extends, the oldest first."""
    chain = [policy]
    while (base := chain[-1].extends) is not None:
        found = workspace.policies.get(base.text)
        if found is None and workspace.may_hold(base.text):
            return None
        if found is None:
            diagnostics.error(
                "GSM1610",
                f"`{chain[-1].name.text}` extends the unknown policy `{base.text}`",
                base.span,
                "no such policy",
                help=did_you_mean(base.text, workspace.policies) or "is the `import` of its file missing?",
            )
            return None
        if found in chain:
            report_circle("GSM1611", "policy", chain[chain.index(found) :], diagnostics)
            return None
        chain.append(found)
    return chain[::-1]


def _model(workspace: HasPolicies, chain: Sequence[tree.Policy], diagnostics: Diagnostics) -> CheckedModel | None:
    """The model of the newest policy that names one."""
    name = next((p.model for p in reversed(chain) if p.model is not None), None)
    if name is None:
        policy = chain[-1].name
        diagnostics.error(
            "GSM1612",
            f"policy `{policy.text}` is for no model",
            policy.span,
            "for which model?",
            help=f"write `policy {policy.text} for Model {{ ... }}`",
        )
        return None
    return model_of(workspace, name, diagnostics)


def model_of(workspace: HasModels, name: tree.Identifier, diagnostics: Diagnostics) -> CheckedModel | None:
    """The model with the defaults of its options; its own errors are reported where it is checked itself."""
    if name.text not in workspace.models and workspace.may_hold(name.text):
        return None
    if name.text not in workspace.models:
        diagnostics.error(
            "GSM1107",
            f"unknown model `{name.text}`",
            name.span,
            "no such model",
            help=did_you_mean(name.text, workspace.models) or "is the `import` of its file missing?",
        )
        return None
    return check_model(workspace, name.text, {}, Diagnostics())


class _PolicyChecker:
    """Reads the statements of a chain of policies, oldest first: a later line takes the place of an inherited one."""

    def __init__(self, model: CheckedModel, diagnostics: Diagnostics, lost: Mapping[str, Span]) -> None:
        extras = {"now": ExtraName(None), "remaining": ExtraName(None)}
        self.model = model
        self.diagnostics = diagnostics
        self.symbols = Symbols.of(model, {n: e for n, e in extras.items() if n not in model.params})
        self.symbols.poisoned.update(lost)
        self.checker = ExpressionChecker(self.symbols, diagnostics)
        self.queue: Scope = EMPTY  # the index that `order` runs over, known to all rules after it

    def run(self, chain: Sequence[tree.Policy]) -> None:
        own: set[str] = set()
        for policy in chain:
            seen: dict[str, Span] = {}
            for statement in policy.statements:
                if isinstance(statement, tree.LetDecl):
                    self._let(statement, own)
                    own.add(statement.name.text)
            ordered = sorted(
                (s for s in policy.statements if isinstance(s, tree.PolicyRule)), key=lambda s: s.verb != "order"
            )
            for statement in ordered:
                self._once(statement, seen)
                self._rule(statement)

    def _let(self, statement: tree.LetDecl, own: set[str]) -> None:
        name = statement.name
        taken = self.symbols.span_of(name.text)
        if taken is not None and name.text not in own:
            self.diagnostics.error(
                "GSM1103",
                f"`{name.text}` is declared twice",
                name.span,
                "again",
                secondary=[Label(taken, "first here")],
                help="give one of them another name",
            )
            return
        checked = check_let(self.checker, statement)
        if checked is None:
            self.symbols.poisoned[name.text] = name.span
        elif self.checker.data_only(checked.value, f"`{name.text}` of a policy"):
            self.symbols.values[name.text] = checked

    def _once(self, rule: tree.PolicyRule, seen: dict[str, Span]) -> None:
        what = rule.verb if rule.target is None else f"{rule.verb} {rule.target.text}"
        if what in seen:
            self.diagnostics.error(
                "GSM1613",
                f"`{what}` stands twice in one policy",
                rule.span,
                "again",
                secondary=[Label(seen[what], "first here")],
                help="keep one of them",
            )
        seen.setdefault(what, rule.span)

    def _rule(self, rule: tree.PolicyRule) -> None:
        if rule.verb in ("order", "choose", "otherwise"):
            _, scope = self.checker.indexing(rule.indexing, EMPTY if rule.verb == "order" else self.queue)
            for key in rule.keys:
                self._number(key.value, scope, f"a key of `{rule.verb}`")
            if rule.verb == "order":
                self.queue = scope
        elif rule.verb == "randomise":
            self._randomise(rule)
        elif rule.verb == "repeat":
            self._plain(rule.count, "the number of repetitions")
            for kept in rule.rules:
                self._kept(kept)
        else:
            self._plain(rule.count, "how many are improved")
            for named in rule.rules:
                self._named(named, rule.verb)

    def _number(self, expr: tree.Expr, scope: Scope, where: str) -> None:
        core = self.checker.number(expr, scope)
        if core is not None:
            self.checker.data_only(core, where)

    def _plain(self, expr: tree.Expr | None, where: str, scope: Scope = EMPTY) -> None:
        if expr is None:
            return
        core = self.checker.number(expr, scope, unit=DIMENSIONLESS)
        if core is not None:
            self.checker.data_only(core, where)

    def _randomise(self, rule: tree.PolicyRule) -> None:
        self._plain(rule.count, "the length of a list")
        self._plain(rule.probability, "a probability", self.queue)
        words = [word for word in rule.by if word.text != "inverse"]
        for word in words:
            if word.text not in WEIGHTS:
                self.diagnostics.error(
                    "GSM1615",
                    f"unknown weight `{word.text}` of a draw",
                    word.span,
                    "unknown",
                    help=did_you_mean(word.text, WEIGHTS) or f"weights are {_listed(WEIGHTS)}, or `inverse` of them",
                )
        if rule.by and len(words) != 1:
            self.diagnostics.error(
                "GSM1615",
                "a draw goes by one weight",
                rule.by[0].span.to(rule.by[-1].span),
                "one weight needed",
                help="such as `by inverse cost`",
            )

    def _kept(self, rule: tree.Rule) -> None:
        """`best total`: by which value of the model the best is told."""
        first, *rest = rule.words
        known = [o.name for o in self.model.objectives if o.name is not None]
        known += [t.name for o in self.model.objectives for t in o.terms if t.name is not None]
        if first.text != "best" or len(rest) != 1 or rule.arguments or rule.by is not None:
            self.diagnostics.error(
                "GSM1614",
                f"`{rule.span.text}` does not say what is kept",
                rule.span,
                "not understood",
                help=f"write `keep best {known[0] if known else 'objective'}`",
            )
        elif rest[0].text not in known:
            self.diagnostics.error(
                "GSM1101",
                f"unknown objective or term `{rest[0].text}`",
                rest[0].span,
                "not declared",
                help=did_you_mean(rest[0].text, known) or f"the model has {_listed(known)}",
            )

    def _named(self, rule: tree.Rule, verb: str) -> None:
        known = RULES[verb]
        first, *modifiers = rule.words
        shape = known.get(first.text)
        if shape is None:
            elsewhere = [v for v, rules in RULES.items() if first.text in rules]
            self.diagnostics.error(
                "GSM1614",
                f"unknown rule `{first.text}` after `{verb}`",
                first.span,
                "unknown",
                notes=[f"`{first.text}` belongs after `{v}`" for v in elsewhere],
                help=did_you_mean(first.text, known) or f"rules after `{verb}` are {_listed(known)}",
            )
            return
        for word in modifiers:
            if word.text not in shape.modifiers:
                self._not_with(first, word.span, f"`{word.text}`", sorted(shape.modifiers))
        if rule.by is not None and rule.by.text not in shape.by:
            self._not_with(first, rule.by.span, f"`by {rule.by.text}`", [f"by {w}" for w in sorted(shape.by)])
        self._arguments(rule, first, shape)

    def _arguments(self, rule: tree.Rule, first: tree.Identifier, shape: RuleShape) -> None:
        for argument in rule.arguments:
            self._plain(argument, f"`{first.text}`")
        if len(rule.arguments) > shape.arguments:
            span = rule.arguments[shape.arguments].span.to(rule.arguments[-1].span)
            takes = f"at most {shape.arguments} argument" if shape.arguments else "no arguments"
            self.diagnostics.error("GSM1614", f"rule `{first.text}` takes {takes}", span, "too many")

    def _not_with(self, first: tree.Identifier, span: Span, what: str, known: Sequence[str]) -> None:
        self.diagnostics.error(
            "GSM1614",
            f"{what} cannot stand with rule `{first.text}`",
            span,
            "not with this rule",
            help=f"with `{first.text}` may stand {_listed(known)}" if known else None,
        )


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
