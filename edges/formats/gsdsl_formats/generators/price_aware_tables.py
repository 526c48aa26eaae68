"""Instances of price-aware scheduling: a cluster of four types of nodes that trains and serves three networks.

Nodes, numbers of jobs, requests and some times are those of D.-K. Kang, K.-B. Lee, Y.-C. Kim, Cost Efficient GPU
Cluster Management for Training and Inference of Deep Learning, Energies 15(2), 474, 2022; the others are plausible
guesses, told in docs/reference/generators.md. Every attribute has a stream of its own, so the first epochs do not
depend on how many jobs there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np

from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_formats.generators.streams import number_jobs, stream

TYPES = ("GTX1060-3GB", "GTX1060-6GB", "RTX2060", "GTX1080")
SECONDS_PER_10_ITERATIONS = np.array([42.0, 36.0, 15.0, 24.0])
LATENCY_SECONDS = np.array([0.062, 0.055, 0.025, 0.028])
TRAIN_WATTS = np.array([157.0, 157.0, 191.0, 208.0])
FULL_LOAD_WATTS = np.array([62.0, 62.0, 86.0, 98.0])
BASE_WATTS, IDLE_WATTS = 65.0, 50.0
BOOT_USD, RESTART_USD = 0.002, 0.0005
LATENESS_USD, LATENCY_USD = 0.005, 1e-6

MODELS = ("ResNet152", "VGG19", "InceptionV3")
FACTOR = np.array([1.25, 1.05, 0.70])  # on both times
SHARE_OF_LOAD = np.array([0.40, 0.25, 0.35])
LEAST_SLACK = 0.05
LEAST_PRICE, MOST_PRICE = 2.0, 50.0


class PriceAwareStream(IntEnum):
    """The purpose of each random stream; numbers are never used for anything else."""

    MODELS = 0
    EPOCHS = 1
    SLACK = 2
    ARRIVALS = 3
    LOAD = 4
    PRICES = 5


def minutes_per_epoch(iterations: int) -> Floats:
    """By model and node type."""
    found: Floats = FACTOR[:, None] * SECONDS_PER_10_ITERATIONS / 10 * iterations / 60
    return found


def requests_per_minute() -> Floats:
    """Service rates by model and node type."""
    found: Floats = 60 / (FACTOR[:, None] * LATENCY_SECONDS)
    return found


def jobs(settings: Mapping[str, Setting]) -> FormatTable:
    """Raises Unreadable (GSM2033) where a job does not fit into the horizon."""
    import polars as pl

    seed, count, slots = int(settings["seed"]), int(settings["jobs"]), int(settings["slots"])
    model = _models(settings)
    normal = stream(seed, PriceAwareStream.EPOCHS).standard_normal(count)
    epochs = np.floor(float(settings["median_epochs"]) * np.exp(float(settings["epochs_deviation"]) * normal))
    epochs = np.clip(epochs, int(settings["least_epochs"]), int(settings["most_epochs"])).astype(np.int64)
    minutes = minutes_per_epoch(int(settings["iterations"]))[model]
    needed = np.ceil(epochs[:, None] * minutes / float(settings["slot"]) - 1e-9).min(axis=1)
    slack = stream(seed, PriceAwareStream.SLACK).normal(
        float(settings["slack"]), float(settings["slack_deviation"]), count
    )
    window = np.ceil(needed * (1 + np.maximum(slack, LEAST_SLACK))).astype(np.int64)
    if (window > slots).any():
        longest = int(window.max())
        raise Unreadable(
            Fault(
                "GSM2033",
                f"{int((window > slots).sum())} of {count} jobs do not fit into {slots} "
                f"slots: the longest needs {longest}",
                help="use more or longer slots, or fewer epochs",
            )
        )
    place = stream(seed, PriceAwareStream.ARRIVALS).random(count)
    arrives = np.floor(place * np.maximum(slots - window, 1)).astype(np.int64)
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count),
            "network": np.array(MODELS)[model],
            "arrives": arrives,
            "due": arrives + window - 1,
            "epochs": epochs,
            "lateness_weight": np.full(count, LATENESS_USD),
        }
    )
    return FormatTable(frame, count)


def _models(settings: Mapping[str, Setting]) -> Ints:
    return stream(int(settings["seed"]), PriceAwareStream.MODELS).integers(len(MODELS), size=int(settings["jobs"]))


def training_times(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    model = _models(settings)
    count, kinds = len(model), len(TYPES)
    minutes = minutes_per_epoch(int(settings["iterations"]))[model]
    kind = pl.Series(np.tile(np.arange(kinds), count))
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count).gather(pl.Series(np.repeat(np.arange(count), kinds))),
            "type": pl.Series(TYPES).gather(kind),
            "epoch_time": minutes.ravel(),
            "power": pl.Series(TRAIN_WATTS).gather(kind),
            "restart_cost": np.full(count * kinds, RESTART_USD),
        }
    )
    return FormatTable(frame, frame.height)


def types(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    size = len(TYPES)
    columns = {
        "type": TYPES,
        "nodes": [int(settings["nodes"])] * size,
        "idle_power": [IDLE_WATTS] * size,
        "boot_cost": [BOOT_USD] * size,
    }
    return FormatTable(pl.DataFrame(columns), size)


def nodes(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    each = int(settings["nodes"])
    kinds = pl.Series(TYPES).gather(pl.Series(np.repeat(np.arange(len(TYPES)), each)))
    return FormatTable(pl.DataFrame({"node": number_jobs("n", len(kinds)), "type": kinds}), len(kinds))


def services(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    bounds = [float(settings["latency_bound"])] * len(MODELS)
    return FormatTable(pl.DataFrame({"service": MODELS, "latency_bound": bounds, "share": SHARE_OF_LOAD}), len(MODELS))


def serving_rates(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    rate = requests_per_minute()
    model, kind = (each.ravel() for each in np.indices(rate.shape))
    frame = pl.DataFrame(
        {
            "service": np.array(MODELS)[model],
            "type": np.array(TYPES)[kind],
            "rate": rate.ravel(),
            "base_power": np.full(rate.size, BASE_WATTS),
            "load_power": (FULL_LOAD_WATTS / rate).ravel(),
            "latency_weight": np.full(rate.size, LATENCY_USD),
        }
    )
    return FormatTable(frame, frame.height)


def _hours(settings: Mapping[str, Setting]) -> Floats:
    """The time of the day at which each slot begins, counted on over midnight."""
    found: Floats = float(settings["first_hour"]) + np.arange(int(settings["slots"])) * float(settings["slot"]) / 60
    return found


def load(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    wave = 1 + 0.35 * np.sin(2 * np.pi * (_hours(settings) - 8) / 24)
    shape = (len(MODELS), len(wave))
    noise = stream(int(settings["seed"]), PriceAwareStream.LOAD).uniform(-1, 1, shape[::-1]).T
    rate = float(settings["rate"]) * SHARE_OF_LOAD[:, None] * wave * (1 + float(settings["load_noise"]) * noise)
    model, slot = (each.ravel() for each in np.indices(shape))
    columns = {"service": np.array(MODELS)[model], "slot": slot, "rate": np.maximum(rate, 0).ravel()}
    return FormatTable(pl.DataFrame(columns), rate.size)


def prices(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    hours = _hours(settings)
    rises = float(settings["price_peak"]) - 6  # hour at which the daily wave passes its mean
    daily = float(settings["price_swing"]) * np.sin(2 * np.pi * (hours - rises) / 24)
    half_daily = float(settings["price_half_day_swing"]) * np.sin(2 * np.pi * (hours - 14) / 12)
    wave = float(settings["price_mean"]) + daily + half_daily
    noise = stream(int(settings["seed"]), PriceAwareStream.PRICES).standard_normal(len(hours))
    price = np.clip(wave + float(settings["price_noise"]) * noise, LEAST_PRICE, MOST_PRICE)
    time = hours - float(settings["first_hour"])
    frame = pl.DataFrame({"slot": np.arange(len(hours)), "time": time, "price": price, "forecast": wave})
    return FormatTable(frame, len(hours))
