"""Claims, how they are computed, and verdicts as texts for people, from the fields of claims."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from gpusched_dsl.campaigns.claims.claim_runs import ROLE, cells_of
from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.campaigns.claims.verdict import NOT_RUN, REPRODUCED, UNDECIDED, VERDICTS, Finding
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.text.numbers import number_text


def verdict_text(claim: Claim, finding: Finding) -> str:
    """Return the verdict, with its detail; of an upper bound on seconds, that machines differ."""
    if is_judged_limit(claim, finding):
        where = "within" if finding.verdict == REPRODUCED else "beyond"
        return f"{where} the limit, on another machine" + (f" ({finding.detail})" if finding.detail else "")
    return f"{finding.verdict} ({finding.detail})" if finding.detail else finding.verdict


def is_judged_limit(claim: Claim, finding: Finding) -> bool:
    """Whether the runs say if an upper bound on seconds is obeyed."""
    return claim.is_time_limit and finding.verdict not in (NOT_RUN, UNDECIDED)


def published_text(claim: Claim) -> str:
    """Return the published number or range with its unit; empty without one."""
    if claim.published is None:
        return ""
    low, high = ("" if math.isinf(value) else number_text(value) for value in claim.published)
    unit = "" if claim.kind == "growth" else claim.unit
    prefix = "exponent " if claim.kind == "growth" else ""
    if claim.kind in LIMITS or claim.published[0] == -math.inf:
        return f"{prefix}at most {high} {unit}".rstrip()
    if claim.published[1] == math.inf:
        return f"{prefix}at least {low} {unit}".rstrip()
    return f"{prefix}{low if low == high else f'{low} to {high}'} {unit}".rstrip()


def reason_text(claim: Claim, finding: Finding, tests: Sequence[Finding]) -> str:
    """Return the reason of a difference with what supports or refutes it; empty if there is none to explain.

    `tests` are the findings of the claim's tests.
    """
    if not finding.is_refuted or not claim.reason:
        return ""
    if any(test.is_refuted for test in tests):
        return f"Not the reason, refuted by a test: {claim.reason}"
    source = f" Source: {claim.source}" if claim.source else ""
    if not source and not any(test.verdict == REPRODUCED for test in tests):
        return f"{claim.reason} {'No test decides this reason' if tests else 'This reason was not examined'}."
    return f"{claim.reason}{source}"


def places_with_tests(found: Sequence[tuple[Claim, Finding]]) -> set[str]:
    """Return the places of the claims that state the tests of their reason: for each reason the first refuted claim."""
    first = {claim.reason_of or claim.place: claim.place for claim, finding in reversed(found) if finding.is_refuted}
    return set(first.values())


def confirmation_text(finding: Finding) -> str:
    """Return what the test of a reason says about it."""
    if finding.verdict == NOT_RUN:
        return "not examined"
    words = "confirmed" if finding.verdict == REPRODUCED else "refuted" if finding.is_refuted else finding.verdict
    return f"{words} ({finding.detail})" if finding.detail and words != "confirmed" else words


def status_text(finding: Finding) -> str:
    """Return the statuses of the runs behind a verdict, and of those that do not count."""
    parts = []
    if finding.runs is not None and "status" in finding.runs.columns:
        counts = finding.runs["status"].drop_nulls().value_counts(sort=True).rows()
        parts = [", ".join(f"{count} {status}" for status, count in sorted(counts, key=lambda row: (-row[1], row[0])))]
    if finding.excluded:
        left_out = ", ".join(f"{count} {why}" for why, count in finding.excluded.items())
        parts.append(f"not counted: {left_out}")
    return "; ".join(part for part in parts if part)


def tally_text(found: Sequence[tuple[Claim, Finding]]) -> str:
    """Return the numbers of claims by verdict, without zeros; upper bounds on seconds are counted apart."""
    return ", ".join(f"{count} {word}" for word, count in tally(found).items() if count)


def tally(found: Sequence[tuple[Claim, Finding]]) -> dict[str, int]:
    """Return the numbers of claims by verdict, and of the upper bounds on seconds, which a faster machine can meet."""
    others = [finding.verdict for claim, finding in found if not is_judged_limit(claim, finding)]
    limits = [finding for claim, finding in found if is_judged_limit(claim, finding)]
    counts: dict[str, int] = {verdict: others.count(verdict) for verdict in VERDICTS}
    counts["within a limit of seconds"] = sum(finding.verdict == REPRODUCED for finding in limits)
    counts["beyond a limit of seconds"] = sum(finding.verdict != REPRODUCED for finding in limits)
    return counts


def ours_text(claim: Claim, finding: Finding) -> str:
    """Return our number with its interval, the means of what is compared, or "-" if there are none."""
    if finding.ours is None:
        return _means_text(claim, finding.runs)
    unit = "%" if claim.kind == "equal" else "" if claim.kind == "growth" else claim.unit
    prefix = "exponent " if claim.kind == "growth" else ""
    text = f"{prefix}{_short(finding.ours)} {unit}".rstrip()
    if finding.interval is not None and finding.interval.low < finding.interval.high:
        text += f" ({_short(finding.interval.low)} to {_short(finding.interval.high)})"
    return text


def _means_text(claim: Claim, runs: pl.DataFrame | None) -> str:
    if runs is None or claim.kind != "order":
        return "-"
    cells = runs.group_by(ROLE, *cells_of(claim, runs))
    means = dict(cells.agg(pl.col(claim.measure).mean()).group_by(ROLE).agg(pl.col(claim.measure).mean()).rows())
    if set(claim.roles) - set(means):
        return "-"
    return ", ".join(f"{role} {_short(means[role])} {claim.unit}".rstrip() for role in claim.roles)


def _short(value: float) -> str:
    return number_text(float(f"{value:.3g}"))


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
