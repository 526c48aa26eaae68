"""The cluster file of `gsdsl drive` for a model of models/cluster that was written from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.written_jobs import ANY_TYPE, NO_DEMAND, NONE, OTHER_TEAM

# The field of a driver that names the team of a job, by driver; the others have no teams.
_DRIVERS = {
    "Slurm": "slurm", "sacct": "slurm", "Kubernetes": "kubernetes", "Kubernetes with Kueue": "kueue"
}  # fmt: skip
_TEAMS = {"slurm": "account", "kueue": "cluster_queue", "kubernetes": "namespace"}


def driver_of(snapshot: ClusterSnapshot) -> str | None:
    """The driver of the cluster from which a snapshot was read, None for a trace."""
    return _DRIVERS.get(snapshot.source.partition(":")[0])


def cluster_file(
    name: str,
    types: Sequence[str],
    teams: Sequence[str],
    partitions: Sequence[str],
    demands: Sequence[str],
    hours: float,
    settings: Mapping[str, str | Sequence[str]],
    priorities: Mapping[str, float],
) -> str:
    """The text. `partitions` are those of all nodes together, `demands` those that exclude nodes; `settings` are
    entries of the section of the driver, `priorities` those of QOS.
    """
    usual = max(round(hours, 3), 0.001)
    jobs = [
        'submitted = "submitted"',
        'needs = "gpus"',
        f'exec_time = {{ field = "time_limit", default = {usual} }}  # h, for jobs without a limit',
        *_of_driver(name, types, teams, demands),
    ]
    if name == "slurm":
        jobs += [f'{key} = {{ field = "{key}", default = "{NONE}" }}' for key in ("qos", "partition")]
        jobs.append(_weight(priorities))
    section = [f"[{name}]"]
    if name == "slurm" and len(partitions) == 1:
        section.append(f"partition = {_text(partitions[0])}")
    if name == "kubernetes":
        section.append('scheduler = "default-scheduler"  # its pods are watched; to act: "gpusched-dsl"')
    section += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items()]
    return "\n".join([
        f"driver = {_text(name)}",
        'model = "cluster.gsm"',
        'scenario = "Cluster"',
        'online = "ClusterOverTime"',
        'method = "EASY"           # or FIFO, PriorityEASY, SlurmFairShare, FairShare, highs',
        "interval = 10             # seconds between observations",
        "", *section, "", "[jobs]", *jobs, "",
        "[report]",
        'methods = ["EASY", "FIFO", "SlurmFairShare"]',
        "",
    ])  # fmt: skip


def _of_driver(name: str, types: Sequence[str], teams: Sequence[str], demands: Sequence[str]) -> list[str]:
    found = [f"team = {_translated(_TEAMS[name], {t: t for t in teams}, OTHER_TEAM)}"] if name in _TEAMS else []
    if name == "slurm":
        found += [
            'user = { field = "user", default = "unknown" }',
            'workers = { field = "nodes_wanted", default = 1 }',
            f"gpu_type = {_translated('gpu_type', {t: t for t in types}, ANY_TYPE)}",
        ]
        if demands:
            found.append(f"demand = {_translated('partition', {d: d for d in demands}, NO_DEMAND)}")
    elif name in _TEAMS:
        found += [
            f"gpu_type = {_translated('gpu_type', {t: t for t in types}, ANY_TYPE)}",
            'workers = { field = "pods", default = 1 }',
            "per_node = { value = 1000 }  # pods may share a node",
        ]
    return found


def _weight(priorities: Mapping[str, float]) -> str:
    """The weight of a job by the priority of its QOS; an example where all are equal."""
    known = {name: 1.0 + priority for name, priority in priorities.items() if priority}
    if not known:
        return '# weight = { field = "qos", values = { high = 4, low = 0.5 }, default = 1 }'
    values = ", ".join(f"{_text(name)} = {weight!r}" for name, weight in known.items())
    return f'weight = {{ field = "qos", values = {{ {values} }}, default = 1 }}  # 1 + the priority of the QOS'


def _translated(field: str, values: Mapping[str, str], default: str) -> str:
    """A text of the job that is an element of a set; other texts become the default."""
    if not values:
        return f"{{ value = {_text(default)} }}"
    pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in values.items())
    return f"{{ field = {_text(field)}, values = {{ {pairs} }}, default = {_text(default)} }}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
