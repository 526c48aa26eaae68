"""No event ends a live run: events that cannot be planned for are refused before they are recorded."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from live_child import TEXT
from live_toy import HEADER, Toy, feed, line
from poisoned import POISON, arrival, value
from test_live_cluster import decisions, live

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import External
from gpusched_dsl.online.live.messages import Arrival, Event
from gpusched_dsl.online.live.trial import MOST_REFUSED

BEFORE = [arrival("g", 0.5, "g")]
AFTER = [line("tick", "t", 2), arrival("h", 2.5, "h"), line("completion", "c", 4, job="g"), line("end", "e", 9)]


def errors(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(r["id"], r["code"]) for r in records if r["kind"] == "error"]


def test_a_poisoned_event_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    journal = str(tmp_path / "run.db")
    records = live([*BEFORE, *(event for event, _ in POISON.values()), *AFTER], tmp_path, journal=journal)
    assert dict(zip(POISON, errors(records), strict=True)) == {name: ("p", code) for name, (_, code) in POISON.items()}
    assert records[-1]["kind"] == "finished"
    assert decisions(records) == decisions(live([*BEFORE, *AFTER], tmp_path)), "as if they had not come"
    with Journal.read(journal) as recorded:
        assert recorded.find_external("p") is None
        assert [e.id for e in recorded.external()] == ["g", "t", "h", "c", "e"]


def test_labels_that_are_no_integers_of_64_bits(tmp_path: Path) -> None:
    """Such a label was stored as the text `1e+20`, and a second arrival with it became another job of this name."""
    lines = [*BEFORE, arrival("p", 1, 10**20), arrival("q", 1, 2**63 - 1), arrival("r", 1, 2**63 - 1), *AFTER]
    records = live(lines, tmp_path)
    assert errors(records) == [("p", "GSM5207"), ("r", "GSM5207")]
    assert "too large for an integer" in next(r["message"] for r in records if r["kind"] == "error")


def test_numbers_that_no_plan_can_be_made_with(tmp_path: Path) -> None:
    """Each number is in range; HiGHS has no answer to all of them, and the job is refused. Its id is free."""
    lines = [*BEFORE, arrival("p", 1, "p", weight=1e15, deadline=-1e11), arrival("p", 1.5, "p", weight=2.0), *AFTER]
    records = live(lines, tmp_path, "highs")
    assert errors(records) == [("p", "GSM5209")]
    [error] = [r for r in records if r["kind"] == "error"]
    assert "`weight`, 1e+15" in error["help"]
    assert [r["id"] for r in records if r["kind"] == "ack"] == ["g", "p", "t", "h", "c", "e"]
    assert records[-1]["kind"] == "finished"


def test_values_that_no_plan_can_be_made_with_are_refused_although_no_plan_is_asked_for(tmp_path: Path) -> None:
    """The block does not replan on changes: without a rehearsal the next arrival would be refused in its place."""
    lines = [*BEFORE, value("p", 1, price={"small": 1e15}, idle_penalty=1e15), arrival("h", 1, "h")]
    bad = arrival("p", 1, "p", weight=1e15, deadline=-1e11)
    assert errors(live(lines, tmp_path, "highs")) == [], "these can be planned for"
    assert errors(live([BEFORE[0], bad, *lines[2:]], tmp_path, "highs")) == [("p", "GSM5209")]


# --- journals of older versions ---------------------------------------------------------------------------------------


def with_recorded(journal: Path, event: bytes, time: float) -> None:
    """Record an event as a version did that recorded before it planned, and then died of it."""
    with sqlite3.connect(journal) as connection:
        [batch] = connection.execute("SELECT max(batch) FROM event").fetchone()
    connection.close()
    with Journal.read(journal) as known:
        header = known.header
    with Journal.open(journal, header) as recorded:
        content = json.loads(event)
        recorded.accept([External(content["id"], time, content, batch + 1)])


@pytest.mark.parametrize(
    "event",
    [
        POISON["weight"][0],
        pytest.param(POISON["price"][0], marks=pytest.mark.slow),
        pytest.param(POISON["clock"][0], marks=pytest.mark.slow),
    ],
    ids=["weight", "price", "clock"],
)
def test_a_journal_with_a_poisoned_event_goes_on_without_it(event: bytes, tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    live(BEFORE, tmp_path, journal=str(journal))
    with_recorded(journal, event, json.loads(event)["time"])
    records = live([], tmp_path, journal=str(journal))
    assert [r["kind"] for r in records[:2]] == ["started", "quarantined"]
    assert records[1]["id"] == "p"
    again = live([*BEFORE, event, *AFTER], tmp_path, journal=str(journal))
    assert [r["id"] for r in again if r["kind"] == "quarantined"] == ["p"], "it is said at every start"
    assert errors(again) == [("p", "GSM5210")]
    whole = live([*BEFORE, *AFTER], tmp_path)
    assert again[-1] == whole[-1]
    assert decisions([*records, *again]) == decisions(whole)[1:], "the first one was sent before"


# --- several events at one time ---------------------------------------------------------------------------------------


class Picky(Toy):
    """Cannot plan while a job whose name begins with `bad` is there; breaks down while one is called `worse`."""

    plans = 0

    def check(self, event: Event) -> Event:
        if isinstance(event, Arrival) and event.job == "odd":
            raise RuntimeError("no one expects this")
        return super().check(event)

    def decide(self) -> None:
        if self.why:
            Picky.plans += 1
            if "worse" in self.jobs:
                raise RuntimeError("broken down")
            if any(str(job).startswith("bad") for job in self.jobs):
                raise DiagnosticError([Diagnostic("GSM3004", "a number is not finite")])
        super().decide()


def picky(lines: list[bytes], folder: Path, monkeypatch: pytest.MonkeyPatch, **others: Any) -> Any:
    monkeypatch.setattr("live_toy.Toy", Picky)
    Picky.plans = 0
    return feed(lines, folder, **others)


def test_the_guilty_events_of_a_batch_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"j{k}" for k in range(60)]
    names[17], names[41] = "bad17", "worse"
    lines = [line("arrival", name, 1, job=name) for name in names]
    lines += [line("arrival", "odd", 1, job="odd"), line("completion", "c", 1, job="worse"), lines[41], lines[2]]
    pipe, toy, _ = picky(lines, tmp_path, monkeypatch)
    found = [(r["id"], r["code"], r["line"]) for r in pipe.of("error")]
    # The job `worse` has ended when the plan is made.
    assert found == [("bad17", "GSM5209", 18), ("odd", "GSM9999", 61)]
    assert toy.jobs == [name for name in names if name not in ("bad17", "worse")]
    acks = [(r["id"], r["duplicate"]) for r in pipe.of("ack")]
    assert acks[-3:] == [("c", False), ("worse", True), ("j2", True)]
    assert Picky.plans <= 10, "the guilty one is found by bisection"
    [decision] = pipe.of("decision")
    assert len(decision["entries"]["run"]) == 4


def test_what_depends_on_a_refused_event_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line("arrival", "a", 1, job="bad"), line("arrival", "b", 1, job="j")]
    lines += [line("arrival", "c", 1, job="k"), line("completion", "d", 1, job="k")]
    lines += [line("arrival", "e", 1, job="bad2"), line("completion", "f", 1, job="bad"), line("tick", "t", 2)]
    pipe, toy, _ = picky(lines, tmp_path, monkeypatch, journal=tmp_path / "run.db")
    found = [(r["id"], r["code"]) for r in pipe.of("error")]
    assert found == [("a", "GSM5209"), ("e", "GSM5209"), ("f", "GSM5207")], "no job `bad` came, so none ends"
    assert toy.jobs == ["j"]
    again, after, _ = picky(lines, tmp_path, monkeypatch, journal=tmp_path / "run.db")
    assert after.jobs == ["j"]
    assert [r["id"] for r in again.of("error")] == ["a", "e", "f"]


def test_a_time_at_which_nothing_can_be_planned_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line("arrival", f"{k}", 1, job=f"bad{k}") for k in range(40)]
    pipe, toy, _ = picky([*lines, line("arrival", "x", 2, job="x")], tmp_path, monkeypatch)
    assert [r["id"] for r in pipe.of("error")] == [f"{k}" for k in range(40)]
    assert (toy.jobs, toy.now) == (["x"], 2.0)
    assert Picky.plans <= (MOST_REFUSED + 1) * 8


def test_a_tail_of_a_journal_is_searched_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of several times that no step follows: the bad one is set aside, the others count."""
    journal = tmp_path / "run.db"
    with Journal.open(journal, HEADER) as recorded:
        for batch, name in enumerate(["j1", "bad", "j2"], 1):
            content = json.loads(line("arrival", name, batch, job=name))
            recorded.accept([External(name, float(batch), content, batch)])
    for _ in range(2):
        pipe, toy, _ = picky([], tmp_path, monkeypatch, journal=journal)
        assert [r["id"] for r in pipe.of("quarantined")] == ["bad"]
        assert toy.jobs == ["j1", "j2"]
        assert pipe.of("started")[0]["events"] == 3


# --- from Python, and scenarios ---------------------------------------------------------------------------------------


def test_from_python_a_refused_event_changes_nothing() -> None:
    loop = gs.loads(TEXT).live(online="EveryEvent", method="highs")._loop
    loop.on_event(json.loads(BEFORE[0]))
    now, total = loop.now, dict(loop.world.ledger.totals)
    for event, _ in POISON.values():
        with pytest.raises(DiagnosticError):
            loop.on_event(json.loads(event))
    with pytest.raises(DiagnosticError):
        loop.on_event(json.loads(arrival("p", 1, "p", weight=1e15, deadline=-1e11)))
    assert (loop.now, dict(loop.world.ledger.totals), len(loop.world.status), len(loop.steps)) == (now, total, 2, 1)
    [decided] = loop.on_event(json.loads(arrival("p", 1, "p")))
    assert decided.step == 2


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [("period = 2[h]", "period = 1e-9[h]", "the period is 1e-09 h"), ("old 5 0.7", "old 1e308 0.7", "`deadline`"),
     ("old 5 0.7", "old 5 1e300", "`weight`"), ("small 1 1.1", "small 1 1e308", "`price`"),
     ("old small 1 4.2", "old small 1 1e-300", "`exec_time`"),
     ("period = 2[h];", "period = 2[h]; submitted[\"old\"] = 1e308[h];", "`submitted`")],
)  # fmt: skip
def test_scenarios_with_such_numbers_are_refused(old: str, new: str, shown: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    with pytest.raises(DiagnosticError, match="GSM7007") as refused:
        gs.loads(text).run(online="EveryEvent", method="Greedy")
    assert any(shown in d.message for d in refused.value.diagnostics)
