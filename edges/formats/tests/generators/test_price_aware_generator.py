"""Instances of price-aware scheduling: the derived table of the paper's setting, laws of jobs, and a day from text."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from drawing import draw, within_standard_errors

import gpusched_dsl as gs
from gpusched_dsl.data.sources.files import Unreadable

# minutes an epoch; service rate and the rate within 0.2 s, both 1/min
DERIVED = {
    "ResNet152": ((35.0, 774.2, 284.4), (30.0, 872.7, 415.6), (12.5, 1920.0, 1564.4), (20.0, 1714.3, 1350.6)),
    "VGG19": ((29.4, 921.7, 476.9), (25.2, 1039.0, 617.2), (10.5, 2285.7, 1940.4), (16.8, 2040.8, 1689.1)),
    "InceptionV3": ((19.6, 1382.5, 999.3), (16.8, 1558.4, 1186.9), (7.0, 3428.6, 3099.8), (11.2, 3061.2, 2728.6)),
}
TYPES = ["GTX1060-3GB", "GTX1060-6GB", "RTX2060", "GTX1080"]


@pytest.mark.parametrize("network", DERIVED)
def test_the_derived_table(network: str) -> None:
    jobs, training = draw("price_aware_jobs"), draw("price_aware_training")
    job = jobs.filter(pl.col("network") == network)["job"][0]
    found = training.filter(pl.col("job") == job)
    assert found["type"].to_list() == TYPES
    serving = draw("price_aware_serving").filter(pl.col("service") == network)
    bound = 0.2 / 60
    within = [mu * (bound * mu - 2) / (bound * mu - 1) for mu in serving["rate"]]
    rows = zip(found["epoch_time"], serving["rate"], within, strict=True)
    for row, expected in zip(rows, DERIVED[network], strict=True):
        assert row == pytest.approx(expected, abs=0.051)


def test_what_all_nodes_serve() -> None:
    """About 1.93e5 requests a minute within the bound, where each node takes all services in the default mix."""
    within = np.array([[rates[2] for rates in DERIVED[network]] for network in DERIVED])
    share = draw("price_aware_services")["share"].to_numpy()
    nodes = draw("price_aware_types")["nodes"].to_numpy()
    assert nodes @ (1 / (share @ (1 / within))) == pytest.approx(1.93e5, rel=0.01)


def test_laws_of_jobs() -> None:
    jobs = draw("price_aware_jobs", jobs=4000)
    assert jobs["epochs"].is_between(8, 140).all()
    logs = (jobs["epochs"].filter(jobs["epochs"].is_between(9, 139)) + 0.5).log()
    assert abs(float(logs.median() or 0) - math.log(40)) < 4 * 1.2533 * 0.5 / 4000**0.5  # type: ignore[arg-type]
    assert float(logs.std() or 0) == pytest.approx(0.48, abs=0.03)  # type: ignore[arg-type]
    assert all(abs(n - 4000 / 3) < 4 * (4000 * 2 / 9) ** 0.5 for n in jobs["network"].value_counts()["count"])
    fastest = (
        draw("price_aware_training", jobs=4000).group_by("job", maintain_order=True).agg(pl.col("epoch_time").min())
    )
    needed = (jobs["epochs"] * fastest["epoch_time"] / 15 - 1e-9).ceil()
    window = jobs["due"] - jobs["arrives"] + 1
    assert (jobs["arrives"] >= 0).all()
    assert (jobs["due"] <= 671).all()
    slack = window / needed - 1
    assert (window >= (needed * 1.05).floor()).all()
    long = slack.filter(needed >= 100)
    assert within_standard_errors(long - 0.5 / 200, 0.5, 0.075, 6)
    place = (jobs["arrives"] + 0.5) / (672 - window)
    assert within_standard_errors(place, 0.5, 12**-0.5)


def test_exact_multiples_need_no_further_slot() -> None:
    """VGG19 on an RTX2060 takes 10.5 min an epoch: 10 epochs are exactly 7 slots."""
    jobs = draw("price_aware_jobs", jobs=60, least_epochs=10, most_epochs=10, slack=1.0, slack_deviation=0.0)
    window = (jobs["due"] - jobs["arrives"] + 1).filter(jobs["network"] == "VGG19")
    assert set(window) == {14}
    only: dict[str, float] = {"slot": 7.0, "iterations": 64, "slack": 1.0, "slack_deviation": 0.0}
    jobs = draw("price_aware_jobs", jobs=60, least_epochs=25, most_epochs=25, **only)
    window = (jobs["due"] - jobs["arrives"] + 1).filter(jobs["network"] == "InceptionV3")
    assert set(window) == {8}, "25 epochs of 1.12 min come out as 4.000000000000001 slots of 7 min"


def test_waves() -> None:
    load = draw("price_aware_load", slots=96)
    total = load.group_by("slot", maintain_order=True).agg(pl.col("rate").sum())["rate"]
    assert float(total.mean() or 0) == pytest.approx(100_000)  # type: ignore[arg-type]
    assert (total.arg_min(), total.arg_max()) == (8, 56)
    assert total.max() == pytest.approx(135_000)
    resnet = load.filter(pl.col("service") == "ResNet152")["rate"]
    assert (resnet / total).to_list() == pytest.approx([0.4] * 96)
    noisy = draw("price_aware_load", slots=96, load_noise=0.1)["rate"] / load["rate"]
    assert noisy.is_between(0.9, 1.1).all()
    later = draw("price_aware_load", slots=96, first_hour=6.0)["rate"]
    assert later[0] == pytest.approx(load["rate"][24])


def test_prices() -> None:
    prices = draw("price_aware_prices", slots=4000)
    assert prices["price"].is_between(2, 50).all()
    inside = prices.filter(pl.col("price").is_between(8, 45, closed="none"))
    noise = prices["price"] - prices["forecast"]
    assert inside.height > 3900
    assert within_standard_errors(noise, 0, 1.5)
    assert float(noise.std() or 0) == pytest.approx(1.5, abs=0.08)  # type: ignore[arg-type]
    assert prices["forecast"][36] == pytest.approx(24 + 3 * math.sin(2 * math.pi * (9 - 14) / 12))
    assert prices["time"][4] == 1.0


def test_prices_of_a_stated_day() -> None:
    """The day of the campaign of Kang et al.: highest from 10 to 18 h, most slots from 20 to 30 $/MWh."""
    stated = {"price_mean": 23.5, "price_swing": 7.0, "price_peak": 14.0, "price_half_day_swing": 0.0}
    prices = draw("price_aware_prices", slots=6720, price_noise=3.0, **stated)
    hour = prices["time"] % 24
    by_day = prices["forecast"] > 23.5 + 3.5 + 1e-9
    assert prices["forecast"].max() == pytest.approx(30.5)
    assert (by_day == hour.is_between(10, 18, closed="none")).all()
    assert within_standard_errors(prices["price"] - prices["forecast"], 0, 3)
    assert float((prices["price"] < 20).mean() or 0) == pytest.approx(0.31, abs=0.02)  # type: ignore[arg-type]
    assert float((prices["price"] >= 30).mean() or 0) == pytest.approx(0.14, abs=0.02)  # type: ignore[arg-type]


def test_jobs_beyond_the_horizon() -> None:
    with pytest.raises(Unreadable, match="do not fit into 8 slots"):
        draw("price_aware_jobs", slots=8)


OPTIONS = "(jobs = 5, slots = 48, nodes = 2, median_epochs = 6, least_epochs = 2, rate = 3000[request/min], slack = 1)"
TEXT = """\
import "gsdsl:price_aware/by_type.gsm";
scenario Drawn for PriceAwareByType {
  slot = 15[min];
  generate price_aware_prices OPTIONS { Slots = slot;  tariff[slot] = price; }
  generate price_aware_types OPTIONS {
    Types = type;  idle_power[type] = idle_power;  boot_cost[type] = boot_cost;
  }
  generate price_aware_nodes OPTIONS { Nodes = node;  node_type[node] = type; }
  generate price_aware_jobs OPTIONS {
    Batch = job;  arrives[job] = arrives;  due[job] = due;  epochs[job] = epochs;
    lateness_weight[job] = lateness_weight;
  }
  generate price_aware_training OPTIONS {
    Fits = (job, type);
    epoch_time[job, type] = epoch_time;  train_power[job, type] = power;  restart_cost[job, type] = restart_cost;
  }
  generate price_aware_services OPTIONS { Services = service;  latency_bound[service] = latency_bound; }
  generate price_aware_serving OPTIONS {
    Deployed = (service, type);
    rate[service, type] = rate;  base_power[service, type] = base_power;  load_power[service, type] = load_power;
    latency_weight[service, type] = latency_weight;
  }
  generate price_aware_load OPTIONS { load[service, slot] = rate; }
}
""".replace("OPTIONS", OPTIONS)


@pytest.mark.slow
def test_half_a_day_from_text() -> None:
    with gs.loads(TEXT) as model:
        result = model.solve("Drawn", gap=0.02, time_limit=60)
    assert result.status == "optimal"
    assert result.objective > 0
