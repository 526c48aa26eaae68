"""Live runs: acknowledged events count once; after a kill the same decisions are made, and none twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from live_toy import HEADER, Pipe, Toy, feed, line, some_lines

from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import External
from gpusched_dsl.online.live.clock import LiveClock

LINES = some_lines(8)


def decisions(*pipes: Pipe) -> list[dict[str, Any]]:
    """What somebody who leaves out known numbers was told, by several processes."""
    found: dict[int, dict[str, Any]] = {}
    for pipe in pipes:
        for told in pipe.of("decision"):
            record = dict(told)
            again = record.pop("again")
            assert again or record["step"] not in found, "told twice without saying so"
            assert found.setdefault(record["step"], record) == record
    return [found[step] for step in sorted(found)]


# --- without a kill ---------------------------------------------------------------------------------------------------


def test_events_at_one_time_are_planned_for_together(tmp_path: Path) -> None:
    pipe, _, ended = feed(
        [line("arrival", "a", 1, job="j1"), line("arrival", "b", 1.0, job=2), line("completion", "c", 2.5, job="j1"),
         line("end", "d", 2.5)], tmp_path,
    )  # fmt: skip
    assert ended
    assert [r["kind"] for r in pipe.sent] == ["started", "ack", "ack", "decision", "ack", "ack", "decision", "finished"]
    first, second = pipe.of("decision")
    assert (first["step"], first["time"], first["why"]) == (1, 1.0, ["arrival", "arrival"])
    assert first["entries"] == {"run": [{"index": ["j1"], "value": 1.0}, {"index": [2], "value": 1.0}]}
    assert (second["step"], second["time"], second["entries"]["run"]) == (2, 2.5, [{"index": [2], "value": 1.0}])
    assert pipe.sent[0] == {
        "kind": "started", "version": 1, "online": "Toy", "time": 0.0, "unit": "h", "steps": 0, "events": 0
    }  # fmt: skip
    assert pipe.sent[-1] == {"kind": "finished", "version": 1, "time": 2.5, "steps": 2, "result": {"left": [2]}}


def test_time_that_passes_makes_plans_of_its_own(tmp_path: Path) -> None:
    pipe, _, _ = feed([line("arrival", "a", 1, job="j"), line("tick", "b", 35)], tmp_path)
    assert [(d["time"], d["why"]) for d in pipe.of("decision")] == [
        (1.0, ["arrival"]), (11.0, ["period"]), (21.0, ["period"]), (31.0, ["period"])
    ]  # fmt: skip


def test_the_end_of_the_lines_is_not_the_end_of_the_run(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    pipe, _, ended = feed([line("arrival", "a", 1, job="j")], tmp_path, journal)
    assert ended is False
    assert not pipe.of("finished")
    with Journal.read(journal) as recorded:
        assert not recorded.finished
    pipe, _, ended = feed([line("end", "e", 2)], tmp_path, journal)
    assert ended
    assert pipe.of("finished")[0]["steps"] == 1


def test_a_duplicate_is_acknowledged_and_changes_nothing(tmp_path: Path) -> None:
    one = line("arrival", "a", 1, job="j")
    pipe, toy, _ = feed([one, one, line("tick", "b", 5), one], tmp_path)
    assert [(a["id"], a["time"], a["duplicate"]) for a in pipe.of("ack")] == [
        ("a", 1.0, False), ("a", 1.0, True), ("b", 5.0, False), ("a", 1.0, True)
    ]  # fmt: skip
    assert (toy.jobs, len(pipe.of("decision"))) == (["j"], 1)


def test_the_id_of_another_event_is_refused(tmp_path: Path) -> None:
    pipe, toy, _ = feed([line("arrival", "a", 1, job="j"), line("arrival", "a", 1, job="k")], tmp_path)
    [error] = pipe.of("error")
    assert (error["code"], error["line"], error["id"]) == ("GSM5206", 2, "a")
    assert toy.jobs == ["j"]


def test_late_events_apply_now_and_that_is_told(tmp_path: Path) -> None:
    pipe, _, _ = feed([line("arrival", "a", 7, job="j"), line("arrival", "b", 3, job="k")], tmp_path)
    assert [(a["time"], a["late"]) for a in pipe.of("ack")] == [(7.0, False), (7.0, True)]
    assert [d["time"] for d in pipe.of("decision")] == [7.0]


def test_wrong_lines_are_answered_and_the_run_goes_on(tmp_path: Path) -> None:
    wrong = [
        (b"nonsense\n", "GSM5201", None), (b"[1]\n", "GSM5201", None), (b"\xff\xfe\n", "GSM5201", None),
        (b'{"version":2,"id":"x"}\n', "GSM5202", "x"), (line("departure", "x", 1), "GSM5203", "x"),
        (line("arrival", "x", 1), "GSM5204", "x"), (line("tick", "x", "yesterday"), "GSM5205", "x"),
        (line("completion", "x", 1, job="nobody"), "GSM5207", "x"), (line("tick", "x", 1, job="j"), "GSM5204", "x"),
        (b'{"version":1,"id":"x","kind":"tick","time":1', "GSM5201", None),
    ]  # fmt: skip
    pipe, _, ended = feed([b"\n", *(text for text, _, _ in wrong)], tmp_path)
    assert ended is False
    errors = pipe.of("error")
    assert [(e["code"], e["line"], e["id"]) for e in errors] == [(c, n, i) for n, (_, c, i) in enumerate(wrong, 2)]
    assert all(e["message"] and e["help"] for e in errors)
    pipe, toy, _ = feed([*(text for text, _, _ in wrong[:-1]), line("arrival", "x", 1, job="j")], tmp_path)
    assert (toy.jobs, len(pipe.of("decision"))) == (["j"], 1), "the id of a line that was refused is free"


def test_a_line_that_is_refused_does_not_let_time_pass(tmp_path: Path) -> None:
    pipe, toy, _ = feed([line("arrival", "a", 1, job="j"), line("completion", "b", 99, job="k")], tmp_path)
    assert (toy.now, len(pipe.of("decision"))) == (1.0, 1)


def test_dates(tmp_path: Path) -> None:
    clock = LiveClock("min", 60.0, datetime(2026, 3, 1, tzinfo=UTC), lambda: datetime(2026, 3, 1, 2, tzinfo=UTC))
    lines = [line("arrival", "a", "2026-03-01T02:30:00+01:00", job="j"), line("tick", "b")]
    pipe, _, _ = feed(lines, tmp_path, clock=clock)
    assert [a["time"] for a in pipe.of("ack")] == [90.0, 120.0]


# --- with a kill ------------------------------------------------------------------------------------------------------


def whole_run(folder: Path) -> tuple[Pipe, Toy]:
    pipe, toy, ended = feed(LINES, folder)
    assert ended
    return pipe, toy


def test_a_journal_changes_no_decision(tmp_path: Path) -> None:
    whole, _ = whole_run(tmp_path)
    recorded, _, _ = feed(LINES, tmp_path, tmp_path / "run.db")
    assert recorded.sent == whole.sent
    with Journal.read(tmp_path / "run.db") as journal:
        assert journal.finished
        assert journal.last_reported == len(journal) == len(whole.of("decision"))


def test_after_a_kill_anywhere_the_same_is_decided(tmp_path: Path) -> None:
    """Killed after every record that is sent, the same lines again: the same decisions, none twice, none missing."""
    whole, toy = whole_run(tmp_path)
    wanted = decisions(whole)
    assert len(wanted) > 8
    for killed_at in range(1, len(whole.sent) + 1):
        journal = tmp_path / f"{killed_at}.db"
        first, before, _ = feed(LINES, tmp_path, journal, killed_at)
        second, after, ended = feed(LINES, tmp_path, journal)
        assert ended
        assert decisions(first, second) == wanted, killed_at
        assert before.planned + after.planned == toy.planned, "nothing is planned twice"
        assert second.of("finished")[0] == whole.of("finished")[0]


def test_after_many_kills_in_a_row_the_same_is_decided(tmp_path: Path) -> None:
    whole, _ = whole_run(tmp_path)
    for every in (1, 3):
        pipes, ended = [], None
        while not ended:
            pipe, _, ended = feed(LINES, tmp_path, tmp_path / f"{every}.db", every + len(pipes))
            pipes.append(pipe)
        assert len(pipes) > 3
        assert decisions(*pipes) == decisions(whole)


def test_a_kill_between_an_acknowledgement_and_its_decision(tmp_path: Path) -> None:
    """The step is recorded with its event: it is sent after the restart, and is not planned again."""
    journal = tmp_path / "run.db"
    lines = [line("arrival", "a", 1, job="j")]
    feed(lines, tmp_path, journal, killed_at=2)  # after the acknowledgement
    with Journal.open(journal, HEADER) as recorded:
        assert (len(recorded), recorded.last_reported) == (1, 0)
    pipe, toy, _ = feed([], tmp_path, journal)
    assert [(d["step"], d["again"]) for d in pipe.of("decision")] == [(1, True)]
    assert toy.planned == 0


def test_an_event_that_was_recorded_without_its_step_is_planned_for(tmp_path: Path) -> None:
    """As a version that recorded events before it planned left it, where it was killed between the two."""
    journal = tmp_path / "run.db"
    with Journal.open(journal, HEADER) as recorded:
        content = json.loads(line("arrival", "a", 1, job="j"))
        recorded.accept([External("a", 1.0, content, 1)])
    pipe, toy, _ = feed([], tmp_path, journal)
    assert [(d["step"], d["again"]) for d in pipe.of("decision")] == [(1, False)]
    assert toy.planned == 1


def test_all_decisions_can_be_told_again(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    first, _, _ = feed(LINES, tmp_path, journal)
    second, _, _ = feed([], tmp_path, journal)
    assert [r["kind"] for r in second.sent] == ["started", "finished"]
    third, _, _ = feed([], tmp_path, journal, report_from=1)
    assert decisions(third) == decisions(first)
    fourth, _, _ = feed([], tmp_path, journal, report_from=5)
    assert [d["step"] for d in fourth.of("decision")] == [d["step"] for d in first.of("decision")[4:]]
