"""States that cannot be used are named and left out; the run and its answers are as without them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from restored_runs import fingerprint, only_states, record_live, restored, save_often
from test_restored_live import CLUSTER, job_lines

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.checkpoints import state_files
from gpusched_dsl.online.checkpoints.codec import MAGIC, DamagedState, decode, encode, pack, unpack
from gpusched_dsl.online.checkpoints.loop_state import LEFT_OUT, STATE, state_of
from gpusched_dsl.online.checkpoints.state_files import StateFiles
from gpusched_dsl.online.data.past import CurrentPlan, ExecutedTime, Past
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import live_parts, run_live_loop
from gsdsl_clusters.drivers.live_estimate import restore_loop

CONFIG = RunConfig(online="Live", method="SJF")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a state before each fourth plan."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        save_often(patch, 4)
        record_live(workspace(), CONFIG, job_lines(5, 12), folder / "run.db")
    return folder


def workspace(text: str = CLUSTER) -> Workspace:
    return workspace_from_text(text, "cluster.gsm", Diagnostics())


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def other_version(path: Path) -> None:
    about, content = unpack(path.read_bytes())
    path.write_bytes(pack({**about, "gsdsl": "0.0"}, content))


def other_plan(path: Path) -> None:
    about, content = unpack(path.read_bytes())
    path.write_bytes(pack({**about, "plan": "00" * 32}, content))


def other_values(path: Path) -> None:
    about, content = unpack(path.read_bytes())
    found = decode(content)
    found["values"]["slot"] = 3
    path.write_bytes(pack(about, encode(found, {"run"})))


def fewer_jobs(path: Path) -> None:
    """Values that fit together in no run."""
    about, content = unpack(path.read_bytes())
    found = decode(content)
    found["values"]["world"].status = found["values"]["world"].status[:1]
    path.write_bytes(pack(about, encode(found, {"run"})))


def nothing_of_ours(path: Path) -> None:
    content = json.dumps({}).encode() + b"\nnot compressed"
    path.write_bytes(MAGIC + sha256(content).digest() + content)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit": (flip, "differs from what was written"),
    "the end": (lambda path: path.write_bytes(path.read_bytes()[:-9]), "differs from what was written"),
    "empty": (lambda path: path.write_bytes(b""), "no state of this version"),
    "version": (other_version, "gsdsl 0.0 wrote it"),
    "journal": (other_plan, "another journal"),
    "values": (other_values, "another kind of run"),
    "jobs": (fewer_jobs, "not those of 12 jobs"),
    "content": (nothing_of_ours, "incorrect header"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "directory"),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_named_and_left_out(damage: str, recorded: Path, tmp_path: Path) -> None:
    shutil.copytree(recorded, tmp_path / "copy")
    parts = live_parts(workspace(), CONFIG)
    with Journal.read(tmp_path / "copy" / "run.db") as journal:
        files = StateFiles.of(journal.path)
        with only_states(()):
            expected = fingerprint(restored(parts, journal))
        last = files.path(files.steps()[-1])
        change, reason = DAMAGES[damage]
        change(last)
        told: list[Diagnostic] = []
        assert fingerprint(restore_loop(parts, journal, told.append)) == expected
    [warning] = told
    assert (warning.code, str(warning.severity)) == ("GSM5430", "warning")
    assert last.name in warning.message
    assert reason in warning.message


@pytest.mark.parametrize("kept", [True, False])
def test_the_record_of_another_model_is_refused(kept: bool, recorded: Path) -> None:
    """With and without states: plans of one model say nothing about another."""
    parts = live_parts(workspace(CLUSTER.replace("high = 2", "high = 3")), CONFIG)
    states = nullcontext() if kept else only_states(())
    with Journal.read(recorded / "run.db") as journal, states, pytest.raises(DiagnosticError) as raised:
        restore_loop(parts, journal)
    assert [found.code for found in raised.value.diagnostics] == ["GSM5104"]
    assert "`inputs_sha256`" in raised.value.diagnostics[0].notes[0]


def test_states_of_an_earlier_journal_are_removed(recorded: Path, tmp_path: Path) -> None:
    shutil.copytree(recorded, tmp_path / "copy")
    path = tmp_path / "copy" / "run.db"
    path.unlink()
    assert StateFiles.of(path).steps()
    record_live(workspace(), CONFIG, job_lines(6, 3), path)
    assert not StateFiles.of(path).steps()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is complete, and warns once."""
    save_often(monkeypatch)
    (tmp_path / "run.db-states").write_text("in the way")
    told: list[Diagnostic] = []
    (tmp_path / "events").write_bytes(b"".join(job_lines(5, 12)))
    config = RunConfig(online="Live", method="SJF", journal=tmp_path / "run.db")
    with (tmp_path / "out").open("wb") as out:
        run_live_loop(workspace(), str(tmp_path / "events"), out, config, report=told.extend)
    assert [warning.code for warning in told] == ["GSM5431"]
    with Journal.read(tmp_path / "run.db") as journal:
        assert len(journal) > 12


def test_states_are_spread_over_the_run(tmp_path: Path) -> None:
    files = StateFiles(tmp_path / "states")
    for step in range(100, 100 * 200, 100):
        files.write(step, {}, b"")
    steps = files.steps()
    assert len(steps) == state_files.MOST_FILES
    assert (steps[0], steps[-1]) == (100, 19_900)
    gaps = [after - before for before, after in pairwise(steps)]
    assert max(gaps) <= 4 * 19_900 / len(steps)


def test_every_attribute_of_a_loop_is_in_its_state_or_left_out_for_a_reason(recorded: Path) -> None:
    """A new attribute of a loop makes `state_of` refuse, so that no state lacks it."""
    with Journal.read(recorded / "run.db") as journal:
        loop = restored(live_parts(workspace(), CONFIG), journal)
    state_of(loop, ())
    assert not LEFT_OUT & {name for names in STATE.values() for name in names}
    vars(loop)["more"] = 1
    with pytest.raises(state_files.NotEncodable, match="`more`"):
        state_of(loop, ())


def test_only_known_classes_are_read() -> None:
    content = encode({"a": 1}, frozenset())
    start = 8 + int.from_bytes(content[:8], "big")
    for value in ({"class": "Path", "number": 0, "values": {}}, {"call": "print"}, {"array": 5}):
        text = json.dumps({"value": value, "arrays": []}).encode()
        with pytest.raises(DamagedState):
            decode(len(text).to_bytes(8, "big") + text + content[start:])


def test_one_object_is_one_object_again() -> None:
    """Spans of the same plan are joined: two objects would make two spans, and other last bits."""
    plan = CurrentPlan({"run": VariableValues((np.array([0, 1]),), np.array([1.0, 0.5])), "other": None})  # type: ignore[dict-item]
    past = Past(plan, 1.0, {}, (ExecutedTime(2.0, plan), ExecutedTime(3.0, CurrentPlan())))
    found = decode(encode({"past": past, "plan": plan}, frozenset(("run",))))
    assert found["past"].plan is found["plan"] is found["past"].executed[0].plan
    assert found["past"].executed[1].plan is not found["plan"]
    assert found["plan"].values.keys() == {"run"}
    assert found["plan"].values["run"].values.tolist() == [1.0, 0.5]
