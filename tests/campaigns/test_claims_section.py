"""Published claims on the page of a campaign: verdicts from its results, and claims that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_records import GRID, gain_of, made
from page_reader import seen

from gpusched_dsl.campaigns.campaign_page import campaign_page
from gpusched_dsl.campaigns.claims.section import claims_file, claims_sections
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

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
    assert claims_sections(plan, records) == []
    (tmp_path / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(plan, records)
    assert dict(section.summary)["claims"] == "2: 1 reproduced, 1 not reproduced"
    first, second = section.tables[0].rows
    assert (first[0], first[5]) == ("Figure 1", "reproduced (each difference is beyond chance)")
    formula = "the mean `used` of `highs`; reproduced from 1.8 to 2.2 GB."
    assert second[2:] == ["2 GB", "1.5 GB", formula, "not reproduced (smaller)", "", "Ours are smaller."]
    test_formula = "the largest `used` of `highs`; reproduced up to 1.6 GB."
    assert section.tables[1].rows == [
        ["Figure 2", "highs uses at most 1.6 GB.", "at most 1.6 GB", "1.5 GB", test_formula, "confirmed", ""]
    ]
    page = campaign_page(plan, records, claims_sections(plan, records))
    assert "A paper <b>of</b> 2020" in seen(page)
    assert "<b>of" not in page


@pytest.mark.parametrize("name", ["role", "roles", "of"])
def test_any_name_of_a_measure_or_factor(tmp_path: Path, name: str) -> None:
    """Names that the computation of verdicts might use itself."""
    value = lambda run: float(run.seed) + 3.0 * (run.label == "scip")  # noqa: E731
    order = "reproduced (each difference is beyond chance)"
    plan, records = made(tmp_path / "measure", GRID, value, gain_name=name)
    (tmp_path / "measure" / "campaign.claims.toml").write_text(CLAIMS.replace('"gain"', f'"{name}"'))
    (section,) = claims_sections(plan, records)
    assert section.tables[0].rows[0][3:6:2] == ["highs 3.5, scip 6.5", order]
    plan, records = made(tmp_path / "factor", GRID.replace("space", name), value)
    (tmp_path / "factor" / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(plan, records)
    assert section.tables[0].rows[0][3:6:2] == ["highs 3.5, scip 6.5", order]


def test_a_reason_of_another_campaign_has_its_tests_with_the_first_claim_of_this_one(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    second = CLAIMS[CLAIMS.index('[[claim]]\nplace = "Figure 2"') : CLAIMS.index('[[claim]]\nplace = "Figure 3"')]
    other = second.partition('reason = "Ours')[0].replace("Figure 2", "Figure 4") + 'reason_of = "Figure 2"\n'
    moved = CLAIMS.replace(second, second.replace('campaign = "Sizes"', 'campaign = "Other"', 1))
    for text in (moved + other, CLAIMS + other, moved + other + other.replace("Figure 4", "Figure 5")):
        (tmp_path / "campaign.claims.toml").write_text(text)
        (section,) = claims_sections(plan, records)
        (tested,) = section.tables[1].rows
        assert tested[0] == ("Figure 2" if text == CLAIMS + other else "Figure 4")
        assert tested[5] == "confirmed"


def test_claims_without_results(tmp_path: Path) -> None:
    plan, _ = made(tmp_path, GRID, gain_of)
    (tmp_path / "campaign.claims.toml").write_text(CLAIMS)
    (section,) = claims_sections(plan.only({"seed": ["1"]}), {})
    assert {row[5] for row in section.tables[0].rows} == {"not run (its runs are not stored)"}
    assert dict(section.summary)["claims"] == "2: 2 not run"


def test_reasons_without_tests_are_marked(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    before, rest = CLAIMS.split("[[claim.test]]")
    (tmp_path / "campaign.claims.toml").write_text(before + rest[rest.index("[[claim]]") :])
    (section,) = claims_sections(plan, records)
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
        claims_sections(plan, records)
    assert words in caught.value.diagnostics[0].message
    assert "campaign.claims.toml" in caught.value.diagnostics[0].message
