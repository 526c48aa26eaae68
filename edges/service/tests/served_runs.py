"""A real server on the loopback interface, and a client of it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
pytest.importorskip("prometheus_client", reason="the extra `serve` is not installed")

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.live.messages import AnyRecord
from gpusched_dsl.online.live.metrics import Metrics
from gpusched_dsl.online.run_config import RunConfig
from gsdsl_service.access import Tokens
from gsdsl_service.application import RequestLimits, Service
from gsdsl_service.server import Address, serve
from gsdsl_service.sessions import Sessions

MODEL = """import "gsdsl:capacity_planning/online.gsm";
scenario Cluster for CapacityPlanning {
  Nodes = { n1, n2 };
  period = 2[h];
  idle_penalty = 0.01[$];
  table Types: gpus price[$/h] =
    small 1 1.1
    large 2 2.3 ;
  Jobs = { };
  Runnable = { };
}
"""
VALUES = {"deadline": 4, "weight": 0.5, "Runnable": [["small", 1], ["large", 2]],
          "exec_time": {"small,1": 4, "large,2": 2.5}}  # fmt: skip
Json = dict[str, Any]


def arrival(number: int, **more: Any) -> Json:
    return {"version": 1, "id": f"e{number}", "kind": "arrival", "job": f"j{number}", "values": VALUES, **more}


class Client:
    """Requests to a service, each with its answer as status and content."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.address, self.token = url.removeprefix("http://"), token

    def raw(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
        connection = http.client.HTTPConnection(self.address, timeout=60)
        told = {} if body is None else {"Content-Type": "application/json"}
        if self.token:
            told["Authorization"] = f"Bearer {self.token}"
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, told)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, answer.headers

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, content, _ = self.raw(method, path, None if body is None else json.dumps(body).encode())
        return status, json.loads(content) if content else None

    def events(self, session: str, *events: Json) -> list[Json]:
        body = "\n".join(json.dumps(event) for event in events).encode()
        status, content, _ = self.raw("POST", f"/v1/sessions/{session}/events", body)
        assert status == 200, content
        lines = [json.loads(line) for line in content.splitlines()]
        for line in content.splitlines():
            msgspec.json.decode(line, type=AnyRecord)  # by the published schema
        return lines


@contextmanager
def running(
    folder: Path,
    *,
    tokens: Tokens | None = None,
    limits: RequestLimits | None = None,
    most: int = 16,
    records: Path | None = None,
    config: RunConfig | None = None,
    failed: Sequence[str] = (),
    model: str = MODEL,
) -> Iterator[tuple[Client, Service]]:
    (folder / "cluster.gsm").write_text(model)
    diagnostics = Diagnostics()
    workspace = load_workspace(folder / "cluster.gsm", diagnostics)
    diagnostics.raise_if_errors()
    metrics = Metrics()
    config = config or RunConfig(online="EveryEvent", method="Greedy")
    sessions = Sessions(workspace, config, records, most, most_waiting=4, on_record=metrics.count_record)
    assert [name for name, _ in sessions.resume()] == list(failed)
    service = Service(sessions, tokens or Tokens(), limits or RequestLimits(rate=1e6, burst=1e6), metrics)
    urls: list[str] = []
    started = threading.Event()

    def note(url: str) -> None:
        urls.append(url)
        started.set()

    thread = threading.Thread(target=serve, args=(service, Address(port=0), note), daemon=True)
    thread.start()
    assert started.wait(60)
    client = Client(urls[0])
    end = time.monotonic() + 30
    while True:
        try:
            assert client("GET", "/readyz") == (200, {"status": "ready"})
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)
    try:
        yield client, service
    finally:
        service.stop()
        thread.join(60)
        assert not thread.is_alive()
