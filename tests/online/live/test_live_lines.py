"""Lines from files and pipes, and times of events."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.clock import LiveClock, start_of
from gpusched_dsl.online.live.lines import LineReader, open_lines
from gpusched_dsl.online.live.messages import LONGEST_LINE

# --- lines ------------------------------------------------------------------------------------------------------------


def all_of(lines: LineReader) -> list[tuple[int, bytes]]:
    found = []
    while (line := lines.next()) is not None:
        found.append((lines.number, line))
    return found


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("content", "wanted"),
    [(b"", []), (b"\n\n", []), (b"a\nb\n", [(1, b"a"), (2, b"b")]),
     (b"a\n\n b \nc", [(1, b"a"), (3, b" b "), (4, b"c")]),
     (b"a\r\nb", [(1, b"a\r"), (2, b"b")]),
     (b"".join(b"%d\n" % k for k in range(50_000)), [(k + 1, b"%d" % k) for k in range(50_000)])],
    ids=range(6),
)  # fmt: skip
def test_lines_of_a_file(tmp_path: Path, content: bytes, wanted: list[tuple[int, bytes]]) -> None:
    file = tmp_path / "events"
    file.write_bytes(content)
    with open_lines(str(file)) as lines:
        assert lines.is_ready()
        assert lines.peek() == (wanted[0][1] if wanted else None)
        assert all_of(lines) == wanted
        assert lines.is_ready()
        assert lines.peek() is None


def test_a_line_that_is_too_long_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_bytes(b"x" * (LONGEST_LINE + 200_000) + b"\nlast\n")
    with open_lines(str(file)) as lines:
        assert [(n, len(line)) for n, line in all_of(lines)] == [(1, LONGEST_LINE + 1), (2, 4)]


def test_a_pipe_says_whether_a_whole_line_is_there() -> None:
    reading, writing = os.pipe()
    lines = LineReader(reading)
    assert not lines.is_ready()
    os.write(writing, b"one\ntw")
    assert (lines.is_ready(), lines.peek(), lines.next()) == (True, b"one", b"one")
    assert not lines.is_ready()
    os.write(writing, b"o\n\n")
    assert (lines.is_ready(), lines.next()) == (True, b"two")
    assert not lines.is_ready()
    os.close(writing)
    assert (lines.is_ready(), lines.next()) == (True, None)
    os.close(reading)


def test_a_named_pipe_does_not_end_with_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "events"
    os.mkfifo(pipe)
    with open_lines(str(pipe)) as lines:
        for number in range(3):
            writer = threading.Thread(target=pipe.write_bytes, args=(b"%d\n" % number,))
            writer.start()
            assert lines.next() == b"%d" % number
            writer.join()
        assert not lines.is_ready()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for source in (tmp_path / "none", tmp_path):
        with pytest.raises(DiagnosticError, match="GSM5208"), open_lines(str(source)):
            pass


# --- times ------------------------------------------------------------------------------------------------------------

START = datetime(2026, 3, 1, tzinfo=UTC)


def refused(clock: LiveClock, time: float | str | None) -> None:
    with pytest.raises(DiagnosticError, match="GSM5205"):
        clock.read(time, 0.0)


def test_numbers_are_times_since_the_start() -> None:
    for clock in (LiveClock(), LiveClock("h", 3600.0), LiveClock("h", 3600.0, START)):
        assert clock.read(2.5, 1.0) == 2.5
        assert clock.read(-1, 1.0) == -1.0


def test_without_a_time_it_is_now() -> None:
    assert LiveClock("h", 3600.0).read(None, 7.5) == 7.5
    for zone in (UTC, timezone(timedelta(hours=5))):
        at = (START + timedelta(hours=3)).astimezone(zone)
        assert LiveClock("min", 60.0, START, lambda at=at: at).read(None, 7.5) == 180.0


def test_dates_are_read_against_the_start() -> None:
    clock = LiveClock("h", 3600.0, START)
    assert clock.read("2026-03-02T00:00:00Z", 0.0) == 24.0
    assert clock.read("2026-03-02T00:30:00+01:00", 0.0) == 23.5
    assert clock.read("2026-02-28T23:00:00+00:00", 0.0) == -1.0
    assert LiveClock("h", 3600.0, start_of("2026-03-01")).read("2026-03-01T00:45", 0.0) == 0.75


def test_dates_that_cannot_be_read() -> None:
    refused(LiveClock("h", 3600.0), "2026-03-01T00:00:00Z")
    refused(LiveClock("", None, START), "2026-03-01T00:00:00Z")
    refused(LiveClock("h", 3600.0, START), "2026-03-01T00:00:00")
    refused(LiveClock("h", 3600.0, START.replace(tzinfo=None)), "2026-03-01T00:00:00Z")
    for text in ("", "soon", "2026-13-01T00:00:00Z", "12.5"):
        refused(LiveClock("h", 3600.0, START), text)
    with pytest.raises(DiagnosticError, match="GSM5205"):
        start_of("tomorrow")
