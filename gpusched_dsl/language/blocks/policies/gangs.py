"""Checks of the lines of policies for gangs; GSM1614."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.blocks.policies.rule_table import GANG_SLOT_PLACE, PLACE, rules_of
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

_LINES = ("order", "choose", "otherwise", "place", "keep")
_AFTER = ("wait", "postpone")
_HELP = "write `place fewest_racks, wait;` or `place backfill;`"
_IN_SLOTS = "write `place cheapest_block;`, `place start_now;` or `place start_now, block;`"


def check_gang_rules(decisions: Decisions, rules: Mapping[str, tree.PolicyRule], diagnostics: Diagnostics) -> None:
    """Report GSM1614 for lines that do not go with gangs, and for rules of gangs where jobs are none."""
    place, workers = rules.get("place"), decisions.placement.item("workers")
    ours = rules_of("gangs")

    def report(span: Span, message: str, label: str, help: str, at: Span) -> None:
        diagnostics.error("GSM1614", message, span, label, help=help, secondary=[Label(at, "the placement")])

    if workers is None:
        for rule in place.rules if place is not None else ():
            if rule.words[0].text in ours:
                message = f"`{rule.words[0].text}` places gangs, and a job of this placement has one node"
                help = "use `best_fit, new_node`, or add `workers NUMBER;` to the placement"
                report(rule.span, message, "jobs are no gangs", help, decisions.placement.span)
        return
    if decisions.placement.item("slot") is not None:
        _check_rules_in_slots(workers.span, rules, report)
        return
    allowed = ours | rules_of("standalone")
    for at, rule in enumerate(place.rules if place is not None else ()):
        name = rule.words[0].text
        known = any(text.split()[0] == name for text in PLACE)
        if known and not (name in allowed if at == 0 else name in _AFTER):
            what = "places a job on one node" if PLACE.get(name) and name not in _AFTER else "does not place a job"
            message = f"`{name}` {what}, and jobs of this placement are gangs"
            report(rule.span, message, "not for gangs" if at == 0 else "not behind this rule", _HELP, workers.span)
    for line in rules.values():
        if line.verb not in _LINES:
            message = f"`{line.verb}` is not supported for gangs"
            report(line.span, message, "not for gangs", "remove it", workers.span)
        elif line.verb == "keep":
            for rule in line.rules:
                if rule.words[0].text == "nodes":
                    message = "`keep nodes` is not supported for gangs"
                    report(rule.span, message, "not for gangs", "write `keep running;`, or remove it", workers.span)


def _check_rules_in_slots(
    workers: Span, rules: Mapping[str, tree.PolicyRule], report: Callable[[Span, str, str, str, Span], None]
) -> None:
    """Report lines and rules that do not place gangs in slots; those that place no job in slots are another error."""
    for line in rules.values():
        if line.verb == "fix":
            message = "`fix` is not supported for gangs in slots"
            help = "remove it: the other variables get the values that cost least beside the plan"
            report(line.span, message, "not for gangs in slots", help, workers)
        elif line.verb in ("reserve", "serve"):
            message = f"`{line.verb}` is not supported for gangs in slots"
            help = "plan with a solver, such as `highs`, or remove it"
            report(line.span, message, "not for gangs in slots", help, workers)
        elif line.verb == "keep":
            for rule in line.rules:
                if rule.words[0].text == "nodes":
                    message = "`keep nodes` is not supported for gangs"
                    report(rule.span, message, "not for gangs", "write `keep running;`, or remove it", workers)
        elif line.verb == "place":
            for rule in line.rules:
                words = " ".join(word.text for word in rule.words)
                if words.split()[0] in rules_of("slots") and words not in GANG_SLOT_PLACE:
                    message = f"`{words}` does not place gangs in slots"
                    report(rule.span, message, "not for gangs in slots", _IN_SLOTS, workers)
        elif line.verb == "choose" and (line.keys[1:] or any(key.descending for key in line.keys)):
            message = "gangs in slots need one key, in ascending order: it is summed over workers and slots"
            report(line.span, message, "not one ascending key", "state one key", workers)
