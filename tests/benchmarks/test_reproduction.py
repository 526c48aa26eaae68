"""docs/reproduction.md is in step with claims and stored results; verdicts agree with ones worked out by hand."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import polars as pl
import pytest

from benchmarks.reproduction.claims import Claim, Paper, read_paper, read_papers
from benchmarks.reproduction.page import PAGE, read_results, render
from benchmarks.reproduction.verdict import factors_of, find

PAPERS = read_papers()
CLAIM = Claim("Figure 1", "", "%", (50.0, 50.0), "C", "saving", "total", "Ours", ("A", "B"))


def table(ours: list[float], first: list[float], second: list[float], size: int = 1) -> pl.DataFrame:
    rows = [
        (size, "S", name, seed, "done", value)
        for name, values in (("Ours", ours), ("A", first), ("B", second))
        for seed, value in enumerate(values, 1)
    ]
    return pl.DataFrame(rows, schema=["size", "scenario", "method", "seed", "state", "total"], orient="row")


SIX = table([1, 2, 1, 2, 1, 2], [2, 4, 2, 4, 2, 5], [9, 9, 9, 9, 9, 9])  # 9 against 19: a saving of 10 / 19
EQUAL = table([1, 2, 1, 2, 1, 2], [1, 2, 1, 2, 1, 2], [9, 9, 9, 9, 9, 9])


def test_the_page_is_in_step_with_claims_and_results() -> None:
    page = render([(paper, read_results(paper)) for paper in PAPERS])
    assert page == PAGE.read_text(encoding="utf-8"), "run `python -m benchmarks.reproduction`"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.model_file.stem)
def test_every_claim_names_its_campaign_and_a_reason_where_ours_differs(paper: Paper) -> None:
    campaigns = set(re.findall(r"^campaign (\w+) ", paper.model_file.read_text(encoding="utf-8"), re.MULTILINE))
    results = read_results(paper)
    assert campaigns >= {claim.campaign for claim in paper.claims if claim.campaign}
    for claim in paper.claims:
        finding = find(claim, results.get(claim.campaign))
        assert finding.verdict == "reproduced" or claim.reason, claim.place


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.model_file.stem)
def test_stored_results_are_runs_of_their_campaigns(paper: Paper) -> None:
    for results in read_results(paper).values():
        assert set(results["state"]) <= {"done", "failed"}
        assert results["key"].n_unique() == len(results)
        repeated = results.select(*factors_of(results), "scenario", "method", "seed").is_duplicated()
        assert not repeated.any()


def test_a_saving_is_relative_to_the_best_of_the_others() -> None:
    finding = find(CLAIM, SIX)
    assert finding.ours == pytest.approx(1000 / 19)
    assert finding.interval is not None
    assert finding.interval.low < 1000 / 19 < finding.interval.high
    assert finding.verdict == "reproduced"  # 52.6 is within a tenth of 50


@pytest.mark.parametrize(
    ("published", "verdict", "detail"),
    [
        (80.0, "same direction", "smaller"),
        (20.0, "same direction", "larger"),
        (-50.0, "not reproduced", "opposite direction"),
    ],
)
def test_direction_comes_before_size(published: float, verdict: str, detail: str) -> None:
    finding = find(dataclasses.replace(CLAIM, published=(published, published)), SIX)
    assert (finding.verdict, finding.detail) == (verdict, detail)


def test_sizes_count_equally() -> None:
    """A large instance with a saving of 0.5 and a small one with 0.25 have a mean of 0.375."""
    large = table([500] * 6, [1000] * 6, [2000] * 6, size=2)
    small = table([3] * 6, [9] * 6, [4] * 6)
    assert find(CLAIM, pl.concat([large, small])).ours == pytest.approx(37.5)


def test_five_seeds_are_too_few() -> None:
    finding = find(CLAIM, SIX.filter(pl.col("seed") < 6))
    assert (finding.verdict, finding.detail) == ("not reproduced", "too few seeds")
    assert finding.ours == pytest.approx(50.0)


def test_one_instance_without_draws_is_exact() -> None:
    one = SIX.filter(pl.col("seed") == 1).with_columns(seed=pl.lit(0))
    assert find(CLAIM, one).detail == "too few seeds"
    assert find(dataclasses.replace(CLAIM, exact=True), one).verdict == "reproduced"


def test_only_seeds_with_all_methods_count() -> None:
    without = SIX.filter((pl.col("seed") < 6) | (pl.col("method") != "B"))
    assert find(CLAIM, without).ours == pytest.approx(50.0)
    failed = SIX.with_columns(state=pl.when(pl.col("seed") == 6).then(pl.lit("failed")).otherwise("state"))
    assert find(CLAIM, failed).ours == pytest.approx(50.0)


def test_a_ratio_is_theirs_over_ours() -> None:
    finding = find(dataclasses.replace(CLAIM, kind="ratio", published=(2.0, 2.2)), SIX)
    assert finding.ours == pytest.approx(19 / 9)
    assert finding.verdict == "reproduced"


def test_an_order_needs_every_difference_beyond_chance() -> None:
    order = dataclasses.replace(CLAIM, kind="order", published=None)
    assert find(order, SIX).verdict == "reproduced"
    assert find(order, SIX.filter(pl.col("seed") < 6)).verdict == "same direction"
    assert find(order, EQUAL).detail == "not below A"


def test_equality_needs_the_whole_interval() -> None:
    equal = dataclasses.replace(CLAIM, kind="equal", published=None, against=("A",), within=5.0)
    assert find(equal, EQUAL).verdict == "reproduced"
    assert find(equal, SIX).verdict == "not reproduced"


def test_a_limit_is_compared_with_the_largest_value() -> None:
    limit = dataclasses.replace(CLAIM, kind="most", published=(1.9, 1.9), against=())
    assert find(limit, SIX).verdict == "not reproduced"
    assert find(dataclasses.replace(limit, published=(2.0, 2.0)), SIX).verdict == "reproduced"
    assert find(dataclasses.replace(limit, kind="mean"), SIX).verdict == "reproduced"  # 1.5


def test_claims_without_runs_are_not_reproduced() -> None:
    assert find(dataclasses.replace(CLAIM, campaign=""), None).detail == "not run"
    assert find(CLAIM, None).detail == "its runs are not stored"
    assert find(dataclasses.replace(CLAIM, where={"size": 2}), SIX).detail == "its runs are not stored"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('place = "T"', "needs a reason"),
        ('place = "T"\nkind = "gain"\ncampaign = "C"', "unknown kind `gain`"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nmethod = "M"\npublished = 1', "`against` are needed"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nmethod = "M"\nagainst = ["A"]', "`published` is needed"),
    ],
)
def test_incomplete_claims_are_refused(row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.claims.toml"
    path.write_text(f'title = "t"\nsetup = "s"\n[[claim]]\nclaim = "c"\n{row}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_paper(path)
