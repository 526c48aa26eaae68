"""Records events of objects, which `kubectl describe` and `kubectl get events` show."""

from __future__ import annotations

from gsdsl_clusters.drivers.kubernetes.api import Gone, KubernetesApi, ObjectChanged
from gsdsl_clusters.drivers.kubernetes.dates import date_text
from gsdsl_clusters.drivers.kubernetes.objects import metadata
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable
from gsdsl_clusters.kubernetes_objects.values import Json

LONGEST = 1000  # of a message; the API server permits 1024


def record_event(
    api: KubernetesApi, thing: Json, kind: tuple[str, str], component: str, at: float, reason: str, message: str
) -> None:
    """Record an event of an object of a `kind` (API version and kind). Nothing depends on it: errors are ignored."""
    known, now = metadata(thing), date_text(at)
    body = {
        "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": reason, "message": message[:LONGEST],
        "metadata": {"generateName": f"{known['name'][:200]}.", "namespace": known["namespace"]},
        "involvedObject": {
            "apiVersion": kind[0], "kind": kind[1], "name": known["name"], "namespace": known["namespace"],
            "uid": known["uid"],
        },
        "source": {"component": component}, "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    }  # fmt: skip
    try:
        api.create(f"/api/v1/namespaces/{known['namespace']}/events", body)
    except (ObjectChanged, Gone, ActionRefused, ClusterUnavailable):
        return
