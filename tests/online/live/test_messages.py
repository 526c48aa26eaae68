"""The published schemas, and lines that are no events."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.online.live.messages import (
    KINDS,
    LONGEST_LINE,
    AnyEvent,
    Arrival,
    Decided,
    Entry,
    Refused,
    Started,
    content_of,
    event_of,
    event_schema,
    line_of,
    record_schema,
)

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schema"

GOOD: list[dict[str, Any]] = [
    {"kind": "arrival", "job": "j7", "time": 12.5,
     "values": {"exec_time": {"V100,2": 3.5}, "weight": 2, "urgent": True, "power": [["V100", 2, 250.0]]}},
    {"kind": "arrival", "job": 7}, {"kind": "completion", "job": "j7", "time": "2026-03-01T12:30:00+01:00"},
    {"kind": "progress", "job": "j7", "fraction": 0.25}, {"kind": "progress", "job": "j7", "done": 12},
    {"kind": "arrivals", "jobs": [{"job": "j7", "values": {"weight": 2}}, {"job": 8}]},
    {"kind": "withdrawal", "job": "j7"}, {"kind": "withdrawal", "job": "j7", "returns": True},
    {"kind": "node_down", "node": "n1"}, {"kind": "node_up", "node": "n1"},
    {"kind": "value", "values": {"price": {"1": 0.2}}}, {"kind": "tick", "time": -3}, {"kind": "end"},
]  # fmt: skip


def as_line(event: dict[str, Any]) -> bytes:
    return json.dumps({"version": 1, "id": "x", **event}).encode()


def read_line(line: bytes) -> AnyEvent:
    return event_of(content_of(line))


def refusal(line: bytes) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        read_line(line)
    return refused.value.diagnostic.code, refused.value.diagnostic.message


@pytest.mark.parametrize(("name", "made"), [("event", event_schema()), ("decision", record_schema())])
def test_published_schemas_are_those_of_the_code(name: str, made: dict[str, Any]) -> None:
    published = (SCHEMAS / f"online-{name}-1.json").read_text(encoding="utf-8")
    assert json.loads(published) == json.loads(json.dumps(made))
    assert published == json.dumps(made, indent=2) + "\n"


def test_the_schema_knows_all_kinds() -> None:
    assert set(event_schema()["discriminator"]["mapping"]) == set(KINDS)
    assert {event["kind"] for event in GOOD} == set(KINDS)
    for name, kind in event_schema()["$defs"].items():
        assert kind["additionalProperties"] is False
        needed = {"job"} if name == "ArrivingJob" else {"version", "id", "kind"}
        assert needed <= set(kind["required"])


@pytest.mark.parametrize("event", GOOD, ids=lambda e: e["kind"])
def test_events_are_read(event: dict[str, Any]) -> None:
    read = read_line(as_line(event))
    assert type(read).__name__.lower() == event["kind"].replace("_", "")
    shown = msgspec.to_builtins(read)
    shown["jobs"] = [{k: v for k, v in one.items() if v != {}} for one in shown.get("jobs", [])]
    assert {name: shown[name] for name in event} == event


def test_values_keep_their_types() -> None:
    read = read_line(as_line(GOOD[0]))
    assert isinstance(read, Arrival)
    assert repr(read.values) == repr(GOOD[0]["values"])


@pytest.mark.parametrize("event", GOOD, ids=lambda e: e["kind"])
def test_what_is_missing_or_too_much_is_told(event: dict[str, Any]) -> None:
    assert refusal(as_line({**event, "more": 1})) == (
        "GSM5204",
        "the event does not fit: object contains unknown field `more`",
    )
    for name in ("job", "node"):
        if name in event:
            short = {n: v for n, v in event.items() if n != name}
            assert refusal(as_line(short)) == (
                "GSM5204",
                f"the event does not fit: object missing required field `{name}`",
            )


@pytest.mark.parametrize(
    ("change", "code"),
    [({"version": None}, "GSM5202"), ({"version": True}, "GSM5202"), ({"version": "1"}, "GSM5202"),
     ({"kind": "arival"}, "GSM5203"), ({"kind": None}, "GSM5203"), ({"kind": ["tick"]}, "GSM5203"),
     ({"id": ""}, "GSM5204"), ({"id": 7}, "GSM5204"), ({"id": None}, "GSM5204"), ({"id": "x" * 201}, "GSM5204"),
     ({"time": True}, "GSM5204"), ({"time": [1]}, "GSM5204"), ({"job": 1.5}, "GSM5204"), ({"job": None}, "GSM5204"),
     ({"fraction": 1.5}, "GSM5204"), ({"fraction": 0.5, "done": 1}, "GSM5204"), ({"fraction": None}, "GSM5204")],
)  # fmt: skip
def test_wrong_fields(change: dict[str, Any], code: str) -> None:
    good = {"kind": "progress", "job": "j", "fraction": 0.5}
    read_line(as_line(good))
    assert refusal(as_line({**good, **change}))[0] == code


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"7", b"null", b'{"version":1,"id":"a","kind":"tick","time":NaN}', b"[" * 100_000, b"\xff\xfe",
     b"{" * 5000, b'{"a":' * 5000, b"x" * (LONGEST_LINE + 1)],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_object(line: bytes) -> None:
    assert refusal(line)[0] == "GSM5201"


@pytest.mark.parametrize("event", GOOD)
def test_repeated_keys(event: dict[str, Any]) -> None:
    """Each key of each object twice, with the same value or another one: readers would keep one of the two."""
    line = as_line(event)
    members = re.findall(rb'("\w[^"]*"): ', line)
    assert len(members) >= 3
    for key in members:
        for value in (b"1", b'"x"', b'{"a": {}}'):
            doubled = line.replace(key + b": ", key + b": " + value + b", " + key + b": ", 1)
            assert refusal(doubled) == (
                "GSM5204", f"the event does not fit: an object has the key `{json.loads(key)}` twice")  # fmt: skip
    with pytest.raises(Refused) as refused:
        read_line(line.replace(b'"kind"', b'"\\u006bind": 1, "kind"', 1))
    assert (refused.value.id, refused.value.diagnostic.code) == ("x", "GSM5204")


def test_numbers_beyond_all_numbers() -> None:
    assert refusal(b'{"version":1,"id":"a","kind":"tick","time":1e999}')[0] == "GSM5204"


def test_a_near_word_is_offered() -> None:
    with pytest.raises(Refused) as refused:
        read_line(as_line({"kind": "node_donw"}))
    assert refused.value.diagnostic.help == "did you mean `node_down`?"
    assert refused.value.id == "x"


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_refused_or_read(line: bytes) -> None:
    with suppress(Refused):
        assert read_line(line) is None or json.loads(line)


@pytest.mark.parametrize("seed", range(3))
def test_changed_events_are_refused_or_read(seed: int) -> None:
    draw = random.Random(seed)
    read = 0
    for _ in range(700):
        line = bytearray(as_line(draw.choice(GOOD)))
        for _ in range(draw.randrange(1, 4)):
            line[draw.randrange(len(line))] = draw.choice(b'{}[]",:0a\\\xff\x00')
        with suppress(Refused):
            read += read_line(bytes(line)) is not None
    assert 7 < read < 693


def test_records_are_one_line_each() -> None:
    entries = {"run": [Entry(["j", 2], 1.0)]}
    decided = Decided(
        step=1, time=0.1 + 0.2, why=["a\nb"], method="highs", status="optimal", seconds=0.5, entries=entries
    )
    line = line_of(decided)
    assert line.count(b"\n") == 1
    assert json.loads(line)["time"] == 0.1 + 0.2
    assert json.loads(line)["entries"] == {"run": [{"index": ["j", 2], "value": 1.0}]}
    assert json.loads(line_of(Started(online="E", time=0.0, unit="h", steps=0, events=0)))["kind"] == "started"
