"""Instances of GPU sharing: laws of lengths as published, arrivals by their rate, ranges, and a scenario from text."""

from __future__ import annotations

import polars as pl
import pytest
from drawing import draw, within_standard_errors

import gpusched_dsl as gs

# mean, deviation, P(W <= 20), P(W <= 50), quantiles of 10, 25, 50, 75 and 90 %
PUBLISHED = {
    "AlexNet": (83.848931, 20.410199, 0.003128, 0.094070, (52, 71, 94, 100, 100)),
    "ResNet": (33.434382, 16.675946, 0.225036, 0.869992, (16, 21, 30, 42, 54)),
    "VGG16": (26.081271, 13.379154, 0.410034, 0.956185, (13, 17, 23, 32, 42)),
    "MobileNetV2": (56.350000, 16.505614, 0.004084, 0.378805, (36, 45, 56, 67, 77)),
}
SPOTS = {
    "AlexNet": (0.000010, 0.005552),
    "ResNet": (0.007281, 0.010404),
    "VGG16": (0.028093, 0.004524),
    "MobileNetV2": (0.000001, 0.022947),
}


@pytest.mark.parametrize("network", PUBLISHED)
def test_laws_of_lengths(network: str) -> None:
    law = draw("sharing_law").filter(pl.col("network") == network)
    epochs, chance = law["epochs"].to_numpy(), law["probability"].to_numpy()
    mean, deviation, by_20, by_50, quantiles = PUBLISHED[network]
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    assert (epochs @ chance) == pytest.approx(mean, abs=1e-6)
    assert ((epochs - mean) ** 2 @ chance) ** 0.5 == pytest.approx(deviation, abs=1e-6)
    assert chance[epochs <= 20].sum() == pytest.approx(by_20, abs=1e-6)
    assert chance[epochs <= 50].sum() == pytest.approx(by_50, abs=1e-6)
    assert tuple(int(epochs[(chance.cumsum() < q).sum()]) for q in (0.1, 0.25, 0.5, 0.75, 0.9)) == quantiles
    assert (chance[epochs == 11][0], chance[epochs == 50][0]) == pytest.approx(SPOTS[network], abs=1e-6)


@pytest.mark.parametrize("network", PUBLISHED)
def test_lengths_follow_their_law(network: str) -> None:
    jobs = draw("sharing_jobs", jobs=4000)
    mean, deviation, by_20, _, _ = PUBLISHED[network]
    true = jobs.filter(pl.col("network") == network)["epochs"]
    assert within_standard_errors(true, mean, deviation)
    assert true.is_between(11, 100).all()
    outcomes = draw("sharing_epochs", jobs=4000, outcomes=3).join(jobs.select("job", "network"), on="job")
    drawn = outcomes.filter(pl.col("network") == network)["epochs"]
    assert within_standard_errors(drawn, mean, deviation)
    early = (drawn <= 20).cast(pl.Float64)
    assert within_standard_errors(early, by_20, (by_20 * (1 - by_20)) ** 0.5)


def test_outcomes_do_not_tell_true_lengths() -> None:
    jobs, outcomes = draw("sharing_jobs", jobs=3000), draw("sharing_epochs", jobs=3000, outcomes=1)
    both = jobs.join(outcomes, on="job", suffix="_drawn").filter(pl.col("network") == "MobileNetV2")
    found = both.select(pl.corr("epochs", "epochs_drawn")).item()
    assert abs(found) < 4 / both.height**0.5


def test_ranges_of_jobs() -> None:
    jobs, times = draw("sharing_jobs", jobs=2000), draw("sharing_times", jobs=2000)
    assert jobs["weight"].is_between(0.0254, 0.0444).all()
    assert within_standard_errors(jobs["weight"], 0.0349, 0.019 / 12**0.5)
    least = times.group_by("job", maintain_order=True).agg(
        pl.col("time").min().alias("a"), pl.col("time").max().alias("z")
    )
    latest = pl.select(pl.min_horizontal(3 * least["a"], least["z"])).to_series()
    assert ((jobs["deadline"] >= least["a"]) & (jobs["deadline"] <= latest)).all()
    later = draw("sharing_jobs", jobs=2000, due_extra=0.2)["deadline"]
    assert (later <= 1.2 * latest).all()
    assert (later > latest).any()
    on_k80 = times.filter((pl.col("gpu") == "K80") & (pl.col("gpus") == 1))["time"]
    assert on_k80.is_between(100 * 900 * 0.85 * 0.8 / 3600, 100 * 3600 * 1.25 * 1.2 / 3600).all()
    need = jobs.group_by("network", "batch").agg(pl.col("memory").unique())
    assert dict(zip(need.select("network", "batch").iter_rows(), need["memory"].to_list(), strict=True)) == {
        (network, batch): [size]
        for network, sizes in (
            ("AlexNet", (2, 3, 4)), ("ResNet", (4, 7, 12)), ("VGG16", (6, 10, 16)), ("MobileNetV2", (3, 5, 8)),
        )
        for batch, size in zip((16, 32, 64), sizes, strict=True)
    }  # fmt: skip


def test_times_are_concave_in_speed() -> None:
    times = draw("sharing_times", jobs=200).sort("job", "gpu", "gpus")
    gain = times.select(pl.col("speed").diff().over("job", "gpu"), "gpus").filter(pl.col("gpus") > 1)
    assert (gain["speed"] > 0).all()
    second = times.select(pl.col("speed").diff().diff().over("job", "gpu"), "gpus").filter(pl.col("gpus") > 2)
    assert (second["speed"] < 0).all()
    ratio = times.filter(pl.col("gpus") == 1).pivot("gpu", index="job", values="speed")
    assert (ratio["M60"] / ratio["K80"]).is_between(1.15, 1.45).all()
    assert (ratio["A100"] / ratio["K80"]).is_between(2.4, 3.6).all()
    assert ((times["time"] * times["speed"] - 100).abs() < 1e-9).all()


def test_arrivals() -> None:
    def gaps(**options: str | int | float) -> pl.Series:
        return (draw("sharing_jobs", jobs=4000, nodes=10, **options)["submitted"] * 3600).diff().drop_nulls()

    assert within_standard_errors(gaps(), 5000, 5000)
    jobs, times = draw("sharing_jobs", jobs=4000), draw("sharing_times", jobs=4000)
    means = {network: values[0] for network, values in PUBLISHED.items()}
    for basis, ways in (("gpu_time", pl.col("gpus") == 1), ("fastest", pl.lit(True))):
        best = times.filter(ways).group_by("job", maintain_order=True).agg(pl.col("time").min())["time"] * 3600 / 100
        busy = (best * jobs["network"].replace_strict(means, return_dtype=pl.Float64)).mean()
        assert isinstance(busy, float)
        high = busy / (0.4 * 80)
        assert within_standard_errors(gaps(arrivals="high", rate_basis=basis), high, high)
        assert within_standard_errors(gaps(arrivals="low", rate_basis=basis), 4 * high, 4 * high)


def test_nodes_and_tables() -> None:
    assert draw("sharing_nodes", nodes=4)["gpu"].to_list() == ["K80", "M60", "A100", "K80"]
    assert set(draw("sharing_nodes", nodes=40, gpus=0)["gpus"]) == {4, 8}
    mixed = draw("sharing_nodes", nodes=3000, mix="random")["gpu"]
    assert all(abs(n - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for n in mixed.value_counts()["count"])
    rates = draw("sharing_rates")
    assert rates.filter(pl.col("gpu") == "A100")["rate"].to_list() == [
        3.67,
        7.35,
        11.02,
        14.69,
        18.37,
        22.04,
        25.71,
        29.38,
    ]
    shares = draw("sharing_shares")
    assert shares["slowdown"].is_between(1.01, pl.Series([1.11, 1.05, 1.11, 1.05, 1.17, 1.15])).all()
    few = draw("sharing_times", gpus=2, mix="M60")
    assert set(few["gpus"]) == {1, 2}


TEXT = """\
import "gsdsl:gpu_sharing/model.gsm";
scenario Drawn for GpuSharing {
  generate sharing_gpus (nodes = 3, jobs = 6, gpus = 2) {
    Types = gpu;  memory[gpu] = memory;  gpus[gpu] = gpus;
  }
  generate sharing_rates (nodes = 3, jobs = 6, gpus = 2) { cost_rate[gpu, gpus] = rate; }
  generate sharing_nodes (nodes = 3, jobs = 6, gpus = 2) { Nodes = node;  node_type[node] = gpu; }
  generate sharing_shares (nodes = 3, jobs = 6, gpus = 2) {
    Shares = (gpu, twentieths);  slowdown[gpu, twentieths] = slowdown;
  }
  generate sharing_jobs (nodes = 3, jobs = 6, gpus = 2) {
    Jobs = job;  memory_need[job] = memory;  deadline[job] = deadline;  weight[job] = weight;
  }
  generate sharing_times (nodes = 3, jobs = 6, gpus = 2) {
    Runnable = (job, gpu, gpus);  exec_time[job, gpu, gpus] = time;
  }
  outcomes = 4;
  generate sharing_epochs (nodes = 3, jobs = 6, gpus = 2, outcomes = 4) { epochs[outcome, job] = epochs; }
}
"""


@pytest.mark.slow
def test_a_scenario_from_text() -> None:
    with gs.loads(TEXT) as model:
        result = model.solve("Drawn", gap=1e-4)
    assert result.status == "optimal"
