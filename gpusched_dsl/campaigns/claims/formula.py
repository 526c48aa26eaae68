"""How a claim is computed, in words that are generated from its fields, so that both can be read side by side."""

from __future__ import annotations

import math

from gpusched_dsl.campaigns.claims.claims import Claim
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.text.numbers import number_text


def formula_text(claim: Claim) -> str:
    """Return what is computed, from what runs, and what numbers reproduce the claim; empty without a campaign."""
    if not claim.campaign:
        return ""
    parts = [_computed(claim), _selected(claim), accepted_text(claim)]
    return "; ".join(part for part in parts if part) + "."


def accepted_text(claim: Claim) -> str:
    """Return the numbers that reproduce the claim: `reproduced from 40.5 to 49.5 %`; empty for an order."""
    if claim.accepted is None:
        return ""
    unit = "" if claim.kind in ("growth", "ratio") else "%" if claim.kind in ("saving", "equal") else claim.unit
    low, high = (number_text(float(f"{end:.6g}")) for end in claim.accepted)
    if math.isinf(claim.accepted[0]):
        return f"reproduced up to {high} {unit}".rstrip()
    if math.isinf(claim.accepted[1]):
        return f"reproduced from {low} {unit}".rstrip()
    return f"reproduced from {low} to {high} {unit}".rstrip()


def _computed(claim: Claim) -> str:
    measure = f"`{claim.measure}`"
    ours = _role(claim, claim.roles[0]) if claim.method else ""
    theirs = [_role(claim, name) for name in claim.against]
    best = theirs[0] if len(theirs) == 1 else f"the lowest of {', '.join(theirs)}"
    match claim.kind:
        case "saving" | "equal":
            return f"by how many % the mean {measure} of {ours} is below that of {best} (negative: above)"
        case "ratio":
            return f"the mean {measure} of {best} divided by that of {ours}"
        case "order":
            others = theirs[0] if len(theirs) == 1 else f"each of {', '.join(theirs)}"
            return f"whether the mean {measure} of {ours} is below that of {others}"
        case "growth":
            of = f"the mean {measure} of {ours}" if not theirs else f"the {measure} of {ours} divided by that of {best}"
            return f"the exponent b with which {of} grows as `{claim.factor}`^b"
        case "total":
            return f"the sum of {measure} over all {claim.runs} runs"
        case "value" | "mean":
            return f"the mean {measure} of {ours}"
        case "most":
            return f"the largest {measure} of {ours}"
        case "median":
            return f"the median {measure} of {ours}"


def _role(claim: Claim, name: str) -> str:
    """Return a method, or a method with a value of the factor."""
    return f"`{claim.method}` with `{claim.factor}` {name}" if claim.value else f"`{name}`"


def _selected(claim: Claim) -> str:
    words = [
        f"`{name}` {' or '.join(plain_text(one) for one in (value if isinstance(value, list) else [value]))}"
        for name, value in claim.where.items()
    ]
    chosen = f" with {', '.join(words)}" if words else ""
    ended = " that ended within their gap" if claim.solved else ""
    return f"runs{chosen}{ended}" if chosen or ended else ""
