"""Live runs of capacity planning: the effects of events, and real kills of the process."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_child import run
from live_toy import Killed, line

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data import updates
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.live import session
from gpusched_dsl.online.loops import event_check

CHILD = [sys.executable, str(Path(__file__).with_name("live_child.py"))]


def job(name: str, deadline: float, weight: float, **hours: float) -> dict[str, Any]:
    """What an arrival says: hours by `small_1`, `large_2`, ..."""
    ways = [(way.split("_")[0], int(way.split("_")[1]), time) for way, time in hours.items()]
    return {
        "job": name,
        "values": {
            "deadline": deadline, "weight": weight, "Runnable": [[v, g] for v, g, _ in ways],
            "exec_time": {f"{v},{g}": time for v, g, time in ways},
        },
    }  # fmt: skip


LINES = [
    line("arrival", "1", 0, **job("j1", 6, 0.5, small_1=4, large_1=4.1, large_2=2.5)),
    line("arrival", "2", 0, **job("j2", 3, 1.5, small_1=2, large_2=1.25)),
    line("tick", "3", 1),
    line("completion", "4", 1.5, job="j2"),
    line("arrival", "6", 2.5, **job("j3", 4, 1.6, small_1=2)),
    line("progress", "7", 3, job="j1", fraction=0.5),
    line("node_down", "8", 3, node="n2"),
    line("value", "9", 3.2, values={"price": {"small": 3.3}}),
    line("node_up", "10", 4, node="n2"),
    line("withdrawal", "11", 4, job="old"),
    line("tick", "12", 6.5),
    line("end", "13", 9),
]


def live(
    lines: list[bytes], folder: Path, method: str = "Greedy", journal: str = "", killed_at: int | None = None
) -> list[dict[str, Any]]:
    """The records of a live run, up to the one at which it is killed."""
    file = folder / "events.jsonl"
    file.write_bytes(b"".join(lines))
    out = _Out(killed_at)
    with suppress(Killed):
        run(method, str(file), journal, out)
    return out.records


class _Out(io.BytesIO):
    def __init__(self, killed_at: int | None) -> None:
        super().__init__()
        self.records: list[dict[str, Any]] = []
        self.killed_at = killed_at

    def write(self, text: Any) -> int:
        self.records.append(json.loads(text))
        if len(self.records) == self.killed_at:
            raise Killed
        return len(text)


def decisions(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The decisions without how long they took, each number once."""
    found = {}
    for record in records:
        if record["kind"] == "decision":
            found[record["step"]] = {n: v for n, v in record.items() if n not in ("seconds", "again")}
    return [found[step] for step in sorted(found)]


def runs(decision: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {entry["index"][0]: tuple(entry["index"][1:]) for entry in decision["entries"]["run"]}


# --- events -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Greedy", "highs"])
def test_events_of_every_kind(tmp_path: Path, method: str) -> None:
    records = live(LINES, tmp_path, method)
    assert [r["id"] for r in records if r["kind"] == "ack"] == [json.loads(text)["id"] for text in LINES]
    made = decisions(records)
    assert [(d["time"], set(d["why"])) for d in made] == [
        (0.0, {"arrival"}), (1.5, {"completion"}), (2.5, {"arrival"}), (3.0, {"failure"}),
        (4.0, {"recovery", "completion"}), (6.5, {"period"}), (9.0, {"period"}),
    ]  # fmt: skip
    assert all("j2" not in runs(d) for d in made[1:]), "it has ended"
    assert "n2" not in [place[0] for place in runs(made[3]).values()], "it is down"
    assert all("old" not in runs(d) for d in made[4:]), "it was withdrawn"
    result = records[-1]["result"]
    assert (result["done"], result["present"], result["plans"]) == (1, 2, 7)


def test_values_count_from_the_next_plan_on(tmp_path: Path) -> None:
    """One GPU of each type would do, and the cheaper one is taken: small at first, large once small is dear."""
    lines = [
        line("withdrawal", "0", 0, job="old"), line("arrival", "1", 0, **job("a", 2, 50, small_1=2, large_1=1.99)),
        line("value", "2", 1, values={"price": [["small", 9.0]]}),
        line("arrival", "3", 2, **job("b", 4, 50, small_1=2, large_1=1.99)),
    ]  # fmt: skip
    made = decisions(live(lines, tmp_path, "highs"))
    assert runs(made[0])["a"][1:] == ("small", 1)
    assert runs(made[-1])["b"][1:] == ("large", 1)


def test_an_event_is_decoded_once_and_its_data_are_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = [(session, "content_of"), (session, "event_of"), (event_check, "Candidate"), (updates, "Base")]
    calls: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        made = getattr(owner, name)

        def counting(*arguments: Any) -> Any:
            calls[name] += 1
            return made(*arguments)

        monkeypatch.setattr(owner, name, counting)

    for owner, name in counted:
        count(owner, name)
    prices = line("value", "v", 5, values={"price": {"small": 3.4, "large": 4.1}, "period": 2.0})
    records = live([*LINES[:-1], prices, LINES[-1]], tmp_path)
    assert not [r for r in records if r["kind"] == "error"]
    events = len(LINES) + 1
    new_data = 5  # three arrivals and two events of values
    assert calls == {"content_of": events, "event_of": events, "Candidate": events, "Base": new_data}


@pytest.mark.parametrize(
    ("event", "code"),
    [(line("completion", "x", 1, job="nobody"), "GSM5207"), (line("arrival", "x", 1, job="old"), "GSM5207"),
     (line("node_down", "x", 1, node="n9"), "GSM5207"), (line("value", "x", 1, values={"prize": 1}), "GSM5207"),
     (line("value", "x", 1, values={"price": {"huge": 1}}), "GSM5207"),
     (line("value", "x", 1, values={"price": {"small": -1}}), "GSM2109"),
     (line("arrival", "x", 1, job="j9"), "GSM2115"),
     (line("arrival", "x", 1, **job("j9", 1, 1, huge_1=1)), "GSM2103"),
     (line("arrival", "x", 1, **job("j9", 1, -1, small_1=1)), "GSM2109")],
    ids=range(9),
)  # fmt: skip
def test_events_that_do_not_fit(tmp_path: Path, event: bytes, code: str) -> None:
    records = live([line("tick", "t", 0.1), event, line("tick", "y", 0.5)], tmp_path)
    [error] = [r for r in records if r["kind"] == "error"]
    assert (error["id"], error["line"]) == ("x", 2)
    assert error["code"] == code, error["message"]
    [last] = [r for r in records if r.get("id") == "y"]
    assert not last["late"], "what is refused lets no time pass"


# --- kills ------------------------------------------------------------------------------------------------------------


def check_kills(folder: Path, method: str, moments: list[int]) -> None:
    whole = live(LINES, folder, method)
    for killed_at in moments:
        journal = str(folder / f"{killed_at}.db")
        first = live(LINES, folder, method, journal, killed_at)
        assert len(first) == killed_at
        second = live(LINES, folder, method, journal)
        assert decisions(first + second) == decisions(whole), killed_at
        assert second[-1] == whole[-1]
        steps = [r["step"] for r in second if r["kind"] == "decision"]
        assert steps == list(range(steps[0], len(decisions(whole)) + 1)) if steps else True


@pytest.mark.parametrize(("method", "moments"), [("Greedy", [8, 15]), ("highs", [9])])
def test_after_a_kill_the_same_is_decided(tmp_path: Path, method: str, moments: list[int]) -> None:
    check_kills(tmp_path, method, moments)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Greedy", "highs"])
def test_after_a_kill_anywhere_the_same_is_decided(tmp_path: Path, method: str) -> None:
    check_kills(tmp_path, method, list(range(1, 20, 2)))


def test_another_method_does_not_take_the_journal(tmp_path: Path) -> None:
    live(LINES[:3], tmp_path, "Greedy", str(tmp_path / "run.db"))
    with pytest.raises(DiagnosticError, match="GSM5104"):
        live(LINES[:3], tmp_path, "highs", str(tmp_path / "run.db"))


@pytest.mark.slow
def test_a_named_pipe_and_kill_9(tmp_path: Path) -> None:
    """As in docs/live.md: a pipe, a process that is killed, and one that goes on; all events are sent again."""
    pipe, journal = tmp_path / "events", tmp_path / "run.db"
    os.mkfifo(pipe)
    command = [*CHILD, "Greedy", str(pipe), str(journal)]
    records: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for event in LINES[:5]:
            pipe.write_bytes(event)
        while len([r for r in records if r["kind"] == "ack"]) < 5:
            records.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
    with Journal.read(journal) as recorded:
        assert [e.id for e in recorded.external()] == ["1", "2", "3", "4", "6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for event in LINES:
            pipe.write_bytes(event)
        again = [json.loads(text) for text in process.stdout]
    assert process.returncode == 0
    assert [r["duplicate"] for r in again if r["kind"] == "ack"] == [True] * 5 + [False] * 7
    times = [d["time"] for d in decisions(records + again)]
    assert times == sorted(times)
    assert again[-1]["kind"] == "finished"
    steps = [(r["step"], r["again"]) for r in records + again if r["kind"] == "decision"]
    assert sorted({step for step, _ in steps}) == list(range(1, len(times) + 1))
    first = [step for step, known in steps if not known]
    assert len(first) == len(set(first)), "a decision that comes again says so"
