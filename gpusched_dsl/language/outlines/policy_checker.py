"""The lines of one policy against one model: one small method per verb, each fills its fields of `CheckedPolicy`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedParam,
    Constant,
    Core,
    IndexingCore,
    IndexVar,
    Iterator,
    Numeric,
)
from gpusched_dsl.language.checked_policy import (
    NOW,
    REMAINING,
    CheckedDraw,
    CheckedKey,
    CheckedPolicy,
    CheckedRanking,
    CheckedRule,
)
from gpusched_dsl.language.checked_stage import CheckedStage
from gpusched_dsl.language.checking import EMPTY, Binding, ExpressionChecker, Scope, Symbols
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.declarations import check_let
from gpusched_dsl.language.checking.dependencies import order
from gpusched_dsl.language.checking.symbols import Slot, slots_of
from gpusched_dsl.language.diagnostics import Diagnostics, Label, did_you_mean
from gpusched_dsl.language.outlines.policy_lines import Lines
from gpusched_dsl.language.outlines.policy_names import decisions_of, extra_name, fits_order, fits_ways
from gpusched_dsl.language.outlines.policy_queues import check_queues
from gpusched_dsl.language.outlines.policy_stages import check_stage, result_names
from gpusched_dsl.language.outlines.rules import ADDED_AFTER, PRICES, RULES, WEIGHTS, RuleShape, known_rules
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS


class PolicyChecker:
    """Checks the lines that hold for a policy after inheritance.

    `partial` says that something of the policy or the model could not be read: what is missing is then no mistake.
    A new verb is a line of `verbs` and a method that puts what it found into `found`, by the fields of `CheckedPolicy`.
    """

    def __init__(self, model: CheckedModel, diagnostics: Diagnostics, lost: Mapping[str, Span], partial: bool) -> None:
        self.model = model
        self.diagnostics = diagnostics
        self.partial = partial
        self.symbols = Symbols.of(model)
        self.symbols.poisoned.update(lost)
        self.checker = ExpressionChecker(self.symbols, diagnostics)
        self.decisions = decisions_of(model)
        self.queue = self._queue()  # the job, known to all lines after `order`
        self.stages: list[CheckedStage] = []
        self.found: dict[str, Any] = {"draws": {}}
        self.verbs: dict[str, Callable[[tree.PolicyRule], None]] = {
            "order": self._order,
            "choose": self._ways,
            "otherwise": self._ways,
            "place": self._rules,
            "finish": self._rules,
            "keep": self._rules,
            "randomise": self._randomise,
            "repeat": self._repeat,
            "improve": self._improve,
            "split": self._split,
        }

    def run(self, policy: tree.Policy, lines: Lines) -> CheckedPolicy | None:
        """The checked policy; None, or something unfit for use, where errors were reported."""
        self._has_decisions(policy)
        lets = self._lets(policy.name.span, lines)
        self._has_lines(policy, lines.rules)
        if self.decisions is not None:
            check_queues(self.decisions, lines.rules, self.diagnostics)
        for rule in sorted(lines.rules.values(), key=lambda r: r.verb != "order"):
            self.verbs[rule.verb](rule)
        if "order" not in self.found:
            return None
        return CheckedPolicy(
            name=policy.name.text,
            span=policy.name.span,
            model=replace(
                self.model,
                lets={n: v for n, v in self.symbols.values.items() if isinstance(v, CheckedLet)},
                params={n: v for n, v in self.symbols.values.items() if isinstance(v, CheckedParam)},
            ),
            doc=policy.doc,
            lets=lets,
            stages=tuple(self.stages),
            lines=lines.written,
            **self.found,
        )

    # --- what a policy needs -----------------------------------------------------------------------------------------

    def _has_decisions(self, policy: tree.Policy) -> None:
        if self.decisions is not None or self.partial:
            return
        placed = self.model.placement
        none = placed is None
        self.diagnostics.error(
            "GSM1618",
            f"model `{self.model.name}` has no placement: policy `{policy.name.text}` has nothing to decide"
            if none
            else f"the placement of model `{self.model.name}` does not say which of its indices is the job",
            policy.name.span,
            "decides what runs where",
            secondary=[Label(self.model.span if placed is None else placed.span, "here")],
            help="say in the model what a decision means: `placement run[j, n] { job j;  node n;  ... }`"
            if none
            else "say so in the placement, as in `job j;`",
        )

    def _has_lines(self, policy: tree.Policy, rules: Mapping[str, tree.PolicyRule]) -> None:
        if self.partial:
            return
        examples = {"order": "order j in Jobs by deadline[j];", "place": "place best_fit, new_node;"}
        ways = self.decisions.chosen if self.decisions is not None else ()
        if ways or "otherwise" in rules:
            examples["choose"] = "choose (v, g) in Configs by cost[v, g];"
        missing = [verb for verb in examples if verb not in rules]
        if missing:
            self.diagnostics.error(
                "GSM1617",
                f"policy `{policy.name.text}` has no line {_listed(missing)}",
                policy.name.span,
                "not complete",
                help=f"add it, as in `{examples[missing[0]]}`, or extend a policy that has it",
            )

    # --- names -------------------------------------------------------------------------------------------------------

    def _job_slot(self) -> Slot | None:
        """What the job index of the placement runs over."""
        if self.decisions is None:
            return None
        placement = self.decisions.placement
        slots = slots_of(self.model.variables[placement.variable])
        return slots[placement.indices.index(self.decisions.job)]

    def _queue(self) -> Scope:
        slot = self._job_slot()
        if slot is None or self.decisions is None:
            return EMPTY
        job = self.decisions.job
        return EMPTY.bind(job.name, Binding(job, slot.domain, slot.component))

    def _clock(self, span: Span, own: Iterable[str]) -> None:
        """`now` and `remaining[j]` as `let`s; see `checked_policy.py`."""
        placement = self.model.placement
        times = [i.value for i in placement.items if i.role in ("lasts", "due")] if placement is not None else []
        unit = unit_in(times[0]) if times else UNITS["h"]
        now = Constant(span=span, type=Numeric(False, unit), value=0.0)
        clock = {NOW: CheckedLet(NOW, span, now.type, IndexingCore(), now, "the time of the decision")}
        slot = self._job_slot()
        if slot is not None and len(slot.domain.types) == 1:
            left = Constant(span=span, type=Numeric(), value=1.0)
            iterator = Iterator((IndexVar("_", slot.type, span),), slot.domain, span)
            indexing = IndexingCore((iterator,))
            clock[REMAINING] = CheckedLet(REMAINING, span, left.type, indexing, left, "the part of the work left")
        for name, let in clock.items():
            if name not in own and self.symbols.span_of(name) is None:
                self.symbols.values[name] = let

    def _lets(self, span: Span, lines: Lines) -> dict[str, CheckedLet]:
        """`let`s, and stages, whose results are parameters, each after all that it needs."""
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
                    "again" if word == name.text else f"`{name.text}` gives it, too",
                    secondary=[Label(first, "first here")],
                    help="give one of them another name",
                )
            if not taken:
                declared.append(declaration)
                results.update(dict.fromkeys(own, name.text))
                names.update(dict.fromkeys((name.text, *own), name.span))
        self._clock(span, names)
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
            let_core = check_let(self.checker, declared_one)
            if let_core is None or not self.checker.data_only(let_core.value, f"`{name.text}` of a policy"):
                self.symbols.poisoned[name.text] = name.span
            else:
                self.symbols.values[name.text] = checked[name.text] = let_core
        return checked

    def _stage(self, node: tree.PolicyStage) -> None:
        """A problem that is solved before the queue is made; what it tells can be read from here on."""
        stage = check_stage(self.checker, node)
        if stage is None:
            self.symbols.poisoned.update(dict.fromkeys(result_names(node), node.name.span))
            return
        self.stages.append(stage)
        self.symbols.values.update({param.name: param for param in stage.results.values()})

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _plain(self, expr: tree.Expr | None, where: str, scope: Scope = EMPTY) -> Core | None:
        """A number without a unit that is known before any decision."""
        core = None if expr is None else self.checker.number(expr, scope, unit=DIMENSIONLESS)
        return core if core is not None and self.checker.data_only(core, where) else None

    def _whole(self, expr: tree.Expr | None, where: str, scope: Scope = EMPTY) -> Core | None:
        core = self._plain(expr, where, scope)
        return core if core is not None and self.checker.is_whole(core) else None

    # --- order, choose, otherwise ------------------------------------------------------------------------------------

    def _order(self, rule: tree.PolicyRule) -> None:
        core, scope = self.checker.indexing(rule.indexing)
        keys = self._keys(rule, scope)
        if core is None:
            self.queue = scope
            return
        if self.decisions is None or fits_order(self.decisions, rule, core, self.diagnostics):
            self.queue = scope
            self.found["order"] = CheckedRanking(rule.span, core, keys)

    def _ways(self, rule: tree.PolicyRule) -> None:
        core, scope = self.checker.indexing(rule.indexing, self.queue)
        keys = self._keys(rule, scope)
        if core is None or self.decisions is None:
            return
        if fits_ways(self.decisions, rule, core, self.diagnostics):
            self.found[rule.verb] = CheckedRanking(rule.span, core, keys, extra_name(self.decisions, core))

    def _keys(self, rule: tree.PolicyRule, scope: Scope) -> tuple[CheckedKey, ...]:
        checked = (self._key(key, scope, f"a key of `{rule.verb}`") for key in rule.keys)
        return tuple(key for key in checked if key is not None)

    def _key(self, key: tree.Key, scope: Scope, where: str) -> CheckedKey | None:
        core = self.checker.number(key.value, scope)
        if core is None or not self.checker.data_only(core, where):
            return None
        return CheckedKey(core, key.descending)

    def _node_too(self) -> Scope:
        """The job and its node, by the names of the placement."""
        if self.decisions is None or self.decisions.node is None or self.decisions.node.name in self.queue.bindings:
            return self.queue
        placement, node = self.decisions.placement, self.decisions.node
        slot = slots_of(self.model.variables[placement.variable])[placement.indices.index(node)]
        return self.queue.bind(node.name, Binding(node, slot.domain, slot.component))

    # --- place, finish, keep, improve --------------------------------------------------------------------------------

    def _rules(self, rule: tree.PolicyRule) -> None:
        self.found[rule.verb] = self._named(rule)

    def _improve(self, rule: tree.PolicyRule) -> None:
        self.found["improve"] = self._whole(rule.count, "how many are improved")
        self.found["rounds"] = self._whole(rule.rounds, "the number of rounds")
        self.found["all_rounds"] = rule.all_rounds
        self.found["moves"] = self._named(rule)

    def _named(self, line: tree.PolicyRule) -> tuple[CheckedRule, ...]:
        return tuple(r for rule in line.rules if (r := self._one_rule(rule, line.verb)) is not None)

    def _one_rule(self, rule: tree.Rule, verb: str) -> CheckedRule | None:
        first, *modifiers = rule.words
        checked = CheckedRule(
            first.text, rule.span, tuple(w.text for w in modifiers), by=None if rule.by is None else rule.by.text
        )
        if rule.key is not None:
            key = self._key(rule.key, self._node_too(), f"a key of `{first.text}`")
            if key is None:
                return None
            checked = replace(checked, key=key)
        shape = RULES[verb].get(checked.text)
        if shape is None and (verb not in ADDED_AFTER or checked.text not in known_rules(verb)):
            self._unknown_rule(rule, verb)
            return None
        return replace(checked, arguments=self._arguments(rule, first, shape))

    def _arguments(self, rule: tree.Rule, first: tree.Identifier, shape: RuleShape | None) -> tuple[Core, ...]:
        """Whole numbers for the parameters of a rule; what a rule of another package takes, only it knows."""
        where = f"`{first.text}`"
        if shape is None:
            return tuple(c for a in rule.arguments if (c := self._plain(a, where)) is not None)
        at_most = len(shape.parameters)
        if len(rule.arguments) > at_most:
            takes = f"at most {at_most} argument{'' if at_most == 1 else 's'}" if at_most else "no arguments"
            span = rule.arguments[at_most].span.to(rule.arguments[-1].span)
            names = ", ".join(f"{p.name}: {p.meaning}" for p in shape.parameters)
            self.diagnostics.error(
                "GSM1614", f"rule {where} takes {takes}", span, "too many", help=names or "leave out the brackets"
            )
        return tuple(c for a in rule.arguments if (c := self._whole(a, where)) is not None)

    def _unknown_rule(self, rule: tree.Rule, verb: str) -> None:
        first, *modifiers = rule.words
        known = known_rules(verb)
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
                + ([f"rules after `{verb}` are {_listed(known)}"] if near else []),
                help=near or f"rules after `{verb}` are {_listed(known)}",
            )
            return
        fitting = f"write {_listed(alike, ' or ')}"
        words = {word for text in alike for word in text.partition(" by ")[0].split()[1:]}
        ends = {text.partition(" by ")[2] for text in alike}
        wrong = [w.span for w in modifiers if w.text not in words]
        if rule.by is not None and rule.by.text not in ends:
            wrong.append(rule.by.span)
        for span in wrong:
            by = rule.by is not None and span == rule.by.span
            what = f"`by {span.text}`" if by else f"`{span.text}`"
            self.diagnostics.error(
                "GSM1614", f"{what} cannot stand with rule `{first.text}`", span, "not with this rule", help=fitting
            )
        if not wrong:
            self.diagnostics.error(
                "GSM1614", f"rule `{rule.span.text}` is not complete", rule.span, "unknown", help=fitting
            )

    # --- randomise, repeat, split ------------------------------------------------------------------------------------

    def _randomise(self, rule: tree.PolicyRule) -> None:
        assert rule.target is not None
        target = rule.target.text
        scope = EMPTY if target == "place" else self.queue
        count = self._whole(rule.count, "the length of a list", scope)
        probability = self._plain(rule.probability, "a probability", scope)
        if self._draw_fits(rule, target) and self._odds_fit(rule, target):
            odds = " ".join(word.text for word in rule.by)
            self.found["draws"][target] = CheckedDraw(target, rule.span, count, probability, odds)

    def _draw_fits(self, rule: tree.PolicyRule, target: str) -> bool:
        """`order` swaps neighbours with a probability; the others draw one entry of the best so many."""
        swaps = target == "order"
        write = (
            "randomise order swapping with probability 0.3;"
            if swaps
            else f"randomise {target} from 3 by {WEIGHTS[target][-1]};"
        )
        unfit = rule.count if swaps else rule.probability
        needed = rule.probability if swaps else rule.count
        if unfit is None and needed is not None:
            return True
        how = "swapping neighbours with a probability" if swaps else "drawing from the best so many"
        self.diagnostics.error(
            "GSM1631",
            f"`{target}` is randomised by {how}",
            rule.target.span if unfit is None and rule.target is not None else unfit.span if unfit else rule.span,
            "not this way" if unfit is not None else "how?",
            help=f"write `{write}`",
        )
        return False

    def _odds_fit(self, rule: tree.PolicyRule, target: str) -> bool:
        known = WEIGHTS.get(target, ())
        words = [word for word in rule.by if word.text != "inverse"]
        unknown = [word for word in words if word.text not in known]
        for word in unknown:
            swapping = f"swaps in `{target}` are weighted by their probability alone"
            self.diagnostics.error(
                "GSM1615",
                f"unknown weight `{word.text}` of a draw",
                word.span,
                "unknown",
                help=(did_you_mean(word.text, known) or f"weights are {_listed(known)}") if known else swapping,
            )
        if rule.by and len(words) != 1:
            self.diagnostics.error(
                "GSM1615",
                "a draw goes by one weight",
                rule.by[0].span.to(rule.by[-1].span),
                "one weight needed",
                help=f"such as `by {known[-1]}`" if known else "leave it out",
            )
        elif not unknown and rule.by and " ".join(w.text for w in rule.by) not in known:
            span = rule.by[0].span.to(rule.by[-1].span)
            self.diagnostics.error(
                "GSM1615",
                f"`{span.text}` is no weight of a draw",
                span,
                "unknown",
                help=f"weights are {_listed(known)}",
            )
        return not rule.by or " ".join(w.text for w in rule.by) in known

    def _repeat(self, rule: tree.PolicyRule) -> None:
        self.found["repeat"] = self._whole(rule.count, "the number of repetitions")
        for kept in rule.rules[:1]:
            self._kept(kept)
        if len(rule.rules) > 1:
            span = rule.rules[1].span.to(rule.rules[-1].span)
            self.diagnostics.error("GSM1614", "the best is told by one value", span, "one more", help="leave it out")

    def _kept(self, rule: tree.Rule) -> None:
        """`best total`: by which value of the model, or price of the engine, the best is told."""
        first, *rest = rule.words
        known = [o.name for o in self.model.objectives if o.name is not None]
        known += [t.name for o in self.model.objectives for t in o.terms if t.name is not None]
        known += [p for p in PRICES if p not in known]
        if first.text != "best" or len(rest) != 1 or rule.arguments or rule.by is not None:
            self.diagnostics.error(
                "GSM1614",
                f"`{rule.span.text}` does not say what is kept",
                rule.span,
                "not understood",
                help=f"write `keep best {known[0]}`",
            )
        elif rest[0].text not in known:
            self.diagnostics.error(
                "GSM1101",
                f"unknown objective, term or price `{rest[0].text}`",
                rest[0].span,
                "not declared",
                help=did_you_mean(rest[0].text, known) or f"there are {_listed(known)}",
            )
        else:
            self.found["kept"] = rest[0].text

    def _split(self, rule: tree.PolicyRule) -> None:
        self.found["split"] = self._whole(rule.count, "the number of controllers")


def _listed(names: Sequence[str] | Mapping[str, object], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)
