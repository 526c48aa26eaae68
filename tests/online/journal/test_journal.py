"""Undamaged journals: records are read as written, runs are resumed, and other processes may read."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from journal_child import HEADER, event_number, record, step_number

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.header import header_of
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import External, JournalStep
from gpusched_dsl.online.journal.steps import JournalSteps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def filled(path: Path, steps: int) -> None:
    with Journal.open(path, HEADER) as journal:
        for seq in range(1, steps + 1):
            record(journal, seq)


def code_of(refused: pytest.ExceptionInfo[DiagnosticError]) -> str:
    (finding,) = refused.value.diagnostics
    assert finding.help
    return finding.code


# --- in and out ------------------------------------------------------------------------------------------------------


def test_a_new_journal_is_empty(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        assert len(journal) == 0
        assert journal  # a journal without steps is a journal
        assert (list(journal.steps()), list(journal.external())) == ([], [])
        assert (journal.result, journal.finished, journal.header) == (None, False, HEADER)


def test_what_goes_in_comes_out(path: Path) -> None:
    filled(path, 30)
    with Journal.open(path, HEADER) as journal:
        assert list(journal.steps()) == [step_number(k) for k in range(1, 31)]
        assert list(journal.steps(29)) == [step_number(29), step_number(30)]
        assert journal.step(7) == step_number(7)
        assert list(journal.external()) == [event_number(k) for k in range(3, 31, 3)]
        assert journal.find_external("e6") == event_number(6)
        assert journal.find_external("e7") is None
        for beyond in (0, 31):
            with pytest.raises(IndexError):
                journal.step(beyond)


def test_numbers_come_back_exactly(path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-320, 1.7976931348623157e308, -0.0, 2**63, 10**40, True, None, "ä\u2028\x00"]
    with Journal.open(path, HEADER) as journal:
        journal.append(JournalStep(1, math.pi, [], numbers))
        assert repr(journal.step(1).decision) == repr(numbers)
        assert journal.step(1).time == math.pi


def test_what_json_cannot_say_is_refused_and_nothing_recorded(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        for wrong in (math.nan, math.inf, {"a": [-math.inf]}):
            with pytest.raises(ValueError, match="JSON"):
                journal.append(JournalStep(1, 0.0, [], wrong))
        with pytest.raises(TypeError):
            journal.append(JournalStep(1, 0.0, [], {"a": object()}))
        with pytest.raises(ValueError, match="time"):
            journal.append(JournalStep(1, math.nan, [], None))
        journal.append(step_number(1))
    with Journal.open(path, HEADER) as journal:
        assert list(journal.steps()) == [step_number(1)]


def test_steps_come_in_order(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.append(step_number(1))
        for wrong in (1, 3):
            with pytest.raises(ValueError, match="cannot follow"):
                journal.append(step_number(wrong))


def test_events_are_accepted_once_and_all_or_none(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.accept([event_number(1), event_number(2)])
        with pytest.raises(ValueError, match="before"):
            journal.accept([event_number(3), event_number(2)])
        with pytest.raises(ValueError, match="the same id"):
            journal.accept([event_number(3), event_number(3)])
        with pytest.raises(ValueError, match="time"):
            journal.accept([External("x", math.inf, {})])
        assert journal.find_external("e3") is None
    with Journal.open(path, HEADER) as journal:
        assert list(journal.external()) == [event_number(1), event_number(2)]


def test_the_result_ends_a_run(path: Path) -> None:
    filled(path, 2)
    with Journal.open(path, HEADER) as journal:
        journal.finish({"cost": 12.5})
        with pytest.raises(ValueError, match="end of the run"):
            journal.append(step_number(3))
        with pytest.raises(ValueError, match="already ended"):
            journal.finish({})
    with Journal.open(path, HEADER) as journal:
        assert journal.finished
        assert journal.result == {"cost": 12.5}


# --- going through a run again ----------------------------------------------------------------------------------------


def run(journal: Journal, steps: int) -> tuple[list[Any], int]:
    """A run of so many steps: its decisions and how many of them were made anew."""
    planned = 0

    def plan() -> Any:
        nonlocal planned
        planned += 1
        return {"entries": (1, 2, len(decisions)), "by": {1: "solver"}}

    decisions: list[Any] = []
    for seq in range(1, steps + 1):
        decisions.append(journal.decide(seq * 1.5, [{"kind": "tick", "at": (seq,)}], plan))
    return decisions, planned


def test_a_run_goes_on_without_deciding_anew(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        first, planned = run(journal, 4)
        assert (planned, journal.is_replaying) == (4, False)
    assert first[3] == {"entries": [1, 2, 3], "by": {"1": "solver"}}, "as read back, so that both runs see the same"
    with Journal.open(path, HEADER) as journal:
        assert journal.is_replaying
        again, planned = run(journal, 7)
        assert (again[:4], planned, journal.is_replaying) == (first, 3, False)


@pytest.mark.parametrize(
    ("time", "events", "how"),
    [(1.0, [{"a": 1}], "its time is 0.0 in the journal, but 1.0 now"),
     (0.0, [{"a": 2}], "its event 1 is {'a': 1} in the journal, but {'a': 2} now"),
     (0.0, [{"a": 1}, {"a": 1}], "it has 1 events in the journal, but 2 now")],
)  # fmt: skip
def test_a_run_that_goes_another_way_is_refused(path: Path, time: float, events: list[Any], how: str) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.decide(0.0, [{"a": 1}], lambda: 1)
    with Journal.open(path, HEADER) as journal, pytest.raises(DiagnosticError) as refused:
        journal.decide(time, events, lambda: 2)
    assert code_of(refused) == "GSM5109"
    assert refused.value.diagnostics[0].message.endswith(how)


def test_what_was_told_is_known_after_a_restart(path: Path) -> None:
    filled(path, 3)
    with Journal.open(path, HEADER) as journal:
        assert journal.last_reported == 0
        journal.mark_reported(2)
        journal.mark_reported(1)
        assert journal.last_reported == 2
    with Journal.open(path, HEADER) as journal:
        assert journal.last_reported == 2
        journal.mark_reported(9)
        assert journal.last_reported == 3, "no more than there is"


# --- the right run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [({"seed": 8}, "`seed` is 7 in the journal, 8 now"),
     ({"method": "scip"}, '`method` is "highs" in the journal, "scip" now'),
     ({"options": {"gap": 0.02}}, "`options`: `gap` is 0.01 in the journal, 0.02 now"),
     ({"options": {}}, "`options`: `gap` is 0.01 in the journal, but not given now"),
     ({"window": 4}, "`window` is not in the journal, but 4 now"),
     ({"inputs_sha256": {"model.gsm": "cd" * 32}},
      "`inputs_sha256`: `model.gsm` is abababababab... in the journal, cdcdcdcdcdcd... now"),
     ({"seed": True}, "`seed` is 7 in the journal, true now")],
)  # fmt: skip
def test_another_run_is_refused(path: Path, change: dict[str, Any], told: str) -> None:
    filled(path, 3)
    before = path.read_bytes()
    with pytest.raises(DiagnosticError) as refused:
        Journal.open(path, {**HEADER, **change})
    assert code_of(refused) == "GSM5104"
    assert refused.value.diagnostics[0].notes == (told, "it has 3 steps; nothing was changed")
    assert path.read_bytes() == before
    filled_again = Journal.open(path, HEADER)
    filled_again.close()


def test_one_is_not_true(path: Path) -> None:
    Journal.open(path, {"seed": 1}).close()
    with pytest.raises(DiagnosticError, match="GSM5104"):
        Journal.open(path, {"seed": True})


def test_other_versions_of_programs_may_go_on(path: Path) -> None:
    Journal.open(path, {**HEADER, "gsdsl": "0.1.0", "versions": {"highspy": "1.11"}}).close()
    Journal.open(path, {**HEADER, "gsdsl": "0.2.0", "versions": {"highspy": "1.15"}}).close()


def test_a_fresh_run_does_not_take_an_old_journal(path: Path) -> None:
    Journal.open(path, HEADER).close()
    Journal.open(path, HEADER, resume=False).close()  # nothing in it yet
    filled(path, 2)
    with pytest.raises(DiagnosticError) as refused:
        Journal.open(path, HEADER, resume=False)
    assert code_of(refused) == "GSM5108"


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_journal_can_be_read_while_a_run_writes_it(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        record(journal, 1)
        with Journal.read(path) as reader:
            record(journal, 2)
            assert list(reader.steps()) == [step_number(1)]
            with pytest.raises(ValueError, match="reading"):
                reader.append(step_number(2))
        with Journal.read(path) as reader:
            assert list(reader.steps()) == [step_number(1), step_number(2)]
            assert reader.header == HEADER


def test_what_is_not_there_cannot_be_read(path: Path) -> None:
    with pytest.raises(DiagnosticError) as refused:
        Journal.read(path)
    assert code_of(refused) == "GSM5101"
    assert not list(path.parent.iterdir())


def test_a_closed_journal_takes_nothing(path: Path) -> None:
    journal = Journal.open(path, HEADER)
    journal.close()
    journal.close()
    with pytest.raises(ValueError, match="closed"):
        journal.append(step_number(1))


# --- one writer -------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(path: Path) -> None:
    with Journal.open(path, HEADER), pytest.raises(DiagnosticError) as refused:
        Journal.open(path, HEADER)
    assert code_of(refused) == "GSM5106"
    Journal.open(path, HEADER).close()


def test_a_second_process_is_refused(path: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("journal_child.py")), str(path), "3"]
    with Journal.open(path, HEADER):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout.split()) == (1, ["GSM5106"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["open", "0", "1", "2", "3"])


def test_a_link_to_a_journal_is_that_journal(path: Path) -> None:
    filled(path, 1)
    link = path.with_name("link.db")
    link.symlink_to(path)
    with Journal.open(path, HEADER), pytest.raises(DiagnosticError, match="GSM5106"):
        Journal.open(link, HEADER)


# --- other programs ---------------------------------------------------------------------------------------------------


def test_the_file_says_what_it_is(path: Path) -> None:
    filled(path, 4)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("PRAGMA application_id").fetchone() == (0x6773646A,)
    (content,) = connection.execute("SELECT content FROM step WHERE seq = 4").fetchone()
    assert json.loads(content)["time"] == 4 / 3  # small records are plain JSON
    connection.close()


def test_a_journal_of_an_earlier_version_goes_on(path: Path) -> None:
    """It kept a write-ahead log."""
    filled(path, 4)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()
    with Journal.read(path) as journal:
        assert len(journal) == 4
    with Journal.open(path, HEADER) as journal:
        record(journal, 5)
        with Journal.read(path) as reader:
            assert len(reader) == 5
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.db", "run.db-lock"]


def test_a_reader_does_not_keep_a_run_from_writing(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        record(journal, 1)
        with Journal.read(path) as reader:
            record(journal, 2)
            assert len(reader) == 1
            assert list(reader.steps()) == [step_number(1)]


def test_names_of_files_may_be_odd(tmp_path: Path) -> None:
    for name in ("with space.db", "50% ?x=1#y&z.db", "jäö", "-", "'quoted\".db"):
        filled(tmp_path / name, 2)
        with Journal.read(tmp_path / name) as journal:
            assert len(journal) == 2


# --- as the loop asks for it ------------------------------------------------------------------------------------------


def loop_step(number: int) -> dict[str, Any]:
    return {"number": number, "time": number * 0.5, "why": ["arrival"], "events": [], "plan": {"values": [number]}}


def test_the_loop_reads_its_steps_and_writes_new_ones(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        steps = JournalSteps(journal)
        for number in range(3):
            assert steps.read_next() is None
            steps.write(loop_step(number))
    with Journal.open(path, HEADER) as journal:
        steps = JournalSteps(journal)
        for number in range(3):
            assert steps.is_replaying
            assert steps.read_next() == loop_step(number)
        assert not steps.is_replaying
        assert steps.read_next() is None
        steps.write(loop_step(3))
        assert len(journal) == 4


def test_the_loop_does_not_write_what_it_has_not_come_to(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        JournalSteps(journal).write(loop_step(0))
    with Journal.open(path, HEADER) as journal:
        steps = JournalSteps(journal)
        for number in (0, 1):
            with pytest.raises(DiagnosticError, match="GSM5109"):
                steps.write(loop_step(number))
        steps.read_next()
        with pytest.raises(DiagnosticError, match="GSM5109"):
            steps.write(loop_step(2))
        assert len(journal) == 1


def test_the_header_says_what_a_run_depends_on(path: Path) -> None:
    known: dict[str, Any] = {
        "online": "Events", "model": "M", "scenario": "S", "method": "highs", "inputs_sha256": {"m.gsm": "ab" * 32},
        "seed": 1, "settings": {"period": "2[h]"}, "options": {"gap": 0.01}, "live": True, "start": "2026-03-01",
    }  # fmt: skip
    Journal.open(path, header_of(**known)).close()
    Journal.open(path, header_of(**known)).close()
    for name, value in known.items():
        other = {**known, name: {} if isinstance(value, dict) else False if value is True else "other"}
        with pytest.raises(DiagnosticError, match="GSM5104"):
            Journal.open(path, header_of(**other))
