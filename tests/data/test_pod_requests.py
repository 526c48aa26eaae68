"""What a pod reserves: the rule of the page "Effective Pod requests and limits" of Kubernetes, in a table by hand."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.shape import Raw
from gsdsl_clusters.drivers.kubernetes.objects import Gpus, gpus_of
from gsdsl_clusters.kubernetes_objects.requests import pod_requests
from gsdsl_clusters.kubernetes_objects.values import UnknownValue, devices, quantity

GPU = "nvidia.com/gpu"
Json = dict[str, Any]


def container(amount: int | str, *, sidecar: bool = False, limit: bool = False, resource: str = "cpu") -> Json:
    stated = {"limits" if limit else "requests": {resource: str(amount)}}
    return {"resources": stated, **({"restartPolicy": "Always"} if sidecar else {})}


def pod(containers: list[Json], first: list[Json] | None = None, **more: Any) -> Json:
    return {"containers": containers, "initContainers": first, **more}


SIDE = container(2, sidecar=True)
BY_HAND: dict[str, tuple[Json, int | str]] = {
    "containers are added": (pod([container(1), container(3)]), 4),
    "an initial container counts if it is larger": (pod([container(1)], [container(3)]), 3),
    "initial containers run one after the other": (pod([container(1)], [container(3), container(2)]), 3),
    "a sidecar runs beside the containers": (pod([container(1)], [SIDE]), 3),
    "a sidecar before a large initial container runs beside it": (pod([container(1)], [SIDE, container(5)]), 7),
    "a sidecar after it does not": (pod([container(1)], [container(5), SIDE]), 5),
    "only the sidecars before it": (pod([container(1)], [SIDE, container(5), container(4, sidecar=True)]), 7),
    "two sidecars before it": (pod([container(1)], [SIDE, container(4, sidecar=True), container(5)]), 11),
    "a limit without a request is one": (pod([container(1)], [container(3, limit=True)]), 3),
    "overhead is added at the end": (pod([container(1)], [container(3)], overhead={"cpu": "250m"}), "3.25"),
    "requests of the pod replace the sum": (pod([container(1)], resources={"requests": {"cpu": "8"}}), 8),
    "a pod requests no devices by itself": (pod([container(1, resource=GPU)], resources={"requests": {GPU: "8"}}), 1),
    "nothing is requested": (pod([{}]), 0),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "amount"), BY_HAND.values(), ids=BY_HAND)
def test_requests_by_hand(spec: Json, amount: int | str) -> None:
    found = pod_requests(spec)
    assert found.get(GPU if GPU in found else "cpu", Decimal(0)) == Decimal(amount)


def phases(spec: Json) -> int:
    """The amount that is reserved when each initial container runs, and after all of them: the largest."""

    def of(one: Json) -> int:
        return int(one["resources"]["requests"][GPU])

    running, most = 0, 0
    for one in spec["initContainers"]:
        most = max(most, running + of(one))
        running += of(one) if one.get("restartPolicy") else 0
    return max(most, running + sum(map(of, spec["containers"])))


def test_the_trace_and_the_drivers_count_as_kubernetes_does() -> None:
    """Random pods: the phases simulated one after the other, the driver, and the format `kubernetes`."""
    rng = random.Random(11)
    when = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    ended = {"startTime": "2026-01-01T00:01:00Z",
             "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-01-01T01:00:00Z"}}}]}  # fmt: skip
    pods: list[Json] = []
    expected: dict[str, int] = {}
    for number in range(200):
        first = [
            container(rng.randint(0, 8), sidecar=rng.random() < 0.5, resource=GPU) for _ in range(rng.randint(0, 4))
        ]
        spec = pod([container(rng.randint(0, 4), resource=GPU) for _ in range(rng.randint(1, 3))], first)
        pods.append({"kind": "Pod", "metadata": {"name": f"p{number}", **when}, "spec": spec, "status": ended})
        expected[f"p{number}"] = phases(spec)
    assert {one["metadata"]["name"]: gpus_of(one, Gpus()) for one in pods} == expected
    read = reader("kubernetes")
    raw = Raw("pods.json", json.dumps({"items": pods}).encode())
    table = read.read(raw, {o.name: o.default for o in read.options if o.default is not None} | {"least_gpus": 0})
    assert dict(table.frame.select("job", "gpus").iter_rows()) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [("100000u", "0.1"), ("5n", "5e-9"), ("1E", "1e18"), ("1E3", "1000"), ("1e3", "1000"),
     ("128974848000m", "128974848"), ("129M", "129e6"), ("123Mi", str(123 * 2**20)), (".5", "0.5"), ("-1", "-1"),
     ("0e999999999", "0"), (2.5, "2.5")],
)  # fmt: skip
def test_quantities(text: str | float, number: str) -> None:
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "wrong",
    ["2K", "1e999", "1e-999", "1e99999999999", "9" * 65, "10E", "", None, True, float("inf"), [], {}, "١", "1\n"],
)
def test_what_is_no_quantity(wrong: Any) -> None:
    with pytest.raises(UnknownValue):
        quantity(wrong)


def test_devices_are_whole() -> None:
    assert devices("3000m") == 3
    for wrong in ("1500m", "-1"):
        with pytest.raises(UnknownValue, match="is not a number of GPUs"):
            devices(wrong)
