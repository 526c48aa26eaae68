"""Files that are no journals, damaged journals, disks that fail: a clean prefix or a refusal, never other content."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from journal_child import HEADER, child, event_number, record, step_number

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import JournalStep

STEPS = 40
CHILD = [sys.executable, str(Path(__file__).with_name("journal_child.py"))]


def refusal(path: Path) -> str:
    """The code with which a journal is refused, the same for a run and for a reader; the files stay as they are."""
    before = {f.name: f.read_bytes() for f in path.parent.iterdir() if f.is_file() and f.name.startswith(path.name)}
    codes = set()
    for use in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(DiagnosticError) as refused:
            use()
        (finding,) = refused.value.diagnostics
        assert str(path.name) in finding.message
        assert finding.help
        codes.add(finding.code)
    assert all((path.parent / name).read_bytes() == data for name, data in before.items())
    (code,) = codes
    return code


# --- not a journal ----------------------------------------------------------------------------------------------------


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    for content in (b"", b"hello\n", b"\x00" * 4096, b"SQLite format 3\x00", os.urandom(5000)):
        path.write_bytes(content)
        assert refusal(path) == "GSM5102"
    assert [p.name for p in tmp_path.iterdir()] == ["some.db"], "nothing is left beside a file of somebody else"


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE step (seq INTEGER PRIMARY KEY)")
    connection.close()
    assert refusal(path) == "GSM5102"


def changed(path: Path, *statements: str) -> Path:
    """A journal that another program changed."""
    with Journal.open(path, HEADER) as journal:
        for seq in range(1, 7):
            record(journal, seq)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("version", [0, 2, -1])
def test_other_formats_are_refused(tmp_path: Path, version: int) -> None:
    assert refusal(changed(tmp_path / "run.db", f"PRAGMA user_version = {version}")) == "GSM5103"


@pytest.mark.quick(12)
@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM step WHERE seq = 3", "DELETE FROM step WHERE seq = 6", "DELETE FROM event WHERE seq = 2",
     "DELETE FROM event WHERE seq = 1", "DELETE FROM run", "DELETE FROM head", "DROP TABLE result",
     "UPDATE step SET content = (SELECT content FROM step WHERE seq = 1) WHERE seq = 2",
     "UPDATE step SET seq = 7 WHERE seq = 6", "UPDATE event SET id = 'other' WHERE seq = 1",
     "UPDATE run SET header = '{\"seed\":1}'", "UPDATE run SET header = CAST('{\"seed\":1}' AS BLOB)",
     "UPDATE head SET told = 9", "UPDATE head SET steps = 5", "UPDATE head SET steps = 7", "CREATE TABLE more (x)",
     "INSERT INTO step SELECT 7, 1.0, content, digest FROM step WHERE seq = 6",
     "INSERT INTO result VALUES (1, CAST('{}' AS BLOB), CAST('' AS BLOB))"],
)  # fmt: skip
def test_what_others_changed_is_found(tmp_path: Path, statement: str) -> None:
    assert refusal(changed(tmp_path / "run.db", statement)) == "GSM5105"


def test_an_untouched_journal_is_not_refused(tmp_path: Path) -> None:
    with Journal.open(changed(tmp_path / "run.db"), HEADER) as journal:
        assert len(journal) == 6


# --- places -----------------------------------------------------------------------------------------------------------


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (folder, tmp_path / "none" / "run.db", Path("/dev/null/run.db"), tmp_path / ("x" * 300)):
        with pytest.raises(DiagnosticError) as refused:
            Journal.open(path, HEADER)
        assert refused.value.diagnostics[0].code == "GSM5101"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def as_nobody(task: Callable[[], None]) -> int:
    """The exit code of a child without rights that does a task."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setegid(65534)
                os.seteuid(65534)
            task()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("make", ["closed_run", "killed_run", "torn_run"])
def test_a_folder_that_cannot_be_written(make: str) -> None:
    """Runs are refused there, readers are not, also after a kill; `tmp_path` is closed to others, so not used."""

    def task() -> None:
        for name in ("run.db", "new.db"):
            with pytest.raises(DiagnosticError, match="GSM5101"):
                Journal.open(folder / name, HEADER)
        with Journal.read(path) as journal:
            assert list(journal.steps()) == [step_number(k) for k in range(1, STEPS + 1)]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = globals()[make](folder)
        for file in folder.iterdir():
            file.unlink() if file.name.endswith("-lock") else file.chmod(0o444)
        folder.chmod(0o555)
        assert as_nobody(task) == 0


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_a_file_that_was_removed_alone_is_not_begun_again(tmp_path: Path, end: str) -> None:
    path = killed_run(tmp_path)
    shutil.copy(path, path.with_name(f"run.db{end}"))
    path.unlink()
    assert refusal(path) == "GSM5105"
    assert path.with_name(f"run.db{end}").stat().st_size > 0


# --- random damage ----------------------------------------------------------------------------------------------------


def killed_run(folder: Path) -> Path:
    """A journal whose process was killed between two transactions."""
    return killed(folder, lambda journal: None)


def torn_run(folder: Path) -> Path:
    """A journal whose process was killed when the pages of the next transaction were in the file, not committed."""

    def unfinished(journal: Journal) -> None:
        connection = journal._connection
        connection.execute("PRAGMA cache_size = 1")  # pages go to the file before the commit
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE head SET told = 1")
        for seq in range(STEPS + 1, STEPS + 30):
            connection.execute("INSERT INTO step VALUES (?, 0.0, ?, ?)", (seq, os.urandom(9000), b""))

    path = killed(folder, unfinished)
    assert path.with_name("run.db-journal").stat().st_size > 0
    return path


def killed(folder: Path, last: Callable[[Journal], None]) -> Path:
    path = folder / "run.db"
    pid = os.fork()
    if pid == 0:
        try:
            journal = Journal.open(path, HEADER)
            for seq in range(1, STEPS + 1):
                record(journal, seq)
            last(journal)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    return path


def closed_run(folder: Path) -> Path:
    path = folder / "run.db"
    with Journal.open(path, HEADER) as journal:
        for seq in range(1, STEPS + 1):
            record(journal, seq)
        journal.finish({"cost": 1.0})
    return path


def spoilt(data: bytes, draw: random.Random, how: str) -> bytes:
    at = draw.randrange(min(len(data), 200) if how == "flip at the beginning" else len(data))
    if how == "cut":
        return data[:at]
    if how == "blank":
        return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def use(path: Path) -> str:
    """`whole`, `less` (steps are missing) or the code of a refusal; what is read was written, and a run can go on."""
    try:
        with Journal.open(path, HEADER) as journal:
            steps = list(journal.steps())
            assert steps == [step_number(k) for k in range(1, len(steps) + 1)]
            assert list(journal.external()) == [event_number(k) for k in range(3, 3 * journal._head.events + 1, 3)]
            assert len(steps) <= STEPS
            if not journal.finished:
                record(journal, len(steps) + 1)
        with Journal.read(path) as reader:
            assert len(reader) == len(steps) + (not reader.finished)
    except DiagnosticError as refused:
        return refused.diagnostics[0].code
    return "whole" if len(steps) == STEPS else "less"


def random_damage(folder: Path, make: Callable[[Path], Path], rounds: int, seed: int) -> Counter[tuple[str, str, str]]:
    draw = random.Random(seed)
    (folder / "made").mkdir()
    make(folder / "made")
    counts: Counter[tuple[str, str, str]] = Counter()
    for _ in range(rounds):
        shutil.rmtree(folder / "spoilt", ignore_errors=True)
        (folder / "spoilt").mkdir()
        files = [f for f in (folder / "made").iterdir() if f.name in ("run.db", "run.db-journal") and f.stat().st_size]
        for file in files:
            shutil.copy(file, folder / "spoilt")
        file = folder / "spoilt" / draw.choice(files).name
        how = draw.choice(["cut", "flip", "flip at the beginning", "blank"])
        file.write_bytes(spoilt(file.read_bytes(), draw, how))
        counts[file.name, how, use(folder / "spoilt" / "run.db")] += 1
    return counts


@pytest.mark.quick(2)
@pytest.mark.parametrize("make", [killed_run, closed_run, torn_run])
def test_damage_gives_a_prefix_or_a_refusal(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    check_damage(random_damage(tmp_path, make, 60, 1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [killed_run, closed_run, torn_run])
def test_much_damage_gives_a_prefix_or_a_refusal(tmp_path: Path, make: Callable[[Path], Path], seed: int) -> None:
    check_damage(random_damage(tmp_path, make, 500, 100 + seed))


def check_damage(counts: Counter[tuple[str, str, str]]) -> None:
    codes = {outcome for _, _, outcome in counts}
    assert codes <= {"whole", "less", "GSM5102", "GSM5103", "GSM5105"}
    assert "GSM5105" in codes
    assert "less" not in codes, "a step that was durable is never dropped in silence"


@pytest.mark.parametrize("make", [killed_run, closed_run, torn_run])
def test_what_was_not_damaged_is_whole(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    with Journal.read(path) as journal:
        assert list(journal.steps()) == [step_number(k) for k in range(1, STEPS + 1)]
    assert use(path) == "whole"


# --- disks that fail --------------------------------------------------------------------------------------------------


def little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))


def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """The child may write files of 150 kB; what it said was durable is there, and the run goes on with more room."""
    path = tmp_path / "run.db"
    done = subprocess.run(
        [*CHILD, str(path), "0"], capture_output=True, text=True, timeout=60, check=False, preexec_fn=little_room
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    at = lines.index("GSM5107")
    said = int(lines[at - 1])
    assert lines[at + 1] == f"nothing was lost: the first {said} steps are recorded"
    assert f"step {said + 1} was not executed" in lines[at + 2] or "the step after" in lines[at + 2]
    with Journal.open(path, HEADER) as journal:
        assert said <= len(journal) <= said + 1
        assert list(journal.steps()) == [step_number(k) for k in range(1, len(journal) + 1)]
        record(journal, len(journal) + 1)


@pytest.mark.quick(3)
@pytest.mark.parametrize("room", [*range(0, 36_864, 2048), 100_000, 130_000])
def test_a_disk_that_is_full_at_any_moment(tmp_path: Path, room: int) -> None:
    """Making a journal either fails, and then there is none, or gives one that can go on once there is room."""
    path = tmp_path / "run.db"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            os.dup2(writing, 1)
            child(str(path), 0)
        except DiagnosticError as refused:
            code = {"GSM5101": 1, "GSM5107": 2}[refused.diagnostics[0].code]
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = len(lines.read().split("\n")[:-1]) - 1
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == (2 if said >= 0 else 1), "the disk was full before or after it was opened"
    if code == 1 and room < 20_000:
        assert [p.name for p in tmp_path.iterdir() if p.suffix != ".db-lock"] == []
    with Journal.open(path, HEADER) as journal:
        assert max(said, 0) <= len(journal) <= max(said, 0) + 1
        assert list(journal.steps()) == [step_number(k) for k in range(1, len(journal) + 1)]
        record(journal, len(journal) + 1)


def test_after_a_failed_write_nothing_more_is_written(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "run.db", HEADER) as journal:
        record(journal, 1)
        journal._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(DiagnosticError, match="GSM5107"):
            journal.append(step_number(2))
        journal._connection.execute("PRAGMA query_only = OFF")
        for again in (lambda: journal.append(step_number(2)), lambda: journal.accept([event_number(2)]),
                      lambda: journal.finish({})):  # fmt: skip
            with pytest.raises(DiagnosticError, match="GSM5107"):
                again()
    with Journal.open(tmp_path / "run.db", HEADER) as journal:
        assert list(journal.steps()) == [step_number(1)]


# --- kills ------------------------------------------------------------------------------------------------------------


def kill_again_and_again(path: Path, kills: int, seed: int) -> int:
    """Kill children at random moments; everything that they said is there each time. Returns the number of steps."""
    draw = random.Random(seed)
    said = 0
    for _ in range(kills):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(writing, 1)
                child(str(path), 0)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as lines:
            for _ in range(draw.randrange(40)):
                lines.readline()
            time.sleep(draw.random() * 0.005)
            os.kill(pid, signal.SIGKILL)
            rest = [int(line) for line in lines.read().split("\n")[:-1] if line.isdigit()]
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL, "it ran until it was killed"
        with Journal.read(path) as journal:
            assert len(journal) >= max([said, *rest])
            said = len(journal)
    with Journal.open(path, HEADER) as journal:
        assert list(journal.steps()) == [step_number(k) for k in range(1, len(journal) + 1)]
        assert len(journal) >= said
        return len(journal)


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "run.db", 20, 1) > 100


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "run.db", 200, 2) > 1000


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_kill_while_a_journal_is_made_leaves_none_or_a_whole_one(tmp_path: Path, point: str) -> None:
    path = tmp_path / "run.db"
    pid = os.fork()
    if pid == 0:
        replace = os.replace

        def killing(old: Path, new: Path) -> None:
            if point == "after":
                replace(old, new)
            os.kill(os.getpid(), signal.SIGKILL)

        os.replace = killing  # type: ignore[assignment]
        try:
            Journal.open(path, HEADER)
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert path.exists() is (point == "after")
    with Journal.open(path, HEADER) as journal:
        journal.append(JournalStep(1, 0.0, [], None))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.db", "run.db-lock"]
