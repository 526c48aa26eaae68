"""Instances of the allocation to queues of GPUs: the settings of the paper, memory, predictions and uses."""

from __future__ import annotations

import math

import polars as pl
import pytest
from drawing import draw

from gpusched_dsl.data.formats.generators.allocation_tables import GPU_USE, MEMORY_MB, SETTINGS, TYPES

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


def test_the_first_jobs_do_not_depend_on_how_many_there_are() -> None:
    columns = ["fits", "actual_time", "exec_time", "gpu_util_burst", "cpu_util_peak"]
    assert draw("allocation_profiles", jobs=12).select(columns).equals(PROFILE.head(36).select(columns))
