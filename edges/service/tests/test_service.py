"""The service over HTTP, by a real server on the loopback interface."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from served_runs import MODEL, Client, arrival, running

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.run_config import RunConfig
from gsdsl_service.access import RateLimit, read_tokens
from gsdsl_service.application import RequestLimits, Service, lines_of
from gsdsl_service.sessions import Sessions


def test_events_in_and_decisions_out(tmp_path: Path) -> None:
    """The answers are those of a live run; why and estimate answer for its present state."""
    with running(tmp_path) as (client, _):
        status, made = client("POST", "/v1/sessions", {"name": "prod"})
        assert (status, made["state"], made["online"], made["unit"]) == (201, "open", "EveryEvent", "h")
        assert client("GET", "/v1/sessions/prod/decision")[0] == 404
        records = client.events("prod", arrival(1), arrival(2, time=1), {**arrival(3), "job": "j1"})
        assert [record["kind"] for record in records] == ["ack", "decision", "ack", "error", "decision"]
        assert client.events("prod", arrival(1))[0]["duplicate"]
        decision = client("GET", "/v1/sessions/prod/decision")[1]
        assert decision == {**records[4], "again": False}
        assert [entry["index"][0] for entry in decision["entries"]["run"]] == ["j1", "j2"]
        status, estimate = client("GET", "/v1/sessions/prod/jobs/j2/estimate?samples=5")
        assert (status, estimate["state"], estimate["start"]["values"]) == (200, "running", [1.0])
        assert 3.5 <= estimate["end"]["values"][0] <= 6.0  # with the delay of its start
        status, why = client("GET", "/v1/sessions/prod/jobs/j2/why")
        assert (status, why["runs"], why["method"]) == (200, True, "Greedy")
        assert client("GET", "/v1/sessions/prod/jobs/j9/why")[0] == 404
        assert client("GET", "/v1/sessions/prod")[1]["decision"] == 2
        assert client("GET", "/v1/schema/online-event-1.json")[1]["title"] == "Events of a live run, version 1"
        text = client.raw("GET", "/metrics")[1].decode()
        for line in (
            'gsdsl_events_total{result="acknowledged",session="prod"} 2.0',
            'gsdsl_events_total{result="duplicate",session="prod"} 1.0',
            'gsdsl_events_total{result="refused",session="prod"} 1.0',
            'gsdsl_sessions{state="open"} 1.0',
            'gsdsl_plan_seconds_count{session="prod"} 2.0',
        ):
            assert line in text, text
        assert client("DELETE", "/v1/sessions/prod")[1]["state"] == "stopped"
        assert client("GET", "/v1/sessions/prod")[0] == 404
        assert 'session="prod"' not in client.raw("GET", "/metrics")[1].decode()


def test_the_decision_after_the_last_job(tmp_path: Path) -> None:
    """A manager that polls `GET /decision` starts no job again that has ended, also after a restart of the service."""
    records = tmp_path / "records"
    with running(tmp_path, records=records) as (client, _):
        assert client("POST", "/v1/sessions", {"name": "prod"})[0] == 201
        path = "/v1/sessions/prod/decision"
        client.events("prod", arrival(1), arrival(2))
        assert len(client("GET", path)[1]["entries"]["run"]) == 2
        client.events("prod", {"version": 1, "id": "c1", "kind": "completion", "job": "j1", "time": 1})
        assert [entry["index"][0] for entry in client("GET", path)[1]["entries"]["run"]] == ["j2"]
        client.events("prod", {"version": 1, "id": "c2", "kind": "withdrawal", "job": "j2", "time": 2})
        assert client("GET", path)[1]["entries"] == {}
    with running(tmp_path, records=records) as (client, _):
        assert client("GET", path)[1]["entries"] == {}
        client.events("prod", arrival(3))
        assert [entry["index"][0] for entry in client("GET", path)[1]["entries"]["run"]] == ["j3"]


def test_a_session_without_its_journal(tmp_path: Path) -> None:
    """It is not continued as an empty one: it fails with the reason, until somebody deletes and creates it."""
    records = tmp_path / "records"
    with running(tmp_path, records=records) as (client, _):
        assert client("POST", "/v1/sessions", {"name": "prod"})[0] == 201
        client.events("prod", arrival(1))
    (records / "prod.db").unlink()
    with running(tmp_path, records=records, failed=["prod"]) as (client, _):
        state = client("GET", "/v1/sessions/prod")[1]
        assert (state["state"], "does not exist" in state["error"]) == ("failed", True)
        assert client("GET", "/v1/sessions/prod/decision")[0] == 404
        assert client("POST", "/v1/sessions/prod/events", arrival(2))[0] == 409
        assert client("DELETE", "/v1/sessions/prod")[0] == 200
        assert client("POST", "/v1/sessions", {"name": "prod"})[0] == 201


def test_sessions_at_the_same_time(tmp_path: Path) -> None:
    """Three sessions with four clients each: every event is planned once, and the sessions do not mix."""
    with running(tmp_path) as (client, _), ThreadPoolExecutor(6) as pool:
        names = ("a", "b", "c")
        assert [client("POST", "/v1/sessions", {"name": name})[0] for name in names] == [201] * 3
        wanted = [(name, number) for number in range(1, 5) for name in names]
        found = list(pool.map(lambda one: client.events(one[0], arrival(one[1])), wanted))
        assert all([record["kind"] for record in records] == ["ack", "decision"] for records in found)
        for name in names:
            steps = sorted(records[1]["step"] for (one, _), records in zip(wanted, found, strict=True) if one == name)
            assert steps == [1, 2, 3, 4]
            jobs = client("GET", f"/v1/sessions/{name}")[1]
            assert (jobs["decision"], jobs["waiting"]) == (4, 0)


def test_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# clients\nann 0123456789abcdef\nbob fedcba9876543210  # until May\n")
    tokens = read_tokens(file)
    assert tokens.client("Bearer 0123456789abcdef") == "ann"
    assert tokens.client("bearer fedcba9876543210") == "bob"
    for wrong in (None, "", "Bearer", "Basic 0123456789abcdef", "Bearer 0123456789abcdeF", "Bearer ä"):
        assert tokens.client(wrong) is None
    with running(tmp_path, tokens=tokens) as (client, _):
        status, content, headers = client.raw("GET", "/v1/sessions")
        assert (status, json.loads(content)["error"]["code"]) == (401, "GSM5502")
        assert headers["WWW-Authenticate"] == "Bearer"
        assert client("GET", "/metrics")[0] == 401
        assert client("GET", "/healthz") == (200, {"status": "ok"})
        client.token = "0123456789abcdef"
        assert client("GET", "/v1/sessions") == (200, {"sessions": []})


def test_limits(tmp_path: Path) -> None:
    limits = RequestLimits(body=2000, events=3, rate=0.001, burst=12)
    with running(tmp_path, limits=limits, most=1) as (client, service):
        assert client("POST", "/v1/sessions", {"name": "a"})[0] == 201
        status, answer = client("POST", "/v1/sessions", {"name": "b"})
        assert (status, answer["error"]["code"]) == (429, "GSM5504")
        path = "/v1/sessions/a/events"
        assert client.raw("POST", path, b"x" * 2001)[0] == 413
        lines = (
            f"POST {path} HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
        )
        head = "\r\n".join((*lines, "", "")).encode()
        host, port = client.address.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as chunked:  # no length is stated
            chunked.sendall(head + b"".join(b"3e8\r\n" + b"x" * 1000 + b"\r\n" for _ in range(3)) + b"0\r\n\r\n")
            assert chunked.recv(100).startswith(b"HTTP/1.1 413")
        assert client.raw("POST", path, b"{}\n" * 4)[0] == 413
        blocked, go = threading.Event(), threading.Event()

        def wait(loop: object) -> None:
            blocked.set()
            go.wait(30)

        service.sessions.get("a").ask(wait)
        assert blocked.wait(30)
        for _ in range(4):
            service.sessions.get("a").ask(lambda loop: None)
        status, content, headers = client.raw("POST", path, json.dumps(arrival(1)).encode())
        assert (status, headers["Retry-After"]) == (503, "1")
        go.set()
        status, content, headers = 0, b"", {}
        for _ in range(20):
            status, content, headers = client.raw("GET", "/v1/sessions")
            if status == 429:
                break
        assert (status, json.loads(content)["error"]["code"]) == (429, "GSM5504")
        assert int(headers["Retry-After"]) > 0
        assert client("GET", "/healthz")[0] == 200


def test_the_rate_is_that_of_each_client() -> None:
    now = [0.0]
    limit = RateLimit(2.0, 3.0, lambda: now[0])
    assert [limit.wait("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert limit.wait("b") == 0.0
    now[0] = 1.0
    assert [limit.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 100.0
    assert [limit.wait("a") for _ in range(4)][-1] == 0.5


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/v1/sessions", b"{", 400, "GSM5505"),
        ("POST", "/v1/sessions", b'{"name": "x", "model": "y"}', 400, "GSM5505"),
        ("POST", "/v1/sessions", b'{"name": "../x"}', 400, "GSM5505"),
        ("POST", "/v1/sessions", b'{"name": "x", "method": "Greddy"}', 422, "GSM4001"),
        ("POST", "/v1/sessions", b'{"name": "x", "online": "Every"}', 422, "GSM6019"),
        ("POST", "/v1/sessions", b'{"name": "x", "time_limit": -1}', 400, "GSM5505"),
        ("POST", "/v1/sessions/none/events", b"{}", 404, "GSM5503"),
        ("GET", "/v1/nothing", None, 404, "GSM5503"),
        ("PUT", "/v1/sessions", b"{}", 405, "GSM5503"),
        ("GET", "/v1/schema/other", None, 404, "GSM5503"),
    ],
)
def test_requests_that_do_not_fit(
    method: str, path: str, body: bytes | None, status: int, code: str, served: Client
) -> None:
    found, content, _ = served.raw(method, path, body)
    answer = json.loads(content)
    assert (found, answer["error"]["code"]) == (status, code), answer
    assert answer["error"]["message"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("served")) as (client, _):
        yield client


def test_bodies_that_are_no_events(served: Client) -> None:
    assert served("POST", "/v1/sessions", {"name": "bodies"})[0] == 201
    path = "/v1/sessions/bodies/events"
    assert served.raw("POST", path, b"  \n ")[0] == 400
    assert served.raw("POST", path, b"[1, ")[0] == 400
    status, content, _ = served.raw("POST", path, b'nonsense\n{"version": 2}\n\xff\xfe')
    assert status == 200
    codes = [(json.loads(line)["code"], json.loads(line)["line"]) for line in content.splitlines()]
    assert codes == [("GSM5201", 1), ("GSM5202", 2), ("GSM5201", 3)]
    assert lines_of(b'[{"a": 1}, {"b":\n 2}]') == [b'{"a": 1}', b'{"b":\n 2}']
    assert lines_of(b'{"a":\n 1}') == [b'{"a":\n 1}']
    assert lines_of(b'{"a": 1}\n\n{"b": 2}\n') == [b'{"a": 1}', b'{"b": 2}']
    assert served("GET", "/v1/sessions/bodies/jobs/x/estimate?samples=0")[1]["error"]["code"] == "GSM5505"


def test_an_ended_session(served: Client) -> None:
    assert served("POST", "/v1/sessions", {"name": "ended"})[0] == 201
    assert served("POST", "/v1/sessions", {"name": "ended"})[1]["error"]["code"] == "GSM5506"
    records = served.events("ended", arrival(1), {"version": 1, "id": "e2", "kind": "end", "time": 2})
    assert [record["kind"] for record in records] == ["ack", "decision", "ack", "decision", "finished"]
    status, answer = served("POST", "/v1/sessions/ended/events", arrival(3))
    assert (status, answer["error"]["code"]) == (409, "GSM5506")
    state = served("GET", "/v1/sessions/ended")[1]
    assert (state["state"], state["result"]["plans"]) == ("ended", 2)


@pytest.mark.parametrize("ends", [False, True])
def test_a_deleted_session_is_unknown_and_its_journal_goes_on(ends: bool, tmp_path: Path) -> None:
    records = tmp_path / "records"
    path = "/v1/sessions/prod"
    with running(tmp_path, records=records) as (client, _):
        assert client("POST", "/v1/sessions", {"name": "prod", "seed": 3})[0] == 201
        client.events("prod", arrival(1))
        if ends:
            client.events("prod", {"version": 1, "id": "e9", "kind": "end", "time": 2})
        assert client("DELETE", path)[0] == 200
        assert client("GET", path)[0] == 404
        assert client("POST", f"{path}/events", arrival(2))[0] == 404
    with running(tmp_path, records=records) as (client, _):
        assert client("GET", path)[0] == 404
        status, answer = client("POST", "/v1/sessions", {"name": "prod", "seed": 4})
        assert (status, answer["error"]["code"]) == (422, "GSM5104")
        status, state = client("POST", "/v1/sessions", {"name": "prod", "seed": 3})
        assert (status, state["state"], state["decision"]) == (201, "ended" if ends else "open", 2 if ends else 1)
        if not ends:
            assert client.events("prod", arrival(1))[0]["duplicate"]
            assert [r["kind"] for r in client.events("prod", arrival(2))] == ["ack", "decision"]


def test_a_defect_ends_only_its_session(tmp_path: Path) -> None:
    def fail(record: object) -> None:
        raise RuntimeError("no disk")

    with running(tmp_path) as (client, service):
        assert [client("POST", "/v1/sessions", {"name": name})[0] for name in ("sound", "defective")] == [201, 201]
        service.sessions.get("defective")._on_record = fail
        status, answer = client("POST", "/v1/sessions/defective/events", arrival(1))
        assert (status, answer["error"]["code"]) == (500, "GSM9999")
        assert client("GET", "/v1/sessions/defective")[1]["state"] == "failed"
        assert client.events("sound", arrival(1))[0]["kind"] == "ack"


def test_a_stopped_service_continues(tmp_path: Path) -> None:
    """A request that is being planned is answered; the next service has the sessions, with their decisions."""
    records = tmp_path / "records"
    with running(tmp_path, records=records) as (client, service), ThreadPoolExecutor(1) as pool:
        assert client("POST", "/v1/sessions", {"name": "prod", "seed": 3})[0] == 201
        client.events("prod", arrival(1))
        blocked, go = threading.Event(), threading.Event()

        def wait(loop: object) -> None:
            blocked.set()
            go.wait(30)

        service.sessions.get("prod").ask(wait)
        assert blocked.wait(30)
        late = pool.submit(client.events, "prod", arrival(2))
        end = time.monotonic() + 30
        while not service.sessions.get("prod").waiting and time.monotonic() < end:
            time.sleep(0.01)
        service.stop()
        go.set()
        assert [record["kind"] for record in late.result(60)] == ["ack", "decision"]
    with running(tmp_path, records=records) as (client, _):
        state = client("GET", "/v1/sessions/prod")[1]
        assert (state["state"], state["decision"], state["recorded"]) == ("open", 2, True)
        assert client.events("prod", arrival(2))[0]["duplicate"]
    (tmp_path / "cluster.gsm").write_text(MODEL.replace("2.3", "2.4"))
    diagnostics = Diagnostics()
    workspace = load_workspace(tmp_path / "cluster.gsm", diagnostics)
    sessions = Sessions(workspace, RunConfig(online="EveryEvent", method="Greedy"), records)
    ((name, error),) = sessions.resume()
    assert (name, sessions.get("prod").state) == ("prod", "failed")
    assert error.diagnostics[0].code.startswith("GSM51")


def test_what_keeps_a_service_from_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens"
    for text, words in (
        ("", "it has no token"),
        ("ann", "line 1 is not a name and a token"),
        ("ann short", "has fewer than 16 characters"),
        ("ann 0123456789abcdef\nbob 0123456789abcdef", "line 2 occurs twice"),
    ):
        file.write_text(text)
        with pytest.raises(DiagnosticError, match=words) as raised:
            read_tokens(file)
        assert raised.value.diagnostics[0].code == "GSM5501"
    (tmp_path / "cluster.gsm").write_text(MODEL)
    model = str(tmp_path / "cluster.gsm")
    for options, words in (
        ((), "either `--token-file` or `--no-token`"),
        (("--no-token", "--host", "0.0.0.0"), "only for addresses of this machine"),
        (("--no-token", "--tls-key", "x"), "`--tls-key` needs `--tls-cert`"),
        (("--no-token", "--port", "70000"), "ports are at most 65535"),
    ):
        assert main(["serve", model, *options]) == 2
        assert words in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", model, "--no-token", "--port", str(port)]) == 1
    assert "GSM5501" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_process_continues(tmp_path: Path, child: Callable[..., subprocess.Popen[str]]) -> None:
    """A real process is killed and started again; then SIGTERM ends it."""
    (tmp_path / "cluster.gsm").write_text(MODEL)
    (tmp_path / "tokens").write_text("ann 0123456789abcdef\n")
    words = [sys.executable, "-m", "gpusched_dsl", "serve", "cluster.gsm", "--online", "EveryEvent", "--method",
             "Greedy", "--token-file", "tokens", "--records", "records", "--port", "0"]  # fmt: skip

    def start() -> tuple[subprocess.Popen[str], Client]:
        process = child(words, cwd=tmp_path)
        while "http://" not in (line := process.stderr.readline()):
            assert line, process.poll()
        client = Client(next(word for word in line.split() if "http://" in word).rstrip(";"), "0123456789abcdef")
        end = time.monotonic() + 60
        while True:
            try:
                assert client("GET", "/readyz")[0] == 200
                return process, client
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.1)

    process, client = start()
    assert client("POST", "/v1/sessions", {"name": "prod"})[0] == 201
    client.events("prod", arrival(1), arrival(2))
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    process, client = start()
    assert client("GET", "/v1/sessions/prod")[1]["decision"] >= 1
    assert [record["duplicate"] for record in client.events("prod", arrival(1), arrival(2))] == [True, True]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@contextmanager
def busy(service: Service, name: str) -> Iterator[threading.Event]:
    """While inside, a session computes a plan that does not end before the event is set."""
    blocked, go = threading.Event(), threading.Event()

    def wait(loop: object) -> None:
        blocked.set()
        go.wait(60)

    service.sessions.get(name).ask(wait)
    assert blocked.wait(30)
    try:
        yield go
    finally:
        go.set()


def test_states_and_decisions_never_wait(tmp_path: Path) -> None:
    with running(tmp_path) as (client, service):
        for name in ("a", "b"):
            assert client("POST", "/v1/sessions", {"name": name})[0] == 201
            client.events(name, arrival(1))
        decision = client("GET", "/v1/sessions/a/decision")
        with busy(service, "a"):
            began = time.monotonic()
            assert client("GET", "/healthz")[0] == 200
            assert client.raw("GET", "/metrics")[0] == 200
            assert len(client("GET", "/v1/sessions")[1]["sessions"]) == 2
            assert client("GET", "/v1/sessions/a")[1]["decision"] == 1
            assert client("GET", "/v1/sessions/a/decision") == decision
            assert [record["kind"] for record in client.events("b", arrival(2))] == ["ack", "decision"]
            assert time.monotonic() - began < 30


def accepts(client: Client) -> bool:
    try:
        client("GET", "/healthz")
    except ConnectionError:
        return False
    return True


def test_requests_are_finished_while_the_service_stops(tmp_path: Path) -> None:
    with running(tmp_path) as (client, service), ThreadPoolExecutor(1) as pool:
        assert client("POST", "/v1/sessions", {"name": "a"})[0] == 201
        open_before = http.client.HTTPConnection(client.address, timeout=30)
        open_before.request("GET", "/readyz")
        assert open_before.getresponse().read() == b'{"status":"ready"}\n'
        with busy(service, "a"):
            event = pool.submit(client.events, "a", arrival(1))
            while service.sessions.get("a").waiting < 1:
                time.sleep(0.01)
            service.stop()
            open_before.request("GET", "/readyz")
            assert open_before.getresponse().status == 503
            open_before.close()
            end = time.monotonic() + 30
            while accepts(client):
                assert time.monotonic() < end
        assert [record["kind"] for record in event.result(30)] == ["ack", "decision"]
