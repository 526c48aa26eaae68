"""GPUs that pods use which a driver does not manage: they are not free."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.data.kubernetes.values import UnknownValue
from gpusched_dsl.drivers.kubernetes.api import Json, KubernetesApi
from gpusched_dsl.drivers.kubernetes.dates import seconds
from gpusched_dsl.drivers.kubernetes.objects import Gpus, gpus_of, has_ended, metadata, name_of, node_of, scheduled_at
from gpusched_dsl.drivers.protocol import ClusterUnavailable, JobState, ObservedJob


def pods_with_gpus(api: KubernetesApi, gpus: Gpus) -> list[Json]:
    """All pods of the cluster that request GPUs, also those that have ended. Raises ClusterUnavailable."""
    try:
        return [pod for pod in api.list("/api/v1/pods") if gpus_of(pod, gpus)]
    except (UnknownValue, TypeError, AttributeError) as unknown:
        raise ClusterUnavailable(f"this gsdsl cannot read the pods of this cluster: {unknown}") from unknown


def foreign_pods(pods: Sequence[Json], gpus: Gpus, why: str) -> list[ObservedJob]:
    """Pods that occupy GPUs, as jobs that cannot be managed."""
    return [
        ObservedJob(
            name=name_of(pod), state=JobState.RUNNING, gpus=gpus_of(pod, gpus),
            allocation={node_of(pod): gpus_of(pod, gpus)}, submitted=seconds(metadata(pod).get("creationTimestamp")),
            started=scheduled_at(pod), unsupported=why,
        )
        for pod in pods
        if node_of(pod) and not has_ended(pod)
    ]  # fmt: skip
