"""Instances of the allocation of jobs to queues of GPUs: three GPUs, and 96 combinations of the settings of a job.

GPUs and settings are those of A. C. Ferrino, T. Y. Choe, Efficient GPU job allocation in Cloud using the predicted CPU
and GPU usage properties, African Journal of Biological Sciences 6(9), 2024, section 3; times and uses are plausible
guesses, documented in docs/reference/generators.md. Every attribute has a separate stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from itertools import product

import numpy as np

from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.ir.arrays import Bools, Floats
from gsdsl_formats.generators.streams import number_jobs, stream

TYPES = ("GTX1080", "RTX2070", "TitanX")
MEMORY_MB = np.array([8192.0, 8192.0, 12288.0])
TIME_FACTOR = np.array([1.0, 0.85, 0.75])
# network, data set, optimiser, batch size, epochs
SETTINGS = tuple(
    product(("trivial", "alexnet", "resnet32"), ("ImageNet", "Cifar10"), ("SGD", "Adam"), (8, 16, 32, 64), (10, 20))
)
SECONDS_OF_10_EPOCHS = {"trivial": 150.0, "alexnet": 400.0, "resnet32": 800.0}  # batches of 8 of ImageNet
DATA_SET_FACTOR = {"ImageNet": 1.0, "Cifar10": 0.6}
BATCH_FACTOR = {8: 1.0, 16: 0.8, 32: 0.75, 64: 0.73}
# The networks of the jobs are not among those from which the paper's predictor has learned. `unseen`: it knows the
# settings of a job, but takes every network for the mean of the three. With an error of 0.5 its smallest predictions
# are on 12, 66 and 18 of 96 jobs, the only integers that fit the averages of Table 12.
UNSEEN_FACTOR = np.array([1.0, 0.503, 1.064])
# Bounds of the mean use in bursts by GPU model; memory as a share. The CPU of the RTX2070 is too slow for its GPU. They
# make a GPU the most efficient one of 0, 54 and 42 of 96 jobs, the only integers that fit the averages of Table 10.
GPU_USE = np.array([[85.0, 99.0], [15.0, 68.0], [60.0, 99.0]])
MEMORY_USE = np.array([[0.94, 0.97], [0.65, 0.95], [0.94, 0.98]])
BANDWIDTH_USE = np.array([[80.0, 95.0], [30.0, 80.0], [30.0, 80.0]])
CPU_USE = np.array([[85.0, 95.0], [30.0, 90.0], [30.0, 90.0]])
PEAK_FROM = 90.0  # a sample above this share of the maximum is a peak, in %


class AllocationStream(IntEnum):
    """The purpose of each random stream; numbers are never used for anything else."""

    ORDER = 0
    TIMES = 1
    ERRORS = 2
    GPU_USE = 3
    BANDWIDTH = 4
    MEMORY = 5
    CPU_USE = 6
    PEAKS = 7


def gpus(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    return FormatTable(pl.DataFrame({"gpu": TYPES, "type": TYPES}), len(TYPES))


def profiles(settings: Mapping[str, Setting]) -> FormatTable:
    """A row for each job and GPU model."""
    import polars as pl

    seed, count, kinds = int(settings["seed"]), int(settings["jobs"]), len(TYPES)
    chosen = np.arange(count) % len(SETTINGS)
    if settings["order"] == "random":
        chosen = stream(seed, AllocationStream.ORDER).permutation(len(SETTINGS))[chosen]
    base, fits = _seconds(SECONDS_OF_10_EPOCHS)[chosen], _fits()[chosen]

    def drawn(name: AllocationStream, bounds: Floats) -> Floats:
        place = stream(seed, name).random((count, kinds))
        found: Floats = bounds[..., 0] + (bounds[..., 1] - bounds[..., 0]) * place
        return found

    actual = base[:, None] * TIME_FACTOR * drawn(AllocationStream.TIMES, np.array([0.8, 1.2]))
    expected = actual
    if settings["networks"] == "unseen":
        mean = sum(SECONDS_OF_10_EPOCHS.values()) / len(SECONDS_OF_10_EPOCHS)
        expected = _seconds(dict.fromkeys(SECONDS_OF_10_EPOCHS, mean))[chosen, None] * UNSEEN_FACTOR
    error = float(settings["error"]) * stream(seed, AllocationStream.ERRORS).standard_normal((count, kinds))
    peak = drawn(AllocationStream.PEAKS, np.array([PEAK_FROM, 100.0]))
    columns = {"fits": fits.astype(np.int64), "exec_time": expected * np.exp(error), "actual_time": actual}
    shares: dict[str, tuple[Floats, Floats | float]] = {
        "gpu_util": (drawn(AllocationStream.GPU_USE, GPU_USE), 1.0),
        "gpu_mem_util": (drawn(AllocationStream.BANDWIDTH, BANDWIDTH_USE), 1.0),
        "gpu_mem": (100 * drawn(AllocationStream.MEMORY, MEMORY_USE), MEMORY_MB / 100),
        "cpu_util": (drawn(AllocationStream.CPU_USE, CPU_USE), 1.0),
    }
    for name, (burst, scale) in shares.items():
        # Memory does not vary during training: without a burst above the limit there is no peak.
        has_peak = burst > PEAK_FROM if name == "gpu_mem" else np.full(burst.shape, True)
        columns[f"{name}_burst"] = burst * scale
        columns[f"{name}_peak"] = np.where(has_peak, np.maximum(peak, burst), 0.0) * scale
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count).gather(pl.Series(np.repeat(np.arange(count), kinds))),
            "type": pl.Series(TYPES).gather(pl.Series(np.tile(np.arange(kinds), count))),
            **{name: values.ravel() for name, values in columns.items()},
        }
    )
    return FormatTable(frame, frame.height)


def _seconds(networks: Mapping[str, float]) -> Floats:
    """Execution times of the settings on a GTX1080: twice the epochs take twice the time.

    `networks` has the seconds of 10 epochs of ImageNet in batches of 8.
    """
    return np.array(
        [
            networks[network] * DATA_SET_FACTOR[data] * BATCH_FACTOR[batch] * epochs / 10
            for network, data, _, batch, epochs in SETTINGS
        ]
    )


def _fits() -> Bools:
    """By setting and GPU model: batches of 64 images with Adam need more than 8 GB, except for the trivial network."""
    large = np.array([opt == "Adam" and batch == 64 and net != "trivial" for net, _, opt, batch, _ in SETTINGS])
    return ~(large[:, None] & (MEMORY_MB < 12000.0))
