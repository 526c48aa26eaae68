"""Reads the sentence of a claim against the fields that it is computed with.

The sentence is `reading`, or the claim itself: it has the names of methods, measures and factors in backticks, the
published number with its unit, and, of a comparison, one word for its direction. The number must be in the published
sentence too; one that follows from others is explained there in brackets.
"""

from __future__ import annotations

import math
import re

from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.language.blocks.campaigns.constants import plain_text

LESS = {"less", "lower", "below", "smaller", "fewer", "faster", "cheaper"}
MORE = {"more", "higher", "above", "larger", "slower"}
AT_MOST = re.compile(r"\b(at most|less than|up to|within|never|no|none|fewer than)\b", re.IGNORECASE)
AT_LEAST = re.compile(r"\b(at least|more than)\b", re.IGNORECASE)
STATISTICS = {"most": r"largest|never|no|none|at any", "median": "median", "mean": "average|mean", "total": "total|all"}
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
WORDS = {"no": 0.0, "none": 0.0, "never": 0.0, "constant": 0.0, "half": 0.5, "one": 1.0, "two": 2.0}


def differences(claim: Claim) -> list[str]:
    """Return in what the sentence and the fields of a claim differ."""
    sentence = claim.reading or claim.claim
    found = [*_names(claim, sentence), *_numbers(claim, sentence)]
    if claim.unit and claim.unit not in re.sub(r"`[^`]*`", "", sentence):
        found.append(f"the unit {claim.unit} is missing")
    if claim.kind in ("saving", "ratio", "order"):
        found += _direction(claim, sentence)
    if claim.kind in STATISTICS and not re.search(rf"\b({STATISTICS[claim.kind]})\b", sentence):
        found.append(f"no word says that it is the {claim.kind}")
    if claim.kind == "growth" and not re.search(r"\b(exponent|grows)\b", sentence):
        found.append("no word says that it is a growth")
    low, high = claim.published or (0.0, 0.0)
    if (low == -math.inf or claim.kind in LIMITS or claim.kind == "equal") and not AT_MOST.search(sentence):
        found.append("no word says that it is an upper bound")
    if high == math.inf and not AT_LEAST.search(sentence):
        found.append("no word says that it is a lower bound")
    return found


def _names(claim: Claim, sentence: str) -> list[str]:
    named = set(re.findall(r"`([^`]+)`", sentence))
    needed = {claim.measure, claim.method, *claim.roles, *([claim.factor] if claim.value else [])} - {""}
    where = {
        plain_text(one) for value in claim.where.values() for one in (value if isinstance(value, list) else [value])
    }
    allowed = needed | where | set(claim.where) | {claim.factor, *claim.arms}
    return [
        *(f"`{name}` is computed with, and not in the sentence" for name in sorted(needed - named)),
        *(f"`{name}` is in the sentence, and not computed with" for name in sorted(named - allowed)),
    ]


def _numbers(claim: Claim, sentence: str) -> list[str]:
    ends = [claim.within] if claim.kind == "equal" else list(dict.fromkeys(claim.published or ()))
    ends = [abs(end) for end in ends if math.isfinite(end)]
    found = [f"the number {end:g} is missing" for end in ends if not _has(end, sentence)]
    explained = re.search(r"\(.*\d.*\)", sentence) or claim.kind == "equal"
    if claim.reading and not explained:
        found += [f"the number {end:g} is not published" for end in ends if not _has(end, claim.claim)]
    return found


def _has(number: float, text: str) -> bool:
    text = re.sub(r"`[^`]*`", "", text)
    numbers = [abs(float(found.replace(",", ""))) for found in NUMBER.findall(text)]
    numbers += [value for word, value in WORDS.items() if re.search(rf"\b{word}\b", text)]
    return any(math.isclose(number, one, rel_tol=1e-9, abs_tol=1e-12) for one in numbers)


def _direction(claim: Claim, sentence: str) -> list[str]:
    """The first of the compared names is lower with a word for less, higher with a word for more."""
    plain = re.sub(r"\([^)]*\)", "", sentence)
    places = {name: plain.find(f"`{name}`") for name in claim.roles}
    if -1 in places.values():
        return ["a compared name is missing"]
    compared = plain[: plain.find(". ", max(places.values())) + 1 or None]  # further sentences explain it
    words = set(re.findall(r"\w+", re.sub(r"`[^`]*`|at most|at least|more than|less than", "", compared)))
    less, more = words & LESS, words & MORE
    if bool(less) == bool(more):
        return ["not exactly one direction is named"]
    ours, first = claim.roles[0], min(places, key=places.__getitem__)
    high = (claim.published or (1.0, 1.0))[1]
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    is_lower = claim.kind == "order" or high > neutral  # what the fields say about ours
    return [] if (first == ours) == (bool(less) == is_lower) else ["the direction is the other one"]
