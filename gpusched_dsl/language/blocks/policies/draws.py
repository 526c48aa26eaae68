"""`randomise`: the drawn choice of a policy, the number of candidates, and the weights."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.rule_table import WEIGHTS, list_names
from gpusched_dsl.language.blocks.policies.values import Values
from gpusched_dsl.language.checked_policy import CheckedDraw
from gpusched_dsl.language.checking import EMPTY, Scope
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def check_draw(rule: tree.PolicyRule, values: Values, queue: Scope, diagnostics: Diagnostics) -> CheckedDraw | None:
    """Check the draw of a line; `queue` binds the job. Reports GSM1615 and GSM1631, and errors in its numbers."""
    assert rule.target is not None
    target = rule.target.text
    scope = EMPTY if target == "place" else queue
    count = values.integer(rule.count, "the length of a list", scope)
    probability = values.plain(rule.probability, "a probability", scope)
    if not _draw_fits(rule, target, diagnostics) or not _odds_fit(rule, target, diagnostics):
        return None
    return CheckedDraw(target, rule.span, count, probability, " ".join(word.text for word in rule.by))


def _draw_fits(rule: tree.PolicyRule, target: str, diagnostics: Diagnostics) -> bool:
    """`order` swaps neighbours with a probability; the others draw one entry of the best so many."""
    swaps = target == "order"
    write = (
        "randomise order swapping with probability 0.3;"
        if swaps
        else f"randomise {target} from 3 by {WEIGHTS[target][-1]};"
    )
    unfit = rule.count if swaps else rule.probability
    required = rule.probability if swaps else rule.count
    if unfit is None and required is not None:
        return True
    how = "swapping neighbours with a probability" if swaps else "drawing from the best n"
    diagnostics.error(
        "GSM1631",
        f"`{target}` can only be randomised by {how}",
        rule.target.span if unfit is None and rule.target is not None else unfit.span if unfit else rule.span,
        "not this way" if unfit is not None else "how?",
        help=f"write `{write}`",
    )
    return False


def _odds_fit(rule: tree.PolicyRule, target: str, diagnostics: Diagnostics) -> bool:
    known = WEIGHTS.get(target, ())
    words = [word for word in rule.by if word.text != "inverse"]
    unknown = [word for word in words if word.text not in known]
    for word in unknown:
        swapping = f"swaps in `{target}` have a probability and no weight"
        diagnostics.error(
            "GSM1615",
            f"unknown weight `{word.text}` of a draw",
            word.span,
            "unknown",
            help=(did_you_mean(word.text, known) or f"weights are {list_names(known)}") if known else swapping,
        )
    if rule.by and len(words) != 1:
        diagnostics.error(
            "GSM1615",
            "a draw has exactly one weight",
            rule.by[0].span.to(rule.by[-1].span),
            "one weight needed",
            help=f"such as `by {known[-1]}`" if known else "remove it",
        )
    elif not unknown and rule.by and " ".join(w.text for w in rule.by) not in known:
        span = rule.by[0].span.to(rule.by[-1].span)
        diagnostics.error(
            "GSM1615",
            f"`{span.text}` is not a weight of a draw",
            span,
            "unknown",
            help=f"weights are {list_names(known)}",
        )
    return not rule.by or " ".join(w.text for w in rule.by) in known
