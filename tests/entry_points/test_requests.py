"""Requests to `gsdsl serve`: whatever a client sends, nothing runs that the command line does not name."""

from __future__ import annotations

import hashlib
import http.client
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from hostile_values import TOKEN, VALUES, hostile, nothing_reached, wrong
from served_runs import MODEL, Client, arrival, running
from served_runs import VALUES as JOB
from starlette.routing import Route

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.live.messages import KINDS, AnyEvent
from gpusched_dsl.online.run_config import RunConfig
from gsdsl_service.access import Tokens
from gsdsl_service.application import Service
from gsdsl_service.same_site import OwnHosts
from gsdsl_service.sessions import NewSession, Sessions


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Service]]:
    folder = tmp_path_factory.mktemp("served")
    with running(folder, records=folder / "records") as (client, service):
        assert client("POST", "/v1/sessions", {"name": "prod"})[0] == 201
        client.events("prod", arrival(1))
        yield client, service


def error(content: bytes) -> str:
    answer = json.loads(content)
    assert answer["error"]["message"]
    return str(answer["error"]["code"])


def test_every_text_of_a_new_session(served: tuple[Client, Service]) -> None:
    """Each field of `NewSession` with each hostile text: refused with a code, and nothing is started or opened."""
    client, service = served
    seen = set()
    for made in hostile(NewSession):
        body = msgspec.json.encode({**made, **({"name": "x"} if made["name"] == "a" else {})})
        with nothing_reached():
            status, content, _ = client.raw("POST", "/v1/sessions", body)
        assert 400 <= status < 500, (made, content)
        assert error(content) != "GSM9999"
        seen.update(made)
    assert seen == set(NewSession.__struct_fields__) - {"seed", "time_limit"}  # numbers
    assert [session.name for session in service.sessions] == ["prod"]


def test_a_program_as_the_fallback(served: tuple[Client, Service]) -> None:
    client, _ = served
    wanted = {"name": "x", "method": "highs", "fallback": f"program:touch {TOKEN}", "time_limit": 1e-9}
    with nothing_reached():
        assert client("POST", "/v1/sessions", wanted)[1]["error"]["code"] == "GSM7021"
        assert client("POST", "/v1/sessions/x/events", arrival(1))[0] == 404


def test_every_wrong_type_of_a_new_session(served: tuple[Client, Service]) -> None:
    client, _ = served
    for made in wrong(NewSession):
        status, content, _ = client.raw("POST", "/v1/sessions", json.dumps(made).encode())
        assert (status, error(content)) == (400, "GSM5505"), (made, content)


def test_every_text_of_an_event(served: tuple[Client, Service]) -> None:
    """Each is answered by a record; a label may be any text, and a session with it still plans."""
    client, service = served
    found = [{**made, **({"id": f"h{n}"} if made["id"] == "a" else {})} for n, made in enumerate(hostile(AnyEvent))]
    events = [event for event in found if event["kind"] != "end"]
    events = [{"values": JOB, **event} if event["kind"] == "arrival" else event for event in events]
    assert {event["kind"] for event in events} == set(KINDS) - {"end"}
    with nothing_reached():
        records = client.events("prod", *events)
    answers = [record for record in records if record["kind"] in ("ack", "error")]
    assert len(answers) == len(events)
    for event, answer in zip(events, answers, strict=True):
        assert answer.get("code") != "GSM9999", (event, answer)
    arrived = {answer["id"] for answer in answers if answer["kind"] == "ack"}
    assert len([event for event in events if event["kind"] == "arrival" and event["id"] in arrived]) > len(VALUES)
    assert service.sessions.get("prod").state == "open"


def test_every_part_of_a_path_and_query(served: tuple[Client, Service]) -> None:
    client, service = served
    paths = [route.path for route in service.application().routes if isinstance(route, Route)]
    parts = [part for path in paths for part in path.split("/") if part.startswith("{")]
    assert {"{session}", "{job:path}", "{name}"} == set(parts)
    for path in (path for path in paths if "{" in path):
        for value in VALUES:
            filled = "/".join(quote(value, safe="") if part.startswith("{") else part for part in path.split("/"))
            for method in ("GET", "POST", "DELETE"):
                with nothing_reached():
                    status, content, _ = client.raw(method, filled, b"{}")
                assert 400 <= status < 500, (method, filled, content)
                assert error(content) != "GSM9999"


@pytest.mark.parametrize(
    "query",
    ["samples=%C2%B2", "samples=000000001999999999", "samples=0", "samples=", "samples=+5", "samples=-1", "samples=1e2",
     "samples=5&samples=5", "samples=%D9%A3", "samples=1001", "samples=5%0A", "sample=5", f"samples={'9' * 5000}"],
)  # fmt: skip
def test_integers_of_queries(served: tuple[Client, Service], query: str) -> None:
    client, _ = served
    status, content, _ = client.raw("GET", f"/v1/sessions/prod/jobs/j1/estimate?{query}")
    assert (status, error(content)) == (400, "GSM5505")


def test_an_integer_with_zeros_before_it(served: tuple[Client, Service]) -> None:
    assert served[0]("GET", "/v1/sessions/prod/jobs/j1/estimate?samples=002")[0] == 200


@pytest.mark.parametrize("name", ["prod\n", "prod\r", " prod", "", ".", "..", "a/b", "a" * 64, "²", "a\0"])
def test_names_of_sessions(served: tuple[Client, Service], name: str) -> None:
    status, answer = served[0]("POST", "/v1/sessions", {"name": name})
    assert (status, answer["error"]["code"]) == (400, "GSM5505")


@pytest.mark.parametrize(
    "headers",
    [{"Host": "attacker.example"}, {"Host": "localhost.attacker.example:8765"}, {"Host": "10.0.0.1"}, {"Host": ""},
     {"Host": "127.0.0.1@attacker.example"}, {"Origin": "https://attacker.example"}, {"Origin": "null"},
     {"Origin": "http://localhost:1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)  # fmt: skip
@pytest.mark.parametrize("with_token", [False, True])
def test_requests_of_other_sites(served: tuple[Client, Service], headers: dict[str, str], with_token: bool) -> None:
    """No path answers a page of another site, or a name that somebody else points to this machine."""
    client, service = served
    known = service.tokens
    if with_token:
        service.tokens = Tokens({hashlib.sha256(b"0123456789abcdef").digest(): "ann"})
        headers = {**headers, "Authorization": "Bearer 0123456789abcdef"}
    try:
        for method, path in (("POST", "/v1/sessions"), ("GET", "/v1/sessions"), ("GET", "/healthz"),
                             ("GET", "/v1/sessions/prod/decision"), ("DELETE", "/v1/sessions/prod")):  # fmt: skip
            body = b'{"name": "foreign"}' if method == "POST" else None
            status, content, _ = client.raw(method, path, body, **headers)
            assert status in (400, 403), (method, path, content)
            assert status == 400 or error(content) == "GSM5508"
    finally:
        service.tokens = known
    assert client("GET", "/v1/sessions")[1]["sessions"][0]["state"] == "open"


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"],
)
def test_bodies_of_other_types(served: tuple[Client, Service], kind: str) -> None:
    for path, body in (("/v1/sessions", b'{"name": "plain"}'), ("/v1/sessions/prod/events", b"{}")):
        status, content, _ = served[0].raw("POST", path, body, Content_Type=kind)
        assert (status, error(content)) == (415, "GSM5505")


def test_bodies_with_repeated_keys(served: tuple[Client, Service]) -> None:
    client, _ = served
    status, content, _ = client.raw("POST", "/v1/sessions", b'{"name": "one", "name": "two"}')
    assert (status, error(content)) == (400, "GSM5505")
    assert {each["name"] for each in client("GET", "/v1/sessions")[1]["sessions"]} & {"one", "two"} == set()
    tick = b'{"version": 1, "id": "k", "kind": "tick", "time": 2, "time": 3}'
    for body in (tick, b"[" + tick + b"]", tick.replace(b", ", b",\n")):
        status, content, _ = client.raw("POST", "/v1/sessions/prod/events", body)
        [answer] = map(json.loads, content.splitlines())
        assert (status, answer["kind"], answer["code"], answer["id"]) == (200, "error", "GSM5204", "k")


def test_a_body_without_a_type(served: tuple[Client, Service]) -> None:
    connection = http.client.HTTPConnection(served[0].address, timeout=60)
    connection.request("POST", "/v1/sessions", b'{"name": "plain"}')
    assert connection.getresponse().status == 415
    connection.close()


def test_types_with_parameters_and_lines(served: tuple[Client, Service]) -> None:
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/x-ndjson"):
        path = "/v1/sessions/prod/events"
        assert served[0].raw("POST", path, json.dumps(arrival(1)).encode(), Content_Type=kind)[0] == 200


@pytest.mark.parametrize(
    ("address", "more", "host", "is_own"),
    [
        ("127.0.0.1", (), "localhost:8765", True),
        ("127.0.0.1", (), "[::1]:8765", True),
        ("127.0.0.1", (), "192.168.0.7", False),
        ("127.0.0.1", ("planner.example",), "Planner.example", True),
        ("127.0.0.1", ("planner.example",), "other.example", False),
        ("0.0.0.0", (), "192.168.0.7:8765", True),
        ("0.0.0.0", (), "planner.example", False),
        ("::", (), "[2001:db8::1]:8765", True),
        ("192.168.0.7", (), "192.168.0.7:8765", True),
        ("192.168.0.7", (), "localhost", False),
        ("planner.example", (), "planner.example:8765", True),
        ("localhost", (), "127.0.0.1:80", True),
        ("127.0.0.1", (), "localhost\n", False),
        ("127.0.0.1", (), "localhost:²", False),
    ],
)
def test_names_of_a_service(address: str, more: tuple[str, ...], host: str, is_own: bool) -> None:
    hosts = OwnHosts(address, more)
    assert (hosts.refusal({"host": [host]}) is None) is is_own
    assert hosts.refusal({"host": [host, host]}) is not None
    assert hosts.refusal({}) is not None
    assert (hosts.refusal({"host": [host], "origin": [f"http://{host}"]}) is None) is is_own


def test_the_program_of_the_command_line(tmp_path: Path) -> None:
    """A session may have the program that the service was started with, and no other."""
    file = tmp_path / "entry.py"
    file.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    if json.loads(line)['kind'] == 'tick':\n"
        "        print(json.dumps({'kind': 'decision', 'entries': {'run': []}}), flush=True)\n"
    )
    method = f"program:{shlex.join([sys.executable, str(file)])}"
    config = RunConfig(online="EveryEvent", method=method).allowing(method)
    with running(tmp_path, config=config) as (client, _):
        assert client("POST", "/v1/sessions", {"name": "a"})[0] == 201
        assert client("POST", "/v1/sessions", {"name": "b", "method": method})[0] == 201
        assert client("POST", "/v1/sessions", {"name": "c", "method": f"{method} x"})[0] == 403
        records = client.events("b", arrival(1))
        assert [record["kind"] for record in records] == ["ack", "decision"], records


def test_settings_of_recorded_sessions(tmp_path: Path) -> None:
    """A file of the records is no more trusted than a request."""
    (tmp_path / "cluster.gsm").write_text(MODEL)
    records = tmp_path / "records"
    records.mkdir()
    wanted = [{**made, "name": "x"} for made in hostile(NewSession) if made["name"] == "a"]
    for number, made in enumerate(wanted):
        (records / f"s{number}.json").write_bytes(msgspec.json.encode({**made, "name": f"s{number}"}))
    (records / "other.json").write_text('{"name": "../other"}')
    (records / "another.json").write_text('{"name": "s0"}')
    found = Diagnostics()
    workspace = load_workspace(tmp_path / "cluster.gsm", found)
    sessions = Sessions(workspace, RunConfig(online="EveryEvent", method="Greedy"), records, most=1000)
    with nothing_reached():
        failed = dict(sessions.resume())
    sessions.stop(30)
    assert "GSM5101" not in {error.diagnostics[0].code for error in failed.values()}  # none came as far as its journal
    assert set(failed) == {f"s{number}" for number in range(len(wanted))} | {"other", "another"}
    assert not list(tmp_path.glob(f"**/*{TOKEN}*"))


def test_the_command_line_names_the_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert "--allow-host NAME" in capsys.readouterr().out
