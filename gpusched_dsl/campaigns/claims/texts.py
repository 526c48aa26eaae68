"""Claims and verdicts as texts for people."""

from __future__ import annotations

import math

import polars as pl

from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.campaigns.claims.powers import ROLE
from gpusched_dsl.campaigns.claims.verdict import Finding
from gpusched_dsl.language.text.numbers import number_text


def verdict_text(finding: Finding) -> str:
    """Return the verdict, with its detail."""
    return f"{finding.verdict} ({finding.detail})" if finding.detail else finding.verdict


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


def reason_text(claim: Claim, finding: Finding) -> str:
    """Return the reason of a difference, and that nothing tested it; empty if there is none to explain."""
    is_known = finding.runs is not None or not claim.campaign
    if finding.verdict == "reproduced" or not claim.reason or not is_known:
        return ""
    is_guess = claim.campaign and not claim.tests and not claim.proved
    return f"{claim.reason} This reason was not examined." if is_guess else claim.reason


def confirmation_text(finding: Finding) -> str:
    """Return what the test of a reason says about it."""
    if finding.runs is None:
        return "not examined"
    if finding.verdict == "reproduced":
        return "confirmed"
    return f"not confirmed ({finding.detail})" if finding.detail else "not confirmed"


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
    means = dict(runs.group_by(ROLE).agg(pl.col(claim.measure).mean()).rows())
    if set(claim.roles) - set(means):
        return "-"
    return ", ".join(f"{role} {_short(means[role])} {claim.unit}".rstrip() for role in claim.roles)


def _short(value: float) -> str:
    return number_text(float(f"{value:.3g}"))
