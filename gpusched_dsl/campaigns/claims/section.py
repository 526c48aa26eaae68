"""The published claims beside a campaign file, with verdicts computed from its results, as a section of its page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from gpusched_dsl.campaigns.claims.claim_runs import check_campaign_name, check_names, check_unit
from gpusched_dsl.campaigns.claims.claims import SUFFIX, Claim, Paper, read_paper
from gpusched_dsl.campaigns.claims.texts import (
    confirmation_text,
    formula_text,
    ours_text,
    places_with_tests,
    published_text,
    reason_text,
    status_text,
    tally_text,
    verdict_text,
)
from gpusched_dsl.campaigns.claims.verdict import NOT_RUN, Finding, find
from gpusched_dsl.campaigns.plan import CampaignPlan
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source_files import is_library_name, library_files, library_folder
from gpusched_dsl.reporting.pages.page import PageSection, PageTable

HEADINGS = ("place", "published claim", "published", "ours", "formula", "verdict", "status of runs", "reason")
ABSENT_HEADINGS = ("place", "published claim", "verdict", "why")
TEST_HEADINGS = ("place", "test of the reason", "expected", "ours", "formula", "result", "status of runs")


def claims_file(plan: CampaignPlan) -> Path | None:
    """Return the claims beside the file of a campaign, `paper.claims.toml` beside `paper.gsm`; None without any."""
    source = plan.complete.runs[0].task.source.path if plan.complete.runs else None
    if source is None:
        return None
    path = library_folder() / library_files(source)[0] if is_library_name(source) else Path(source)
    beside = path.with_name(path.name.removesuffix(".gsm") + SUFFIX)
    return beside if beside.is_file() else None


def claims_sections(results: CampaignResults) -> list[PageSection]:
    """Return a section with the claims about this campaign and their verdicts; none without claims.

    Claims that no campaign examines are listed on the page of each campaign.

    Raises DiagnosticError (GSM5313) for claims that cannot be read or computed.
    """
    plan = results.plan
    path = claims_file(plan)
    if path is None:
        return []
    paper = _read(path)
    grid, units = CampaignResults.of(plan.complete, {}).table, results.units
    for claim in paper.claims:
        for one in (claim, *claim.tests):
            _check(one, plan, grid, units, path)
    stored = results.all if results.records else None
    claims = [claim for claim in paper.claims if claim.campaign == plan.name]
    absent = [claim for claim in paper.claims if not claim.campaign]
    if not claims and not absent:
        return []
    found = [(claim, _finding(claim, stored, path)) for claim in claims]
    tested = [
        [(test, _finding(test, stored if test.campaign == plan.name else None, path)) for test in claim.tests]
        if finding.is_refuted
        else []
        for claim, finding in found
    ]
    rows = [_row(claim, finding, [of for _, of in its]) for (claim, finding), its in zip(found, tested, strict=True)]
    tables = [PageTable("Claims", HEADINGS, rows, is_open=True)] if rows else []
    stating = places_with_tests(found)
    test_rows = [
        _test_row(claim, test, finding)
        for claim, its in zip(claims, tested, strict=True)
        for test, finding in its
        if test.campaign == plan.name and claim.place in stating
    ]
    if test_rows:
        tables.append(PageTable("Tests of the reasons", TEST_HEADINGS, test_rows))
    if absent:
        absent_rows = [[claim.place, _statement(claim), NOT_RUN, claim.reason] for claim in absent]
        tables.append(PageTable("Claims that no campaign examines", ABSENT_HEADINGS, absent_rows))
        found += [(claim, find(claim, None)) for claim in absent]
    summary = [("source", paper.title), ("claims", f"{len(found)}: {tally_text(found)}"), ("set-up", paper.setup)]
    return [PageSection("Published claims", summary, tables=tables)]


def _read(path: Path) -> Paper:
    try:
        return read_paper(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        missing = f"`{failure.args[0]}` is missing" if isinstance(failure, KeyError) else str(failure)
        raise _unusable(path, missing) from failure


def _finding(claim: Claim, table: pl.DataFrame | None, path: Path) -> Finding:
    try:
        return find(claim, table)
    except (pl.exceptions.PolarsError, KeyError, ValueError) as failure:
        words = str(failure).strip().splitlines() or ["it cannot be computed"]
        raise _unusable(path, f"{claim.place}: {words[0]}") from failure


def _check(claim: Claim, plan: CampaignPlan, grid: pl.DataFrame, units: Mapping[str, str], path: Path) -> None:
    try:
        check_campaign_name(claim, plan.complete.campaigns)
        if claim.campaign == plan.name:
            check_names(claim, grid)
            check_unit(claim, units)
    except ValueError as failure:
        raise _unusable(path, f"{claim.place}: {failure}") from failure


def _statement(claim: Claim) -> str:
    """Return the published sentence, and how it is read in the names of the campaign."""
    return f"{claim.claim} Read as: {claim.reading}" if claim.reading else claim.claim


def _row(claim: Claim, finding: Finding, tests: list[Finding]) -> list[str]:
    return [
        claim.place, _statement(claim), published_text(claim), ours_text(claim, finding), formula_text(claim),
        verdict_text(claim, finding), status_text(finding), reason_text(claim, finding, tests),
    ]  # fmt: skip


def _test_row(claim: Claim, test: Claim, finding: Finding) -> list[str]:
    return [
        claim.place, _statement(test), published_text(test), ours_text(test, finding), formula_text(test),
        confirmation_text(finding), status_text(finding),
    ]  # fmt: skip


def _unusable(path: Path, reason: str) -> DiagnosticError:
    help = "correct the file, or rename it: claims are read from the file beside the campaign"
    return DiagnosticError([Diagnostic("GSM5313", f"the claims in `{path}` cannot be used: {reason}", help=help)])
