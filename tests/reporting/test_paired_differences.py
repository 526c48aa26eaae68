"""Differences of methods at equal seeds: intervals against SciPy, their coverage, verdicts and sentences."""

import math
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.reporting.bootstrap import (
    LEAST_DRAWS,
    Interval,
    cells_interval,
    cells_mean,
    expanded_tail,
    mean_interval,
    quotients,
    resampled_means,
)
from gpusched_dsl.reporting.grid import plain
from gpusched_dsl.reporting.paired_differences import PairedDifferences, paired_differences


def runs(**values: list[float | None] | float | None) -> pl.DataFrame:
    """A list has a value per seed, a number is the value of a deterministic method."""
    rows: list[tuple[str, int | None, float | None]] = []
    for method, given in values.items():
        if isinstance(given, list):
            rows += [(method, seed, value) for seed, value in enumerate(given)]
        else:
            rows.append((method, None, given))
    return pl.DataFrame(rows, {"method": pl.String, "seed": pl.Int64, "value": pl.Float64}, orient="row")


def paired(minimise: bool = True, baseline: str | None = None, **values: Any) -> PairedDifferences:
    found = paired_differences(runs(**values), minimise=minimise, baseline=baseline)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [LEAST_DRAWS, 25])
def test_the_interval_is_that_of_scipy_at_the_expanded_level(count: int) -> None:
    draws = np.random.default_rng(count).exponential(3.0, count)
    t, normal = stats.t(count - 1), stats.norm
    tail = normal.cdf(-math.sqrt(count / (count - 1)) * t.ppf(0.975))
    assert expanded_tail(count, 0.95) == pytest.approx(tail, rel=1e-9)
    other = stats.bootstrap(
        (draws,), np.mean, confidence_level=1 - 2 * tail, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    found = mean_interval(draws)
    assert found is not None
    noise = 0.06 * draws.std()  # of quantiles of 20,000 resamples
    assert found.low == pytest.approx(other.low, abs=noise)
    assert found.high == pytest.approx(other.high, abs=noise)
    assert found == mean_interval(draws)
    assert found != mean_interval(draws, seed=1)
    assert draws.min() <= found.low < draws.mean() < found.high <= draws.max()


def test_resampled_means_are_those_of_samples_with_replacement() -> None:
    draws = np.array([1.0, 2.0, 4.0])
    means = resampled_means(draws, 27_000, 0)
    exact = np.sort([(a + b + c) / 3 for a in draws for b in draws for c in draws])
    for mean in set(exact.round(9)):  # each of the 27 samples is equally likely
        assert (np.isclose(means, mean)).mean() == pytest.approx(np.isclose(exact, mean).mean(), abs=0.01)
    many = np.arange(5_000.0)  # in several chunks
    assert resampled_means(many, 1_000, 0).std() == pytest.approx(many.std() / math.sqrt(5_000), rel=0.1)


@pytest.mark.parametrize(("count", "least"), [(LEAST_DRAWS, 0.90), (20, 0.92)])
def test_the_interval_covers_the_mean_as_often_as_it_says(count: int, least: float) -> None:
    """Of 300 intervals of normal draws at least 90 % cover the mean; the plain percentile interval covers 87 % of 6."""
    rng = np.random.default_rng(7)
    covered = sum(0.0 in (mean_interval(rng.normal(size=count), resamples=1_000) or ()) for _ in range(300))
    assert least <= covered / 300 <= 0.99


def _ratio(means: Floats) -> Floats:
    return quotients(means[..., 0], means[..., 1])


def _itself(means: Floats) -> Floats:
    return np.asarray(means[..., 0])


def test_the_interval_of_a_ratio() -> None:
    """Equal ratios have no width whatever the sizes; the sign against 1 is that of the mean difference."""

    def ratio_interval(over: Floats, under: Floats) -> Interval | None:
        return cells_interval(np.stack([over, under], axis=1)[:, None], _ratio)

    rng = np.random.default_rng(5)
    sizes = rng.lognormal(0, 1, 8)
    assert ratio_interval(0.7 * sizes, sizes) == (pytest.approx(0.7), pytest.approx(0.7))
    assert ratio_interval(sizes[: LEAST_DRAWS - 1], sizes[: LEAST_DRAWS - 1]) is None
    few = np.array([1.0, 0, 0, 0, 0, 0])  # every third sample has nothing of it
    assert ratio_interval(few, few) == (1.0, 1.0)
    assert ratio_interval(few + 1, few) == (pytest.approx(2.5), math.inf)  # 1 + 6 / k for k of 6, at most 4 in most
    for _ in range(30):
        above, below = sizes * rng.uniform(0.5, 1.6, 8), sizes
        ratio, difference = ratio_interval(above, below), mean_interval(above - below)
        assert ratio is not None
        assert difference is not None
        assert (1.0 in ratio) == (0.0 in difference)


@pytest.mark.quick(2)
@pytest.mark.parametrize("shared", [0.0, 0.7, 1.0], ids=["own draws", "partly shared", "the same draws"])
@pytest.mark.parametrize("count", [LEAST_DRAWS, 10])
def test_the_interval_of_several_cells_covers_their_mean_as_often_as_it_says(shared: float, count: int) -> None:
    """Of 200 intervals at least 90 % cover the mean of three ratios, whether cells of one seed share its draws or not.

    The ratios of the cells, 0.2, 0.8 and 2, differ much more than those of the seeds.
    """
    rng = np.random.default_rng(6)
    ratios = np.array([0.2, 0.8, 2.0])
    covered = 0
    for _ in range(200):
        common, own = rng.uniform(0.8, 1.2, (count, 1)), rng.uniform(0.8, 1.2, (count, 3))
        below = rng.lognormal(0, 0.5, (count, 3))
        values = np.stack([below * ratios * (shared * common + (1 - shared) * own), below], axis=2)
        covered += ratios.mean() in (cells_interval(values, _ratio) or ())
    assert 0.90 <= covered / 200 <= 0.995


def test_differences_of_cells_are_not_chance() -> None:
    """Cells of 20 and 40 at every seed have a mean of 30 without doubt; seeds are resampled with all their cells."""
    values = np.tile([20.0, 40.0], (6, 1))[:, :, None]
    assert cells_interval(values, _itself) == (30.0, 30.0)
    spread = np.arange(6.0)[:, None, None]
    opposite = np.concatenate([20 + spread, 40 - spread], axis=1)
    assert cells_interval(opposite, _itself) == (pytest.approx(30.0), pytest.approx(30.0))
    same = cells_interval(np.concatenate([spread, spread], axis=1), _itself)
    assert same == cells_interval(spread, _itself)
    assert same == pytest.approx(mean_interval(np.arange(6.0)), abs=0.05)


def test_cells_may_lack_a_third_of_the_seeds() -> None:
    """Cells count equally, whatever the numbers of their seeds."""
    values = np.full((6, 2, 1), 10.0)
    values[:, 1] = 40.0
    for lacking in range(6):
        values[:lacking, 1] = np.nan
        assert cells_mean(values, _itself) == 25.0
        assert cells_interval(values, _itself) == ((25.0, 25.0) if lacking < 3 else None)
    assert cells_interval(values[1:], _itself) is None


def test_the_cells_of_one_seed_are_the_draws() -> None:
    draws = np.arange(6.0)
    assert cells_interval(draws[None, :, None], _itself) == mean_interval(draws)
    assert cells_interval(draws[None, :5, None], _itself) is None


def test_differences_vary_less_than_the_values() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(100, 30, 12)
    found = paired(Slow=(shared + 1 + rng.normal(0, 0.3, 12)).tolist(), Fast=shared.tolist())
    assert found.baseline == "Fast"
    slow = found["Slow"]
    assert (slow.verdict, slow.seeds, slow.better, slow.worse, slow.equal) == ("worse", 12, 0, 12, 0)
    assert slow.interval is not None
    assert slow.mean is not None
    assert 0.5 < slow.interval.low < slow.mean < slow.interval.high < 1.5
    alone = found.mean_of("Slow")
    assert alone.interval is not None
    assert alone.interval.high - alone.interval.low > 20
    assert found.sentences() == ["Fast differs from the other method by more than chance"]
    assert "better" not in plain(found.grid("$")).splitlines()[2]
    backwards = paired(False, Slow=[-v for v in shared], Fast=[-v - 1 for v in shared])
    assert (backwards.baseline, backwards["Fast"].verdict, backwards["Fast"].worse) == ("Slow", "worse", 12)


def test_what_the_runs_cannot_tell() -> None:
    noise = [1.0, -1.0, 2.0, -2.0, 1.5, -1.4, 0.3]
    base = [10.0] * 7
    found = paired(A=base, B=[10.1 + e for e in noise], C=base, D=12.0, E=[None] * 7)
    assert {d.method: d.verdict for d in found.differences} == {
        "B": "unclear", "C": "equal", "D": "worse", "E": "unpaired",
    }  # fmt: skip
    assert found.sentences() == [
        "the runs cannot tell B from A: the interval of its difference contains 0",
        "C: equal to A at every seed",
        "E: no seed at which A has a value too",
    ]
    assert [d.method for d in found.differences if d.is_undecided] == ["B", "E"]
    few = paired(A=[1.0, 2.0], B=[2.0, 3.5], C=[2.0, 5.0])
    assert few.sentences() == ["2 seeds are too few to tell B and C from A: at least 6 are needed"]
    assert not few.has_intervals
    both = paired(A=base, B=[10.1 + e for e in noise], C=[10.2 - e for e in noise])
    assert both.sentences() == ["the runs cannot tell B and C from A: the intervals of differences contain 0"]


def test_deterministic_methods_count_at_every_seed() -> None:
    found = paired(Solver=8.0, Rule=9.0, Drawn=[8.5, 9.5, 8.2, 8.9, 9.1, 8.8, None])
    assert found.baseline == "Solver"
    assert (found["Rule"].seeds, found["Rule"].interval, found["Rule"].verdict) == (1, (1.0, 1.0), "worse")
    drawn = found["Drawn"]
    assert (drawn.seeds, drawn.verdict) == (6, "worse")
    assert drawn.mean == pytest.approx(statistics.fmean([8.5, 9.5, 8.2, 8.9, 9.1, 8.8]) - 8.0)
    other = paired(baseline="Drawn", Solver=8.0, Drawn=[8.5, 9.5, 8.2, 8.9, 9.1, 8.8])
    assert (other["Solver"].verdict, other["Solver"].better) == ("better", 6)
    # a method that has no value at a seed is not the best by what it has at the others
    assert paired(A=[5.0, 5.0, 5.0], B=[1.0, None, None]).baseline == "A"


def test_tables_and_documents_agree() -> None:
    found = paired(A=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], B=[2.0, 3.1, 3.9, 5.2, 6.0, 7.1], C=9.0)
    rows = found.table.to_dicts()
    assert [row["method"] for row in rows] == ["A", "B", "C"]
    assert found.to_dict() == {
        "baseline": "A",
        "methods": [{key: value for key, value in row.items() if key != "baseline"} for row in rows],
    }
    assert rows[0]["difference"] is None
    assert rows[1]["difference"] == found["B"].mean
    lines = plain(found.grid("$", "mean cost")).splitlines()
    assert re.split("  +", lines[0].strip()) == [
        "method",
        "mean cost [$]",
        "minus A [$]",
        "95 % interval",
        "better at seeds",
    ]
    assert lines[3].split()[2].startswith("+1.0")
    assert max(map(len, lines)) <= 80


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """The code on docs/reference/statistics.md prints the table that the page shows."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "statistics.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    shown = re.search(r"```\n(  method.*?)```", page, re.DOTALL)
    assert code is not None
    assert shown is not None
    exec(compile(code[1], "statistics.md", "exec"), {})
    first, printed = capsys.readouterr().out.split("\n", 1)
    assert first.endswith("unclear")
    assert printed == shown[1]


def test_what_is_refused() -> None:
    assert paired_differences(runs(A=[1.0, 2.0])) is None
    assert paired_differences(runs(A=[1.0, 2.0], B=[None, math.nan])) is None
    twice = pl.concat([runs(A=[1.0], B=[2.0]), runs(A=[3.0])])
    with pytest.raises(ValueError, match="several rows of one seed"):
        paired_differences(twice)
    with pytest.raises(ValueError, match="with and without a seed"):
        paired_differences(pl.concat([runs(A=[1.0], B=[2.0]), runs(A=3.0)]))
    with pytest.raises(ValueError, match="no method `Z`"):
        paired_differences(runs(A=[1.0], B=[2.0]), baseline="Z")
    with pytest.raises(KeyError):
        paired(A=[1.0], B=[2.0])["Z"]
