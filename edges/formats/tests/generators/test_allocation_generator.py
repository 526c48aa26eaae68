"""Instances of the allocation to queues of GPUs: the settings of the paper, memory, predictions and uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from drawing import draw

from gsdsl_formats.generators.allocation_tables import GPU_USE, MEMORY_MB, SETTINGS, TYPES

PROFILE = draw("allocation_profiles", jobs=96 * 20)


def test_gpus_and_settings() -> None:
    assert draw("allocation_gpus").rows() == [(name, name) for name in TYPES]
    assert len(set(SETTINGS)) == 96
    assert PROFILE.height == 96 * 20 * 3
    assert PROFILE["type"].to_list()[:3] == list(TYPES)
    # The settings are a permutation: of 96 jobs, 8 of 2 networks with Adam and batches of 64 do not fit into 8 GB.
    first = PROFILE.head(96 * 3)
    assert first.filter(pl.col("fits") == 0)["type"].value_counts().sort("type").rows() == [
        ("GTX1080", 8),
        ("RTX2070", 8),
    ]


def test_times() -> None:
    """Of all settings on a GTX1080 the mean is 450 s * 0.8 (data set) * 0.82 (batch) * 1.5 (epochs)."""
    means = dict(PROFILE.group_by("type").agg(pl.col("actual_time").mean()).rows())
    for name, factor in zip(TYPES, (1.0, 0.85, 0.75), strict=True):
        assert means[name] == pytest.approx(442.8 * factor, rel=0.02)


def test_errors_of_predictions() -> None:
    logs = (PROFILE["exec_time"] / PROFILE["actual_time"]).log()
    assert abs(logs.to_numpy().mean()) < 4 * 0.1 / math.sqrt(len(logs))
    assert logs.to_numpy().std() == pytest.approx(0.1, rel=0.05)
    exact = draw("allocation_profiles", error=0.0)
    assert exact["exec_time"].to_list() == pytest.approx(exact["actual_time"].to_list())


def test_uses() -> None:
    for number, name in enumerate(TYPES):
        rows = PROFILE.filter(pl.col("type") == name)
        assert rows["gpu_util_burst"].is_between(*GPU_USE[number]).all()
        assert rows["gpu_util_burst"].to_numpy().mean() == pytest.approx(GPU_USE[number].mean(), rel=0.02)
        assert (rows["gpu_mem_burst"] <= MEMORY_MB[number]).all()
        above = rows["gpu_mem_burst"] > 0.9 * MEMORY_MB[number]
        assert ((rows["gpu_mem_peak"] > 0) == above).all()
        for use in ("gpu_util", "gpu_mem_util", "cpu_util"):
            assert (rows[f"{use}_peak"] >= rows[f"{use}_burst"]).all()
            assert rows[f"{use}_peak"].is_between(90, 100).all()


def least(column: str, seed: int, sign: float = 1.0, **options: Any) -> Any:
    """Return how many of 96 jobs have the smallest value of a column, times the sign, on each GPU that they fit."""
    rows = draw("allocation_profiles", seed=seed, **options)
    uses = ("gpu_util", "gpu_mem_util", "gpu_mem", "cpu_util")
    rows = rows.with_columns(efficiency=pl.sum_horizontal(pl.col(f"{n}_peak") / pl.col(f"{n}_burst") for n in uses))
    value = pl.when(pl.col("fits") == 1).then(sign * pl.col(column)).otherwise(math.inf)
    return np.bincount(rows.select(value.alias("least"))["least"].to_numpy().reshape(96, 3).argmin(1), minlength=3)


def test_the_jobs_on_each_gpu_are_those_of_the_tables() -> None:
    """The integers that fit the averages: 12, 66, 18 by time (Table 12), 0, 54, 42 by efficiency (Table 10)."""
    by_time = [least("exec_time", seed, networks="unseen", error=0.5) for seed in range(1, 61)]
    assert np.mean(by_time, axis=0) == pytest.approx([12, 66, 18], abs=1.5)
    by_efficiency = [least("efficiency", seed, -1.0) for seed in range(1, 61)]
    assert np.mean(by_efficiency, axis=0) == pytest.approx([0, 54, 42], abs=2)
    # Table 12: the averages of the GPUs and of all 96 jobs, rounded to 1e-2 or less; Table 10: the proposed model.
    fits = [
        (a, b, 96 - a - b)
        for a in range(97)
        for b in range(97 - a)
        if abs(1137.847 * a + 10285.88 * b + 11487.41 * (96 - a - b) - 96 * 9367.663) < 96 * 0.01
    ]
    assert fits == [(12, 66, 18)]
    assert [b for b in range(97) if abs(11135.98 * b + 19748.27 * (96 - b) - 96 * 14903.86) < 96 * 0.01] == [54]


def test_unseen_networks_and_the_order_of_the_table() -> None:
    exact = draw("allocation_profiles", networks="unseen", order="table", error=0.0)
    times = exact["exec_time"].to_numpy().reshape(3, 32, 3)  # by network: the predictions do not know it
    assert times[1] == pytest.approx(times[0])
    assert times[2] == pytest.approx(times[0])
    means = exact["actual_time"].to_numpy().reshape(3, 96).mean(axis=1)
    assert means[0] < means[1] < means[2]  # trivial, alexnet, resnet32
    known = draw("allocation_profiles", order="table", error=0.0)
    assert known["actual_time"].equals(exact["actual_time"])
    assert known["exec_time"].to_list() == pytest.approx(known["actual_time"].to_list())


def test_the_first_jobs_do_not_depend_on_how_many_there_are() -> None:
    columns = ["fits", "actual_time", "exec_time", "gpu_util_burst", "cpu_util_peak"]
    assert draw("allocation_profiles", jobs=12).select(columns).equals(PROFILE.head(36).select(columns))
