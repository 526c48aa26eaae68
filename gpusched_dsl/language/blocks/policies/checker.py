"""The lines of one policy against one model: one small method per verb, each fills its fields of `CheckedPolicy`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.draws import check_draw
from gpusched_dsl.language.blocks.policies.gangs import check_gang_rules
from gpusched_dsl.language.blocks.policies.inheritance import PolicyLines
from gpusched_dsl.language.blocks.policies.memory import VERBS as LAST
from gpusched_dsl.language.blocks.policies.memory import MemoryLines
from gpusched_dsl.language.blocks.policies.names import (
    can_plan,
    decisions_of,
    extra_name,
    fits_configurations,
    fits_order,
    lists_nodes_only,
)
from gpusched_dsl.language.blocks.policies.portfolio import PortfolioLines, is_portfolio
from gpusched_dsl.language.blocks.policies.prices import PRICE, PriceFunction
from gpusched_dsl.language.blocks.policies.queues import check_queues
from gpusched_dsl.language.blocks.policies.rule_table import PRICES, list_names
from gpusched_dsl.language.blocks.policies.rules import NamedRules
from gpusched_dsl.language.blocks.policies.scope import bound_placement, clock, job_facts, one_job, with_node, with_slot
from gpusched_dsl.language.blocks.policies.slots import SlotLines
from gpusched_dsl.language.blocks.policies.slots import check_lines as check_slot_lines
from gpusched_dsl.language.blocks.policies.stages import check_stage, result_names
from gpusched_dsl.language.blocks.policies.standalone import check_standalone
from gpusched_dsl.language.blocks.policies.unequal_nodes import warn_of_idle_kinds
from gpusched_dsl.language.blocks.policies.values import Values
from gpusched_dsl.language.checked import CheckedLet, CheckedModel, CheckedParam, TypedIndexing
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking, CheckedRule, CheckedStage
from gpusched_dsl.language.checking import ExpressionChecker, Scope, Symbols
from gpusched_dsl.language.checking.declarations import check_let
from gpusched_dsl.language.checking.dependencies import order
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


class PolicyChecker:
    """Checks the effective lines of a policy after inheritance.

    `partial`: a part of the policy or the model could not be read, so missing lines are not reported. `known` are the
    names of all solvers and policies, None where they are not known. A new verb is a line of `verbs` and a method that
    sets its `fields` of `CheckedPolicy`.
    """

    def __init__(
        self,
        workspace: Workspace,
        model: CheckedModel,
        diagnostics: Diagnostics,
        partial: bool,
        known: Collection[str] | None = None,
    ) -> None:
        lost = workspace.lost
        self.workspace, self.known = workspace, known
        self.model = model
        self.diagnostics = diagnostics
        self.partial = partial
        self.symbols = Symbols.of(model)
        self.symbols.poisoned.update(lost)
        self.decisions = decisions_of(model)
        self.prices = PriceFunction(model, self.decisions)
        self.checker = ExpressionChecker(self.symbols, diagnostics, functions={PRICE: self.prices})
        self.values = Values(self.checker)
        self.rules = NamedRules(self.values, diagnostics)
        self.queue = one_job(model, self.decisions)  # the job, known to all lines after `order`
        self.stages: list[CheckedStage] = []
        self.fields: dict[str, Any] = {"draws": {}}
        self.verbs: dict[str, Callable[[tree.PolicyRule], None]] = {
            "order": self._order,
            "choose": self._configurations,
            "otherwise": self._configurations,
            "place": self._rules,
            "finish": self._rules,
            "keep": self._rules,
            "randomise": self._randomise,
            "repeat": self._repeat,
            "improve": self._improve,
            "split": self._split,
            "occupies": self._slots,
            "reserve": self._slots,
            "serve": self._slots,
            "fix": self._slots,
            "remember": self._remember,
            "again": self._again,
        }
        self.lines = PolicyLines()
        self.slots = None if self.decisions is None else SlotLines(self.checker, model, self.decisions)
        self.memory = None if self.decisions is None else MemoryLines(self.checker, model, self.decisions)

    def run(self, policy: tree.Policy, lines: PolicyLines) -> CheckedPolicy | None:
        """Return the checked policy; None, or an unusable policy, if errors were reported."""
        self._has_decisions(policy)
        lets = self._lets(policy.name.span, lines)
        if is_portfolio(lines.rules):
            return self._portfolio(policy, lines, lets)
        self._has_lines(policy, lines.rules)
        if self.decisions is not None:
            check_queues(self.decisions, lines.rules, self.diagnostics)
            check_standalone(self.decisions, lines.rules, self.diagnostics)
            check_gang_rules(self.decisions, lines.rules, self.diagnostics)
            check_slot_lines(self.decisions, lines.rules, self.diagnostics)
        self.lines = lines
        for rule in sorted(lines.rules.values(), key=lambda r: (r.verb != "order", r.verb in LAST)):
            self.verbs[rule.verb](rule)
        if "order" not in self.fields:
            return None
        if not {"choose", "otherwise"} & lines.rules.keys() and self.decisions is not None:
            # Only nodes remain to be chosen: a job has one configuration on each node, and all of them are listed.
            warn_of_idle_kinds(self.decisions, policy, lines.rules, self.diagnostics)
            self.fields["choose"] = CheckedRanking(policy.name.span, TypedIndexing(), ())
        self.fields["slots"] = None if self.slots is None else self.slots.result()
        return self._result(policy, lets)

    def _result(self, policy: tree.Policy, lets: dict[str, CheckedLet]) -> CheckedPolicy:
        return CheckedPolicy(
            name=policy.name.text,
            span=policy.name.span,
            model=structs.replace(
                self.model,
                lets={n: v for n, v in self.symbols.values.items() if isinstance(v, CheckedLet)},
                params={n: v for n, v in self.symbols.values.items() if isinstance(v, CheckedParam)},
            ),
            doc=policy.doc,
            lets=lets,
            prices=tuple(self.prices.found.values()),
            stages=tuple(self.stages),
            lines=self.lines.sources,
            **self.fields,
        )

    def _portfolio(self, policy: tree.Policy, lines: PolicyLines, lets: dict[str, CheckedLet]) -> CheckedPolicy | None:
        """Check a policy that follows others: it has no queue of its own."""
        self.lines = lines
        found = PortfolioLines(self.workspace, self.values, self.model, self.known).check(policy, lines.rules)
        if found is None:
            return None
        self.fields |= {"portfolio": found, "order": CheckedRanking(policy.name.span, TypedIndexing(), ())}
        return self._result(policy, lets)

    # --- required parts ----------------------------------------------------------------------------------------------

    def _has_decisions(self, policy: tree.Policy) -> None:
        if self.decisions is not None:
            can_plan(self.decisions, policy, self.diagnostics)
        if self.decisions is not None or self.partial:
            return
        placed = self.model.placement
        none = placed is None
        self.diagnostics.error(
            "GSM1618",
            f"model `{self.model.name}` has no placement: policy `{policy.name.text}` has no decisions"
            if none
            else f"the placement of model `{self.model.name}` does not state the index of the job",
            policy.name.span,
            "assigns jobs to nodes",
            secondary=[Label(self.model.span if placed is None else placed.span, "here")],
            help="state the meaning of the decisions in the model: `placement run[j, n] { job j;  node n;  ... }`"
            if none
            else "state it in the placement, as in `job j;`",
        )

    def _has_lines(self, policy: tree.Policy, rules: Mapping[str, tree.PolicyRule]) -> None:
        if self.partial:
            return
        examples = {"order": "order j in Jobs by deadline[j];", "place": "place best_fit, new_node;"}
        ways = self.decisions.choices if self.decisions is not None else ()
        if ways or "otherwise" in rules:
            examples["choose"] = "choose (v, g) in Configs by cost[v, g];"
        missing = [verb for verb in examples if verb not in rules]
        if missing:
            self.diagnostics.error(
                "GSM1617",
                f"policy `{policy.name.text}` lacks the line {list_names(missing)}",
                policy.name.span,
                "not complete",
                help=f"add it, as in `{examples[missing[0]]}`, or extend a policy that has it",
            )

    # --- names -------------------------------------------------------------------------------------------------------

    def _lets(self, span: Span, lines: PolicyLines) -> dict[str, CheckedLet]:
        """Check `let`s and stages (with parameters as results), each after its dependencies."""
        declared: list[tree.LetDecl | tree.PolicyStage] = []
        results: dict[str, str] = {}
        names: dict[str, Span] = {}
        written: list[tree.LetDecl | tree.PolicyStage] = [*lines.lets.values(), *lines.stages.values()]
        for declaration in written:
            name = declaration.name
            own = [] if isinstance(declaration, tree.LetDecl) else result_names(declaration)
            taken = {n: at for n in (name.text, *own) if (at := self.symbols.span_of(n) or names.get(n)) is not None}
            for word, first in taken.items():
                self.diagnostics.error(
                    "GSM1103",
                    f"`{word}` is declared twice",
                    name.span,
                    "again" if word == name.text else f"declared again by `{name.text}`",
                    secondary=[Label(first, "first here")],
                    help="give one of them another name",
                )
            if not taken:
                declared.append(declaration)
                results.update(dict.fromkeys(own, name.text))
                names.update(dict.fromkeys((name.text, *own), name.span))
        of_decision = clock(self.model, self.decisions, span) | job_facts(self.model, self.decisions, span)
        for given in of_decision.values():
            if given.name not in names and self.symbols.span_of(given.name) is None:
                self.symbols.values[given.name] = given
        ordered = order([*declared], self.diagnostics, results)
        self.symbols.poisoned.update(ordered.circular)
        self.symbols.poisoned.update({r: names[r] for r, stage in results.items() if stage in ordered.circular})
        self.symbols.upcoming.update(names)
        checked: dict[str, CheckedLet] = {}
        for declared_one in ordered.declarations:
            name = declared_one.name
            if isinstance(declared_one, tree.PolicyStage):
                self._stage(declared_one)
                continue
            assert isinstance(declared_one, tree.LetDecl)
            let = check_let(self.checker, declared_one)
            if let is None or not self.checker.data_only(let.value, f"`{name.text}` of a policy"):
                self.symbols.poisoned[name.text] = name.span
            else:
                self.symbols.values[name.text] = checked[name.text] = let
        return checked

    def _stage(self, node: tree.PolicyStage) -> None:
        """Check a subproblem that is solved before the queue; later lines can read its results."""
        stage = check_stage(self.checker, node)
        if stage is None:
            self.symbols.poisoned.update(dict.fromkeys(result_names(node), node.name.span))
            return
        self.stages.append(stage)
        self.symbols.values.update({param.name: param for param in stage.results.values()})

    # --- order, choose, otherwise ------------------------------------------------------------------------------------

    def _order(self, rule: tree.PolicyRule) -> None:
        expr, scope = self.checker.indexing(rule.indexing)
        keys = self.values.keys(rule.keys, f"a key of `{rule.verb}`", scope)
        if expr is None:
            self.queue = scope
            return
        if self.decisions is None or fits_order(self.decisions, rule, expr, self.diagnostics):
            self.queue = scope
            self.fields["order"] = CheckedRanking(rule.span, expr, keys)

    def _configurations(self, rule: tree.PolicyRule) -> None:
        if rule.indexing is None:
            self._all_configurations(rule)
            return
        expr, scope = self.checker.indexing(rule.indexing, self.queue)
        keys = self.values.keys(rule.keys, f"a key of `{rule.verb}`", scope)
        if expr is None or self.decisions is None:
            return
        if fits_configurations(self.decisions, rule, expr, self.diagnostics):
            self.fields[rule.verb] = CheckedRanking(rule.span, expr, keys, extra_name(self.decisions, expr))

    def _all_configurations(self, rule: tree.PolicyRule) -> None:
        """Check `choose by keys;`: all ways of the placement, whose indices the keys may use."""
        if self.decisions is None or not lists_nodes_only(self.decisions, rule, self.diagnostics):
            return
        scope = bound_placement(self.model, self.decisions, self.queue)
        keys = self.values.keys(rule.keys, f"a key of `{rule.verb}`", scope)
        self.fields[rule.verb] = CheckedRanking(rule.span, TypedIndexing(), keys)

    # --- place, finish, keep, improve --------------------------------------------------------------------------------

    def _rules(self, rule: tree.PolicyRule) -> None:
        self.fields[rule.verb] = self._checked_rules(rule)

    def _checked_rules(self, rule: tree.PolicyRule) -> tuple[CheckedRule, ...]:
        return self.rules.of(rule, with_slot(self.model, self.decisions, self._job_and_node()))

    def _job_and_node(self) -> Scope:
        return with_node(self.model, self.decisions, self.queue)

    def _improve(self, rule: tree.PolicyRule) -> None:
        self.fields["improve"] = self.values.integer(rule.count, "the number of improved plans")
        self.fields["rounds"] = self.values.integer(rule.rounds, "the number of rounds")
        self.fields["all_rounds"] = rule.all_rounds
        self.fields["moves"] = self._checked_rules(rule)

    # --- occupies, reserve, serve, fix -------------------------------------------------------------------------------

    def _slots(self, rule: tree.PolicyRule) -> None:
        if self.slots is None:
            return
        if rule.verb == "occupies":
            self.slots.occupy(rule, self._job_and_node())
        elif rule.verb == "fix":
            self.slots.fix(rule, self.lines.rules)
        else:
            self.slots.load(rule)

    # --- remember, again ---------------------------------------------------------------------------------------------

    def _remember(self, rule: tree.PolicyRule) -> None:
        found = None if self.memory is None else self.memory.remember(rule, self.queue, self._rankings())
        if found is not None:
            self.fields["memories"] = (*self.fields.get("memories", ()), found)

    def _again(self, rule: tree.PolicyRule) -> None:
        if self.memory is not None:
            self.fields["again"] = self.memory.again(rule, self.queue, self._rankings())

    def _rankings(self) -> list[CheckedRanking]:
        return [self.fields[verb] for verb in ("choose", "otherwise") if verb in self.fields]

    # --- randomise, repeat, split ------------------------------------------------------------------------------------

    def _randomise(self, rule: tree.PolicyRule) -> None:
        draw = check_draw(rule, self.values, self.queue, self.diagnostics)
        if draw is not None:
            self.fields["draws"][draw.target] = draw

    def _repeat(self, rule: tree.PolicyRule) -> None:
        self.fields["repeat"] = self.values.integer(rule.count, "the number of repetitions")
        for kept in rule.rules[:1]:
            self._best_price(kept)
        if len(rule.rules) > 1:
            span = rule.rules[1].span.to(rule.rules[-1].span)
            self.diagnostics.error("GSM1614", "`keep best` needs exactly one value", span, "one more", help="remove it")

    def _best_price(self, rule: tree.Rule) -> None:
        """Check `best total`: an objective of the model, all costs to the end of every job, or another price."""
        first, *rest = rule.words
        known = [o.name for o in self.model.objectives if o.name is not None]
        known += [p for p in PRICES if p not in known]
        if first.text != "best" or len(rest) != 1 or rule.arguments or rule.by is not None:
            self.diagnostics.error(
                "GSM1614",
                f"`{rule.span.text}` does not name an objective or price",
                rule.span,
                "not understood",
                help=f"write `keep best {known[0]}`",
            )
        elif rest[0].text not in known:
            self.diagnostics.error(
                "GSM1101",
                f"unknown objective or price `{rest[0].text}`",
                rest[0].span,
                "not declared",
                help=did_you_mean(rest[0].text, known) or f"there are {list_names(known)}",
            )
        else:
            self.fields["kept"] = rest[0].text

    def _split(self, rule: tree.PolicyRule) -> None:
        self.fields["split"] = self.values.integer(rule.count, "the number of controllers")
