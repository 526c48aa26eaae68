"""Instances of GPU sharing: four networks trained on nodes of three models of GPU, with early stopping.

Drawn by the rules of F. Filippini, J. Anselmi, D. Ardagna, B. Gaujal, A Stochastic Approach for Scheduling AI Training
Jobs in GPU-based Systems, IEEE Transactions on Cloud Computing 12(1), 2024. Rates, memory, parts of GPUs, arrivals, due
times and weights are theirs; execution times and laws of lengths were not published, and those here are plausible
guesses. Every attribute has a stream of its own, so the first jobs do not depend on how many there are, and nothing on
how something else is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_formats.generators.streams import number_jobs, stream

MODELS = ("K80", "M60", "A100")
MEMORY = (24, 16, 80)  # GB of a GPU
RATES = (  # $/h with 1 to 8 GPUs in use
    (0.90, 1.80, 2.70, 3.60, 4.50, 5.40, 6.30, 7.20),
    (1.14, 2.28, 3.42, 4.56, 5.70, 6.84, 7.98, 9.12),
    (3.67, 7.35, 11.02, 14.69, 18.37, 22.04, 25.71, 29.38),
)
SHARES = (  # model, twentieths, largest slowdown; the least is 1.01
    ("K80", 5, 1.11),
    ("K80", 10, 1.05),
    ("M60", 5, 1.11),
    ("M60", 10, 1.05),
    ("A100", 2, 1.17),
    ("A100", 3, 1.15),
)
MOST_GPUS = 8

NETWORKS = ("AlexNet", "ResNet", "VGG16", "MobileNetV2")
BASE_SECONDS = np.array([900.0, 2400.0, 3600.0, 1500.0])  # of an epoch on one K80
OVERHEAD = np.array([0.20, 0.10, 0.14, 0.24])
A100_SPEED = np.array([(2.4, 3.0), (2.8, 3.6), (2.8, 3.6), (2.4, 3.0)])
M60_SPEED = (1.15, 1.45)
MEMORY_NEED = np.array([(2, 3, 4), (4, 7, 12), (6, 10, 16), (3, 5, 8)])  # GB by network and batch size
BATCHES = np.array([16, 32, 64])
BATCH_FACTOR = np.array([1.25, 1.0, 0.85])
BETA = ((2.5, 1.2), (1.6, 5.0), (1.3, 6.5), (4.0, 4.0))
ALL_EPOCHS = np.array([0.45, 0.02, 0.01, 0.03])  # probability that training goes on to the last epoch
MAX_EPOCHS, PATIENCE = 100, 10
WEIGHTS = (0.0254, 0.0444)  # $/s
MEAN_GAP = 50_000.0  # s, over the number of nodes


class SharingStream(IntEnum):
    """The purpose of each random stream; numbers are never used for anything else."""

    NODES = 0
    NODE_GPUS = 1
    NETWORKS = 2
    BATCHES = 3
    EPOCH_TIMES = 4
    M60 = 5
    A100 = 6
    OVERHEADS = 7
    ARRIVALS = 8
    LENGTHS = 9
    DUE = 10
    WEIGHTS = 11
    SLOWDOWNS = 12
    OUTCOMES = 13


@dataclass(frozen=True, eq=False)
class Jobs:
    """`speed` in epochs a second by job, model of GPU and number of GPUs."""

    network: Ints
    batch: Ints
    speed: Floats

    @property
    def seconds(self) -> Floats:
        """Execution times of all epochs."""
        return MAX_EPOCHS / self.speed


def draw(settings: Mapping[str, Setting]) -> Jobs:
    seed, count = int(settings["seed"]), number_of_jobs(settings)
    network = stream(seed, SharingStream.NETWORKS).integers(len(NETWORKS), size=count)
    batch = stream(seed, SharingStream.BATCHES).integers(len(BATCHES), size=count)
    epoch = (
        BASE_SECONDS[network] * BATCH_FACTOR[batch] * stream(seed, SharingStream.EPOCH_TIMES).uniform(0.8, 1.2, count)
    )
    low, high = A100_SPEED[network].T
    faster = np.column_stack(
        [
            np.ones(count),
            stream(seed, SharingStream.M60).uniform(*M60_SPEED, count),
            low + stream(seed, SharingStream.A100).random(count) * (high - low),
        ]
    )
    overhead = (
        OVERHEAD[network] * stream(seed, SharingStream.OVERHEADS).uniform(0.7, 1.3, count) * float(settings["overhead"])
    )
    k = np.arange(1, MOST_GPUS + 1)
    gain = k / (1 + overhead[:, None] * (k - 1))
    return Jobs(network, batch, (faster / epoch[:, None])[:, :, None] * gain[:, None, :])


def number_of_jobs(settings: Mapping[str, Setting]) -> int:
    return int(settings["jobs"]) or 10 * int(settings["nodes"])


def law_of(network: int) -> Floats:
    """Probabilities of 11 to 100 epochs: the last with mass of its own, the others by a beta law in 89 steps."""
    from scipy.special import betainc

    steps = np.arange(MAX_EPOCHS - PATIENCE) / (MAX_EPOCHS - PATIENCE - 1)
    early = np.diff(betainc(*BETA[network], steps)) * (1 - ALL_EPOCHS[network])
    return np.append(early, ALL_EPOCHS[network])


def lengths(network: Ints, uniform: Floats) -> Ints:
    """Epochs at which jobs end, by inversion of the law of each network; `uniform` has a row for each job."""
    found = np.empty(uniform.shape, dtype=np.int64)
    for which in range(len(NETWORKS)):
        rows = network == which
        bounds = np.cumsum(law_of(which))[:-1]
        found[rows] = PATIENCE + 1 + np.searchsorted(bounds, uniform[rows], side="right")
    return found


def arrivals(settings: Mapping[str, Setting], found: Jobs) -> Floats:
    """Return arrival times in s: independent exponential gaps with a mean by the kind of arrivals."""
    count = len(found.network)
    kind = str(settings["arrivals"])
    if kind == "exponential":
        mean = MEAN_GAP / int(settings["nodes"])
    else:
        expected = np.array([law_of(n) @ np.arange(PATIENCE + 1, MAX_EPOCHS + 1) for n in range(len(NETWORKS))])
        there = _allowed_part(settings, found.speed)
        speed = there[:, :, 0] if settings["rate_basis"] == "gpu_time" else there.reshape(count, -1)
        busy = float((expected[found.network] / speed.max(axis=1)).mean())
        mean = busy / (float(settings["load"]) * int(_node_gpus(settings).sum())) * (4 if kind == "low" else 1)
    gaps = stream(int(settings["seed"]), SharingStream.ARRIVALS).exponential(1.0, count)
    return np.cumsum(gaps * mean)


def _node_gpus(settings: Mapping[str, Setting]) -> Ints:
    count, fixed = int(settings["nodes"]), int(settings["gpus"])
    if fixed:
        return np.full(count, min(fixed, MOST_GPUS))
    return 4 * (1 + stream(int(settings["seed"]), SharingStream.NODE_GPUS).integers(2, size=count))


def _node_models(settings: Mapping[str, Setting]) -> Ints:
    count, mix = int(settings["nodes"]), str(settings["mix"])
    if mix in MODELS:
        return np.full(count, MODELS.index(mix))
    if mix == "random":
        return stream(int(settings["seed"]), SharingStream.NODES).integers(len(MODELS), size=count)
    return np.arange(count) % len(MODELS)


def _allowed_part(settings: Mapping[str, Setting], by_way: Floats) -> Floats:
    """The part of an array by job, model and number of GPUs that some node allows."""
    largest = int(_node_gpus(settings).max())
    return by_way[:, np.unique(_node_models(settings)), :largest]


def gpus(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    largest = int(_node_gpus(settings).max())
    return FormatTable(pl.DataFrame({"gpu": MODELS, "memory": MEMORY, "gpus": [largest] * len(MODELS)}), len(MODELS))


def rates(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    largest = int(_node_gpus(settings).max())
    rows = [(gpu, k + 1, RATES[at][k]) for at, gpu in enumerate(MODELS) for k in range(largest)]
    return FormatTable(pl.DataFrame(rows, schema=["gpu", "gpus", "rate"], orient="row"), len(rows))


def nodes(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    count = int(settings["nodes"])
    named = np.array(MODELS)[_node_models(settings)]
    return FormatTable(
        pl.DataFrame({"node": number_jobs("n", count), "gpu": named, "gpus": _node_gpus(settings)}), count
    )


def shares(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    most = np.array([each[2] for each in SHARES])
    slowdown = 1.01 + stream(int(settings["seed"]), SharingStream.SLOWDOWNS).random(len(SHARES)) * (most - 1.01)
    columns = {"gpu": [s[0] for s in SHARES], "twentieths": [s[1] for s in SHARES], "slowdown": slowdown}
    return FormatTable(pl.DataFrame(columns), len(SHARES))


def jobs(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    seed, found = int(settings["seed"]), draw(settings)
    count = len(found.network)
    seconds = _allowed_part(settings, found.seconds).reshape(count, -1)
    shortest, longest = seconds.min(axis=1), seconds.max(axis=1)
    latest = np.minimum(3 * shortest, longest) * (1 + float(settings["due_extra"]))
    length = shortest + stream(seed, SharingStream.DUE).random(count) * (latest - shortest)
    submitted = arrivals(settings, found)
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count),
            "network": np.array(NETWORKS)[found.network],
            "batch": BATCHES[found.batch],
            "memory": MEMORY_NEED[found.network, found.batch],
            "submitted": submitted / 3600,
            "deadline": length / 3600,
            "due": (submitted + length) / 3600,
            "weight": stream(seed, SharingStream.WEIGHTS).uniform(*WEIGHTS, count),
            "max_epochs": np.full(count, MAX_EPOCHS),
            "epochs": lengths(found.network, stream(seed, SharingStream.LENGTHS).random(count)),
        }
    )
    return FormatTable(frame, count)


def times(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    found = draw(settings)
    count = len(found.network)
    job, gpu, k = (each.ravel() for each in np.indices((count, len(MODELS), MOST_GPUS)))
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count).gather(pl.Series(job)),
            "gpu": pl.Series(MODELS).gather(pl.Series(gpu)),
            "gpus": k + 1,
            "time": found.seconds.ravel() / 3600,
            "speed": found.speed.ravel() * 3600,
        }
    )
    frame = frame.filter(pl.col("gpus") <= int(_node_gpus(settings).max()))
    return FormatTable(frame, frame.height)


def epochs(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    found = draw(settings)
    count, outcomes = len(found.network), int(settings["outcomes"])
    uniform = stream(int(settings["seed"]), SharingStream.OUTCOMES).random((count, outcomes))
    job, outcome = (each.ravel() for each in np.indices((count, outcomes)))
    frame = pl.DataFrame(
        {
            "outcome": outcome + 1,
            "job": number_jobs("j", count).gather(pl.Series(job)),
            "epochs": lengths(found.network, uniform).ravel(),
            "probability": np.full(count * outcomes, 1 / outcomes),
        }
    )
    return FormatTable(frame, frame.height)


def law(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    rows = MAX_EPOCHS - PATIENCE
    frame = pl.DataFrame(
        {
            "network": np.repeat(np.array(NETWORKS), rows),
            "epochs": np.tile(np.arange(PATIENCE + 1, MAX_EPOCHS + 1), len(NETWORKS)),
            "probability": np.concatenate([law_of(n) for n in range(len(NETWORKS))]),
        }
    )
    return FormatTable(frame, frame.height)
