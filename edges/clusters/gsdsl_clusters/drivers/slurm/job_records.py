"""What a record of a job of Slurm states, for those who drive the job and for those who inspect it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gsdsl_clusters.drivers.protocol import JobState
from gsdsl_clusters.drivers.slurm.gres import read_gpus
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, names, number

STATES: Mapping[str, JobState] = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.RUNNING,
    "RUNNING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.BLOCKED,
    "COMPLETED": JobState.DONE,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "FAILED": JobState.FAILED,
    "TIMEOUT": JobState.FAILED,
    "NODE_FAIL": JobState.FAILED,
    "PREEMPTED": JobState.FAILED,
    "BOOT_FAIL": JobState.FAILED,
    "DEADLINE": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
}
FLAGS = frozenset({"COMPLETING", "POWER_UP_NODE", "UPDATE_DB", "EXPEDITING", "REQUEUED"})


def job_states(record: Mapping[str, Any]) -> tuple[list[JobState], bool]:
    """The states of a job, at least one, and whether it still occupies its nodes while it ends.

    Raises UnknownJson for a state of no known release, and without a state.
    """
    stated = names(record, "job_state")
    base = [state for state in stated if state not in FLAGS] or [state for state in stated if state == "REQUEUED"]
    if not base and "COMPLETING" in stated:
        base = ["COMPLETED"]
    unknown = [state for state in base if state not in STATES]
    if unknown or not base:
        raise UnknownJson(f"its state is unknown: {', '.join(stated) or 'none'}")
    return [STATES[state] for state in base], "COMPLETING" in stated


def gpus_on(record: Mapping[str, Any], nodes: Sequence[str], total: int) -> list[int]:
    """The GPUs of a job on each of its nodes: those that Slurm lists, else equal parts of all.

    Raises UnknownJson for a list of another form.
    """
    detail = record.get("gres_detail")
    if isinstance(detail, list) and nodes and len(detail) == len(nodes):
        try:
            return [read_gpus(str(item)).count for item in detail]
        except ValueError as failure:
            raise UnknownJson(str(failure)) from failure
    return [total // len(nodes) + (at < total % len(nodes)) for at in range(len(nodes))]


def time_limit(record: Mapping[str, Any]) -> float | None:
    """The longest time that a job may run, in seconds; None without a limit. Raises UnknownJson."""
    minutes = number(record, "time_limit")
    return None if minutes is None or math.isinf(minutes) else minutes * 60.0
