"""Instances of capacity planning: four applications on VMs with four models of GPU.

Prices, due times and weights follow A. Jahani, M. Lattuada, M. Ciavotta, D. Ardagna, E. Amaldi, L. Zhang (2019); their
execution times were not published, and those here are plausible guesses. The instances are those of
models/capacity_planning/data/synthetic, to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_formats.generators.streams import number_jobs

# type, model of GPU, GPUs, $/h
CATALOGUE = (
    ("NC6", "K80", 1, 0.56),
    ("NC12", "K80", 2, 1.13),
    ("NC24", "K80", 4, 2.25),
    ("NV6", "M60", 1, 0.62),
    ("NV12", "M60", 2, 1.24),
    ("NV24", "M60", 4, 2.48),
    ("In-house server 1", "Quadro P600", 2, 0.11),
    ("In-house server 2", "GTX 1080Ti", 8, 1.13),
    ("In-house server 3", "Quadro P600", 8, 0.44),
)
_AZURE = 6

APPLICATIONS = ("AlexNet", "ResNet50", "VGG19", "DeepSpeech")
FRAMEWORKS = ("PyTorch", "TensorFlow")
FRAMEWORK_FACTOR = np.array([1.0, 1.1])
WORK_HOURS = np.array([(1, 8), (2, 16), (4, 24), (3, 20)], dtype=np.float64)  # on one K80
SERIAL_SHARE = np.array([0.15, 0.07, 0.05, 0.09])
SPEED = {  # relative to a K80, by application
    "K80": (1, 1, 1, 1),
    "M60": (1.10, 1.20, 1.25, 1.05),
    "Quadro P600": (0.40, 0.30, 0.25, 0.22),
    "GTX 1080Ti": (1.80, 2.90, 3.40, 2.60),
}
# Least weight and width of the range, $/h. `sharing`: 0.0254 to 0.0444 $/s, of F. Filippini, J. Anselmi, D. Ardagna,
# B. Gaujal, A Stochastic Approach for Scheduling AI Training Jobs in GPU-based Systems, 2024.
WEIGHTS = {"capacity": (0.36, 0.72), "sharing": (91.44, 68.4)}
_DRAWS = 5  # words of 64 bits for each job


@dataclass(frozen=True, eq=False)
class DrawnJobs:
    """Jobs in the order of arrival; times in h, `hours` by job and configuration (type, GPUs)."""

    application: Ints
    framework: Ints
    work: Floats
    arrival: Floats
    length: Floats
    weight: Floats
    hours: Floats


def draw(settings: Mapping[str, Setting]) -> DrawnJobs:
    """All of an instance, from `default_rng([seed, nodes, jobs])`.

    For each job in turn `integers(4)`, `integers(2)`, `random(4)` are drawn, which take five words of the generator:
    the integers share the halves of the first, and a random number is the upper 53 bits of one.
    """
    seed, count = int(settings["seed"]), int(settings["jobs"])
    nodes = int(settings["nodes"]) or -(-count // 10)
    words = np.random.PCG64(np.random.SeedSequence([seed, nodes, count])).random_raw(_DRAWS * count)
    words = np.asarray(words, dtype=np.uint64).reshape(count, _DRAWS)
    low, high = words[:, 0] & np.uint64(0xFFFFFFFF), words[:, 0] >> np.uint64(32)
    application, framework = (low >> np.uint64(30)).astype(np.int64), (high >> np.uint64(31)).astype(np.int64)
    u1, u2, u3, u4 = ((words[:, 1:] >> np.uint64(11)).astype(np.float64) * 2.0**-53).T
    least, most = np.log(WORK_HOURS[application]).T
    work = np.exp(least + u1 * (most - least)) * FRAMEWORK_FACTOR[framework]
    gaps = float(settings["interarrival"]) / 3600 * -np.log(1 - u2)
    gaps[0] = 0
    hours = _hours(application, work, str(settings["catalogue"]))
    shortest, longest = hours.min(axis=1), hours.max(axis=1)
    length = shortest + u3 * (2 * longest - shortest)
    lowest, width = WEIGHTS[str(settings["weights"])]
    return DrawnJobs(application, framework, work, np.cumsum(gaps), length, lowest + width * u4, hours)


def _hours(application: Ints, work: Floats, catalogue: str) -> Floats:
    """Time = work / speed x (1 + s (g - 1)) / g on g GPUs, with the serial share s of the application."""
    listed = _catalogue(catalogue)
    gpus = np.concatenate([np.arange(1, size + 1) for _, _, size, _ in listed])
    speed = np.array([SPEED[family] for _, family, size, _ in listed for _ in range(size)], dtype=np.float64)
    serial = SERIAL_SHARE[application][:, None]
    found: Floats = work[:, None] / speed.T[application] * (1 + serial * (gpus - 1)) / gpus
    return found


def _catalogue(catalogue: str) -> tuple[tuple[str, str, int, float], ...]:
    return CATALOGUE if catalogue == "full9" else CATALOGUE[:_AZURE]


def types(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    listed = _catalogue(str(settings["catalogue"]))
    frame = pl.DataFrame(listed, schema=["type", "family", "gpus", "price"], orient="row")
    return FormatTable(frame, frame.height)


def nodes(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    count = int(settings["nodes"])
    return FormatTable(pl.DataFrame({"node": number_jobs("n", count)}), count)


def jobs(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    found = draw(settings)
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", len(found.work)),
            "application": np.array(APPLICATIONS)[found.application],
            "framework": np.array(FRAMEWORKS)[found.framework],
            "work": found.work,
            "submitted": found.arrival,
            "deadline": found.length,
            "due": found.arrival + found.length,
            "weight": found.weight,
            "postponed_weight": 100 * found.weight,
        }
    )
    return FormatTable(frame, frame.height)


def times(settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    found = draw(settings)
    listed = _catalogue(str(settings["catalogue"]))
    configurations = [(name, gpus) for name, _, size, _ in listed for gpus in range(1, size + 1)]
    count, width = found.hours.shape
    names, sizes = (pl.Series(part) for part in zip(*configurations, strict=True))
    at = pl.Series(np.tile(np.arange(width), count))
    frame = pl.DataFrame(
        {
            "job": number_jobs("j", count).gather(pl.Series(np.repeat(np.arange(count), width))),
            "type": names.gather(at),
            "gpus": sizes.gather(at),
            "time": found.hours.ravel(),
        }
    )
    return FormatTable(frame, frame.height)
