"""The REST interface of later releases: documents and requests with the keys of their OpenAPI descriptions."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from test_slurm_json import JOBS_22, NODES_22

from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, JobState
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.observe import observation_of
from gsdsl_clusters.drivers.slurm.reservations import Reservation
from gsdsl_clusters.drivers.slurm.rest import RestInterface
from gsdsl_clusters.drivers.slurm.rest_keys import ACTING_VERSIONS

LATER = [version for version in ACTING_VERSIONS if version != "v0.0.38"]
NUMBERS = ("array_job_id", "array_task_id", "array_max_tasks", "deadline", "end_time", "het_job_id", "node_count",
           "priority", "start_time", "submit_time", "tasks", "time_limit")  # fmt: skip
LATEST = 4_000_000_000  # seconds since 1970
RESERVATIONS = [{
    "name": "far", "node_list": "g1", "flags": ["MAINT"],
    "start_time": {"set": True, "infinite": False, "number": LATEST},
    "end_time": {"set": True, "infinite": False, "number": LATEST + 3600},
}]  # fmt: skip


def as_later(job: dict[str, Any]) -> dict[str, Any]:
    """The same job as v0.0.41 and later versions write it."""
    found = dict(job)
    for name in NUMBERS:
        value = found.get(name)
        is_infinite = value == 4294967295
        found[name] = {"set": value is not None and not is_infinite, "infinite": is_infinite, "number": value or 0}
    found["job_state"] = [found["job_state"]]
    found["shared"], found["exclusive"] = [], []
    found["tres_per_node"] = found["tres_per_node"].replace("gres:gpu", "gres/gpu")
    return found


class Service:
    """Answers like slurmrestd, and changes the job of a request."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.job = as_later({**JOBS_22[1], "required_nodes": ""})
        self.results: list[dict[str, Any]] = [{"job_id": 2, "error_code": 0, "error": "No error", "why": ""}]
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                what = self.path.rsplit("/", 1)[-1]
                nodes = [{**n, "state": [n["state"].upper(), *n["state_flags"]], "features": [], "active_features": []}
                         for n in NODES_22]  # fmt: skip
                found = {"jobs": [as_later(JOBS_22[0]), service.job], "nodes": nodes, "reservations": RESERVATIONS}
                self.answer({what: found[what]})

            def do_POST(self) -> None:
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append((self.path, content))
                service.job = service.job | {
                    key: ",".join(value) if isinstance(value, list) else value for key, value in content.items()
                }
                self.answer({"results": service.results})

            def answer(self, document: dict[str, Any]) -> None:
                body = json.dumps({**document, "meta": {}, "errors": [], "warnings": []}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def cluster(self, version: str) -> SlurmCluster:
        """A cluster without commands of Slurm."""
        address = f"http://127.0.0.1:{self.server.server_port}"
        return SlurmCluster("main", Commands("/nowhere"), RestInterface(address, version), acts_by_rest=True)


@pytest.fixture
def service() -> Iterator[Service]:
    started = Service()
    yield started
    started.server.shutdown()
    started.server.server_close()


@pytest.mark.parametrize("version", LATER)
def test_later_versions_are_read(version: str, service: Service) -> None:
    seen = service.cluster(version).observe()
    far = Reservation("far", LATEST, LATEST + 3600, frozenset({"g1"}))
    jobs = [JOBS_22[0], {**JOBS_22[1], "required_nodes": ""}]
    before = observation_of(jobs, NODES_22, "main", time.time(), (far,))
    assert "`far`" in seen.jobs["2"].misfits["g1"]  # it has no time limit
    assert (seen.jobs, seen.nodes, seen.unread) == (before.jobs, before.nodes, ())


@pytest.mark.parametrize("version", LATER)
def test_actions_of_later_versions(version: str, service: Service) -> None:
    cluster = service.cluster(version)
    cluster.act(Action(ActionKind.RESIZE, "2", {"g1": 2}, "gsdsl step 1"))
    cluster.act(Action(ActionKind.START, "2", {"g1": 1, "g2": 1}, "gsdsl step 1: to run on g1"))
    cluster.act(Action(ActionKind.HOLD, "2", reason="gsdsl step 2: to wait"))
    now = service.requests[2][1]["begin_time"].pop("number")
    assert abs(now - time.time()) < 60
    assert service.requests == [
        (f"/slurm/{version}/job/2", content)
        for content in (
            {"tres_per_node": "gres/gpu:h200:2"},
            {"required_nodes": ["g1", "g2"], "admin_comment": "gsdsl step 1: to run on g1"},
            {"begin_time": {"set": True, "infinite": False}},
            {"hold": False},
            {"hold": True, "admin_comment": "gsdsl step 2: to wait by REST"},
        )
    ]
    with pytest.raises(ActionRefused, match="there is no `scontrol`"):
        cluster.act(Action(ActionKind.REQUEUE, "2"))
    with pytest.raises(ActionRefused, match="changes no single task"):
        cluster.act(Action(ActionKind.HOLD, "2_1"))


def test_a_result_with_an_error_is_a_refusal(service: Service) -> None:
    """The request as a whole has no errors."""
    cluster, start = service.cluster("v0.0.43"), Action(ActionKind.START, "2", {"g9": 2}, "gsdsl step 1")
    service.results = [{"job_id": 2, "error_code": 2006, "error": "Invalid node name specified", "why": ""}]
    with pytest.raises(ActionRefused, match="Invalid node name"):
        cluster.act(start)
    service.results = [{"job_id": 2, "error_code": 1, "error": "Unable to contact slurm controller"}]
    with pytest.raises(ClusterUnavailable):
        cluster.act(start)


@pytest.mark.parametrize(
    ("comment", "state"),
    [
        ("gsdsl step 2: to wait by REST", JobState.PENDING),
        ("gsdsl step 2: to wait", JobState.BLOCKED),
        ("gsdsl step 2: to wait by REST [asked for g2]", JobState.PENDING),
        ("gsdsl", JobState.PENDING),
        ("gsdsl step 2: to run on g1 (2 GPUs)", JobState.BLOCKED),
        ("broken", JobState.BLOCKED),
        ("", JobState.BLOCKED),
    ],
)
def test_a_hold_of_ours_that_looks_like_that_of_an_operator(comment: str, state: JobState) -> None:
    """So Slurm shows each hold by REST. An operator may hold a job that we have started before."""
    record = {**JOBS_22[1], "state_reason": "JobHeldAdmin", "admin_comment": comment}
    assert observation_of([record], NODES_22, None).jobs["2"].state is state
