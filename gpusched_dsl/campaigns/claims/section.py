"""The published claims beside a campaign file, with verdicts computed from its results, as a section of its page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from gpusched_dsl.campaigns.claims.claims import SUFFIX, Claim, Paper, read_paper
from gpusched_dsl.campaigns.claims.texts import confirmation_text, ours_text, published_text, reason_text, verdict_text
from gpusched_dsl.campaigns.claims.verdict import Finding, find
from gpusched_dsl.campaigns.plan import CampaignPlan
from gpusched_dsl.campaigns.results import results_table
from gpusched_dsl.campaigns.tasks import DONE, RunRecord
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source_files import is_library_name, library_files, library_folder
from gpusched_dsl.reporting.pages.page import PageSection, PageTable

HEADINGS = ("place", "published claim", "published", "ours", "verdict", "reason")
TEST_HEADINGS = ("place", "test of the reason", "expected", "ours", "result")


def claims_file(plan: CampaignPlan) -> Path | None:
    """Return the claims beside the file of a campaign, `paper.claims.toml` beside `paper.gsm`; None without any."""
    source = plan.complete.runs[0].task.source.path if plan.complete.runs else None
    if source is None:
        return None
    path = library_folder() / library_files(source)[0] if is_library_name(source) else Path(source)
    beside = path.with_name(path.name.removesuffix(".gsm") + SUFFIX)
    return beside if beside.is_file() else None


def claims_sections(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> list[PageSection]:
    """Return a section with the claims about this campaign and their verdicts; none without claims.

    Raises DiagnosticError (GSM5313) for claims that cannot be read or computed.
    """
    path = claims_file(plan)
    if path is None:
        return []
    paper = _read(path)
    claims = [claim for claim in paper.claims if claim.campaign == plan.name]
    if not claims:
        return []
    table = results_table(plan, records, all_measures=True)
    is_stored = DONE in table["state"].to_list()  # else the measures have no columns
    found = [(claim, _finding(claim, table if is_stored else None, path)) for claim in claims]
    tables = [PageTable("Claims", HEADINGS, [_row(claim, finding) for claim, finding in found], is_open=True)]
    tests = [
        (claim, test, _finding(test, table, path))
        for claim, finding in found
        if reason_text(claim, finding)
        for test in claim.tests
        if test.campaign == plan.name
    ]
    if tests:
        rows = [
            [claim.place, test.claim, published_text(test), ours_text(test, finding), confirmation_text(finding)]
            for claim, test, finding in tests
        ]
        tables.append(PageTable("Tests of the reasons", TEST_HEADINGS, rows))
    verdicts = [finding.verdict for _, finding in found]
    counts = [f"{verdicts.count(word)} {word}" for word in ("reproduced", "same direction", "not reproduced")]
    missing = sum(finding.runs is None for _, finding in found)
    if missing:
        counts[-1] += f" ({missing} of them not run)"
    summary = [("source", paper.title), ("claims", f"{len(claims)}: {', '.join(counts)}"), ("set-up", paper.setup)]
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


def _row(claim: Claim, finding: Finding) -> list[str]:
    return [
        claim.place, claim.claim, published_text(claim), ours_text(claim, finding), verdict_text(finding),
        reason_text(claim, finding),
    ]  # fmt: skip


def _unusable(path: Path, reason: str) -> DiagnosticError:
    help = "correct the file, or rename it: claims are read from the file beside the campaign"
    return DiagnosticError([Diagnostic("GSM5313", f"the claims in `{path}` cannot be used: {reason}", help=help)])
