"""Claims and verdicts as texts for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from gpusched_dsl.campaigns.claims.claim_runs import cells_of
from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.campaigns.claims.powers import ROLE
from gpusched_dsl.campaigns.claims.verdict import NOT_RUN, REPRODUCED, UNDECIDED, VERDICTS, Finding
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
