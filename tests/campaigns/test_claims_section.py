"""Published claims on the page of a campaign: verdicts from its results, and claims that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign_records import GRID, gain_of, made
from found_codes import raises_code
from page_reader import seen

from gpusched_dsl.campaigns.claims.section import claims_file, claims_sections
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.language.blocks.campaigns.grid import GridRun
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.pages.page import PageSection

CLAIMS = """
title = "A paper <b>of</b> 2020"
setup = "As published."

[[claim]]
place = "Figure 1"
claim = "highs gains less than scip."
campaign = "Sizes"
kind = "order"
measure = "gain"
method = "highs"
against = ["scip"]
where = { scenario = "Small" }

[[claim]]
place = "Figure 2"
claim = "It uses 2 GB."
campaign = "Sizes"
kind = "value"
measure = "used"
method = "highs"
published = 2
unit = "GB"
reason = "Ours are smaller."
[[claim.test]]
claim = "highs uses at most 1.6 GB."
campaign = "Sizes"
kind = "most"
measure = "used"
method = "highs"
published = 1.6
unit = "GB"

[[claim]]
place = "Figure 3"
claim = "Of another campaign."
campaign = "Other"
kind = "most"
measure = "used"
method = "highs"
published = 2
"""


def test_claims_of_the_campaign_have_verdicts(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, lambda run: gain_of(run) + 3.0 * (run.label == "scip"))
    assert claims_file(plan) is None
    assert claims_sections(CampaignResults.of(plan, records)) == []
    (tmp_path / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(CampaignResults.of(plan, records))
    assert dict(section.summary)["claims"] == "2: 1 reproduced, 1 not reproduced"
    first, second = section.tables[0].rows
    assert (first[0], first[5]) == ("Figure 1", "reproduced (each difference is beyond chance)")
    formula = "the mean `used` of `highs`; reproduced from 1.8 to 2.2 GB."
    assert second[2:] == ["2 GB", "1.5 GB", formula, "not reproduced (smaller)", "", "Ours are smaller."]
    test_formula = "the largest `used` of `highs`; reproduced up to 1.6 GB."
    assert section.tables[1].rows == [
        ["Figure 2", "highs uses at most 1.6 GB.", "at most 1.6 GB", "1.5 GB", test_formula, "confirmed", ""]
    ]
    page = CampaignResults.of(plan, records).html_text()
    assert "A paper <b>of</b> 2020" in seen(page)
    assert "<b>of" not in page


@pytest.mark.parametrize("name", ["role", "roles", "of"])
def test_any_name_of_a_measure_or_factor(tmp_path: Path, name: str) -> None:
    """Names that the computation of verdicts might use itself."""
    value = lambda run: float(run.seed) + 3.0 * (run.label == "scip")  # noqa: E731
    order = "reproduced (each difference is beyond chance)"
    plan, records = made(tmp_path / "measure", GRID, value, gain_name=name)
    (tmp_path / "measure" / "campaign.claims.toml").write_text(CLAIMS.replace('"gain"', f'"{name}"'))
    (section,) = claims_sections(CampaignResults.of(plan, records))
    assert section.tables[0].rows[0][3:6:2] == ["highs 3.5, scip 6.5", order]
    plan, records = made(tmp_path / "factor", GRID.replace("space", name), value)
    (tmp_path / "factor" / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(CampaignResults.of(plan, records))
    assert section.tables[0].rows[0][3:6:2] == ["highs 3.5, scip 6.5", order]


def test_a_reason_of_another_campaign_has_its_tests_with_the_first_claim_of_this_one(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    second = CLAIMS[CLAIMS.index('[[claim]]\nplace = "Figure 2"') : CLAIMS.index('[[claim]]\nplace = "Figure 3"')]
    other = second.partition('reason = "Ours')[0].replace("Figure 2", "Figure 4") + 'reason_of = "Figure 2"\n'
    moved = CLAIMS.replace(second, second.replace('campaign = "Sizes"', 'campaign = "Other"', 1))
    for text in (moved + other, CLAIMS + other, moved + other + other.replace("Figure 4", "Figure 5")):
        (tmp_path / "campaign.claims.toml").write_text(text)
        (section,) = claims_sections(CampaignResults.of(plan, records))
        (tested,) = section.tables[1].rows
        assert tested[0] == ("Figure 2" if text == CLAIMS + other else "Figure 4")
        assert tested[5] == "confirmed"


def test_claims_without_results(tmp_path: Path) -> None:
    plan, _ = made(tmp_path, GRID, gain_of)
    (tmp_path / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(CampaignResults.of(plan.only({"seed": ["1"]}), {}))
    assert {row[5] for row in section.tables[0].rows} == {"not run (its runs are not stored)"}
    assert dict(section.summary)["claims"] == "2: 2 not run"


def test_reasons_without_tests_are_marked(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    before, rest = CLAIMS.split("[[claim.test]]")
    (tmp_path / "campaign.claims.toml").write_text(before + rest[rest.index("[[claim]]") :])
    (section,) = claims_sections(CampaignResults.of(plan, records))
    assert section.tables[0].rows[1][7] == "Ours are smaller. This reason was not examined."


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title =", "title", "line 2"),
        ('title = "A paper <b>of</b> 2020"\n', "", "`title` is missing"),
        ('kind = "value"', 'kind = "valu"', "unknown kind `valu`"),
        ('place = "Figure 2"', 'plaice = "Figure 2"', "plaice"),
        ('kind = "value"\nmeasure = "used"', 'kind = "value"\nmeasure = "usd"', "usd"),
        ("reason =", "raeson =", "raeson"),
        ('unit = "GB"', 'unit = "GB"\nwhere = { siz = 3 }', "siz"),
    ],
)
def test_claims_that_cannot_be_used(tmp_path: Path, old: str, new: str, words: str) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    assert old in CLAIMS
    (tmp_path / "campaign.claims.toml").write_text(CLAIMS.replace(old, new, 1))
    with pytest.raises(DiagnosticError, match="GSM5313") as caught:
        claims_sections(CampaignResults.of(plan, records))
    assert words in caught.value.diagnostics[0].message
    assert "campaign.claims.toml" in caught.value.diagnostics[0].message


ABSENT = '\n[[claim]]\nplace = "Figure 9"\nclaim = "It saves."\nreason = "Its data are not public."\n'
GAINS = """title = "T"
setup = "S"
[[claim]]
place = "Figure 1"
claim = "It gains."
campaign = "Sizes"
kind = "saving"
measure = "gain"
method = "highs"
against = ["scip"]
published = 10
unit = "%"
"""
OF_HIGHS = GAINS.replace('against = ["scip"]\n', "")
TOTAL = OF_HIGHS.replace("saving", "total") + 'factor = "space"\nruns = 72\nsizes = [5, 7, 9]\n'
TEST = OF_HIGHS[OF_HIGHS.index("claim =") :].replace("saving", "most")
TEST = f"[[claim.test]]\n{TEST}"
ABSENT_TWICE = GAINS.replace("kind = ", 'reason_of = "Figure 9"\nkind = ') + ABSENT * 2


def sections_of(tmp_path: Path, claims: str, value: Callable[[GridRun], float | None] = gain_of) -> list[PageSection]:
    plan, records = made(tmp_path, GRID, value)
    (tmp_path / "campaign.claims.toml").write_text(claims)
    return claims_sections(CampaignResults.of(plan, records))


@pytest.mark.parametrize("claims", [GAINS, "title = 'T'\nsetup = 'S'\n"])
def test_claims_that_no_campaign_examines_are_listed(tmp_path: Path, claims: str) -> None:
    (section,) = sections_of(tmp_path, claims + ABSENT)
    assert section.tables[-1].rows == [["Figure 9", "It saves.", "not run", "Its data are not public."]]
    assert "1 not run" in dict(section.summary)["claims"]


def test_the_reading_of_a_claim_is_stated(tmp_path: Path) -> None:
    (section,) = sections_of(tmp_path, GAINS + 'reading = "`highs` has less `gain`."\n')
    assert section.tables[0].rows[0][1] == "It gains. Read as: `highs` has less `gain`."


def test_failed_runs_are_stored_runs(tmp_path: Path) -> None:
    (section,) = sections_of(tmp_path, GAINS, lambda run: None)
    assert section.tables[0].rows[0][5:7] == ["the runs cannot tell (no run counts)", "not counted: 72 failed"]


@pytest.mark.parametrize("kind", ["saving", "value", "growth", "order"])
def test_scenarios_of_a_campaign_are_cells(tmp_path: Path, kind: str) -> None:
    """A number over two scenarios is the mean of those of each; runs of one seed of both are never mixed."""
    text = GAINS.replace("published = 10\n", "") if kind == "order" else GAINS if kind == "saving" else OF_HIGHS
    text = text.replace("saving", kind).replace("%", "%" if kind == "saving" else "$") + (
        'factor = "space"\n' if kind == "growth" else ""
    )
    # The two scenarios differ a hundredfold, ours and theirs by a tenth with little noise.
    scale = lambda run: 100.0 if run.scenario == "Other" else 1.0  # noqa: E731
    value = lambda run: (  # noqa: E731
        scale(run) * float(run.factors["space"].number) * (0.9 if run.label == "highs" else 1.0) * (1 + run.seed / 1e4)
    )
    plan, records = made(tmp_path, GRID, value)
    (tmp_path / "campaign.claims.toml").write_text(text)
    row = claims_sections(CampaignResults.of(plan, records))[0].tables[0].rows[0]
    if kind == "order":
        assert row[5] == "reproduced (each difference is beyond chance)"
    else:
        number = {"saving": "10 %", "value": "318 $", "growth": "exponent 1"}[kind]
        assert row[3].startswith(number)
        low, high = re.findall(r"[0-9.]+", row[3])[1:] or (0.0, 0.0)
        assert float(high) - float(low) <= 1.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GAINS.replace('"highs"', '"hihgs"'), "unknown method `hihgs`, did you mean `highs`?"),
        (GAINS.replace('["scip"]', '["sicp"]'), "unknown method `sicp`"),
        (GAINS.replace('["scip"]', '"scip"'), "`$.against`"),
        (GAINS.replace('["scip"]', '["highs"]'), "`against` has"),
        (GAINS.replace("Sizes", "Sizez"), "unknown campaign `Sizez`, did you mean `Sizes`?"),
        (GAINS + 'reason = "r"\n' + TEST.replace("Sizes", "Sizez"), "Figure 1, test: unknown campaign `Sizez`"),
        (GAINS + 'reason = "r"\n' + TEST.replace("highs", "hihgs"), "Figure 1, test: unknown method `hihgs`"),
        (GAINS + 'reason = "r"\n' + TEST + 'reason = "r"\n', "unknown entry `reason`"),
        (GAINS + TEST, "`reason`, which is missing"),
        (GAINS + 'source = "Table 2"\n', "`reason`, which is missing"),
        (GAINS + "where = { space = 6 }\n", "`space` is never `6`"),
        (GAINS + 'where = { space = 5, scenario = "Smal" }\n', "`scenario` is never `Smal`"),
        (GAINS + 'where = "space"\n', "`$.where`"),
        (GAINS + "where = { space = [[5]] }\n", "`$.where"),
        (GAINS.replace("10", "[10, 5]"), "`published` is neither"),
        (GAINS.replace("10", "nan"), "`published` is neither"),
        (GAINS.replace("10", "inf"), "`published` is neither"),
        (GAINS.replace("10", "[10]"), "`$.published`"),
        (GAINS.replace("10", "true"), "`$.published[0]`"),
        (GAINS.replace("saving", "order"), "`published` is not used by the kind `order`"),
        (GAINS.replace("saving", "equal").replace("published = 10\n", ""), "`within` is needed"),
        (GAINS + "within = 5\n", "`within` is not used by the kind `saving`"),
        (GAINS + "runs = 5\n", "`runs` is not used by the kind `saving`"),
        (GAINS.replace('"%"', '"$"'), "`unit` is `$`"),
        (GAINS + 'exact = "false"\n', "`$.exact`"),
        (GAINS + 'solved = "no"\n', "`$.solved`"),
        (GAINS.replace('"gain"', "3"), "`$.measure`"),
        (GAINS.replace('["scip"]', '["7"]') + 'factor = "space"\nvalue = "6"\n', "unknown value `6` of `space`"),
        (OF_HIGHS.replace("saving", "growth") + 'factor = "spice"\n', "unknown column `spice`"),
        (OF_HIGHS.replace("saving", "growth") + 'factor = "space"\ntogether = ["s"]\n', "unknown column `s`"),
        (TOTAL + 'arms = ["methods"]\n', "unknown column `methods`"),
        (GAINS.replace('campaign = "Sizes"\n', 'reason = "r"\n'), "`campaign` is needed with `against`"),
        (GAINS.replace("[[claim]]", "[claim]"), "`[[claim]]`"),
        (GAINS + '[[claims]]\nplace = "T"\n', "unknown entry `claims`"),
        (ABSENT_TWICE, "`reason_of` names"),
    ],
)
@pytest.mark.parametrize("is_stored", [True, False])
def test_a_claim_that_is_not_as_meant_is_refused(tmp_path: Path, text: str, words: str, is_stored: bool) -> None:
    """Never shown as one whose runs are missing or cannot tell, nor with a part of it ignored."""
    plan, records = made(tmp_path, GRID, gain_of)
    (tmp_path / "campaign.claims.toml").write_text(text)
    with pytest.raises(DiagnosticError, match="GSM5313") as caught:
        claims_sections(CampaignResults.of(plan.only({"seed": ["1"]}), records if is_stored else {}))
    assert words in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("source", "cites"),
    [
        ("Section 4.2: \"a\"", True), ("Section V-B", True), ("Appendix A", True), ("Table A.1", True), ("(16)", True),
        ("Figures 4 and 5", True), ("the abstract", True), ("Kiros (2020)", False), ("Table Values", False),
        ("Section In the middle", False), ("page It", False), ("the paper", False),
    ],
)  # fmt: skip
def test_a_source_cites_a_place(tmp_path: Path, source: str, cites: bool) -> None:
    text = GAINS + f"reason = 'r'\nsource = '{source}'\n"
    if cites:
        (section,) = sections_of(tmp_path, text)
        assert f"Source: {source}" in section.tables[0].rows[0][7]
    else:
        with pytest.raises(DiagnosticError, match="names no place"):
            sections_of(tmp_path, text)


@pytest.mark.parametrize(
    ("kind", "measure", "unit", "used"),
    [
        ("value", "used", "MB", "GB"),
        ("mean", "seconds", "h", "s"),
        ("most", "gain", "h", "$"),
        ("value", "used", "GB", None),
        ("value", "used", "boxes", None),
    ],
)
def test_the_unit_of_a_claim_is_that_of_its_measure(
    tmp_path: Path, kind: str, measure: str, unit: str, used: str | None
) -> None:
    text = OF_HIGHS.replace("saving", kind).replace('"gain"', f'"{measure}"').replace("%", unit)
    if used is None:
        assert sections_of(tmp_path, text)
    else:
        with raises_code("GSM5313", "unit", unit, measure, used):
            sections_of(tmp_path, text)
