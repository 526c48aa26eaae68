"""The keys of a request that changes a job, which differ between versions of the REST interface.

Source: the OpenAPI documents of slurmrestd. From v0.0.40 on, `POST /slurm/VERSION/job/ID` takes a `job_desc_msg`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

TESTED = "v0.0.38"  # on a real Slurm
ACTING_VERSIONS = (TESTED, *(f"v0.0.{number}" for number in range(40, 47)))


def has_comment(version: str) -> bool:
    """Whether a request can change the AdminComment."""
    return version != TESTED


def placed(version: str, nodes: Sequence[str], comment: str) -> dict[str, Any]:
    """The keys that give a job its nodes, and where possible its AdminComment."""
    if not has_comment(version):
        return {"nodelist": ",".join(nodes)}
    return {"required_nodes": list(nodes), "admin_comment": comment}


def eligible(version: str) -> dict[str, Any]:
    """The key that lets a job begin now."""
    if version == TESTED:
        return {"begin_time": "now"}
    return {"begin_time": {"set": True, "infinite": False, "number": int(time.time())}}


def held(version: str, comment: str) -> dict[str, Any]:
    """The keys that hold a job. Slurm shows the hold of an operator, so the AdminComment tells that it is ours."""
    return {"hold": True, **({"admin_comment": comment} if has_comment(version) else {})}


def resized(version: str, gpus_by_node: str) -> dict[str, Any]:
    """The key for another number of GPUs, which is `gpu:2` or `gpu:a100:2`."""
    return {"gres": gpus_by_node} if version == TESTED else {"tres_per_node": f"gres/{gpus_by_node}"}
