"""The columns of profile tables: which of them are keys, which are learnt, and which describe a job."""

from __future__ import annotations

from typing import Final

JOB: Final = "job_id"
GPU: Final = "gpu_type"
SOURCE: Final = "source"
FITS: Final = "fits"
TIME: Final = "exec_time_s"
MODEL: Final = "dnn_model"
MEMORY: Final = "memory_mb"
MEASURED, PREDICTED = "measured", "predicted"

RESOURCES: Final = ("gpu_util", "gpu_mem_util", "gpu_mem", "cpu_util")  # percent; `gpu_mem` in MB
PARTS: Final = ("burst", "idle", "peak")
RESOURCE_COLUMNS: Final = tuple(f"{resource}_{part}" for resource in RESOURCES for part in PARTS)
MEMORY_USED: Final = ("gpu_mem_peak", "gpu_mem_burst")  # the first one that a table has is what must fit
NO_FEATURES: Final = (JOB, GPU, SOURCE, FITS, "arrival_s")  # say nothing of how long a job takes


def is_power(column: str) -> bool:
    """`power_w`, `idle_power_w`, `train_power_w`: watts."""
    return column.endswith("power_w")


def is_target(column: str) -> bool:
    """Whether a column is measured on a GPU, so that it may be learnt."""
    return column == TIME or is_power(column) or column in RESOURCE_COLUMNS


def is_logarithmic(target: str) -> bool:
    """Whether a quantity is learnt as a logarithm: times and powers differ between GPUs by factors and are positive."""
    return target == TIME or is_power(target)
