"""reproduction.md is in step with claims and stored results; verdicts agree with ones worked out by hand."""

from __future__ import annotations

import dataclasses
import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.reproduction.__main__ import cells_of, merged
from benchmarks.reproduction.page import PAGE, count_of, grid_file, read_results, render
from benchmarks.reproduction.papers import read_papers
from benchmarks.reproduction.sample import sampled
from gpusched_dsl.campaigns.claims.claim_runs import factors_of, restrict_rows
from gpusched_dsl.campaigns.claims.claims import Claim, Paper, read_paper
from gpusched_dsl.campaigns.claims.texts import formula_text, reason_text, status_text, tally, verdict_text
from gpusched_dsl.campaigns.claims.verdict import Finding, find
from gpusched_dsl.campaigns.plan import make_plan
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

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
        assert not finding.is_refuted or claim.reason, claim.place


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
    assert finding.interval == (pytest.approx(50.0), pytest.approx(700 / 12))  # without seed 6, and it alone twice
    assert finding.verdict == "the runs cannot tell"  # not all of it is within a tenth of 50
    assert find(dataclasses.replace(CLAIM, published=(54.0, 54.0)), SIX).verdict == "reproduced"


@pytest.mark.parametrize(
    ("published", "verdict", "detail"),
    [
        ((80.0, 80.0), "same direction", "smaller"),
        ((20.0, 20.0), "same direction", "larger"),
        ((-50.0, -50.0), "not reproduced", "opposite direction"),
        (
            (52.0, 90.0),
            "the runs cannot tell",
            "only its direction is beyond chance",
        ),  # ours is inside, its interval not
        ((30.0, 52.0), "the runs cannot tell", "only its direction is beyond chance"),  # ours is outside
        ((52.0, 54.0), "the runs cannot tell", "only its direction is beyond chance"),  # its interval has all of it
        ((50.0, 60.0), "reproduced", ""),
        ((-math.inf, 60.0), "reproduced", ""),
        ((60.0, math.inf), "same direction", "smaller"),
    ],
)
def test_the_whole_interval_decides_and_then_the_direction(
    published: tuple[float, float], verdict: str, detail: str
) -> None:
    """Ours is a saving of 52.6 % with an interval of 50 to 58.3."""
    finding = find(dataclasses.replace(CLAIM, published=published), SIX)
    assert (finding.verdict, finding.detail) == (verdict, detail)


def test_no_verdict_contradicts_its_interval() -> None:
    """Random ranges and runs: the verdict is that of the interval and the range, worked out by three comparisons."""
    rng = random.Random(4)
    seen = Counter()
    for _ in range(150):
        first = [rng.uniform(1, 2) for _ in range(6)]
        runs = table([value * rng.choice([0.3, 1, 1.5]) * rng.uniform(0.9, 1.1) for value in first], first, [9] * 6)
        low = rng.uniform(-120, 90)
        high = low + rng.choice([0.0, rng.uniform(1, 200)])
        finding = find(dataclasses.replace(CLAIM, against=("A",), published=(low, high)), runs)
        assert finding.interval is not None
        if low == high:
            low, high = low - abs(low) / 10, low + abs(low) / 10
        inside = low <= finding.interval.low and finding.interval.high <= high
        outside = finding.interval.high < low or high < finding.interval.low
        assert (finding.verdict == "reproduced") == inside
        assert finding.is_refuted == outside
        assert (finding.verdict == "the runs cannot tell") == (not inside and not outside)
        if finding.verdict == "same direction":
            assert finding.interval.low > 0 if low >= 0 else finding.interval.high < 0
        seen[finding.verdict] += 1
    assert min(seen[word] for word in ("reproduced", "same direction", "the runs cannot tell", "not reproduced")) > 0


def test_sizes_count_equally() -> None:
    """A large instance with a saving of 0.5 and a small one with 0.25 have a mean of 0.375."""
    large = table([500] * 6, [1000] * 6, [2000] * 6, size=2)
    small = table([3] * 6, [9] * 6, [4] * 6)
    both = pl.concat([large, small])
    assert find(CLAIM, both).ours == pytest.approx(37.5)
    for lacking in (1, 2):  # whatever the numbers of their seeds
        finding = find(CLAIM, both.filter((pl.col("size") == 1) | (pl.col("seed") > lacking)))
        assert (finding.ours, finding.interval) == (pytest.approx(37.5), (pytest.approx(37.5), pytest.approx(37.5)))
    for kind in ("value", "mean"):
        value = dataclasses.replace(CLAIM, kind=kind, against=(), published=(300.0, 300.0))
        assert find(value, both.filter((pl.col("size") == 1) | (pl.col("seed") > 2))).ours == pytest.approx(251.5)
    order = dataclasses.replace(CLAIM, kind="order", published=None, against=("B",))
    assert find(order, both.filter((pl.col("size") == 1) | (pl.col("seed") > 2))).verdict == "reproduced"


@pytest.mark.parametrize("kind", ["saving", "ratio", "order", "equal", "value", "mean"])
def test_a_size_with_few_of_the_seeds_leaves_a_claim_undecided(kind: str) -> None:
    """A number of one seed at the second size: no interval tells how much of it is chance."""
    both = pl.concat([EQUAL, EQUAL.with_columns(size=pl.lit(2), total=pl.col("total") * 3).cast(EQUAL.schema)])
    claim = dataclasses.replace(CLAIM, kind=kind, within=9.0, published=(0.5, 900.0), against=("A",))
    claim = dataclasses.replace(claim, against=() if kind in ("value", "mean") else ("A",))
    few = find(claim, both.filter((pl.col("size") == 1) | (pl.col("seed") == 3)))
    assert few.verdict == "the runs cannot tell"
    assert "too few seeds" in few.detail
    assert "too few seeds" not in find(claim, both).detail


@pytest.mark.parametrize("status", ["stuck", "events", "broken", "infeasible"])
@pytest.mark.parametrize("measure", ["total", "seconds"])
def test_runs_without_a_valid_plan_for_all_jobs_do_not_count(status: str, measure: str) -> None:
    """Neither with their cost nor with their time, and the verdict states how many there are."""
    wrong = (pl.col("method") == "A") & (pl.col("seed") == 6)
    runs = SIX.with_columns(status=pl.when(wrong).then(pl.lit(status)).otherwise(pl.lit("feasible")), seconds="total")
    finding = find(dataclasses.replace(CLAIM, measure=measure), runs)
    assert finding.ours == pytest.approx(100 * (14 - 7) / 14)  # seeds 1 to 5
    assert status_text(finding) == f"15 feasible; not counted: 1 {status}"
    nothing = find(CLAIM, runs.with_columns(status=pl.lit(status)))
    assert (nothing.verdict, nothing.detail) == ("the runs cannot tell", "no run counts")
    assert status_text(nothing) == f"not counted: 18 {status}"


def test_runs_at_a_limit_do_not_count_for_claims_about_optima() -> None:
    """A plan that a solver has when it stops is no optimum, so that a difference to another method says little."""
    stopped = (pl.col("method") == "Ours") & (pl.col("seed") > 4)
    runs = SIX.with_columns(status=pl.when(stopped).then(pl.lit("limit")).otherwise(pl.lit("optimal")))
    assert find(CLAIM, runs).ours == pytest.approx(1000 / 19)
    claim = dataclasses.replace(CLAIM, solved=True)
    finding = find(claim, runs)
    assert (finding.ours, finding.verdict) == (pytest.approx(50.0), "the runs cannot tell")  # seeds 1 to 4
    assert status_text(finding) == "12 optimal; not counted: 2 limit"
    assert "; runs that ended within their gap; " in formula_text(claim)
    chosen = dataclasses.replace(claim, where={"size": 1})
    assert "; runs with `size` 1 that ended within their gap; " in formula_text(chosen)


def test_the_page_states_runs_that_do_not_count() -> None:
    runs = SIX.with_columns(status=pl.lit("broken"), seconds=pl.lit(1.0))
    page = " ".join(render([(dataclasses.replace(PAPERS[0], claims=(CLAIM,)), {"C": runs})]).split())
    assert "**the runs cannot tell (no run counts)**" in page
    assert "total of Ours, A, B; status: not counted: 18 broken; 0 s of computing." in page  # no factors without values
    assert page.count("gsdsl campaign run") == 1  # all runs, not none of them
    half = runs.with_columns(status=pl.when(pl.col("method") == "B").then(pl.lit("limit")).otherwise("status"))
    paper = dataclasses.replace(PAPERS[0], claims=(dataclasses.replace(CLAIM, kind="most", method="B", against=()),))
    assert "status: 6 limit;" in " ".join(render([(paper, {"C": half})]).split())


def test_failed_runs_do_not_count() -> None:
    failed = SIX.with_columns(state=pl.when(pl.col("seed") == 6).then(pl.lit("failed")).otherwise("state"))
    assert status_text(find(CLAIM, failed)) == "not counted: 3 failed"


def test_five_seeds_are_too_few() -> None:
    finding = find(CLAIM, SIX.filter(pl.col("seed") < 6))
    assert (finding.verdict, finding.detail) == ("the runs cannot tell", "too few seeds")
    assert finding.ours == pytest.approx(50.0)
    value = dataclasses.replace(CLAIM, kind="value", against=(), published=(1.0, 2.0))
    assert find(value, SIX.filter(pl.col("seed") < 6)).detail == "too few seeds"
    assert find(value, SIX).verdict == "reproduced"


def test_one_instance_without_draws_is_exact() -> None:
    one = SIX.filter(pl.col("seed") == 1).with_columns(seed=pl.lit(0))
    assert find(CLAIM, one).detail == "too few seeds"
    assert find(dataclasses.replace(CLAIM, exact=True), one).verdict == "reproduced"


def test_numbers_of_a_selection_are_compared_as_numbers() -> None:
    real = SIX.with_columns(size=pl.lit(1.0))
    assert len(restrict_rows(real, {"size": 1})) == len(restrict_rows(SIX, {"size": 1.0})) == len(SIX)
    assert restrict_rows(SIX, {"size": 1.5}).is_empty()  # not rounded to 1
    assert len(restrict_rows(real, {"size": [1, 2], "method": "A"})) == 6
    with pytest.raises(ValueError, match="large"):
        restrict_rows(SIX, {"size": "large"})


def test_only_seeds_with_all_methods_count() -> None:
    without = SIX.filter((pl.col("seed") < 6) | (pl.col("method") != "B"))
    assert find(CLAIM, without).ours == pytest.approx(50.0)
    failed = SIX.with_columns(state=pl.when(pl.col("seed") == 6).then(pl.lit("failed")).otherwise("state"))
    assert find(CLAIM, failed).ours == pytest.approx(50.0)


def test_a_ratio_is_theirs_over_ours() -> None:
    finding = find(dataclasses.replace(CLAIM, kind="ratio", published=(2.0, 2.4)), SIX)
    assert finding.ours == pytest.approx(19 / 9)
    assert finding.verdict == "reproduced"


def test_an_order_needs_every_difference_beyond_chance() -> None:
    order = dataclasses.replace(CLAIM, kind="order", published=None)
    assert find(order, SIX).verdict == "reproduced"
    few = find(order, SIX.filter(pl.col("seed") < 6))
    assert (few.verdict, few.detail) == ("the runs cannot tell", "too few seeds, not clearly below A, B")
    assert find(order, EQUAL).detail == "not below A"
    mixed = table([1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 3], [9, 9, 9, 9, 9, 9])  # 9 against 11, both signs
    unclear = find(order, mixed)
    assert (unclear.verdict, unclear.detail) == ("the runs cannot tell", "not clearly below A")
    reverse = find(dataclasses.replace(order, method="B", against=("A",)), SIX)
    assert (reverse.verdict, reverse.detail) == ("not reproduced", "not below A")


def test_equality_needs_the_whole_interval() -> None:
    equal = dataclasses.replace(CLAIM, kind="equal", published=None, against=("A",), within=5.0)
    assert find(equal, EQUAL).verdict == "reproduced"
    assert (find(equal, SIX).verdict, find(equal, SIX).detail) == ("not reproduced", "more than 5 % below")
    higher = dataclasses.replace(equal, method="A", against=("Ours",))
    assert find(higher, SIX).detail == "more than 5 % above"
    assert find(dataclasses.replace(equal, within=52.0), SIX).verdict == "the runs cannot tell"


def test_a_limit_is_compared_with_the_largest_value() -> None:
    limit = dataclasses.replace(CLAIM, kind="most", published=(1.9, 1.9), against=())
    assert find(limit, SIX).verdict == "not reproduced"
    assert find(dataclasses.replace(limit, published=(2.0, 2.0)), SIX).verdict == "reproduced"
    assert find(dataclasses.replace(limit, kind="mean"), SIX).verdict == "the runs cannot tell"  # 1.5, 1 to 2
    assert find(dataclasses.replace(limit, kind="mean", published=(2.0, 2.0)), SIX).verdict == "reproduced"


# STS with and without sharing at two sizes: 0.8 and 0.6 of the cost, and twice the size costs eight times as much.
SHARED = pl.DataFrame(
    [
        (size, share, "S", "STS", seed, "done", seed * size**3 * (1.0 if share == "off" else factor))
        for size, factor in ((2, 0.8), (4, 0.6))
        for share in ("off", "on")
        for seed in range(1, 7)
    ],
    schema=["nodes", "share", "scenario", "method", "seed", "state", "total"],
    orient="row",
)
SHARING = Claim("Figure 6", "", "%", (30.0, 30.0), "C", "saving", "total", "STS", ("off",), factor="share", value="on")


def test_values_of_a_factor_are_compared_at_equal_sizes_and_seeds() -> None:
    finding = find(SHARING, SHARED)
    assert finding.ours == pytest.approx(30.0)  # the mean of 20 and 40
    assert finding.interval == (pytest.approx(30.0), pytest.approx(30.0))  # sizes differ, at every seed alike
    assert finding.verdict == "reproduced"
    exact = find(dataclasses.replace(SHARING, where={"nodes": 4}, published=(40.0, 40.0)), SHARED)
    assert exact.interval == (pytest.approx(40.0), pytest.approx(40.0))  # the same saving for all sizes of instances
    larger = find(dataclasses.replace(SHARING, where={"nodes": 4}), SHARED)
    assert larger.ours == pytest.approx(40.0)
    swapped = dataclasses.replace(SHARING, kind="order", published=None, value="off", against=("on",))
    assert find(swapped, SHARED).detail == "not below on"


def test_numbers_are_values_of_a_factor_too() -> None:
    sizes = dataclasses.replace(SHARING, factor="nodes", value="2", against=("4",), published=(87.5, 87.5))
    assert find(sizes, SHARED.filter(pl.col("share") == "off")).ours == pytest.approx(87.5)


def test_growth_is_the_exponent_of_the_size() -> None:
    growth = dataclasses.replace(
        SHARING, kind="growth", factor="nodes", value="", against=(), published=(3.0, 3.0), where={"share": "off"}
    )
    finding = find(growth, SHARED)
    assert finding.ours == pytest.approx(3.0)
    assert finding.verdict == "reproduced"
    slower = find(dataclasses.replace(growth, where={"share": "on"}), SHARED)
    assert slower.ours == pytest.approx(math.log2(8 * 0.6 / 0.8))
    assert (slower.verdict, slower.detail) == ("not reproduced", "smaller")
    both = SHARED.with_columns(pl.col("nodes").alias("controllers")).select("controllers", *SHARED.columns)
    assert find(growth, both).detail == "no seed has runs at two values of nodes"
    assert find(dataclasses.replace(growth, together=("controllers",)), both).ours == pytest.approx(3.0)
    single = find(dataclasses.replace(growth, where={"nodes": 2}), SHARED)
    assert single.detail == "no seed has runs at two values of nodes"


def test_growth_of_a_ratio_pairs_seeds() -> None:
    """`B` is 9 at every seed and size; `Ours` doubles with the size."""
    double = SIX.with_columns(
        size=pl.lit(2), total=pl.when(pl.col("method") == "Ours").then(pl.col("total") * 2).otherwise("total")
    )
    runs = pl.concat([SIX, double.cast(SIX.schema)])
    growth = dataclasses.replace(CLAIM, kind="growth", factor="size", against=("B",), published=(1.0, 1.0))
    assert find(growth, runs).ours == pytest.approx(1.0)
    assert find(growth, runs).interval == (pytest.approx(1.0), pytest.approx(1.0))


def test_a_total_extrapolates_missing_sizes_by_a_power_law() -> None:
    """Two arms at sizes 1, 2 and 4 with two seeds each: 12 runs, of which one arm lacks the largest size."""
    rows = [
        (size, "S", method, seed, "done", scale * size**2.0)
        for method, scale in (("A", 1.0), ("B", 10.0))
        for size in (1, 2, 4)
        for seed in (1, 2)
        if (method, size) != ("B", 4)
    ]
    runs = pl.DataFrame(rows, schema=["size", "scenario", "method", "seed", "state", "seconds"], orient="row")
    total = Claim(
        "T", "", "s", (500.0, 500.0), "C", "total", "seconds", factor="size", runs=12, sizes=(1, 2, 4), arms=("method",)
    )
    finding = find(total, runs)
    assert finding.ours == pytest.approx(2 * 11 * (1 + 4 + 16))
    assert (finding.verdict, finding.detail) == ("reproduced", "extrapolated from 10 of 12 runs")
    assert find(dataclasses.replace(total, published=(400.0, 400.0)), runs).verdict == "not reproduced"
    assert find(total, runs.filter((pl.col("method") == "A") | (pl.col("size") == 1))).ours is None


def test_a_median_ignores_one_slow_run() -> None:
    median = dataclasses.replace(CLAIM, kind="median", published=(1.5, 1.5), against=())
    assert find(median, SIX).ours == pytest.approx(1.5)


def test_a_reason_is_tested_or_cited_or_marked() -> None:
    """A test of the reason appears with its verdict; a refuted one strikes it; one without either is marked."""
    claim = dataclasses.replace(CLAIM, published=(90.0, 90.0), reason="Because.")
    test = dataclasses.replace(CLAIM, claim="Then it is half.", against=("A",), published=(45.0, 60.0))

    runs = SIX.with_columns(seconds=pl.lit(1.0))

    def page(claim: Claim) -> str:
        text = " ".join(render([(dataclasses.replace(PAPERS[0], claims=(claim,)), {"C": runs})]).split())
        return text.partition("## ")[2]

    assert "Because. This reason was not examined." in page(claim)
    cited = page(dataclasses.replace(claim, source="Section 2: `so it is`."))
    assert "Because. Source: Section 2: `so it is`." in cited
    assert "not examined" not in cited
    tested = page(dataclasses.replace(claim, tests=(test,)))
    assert "*Test:* Then it is half. (expected: 45 to 60 %) Ours: 52.6 %" in tested
    assert "**confirmed**" in tested
    refuted = dataclasses.replace(test, published=(-9.0, -9.0))
    for tests in ((refuted,), (test, refuted)):
        for source in ("", "Section 2"):
            wrong = page(dataclasses.replace(claim, tests=tests, source=source))
            assert "**refuted (opposite direction)**" in wrong
            assert "Not the reason, refuted by a test: Because." in wrong
            assert "Section 2" not in wrong
    open_ = page(dataclasses.replace(claim, tests=(dataclasses.replace(test, published=(52.0, 90.0)),)))
    assert "**the runs cannot tell (only its direction is beyond chance)**" in open_
    assert "Because. No test decides this reason." in open_
    missing = page(dataclasses.replace(claim, tests=(dataclasses.replace(test, campaign="D"),)))
    assert "**not examined**" in missing


@pytest.mark.parametrize("verdict", ["reproduced", "the runs cannot tell", "not run"])
def test_only_a_difference_has_a_reason(verdict: str) -> None:
    claim = dataclasses.replace(CLAIM, reason="Because.")
    assert reason_text(claim, Finding(verdict), []) == ""  # type: ignore[arg-type]


def test_a_shared_reason_has_the_tests_of_the_other_claim(tmp_path: Path) -> None:
    path = tmp_path / "p.claims.toml"
    text = """
    title = "t"
    setup = "s"
    [[claim]]
    place = "Figure 1"
    claim = "c"
    campaign = "C"
    kind = "most"
    measure = "total"
    method = "Ours"
    published = 1
    reason = "Because."
    [[claim.test]]
    claim = "t"
    campaign = "C"
    kind = "most"
    measure = "total"
    method = "Ours"
    published = 0
    [[claim]]
    place = "Figure 2"
    claim = "c"
    campaign = "C"
    kind = "most"
    measure = "total"
    method = "A"
    published = 1
    reason_of = "Figure 1"
    """
    path.write_text(text)
    first, second = read_paper(path).claims
    assert second.reason == "As for Figure 1: Because."
    assert second.tests == first.tests

    def page(*claims: Claim) -> str:
        return " ".join(
            render([(dataclasses.replace(PAPERS[0], claims=claims), {"C": SIX.with_columns(seconds=1.0)})]).split()
        )

    assert "Not the reason, refuted by a test: As for Figure 1: Because." in page(second)
    for shown in (page(first, second), page(dataclasses.replace(first, published=(9.0, 9.0)), second), page(second)):
        assert shown.count("*Test:* t ") == 1  # with the first claim that needs its reason
    assert "*Test:* t " in page(first, second).partition("### Figure 2")[0]
    path.write_text(text.replace('reason_of = "Figure 1"', 'reason_of = "Figure 3"'))
    with pytest.raises(ValueError, match="`reason_of` names no other claim"):
        read_paper(path)


def test_upper_bounds_on_seconds_are_counted_apart() -> None:
    """A limit that an older machine met is no reproduction of a result."""
    runs = SIX.with_columns(solve_seconds="total")
    limit = dataclasses.replace(CLAIM, kind="most", against=(), measure="solve_seconds", published=(2.0, 2.0), unit="s")
    beyond, cost = dataclasses.replace(limit, published=(1.0, 1.0)), dataclasses.replace(limit, measure="total")
    found = [(claim, find(claim, runs)) for claim in (limit, beyond, cost)]
    counts = {word: count for word, count in tally(found).items() if count}
    assert counts == {"reproduced": 1, "within a limit of seconds": 1, "beyond a limit of seconds": 1}
    texts = [verdict_text(*one) for one in found]
    assert texts == ["within the limit, on another machine", "beyond the limit, on another machine", "reproduced"]


@pytest.mark.parametrize("status", ["broken", "feasible"])
def test_an_undecided_limit_of_seconds_is_not_beyond_it(status: str) -> None:
    """Neither without runs that count nor with too few of them."""
    runs = SIX.with_columns(solve_seconds="total", status=pl.lit(status)).filter(pl.col("seed") < 6)
    limit = dataclasses.replace(CLAIM, kind="mean", against=(), measure="solve_seconds", published=(2.0, 2.0), unit="s")
    finding = find(limit, runs)
    assert verdict_text(limit, finding).startswith("the runs cannot tell")
    assert {word: count for word, count in tally([(limit, finding)]).items() if count} == {"the runs cannot tell": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "by how many % the mean `total` of `Ours` is below that of the lowest of `A`, `B` (negative: above)"),
        ({"kind": "ratio", "unit": "", "published": (2.0, math.inf)}, "divided by that of `Ours`; reproduced from 2."),
        ({"kind": "order", "published": None}, "whether the mean `total` of `Ours` is below that of each of `A`, `B`."),
        ({"kind": "equal", "within": 5.0, "against": ("A",)}, "of `A` (negative: above); reproduced from -5 to 5 %."),
        ({"kind": "most", "against": (), "unit": "$"}, "the largest `total` of `Ours`; reproduced up to 50 $."),
        ({"kind": "median", "against": ()}, "the median `total` of `Ours`; reproduced up to 50 %."),
        ({"kind": "mean", "against": ()}, "the mean `total` of `Ours`; reproduced up to 50 %."),
        ({"kind": "value", "against": ()}, "the mean `total` of `Ours`; reproduced from 45 to 55 %."),
        ({"where": {"size": [1, 2], "kind": "x"}}, "; runs with `size` 1 or 2, `kind` x; reproduced from 45 to 55 %."),
        ({"kind": "growth", "factor": "size", "against": ()}, "the mean `total` of `Ours` grows as `size`^b"),
        ({"factor": "share", "value": "on", "against": ("off",)}, "with `share` on is below that of `Ours`"),
        ({"kind": "total", "method": "", "against": (), "runs": 9}, "the sum of `total` over all 9 runs; "),
        ({"campaign": ""}, ""),
    ],
)  # fmt: skip
def test_a_formula_is_generated_from_the_fields(change: dict[str, Any], words: str) -> None:
    text = formula_text(dataclasses.replace(CLAIM, **change))
    assert words in text if words else text == ""


def test_an_order_shows_its_means_and_a_sample_its_size(tmp_path: Path) -> None:
    """Nine runs of three methods at three seeds, of 18 at six."""
    order = dataclasses.replace(CLAIM, kind="order", published=None)
    three = SIX.filter(pl.col("seed") < 4).with_columns(seconds=pl.lit(1.0))
    page = render([(dataclasses.replace(PAPERS[0], claims=(order,)), {"C": three})])
    row = next(line for line in page.splitlines() if line.startswith("| Figure 1"))
    assert row.split(" | ")[2:4] == ["Ours 1.33 %, A 2.67 %, B 9 %", "9"]
    paper = dataclasses.replace(PAPERS[0], path=tmp_path / "p.claims.toml")
    grid_file(paper, "C").parent.mkdir()
    cells_of(SIX).write_csv(grid_file(paper, "C"))
    ours = find(order, three)
    assert count_of(paper, order, ours) == "9 of 18"
    assert count_of(paper, order, find(order, SIX)) == "all 18"
    assert count_of(paper, order, find(order, None)) == "-"


def test_new_runs_join_the_stored_ones() -> None:
    """Runs of a later store replace those of their place and keep the others that are still in the grid."""
    grid = SIX.with_columns(state=pl.lit("missing"), total=None, key=pl.lit("new"))
    old = SIX.with_columns(key=pl.lit("old"))
    outside = old.head(1).with_columns(seed=pl.lit(99, dtype=pl.Int64))
    new = SIX.filter(pl.col("seed") == 1).with_columns(total=pl.lit(5, dtype=SIX["total"].dtype), key=pl.lit("new"))
    table = merged(new, pl.concat([old, outside]), grid)
    assert table.select("size", "method", "seed").equals(SIX.select("size", "method", "seed"))
    assert table.filter(pl.col("key") == "new").select("method", "seed", "total").rows() == [
        ("Ours", 1, 5),
        ("A", 1, 5),
        ("B", 1, 5),
    ]


def test_claims_without_runs_are_not_run() -> None:
    assert verdict_text(CLAIM, find(dataclasses.replace(CLAIM, campaign=""), None)) == "not run"
    for finding in (find(CLAIM, None), find(dataclasses.replace(CLAIM, where={"size": 2}), SIX)):
        assert verdict_text(CLAIM, finding) == "not run (its runs are not stored)"


def test_claims_without_a_campaign_are_listed_with_why() -> None:
    absent = dataclasses.replace(CLAIM, claim="It is fast.", campaign="", reason="Its data are not published.")
    page = render([(dataclasses.replace(PAPERS[0], claims=(absent,)), {})])
    assert "| Figure 1 | It is fast. | Its data are not published. |" in page
    assert f"### {absent.place}" not in page


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('place = "T"', "needs a reason"),
        ('place = "T"\nreason = "r"\nsource = "the paper"', "`source` names no place"),
        ('place = "T"\nkind = "gain"\ncampaign = "C"', "unknown kind `gain`"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nmethod = "M"\npublished = 1', "`against` is needed"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nmethod = "M"\nagainst = ["A"]', "`published` is needed"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nmethod = "M"\nagainst = ["A"]\nvalue = 1', "`factor` is needed"),
        ('place = "T"\ncampaign = "C"\nmeasure = "m"\nkind = "total"\nfactor = "n"\npublished = 1', "`runs`, `sizes`"),
        ('place = "T"\ncampaign = "C"\nkind = "value"\npublished = 1', "`measure` are needed"),
    ],
)
def test_incomplete_claims_are_refused(row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.claims.toml"
    path.write_text(f'title = "t"\nsetup = "s"\n[[claim]]\nclaim = "c"\n{row}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_paper(path)


def test_a_sample_has_the_same_share_of_every_size_and_all_methods() -> None:
    source = """
    model M { param size >= 0;  var x in 0..9;  minimize cost: x; }
    scenario S for M { }
    campaign C for M {
      vary nodes in { 1, 2, 3, 4 };
      vary seed in 1..5;
      size = nodes;
      solve S with highs as A, highs (gap = 0.1) as B, highs (gap = 0.2) as D, scip;
    }
    """
    runs = make_plan(workspace_from_text(source, "sample.gsm", Diagnostics())).runs
    chosen = sampled(runs, "nodes", 5)
    sizes = Counter(str(run.run.factors["nodes"].number) for run in chosen)
    assert sizes == {"1": 4, "2": 4, "3": 4, "4": 4}
    assert {run.run.label for run in chosen} == {"A", "B", "D", "scip"}
    assert len({run.key for run in chosen}) == 16
    assert {run.key for run in sampled(runs, "nodes", 1)} == {run.key for run in runs}
    few = sampled(runs, "nodes", 5, ["1", "4"])
    assert Counter(str(run.run.factors["nodes"].number) for run in few) == {"1": 4, "4": 4}
