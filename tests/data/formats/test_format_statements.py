"""`data FILE as FORMAT` and `generate NAME` in scenarios: checked before anything is read, then read and converted."""

from __future__ import annotations

import gzip
import hashlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from found_codes import message_values
from trace_help import SAMPLES

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.data.formats import registry
from gpusched_dsl.data.formats.shape import Dropped, Format, FormatColumn, FormatTable, Option, Raw, Setting
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set Jobs;
  param hours[Jobs] in h default 0;
  param minutes[Jobs] in min default 0;
  param gpus[Jobs] default 0;
  param needs[Jobs] in gpu default 0;
  param cluster[Jobs] symbol default "none";
  param total in h default 0;
  param count_of[Jobs] default 0;
  var x >= 0;
  minimize value: x;
  constraint some: x >= sum[j in Jobs] gpus[j];
}
"""


def check(body: str) -> tuple[CheckedScenario | None, list[Diagnostic]]:
    found = Diagnostics()
    workspace = workspace_from_text(f"{MODEL}scenario S for M {{ {body} }}", "test.gsm", found)
    return check_scenario(workspace, "S", {}, found), list(found)


def build(body: str, folder: Path) -> Instance:
    checked, found = check(body)
    assert found == []
    assert checked is not None
    return build_instance(checked, folder=folder)


def values(instance: Instance, name: str) -> list[object]:
    return list(instance.store.params[name].values.tolist())


def labels(instance: Instance) -> list[object]:
    return list(instance.store.sets["Jobs"].label_columns()[0])


def wrong(body: str) -> list[tuple[str, str]]:
    _, found = check(body)
    return [(d.code, d.primary.text) for d in found]  # type: ignore[union-attr]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in SAMPLES.iterdir():
        if file.suffix != ".md":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


# --- checked ---------------------------------------------------------------------------------------------------------


def test_what_is_wrong_with_a_format_is_found_without_a_file() -> None:
    assert wrong('data "a" as phily { Jobs = job; }') == [("GSM1518", "phily")]
    assert wrong('data "a" as philly (frst = 3) { Jobs = jobb; }') == [("GSM1519", "frst"), ("GSM1520", "jobb")]
    assert wrong('data "a" as philly { Jobs = job; hours[jop] = duration; }') == [("GSM1520", "jop")]
    assert wrong('data "a" as philly { Jbs = job; }') == [("GSM1504", "Jbs")]
    assert wrong('data "a" as nothing { Jbs = job; }') == [("GSM1518", "nothing"), ("GSM1504", "Jbs")]


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ("first = 0", "GSM1519", "0"),
        ('first = "3"', "GSM1519", '"3"'),
        ("first = 3[s]", "GSM1302", "s"),
        ("first = -3", "GSM1519", "-3"),
        ("first = 1 + 2", "GSM1519", "1 + 2"),
        ("first = 3, first = 4", "GSM1519", "first"),
        ("after = abc", "GSM1519", "abc"),
        ("after = 3[hours]", "GSM1301", "hours"),
        ("clock = yes", "GSM1519", "yes"),
        ("vc = true", "GSM1519", "true"),
        ("least_duration = -1[s]", "GSM1519", "-1[s]"),
    ],
)
def test_options_that_do_not_fit(options: str, code: str, text: str) -> None:
    assert wrong(f'data "a" as philly ({options}) {{ Jobs = job; }}') == [(code, text)]


def test_units_of_columns() -> None:
    assert wrong('data "a" as philly { hours[job] = duration[$]; }') == [("GSM1302", "$")]
    assert wrong('data "a" as philly { gpus[job] = duration; }') == [("GSM1302", "duration")]
    assert wrong('data "a" as philly { hours[job] = gpus; }') == [("GSM1303", "gpus")]
    assert wrong('data "a" as philly { cluster[job] = vc[h]; }') == [("GSM1307", "h")]
    assert wrong('data "a" as philly { hours[job] = count(duration); }') == [("GSM1302", "duration")]


# --- read ------------------------------------------------------------------------------------------------------------


def test_values_come_in_the_unit_of_the_parameter(folder: Path) -> None:
    body = """data "philly.csv" as philly (after = 1[h], first = 2) {
        Jobs = job;  hours[job] = duration;  minutes[job] = submitted[h];  gpus[job] = gpus;  cluster[job] = vc; }"""
    instance = build(body, folder)
    assert labels(instance) == [2, 3]
    assert values(instance, "hours") == [2643038 / 3600, 3219826 / 3600]
    assert values(instance, "minutes") == [0.0, 1023 / 60]  # the unit written does not change what the number means
    assert values(instance, "gpus") == [1.0, 1.0]
    assert values(instance, "cluster") == ["6214e9", "6214e9"]
    assert instance.notes == ()


def test_a_column_without_a_unit_takes_the_one_that_is_written(folder: Path) -> None:
    instance = build('data "philly.csv" as philly { Jobs = job;  needs[job] = gpus[gpu]; }', folder)
    assert values(instance, "needs") == [1.0] * 8


def test_aggregates(folder: Path) -> None:
    body = """data "gpuspb_times.csv" as gpuspb_times {
        Jobs = distinct(job);  hours[job] = max(duration);  count_of[job] = count(vm_type); }"""
    instance = build(body, folder)
    assert labels(instance) == ["JJ1"]
    assert values(instance, "hours") == [12112.428 / 3600]
    assert values(instance, "count_of") == [6.0]


def test_files_are_hashed_as_they_lie_there(folder: Path) -> None:
    data = (folder / "philly.csv").read_bytes()
    packed = gzip.compress(data)
    (folder / "packed.csv.gz").write_bytes(packed)
    body = "{ Jobs = job;  hours[job] = duration; }"
    plain = build(f'data "philly.csv" as philly {body}', folder)
    same = build(f'data "packed.csv.gz" as philly {body}', folder)
    assert values(plain, "hours") == values(same, "hours")
    assert plain.inputs == {"philly.csv": hashlib.sha256(data).hexdigest()}
    assert same.inputs == {"packed.csv.gz": hashlib.sha256(packed).hexdigest()}


def test_files_may_not_lie_outside(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    checked, _ = check('data "../philly.csv" as philly { Jobs = job; }')
    assert checked is not None
    with pytest.raises(DiagnosticError) as caught:
        build_instance(checked, folder=inner)
    assert [d.code for d in caught.value.diagnostics] == ["GSM2002"]


def test_a_file_is_read_once_for_each_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpusched_dsl.data.sources.formatted as reading

    calls: list[object] = []
    original = reading.read_with_format
    monkeypatch.setattr(reading, "read_with_format", lambda *a: calls.append(a[0]) or original(*a))
    body = """
      data "philly.csv" as philly (first = 3) { Jobs = job; hours[job] = duration; }
      data "philly.csv" as philly (first = 3) { gpus[job] = gpus; }
    """
    build(body, folder)
    assert len(calls) == 1
    build(body + 'data "philly.csv" as philly (first = 1) { minutes[job] = submitted; }', folder)
    assert len(calls) == 3


def test_rows_left_out_are_told_once_as_a_note(folder: Path) -> None:
    body = 'data "chronus.csv" as chronus { Jobs = job; hours[job] = duration; }'
    [note] = build(body, folder).notes
    assert (note.code, note.severity, str(note.primary)) == (
        "GSM2017", Severity.NOTE, "chronus.csv:7, column num_gpu")  # fmt: skip
    assert message_values(note.message) == ("1", "6", "chronus.csv")
    assert note.notes == ("1: no GPUs (first on line 7: `0`)",)
    model = gs.loads(f"{MODEL}scenario S for M {{ {body} }}", base=folder)
    assert [w.code for w in model.solve("S").warnings] == ["GSM2017"]


def test_notes_stand_beside_what_they_cause(folder: Path) -> None:
    """A job that is left out by the reader is no element, and other data for it are then unknown."""
    (folder / "more.csv").write_text("job,hours\n195,2\n1,3\n")
    body = """data "chronus.csv" as chronus { Jobs = job; }
              data "more.csv" { hours[job] = hours[h]; }"""
    with pytest.raises(DiagnosticError) as caught:
        build(body, folder)
    assert [d.code for d in caught.value.diagnostics] == ["GSM2103", "GSM2017"]


def test_a_column_that_the_file_cannot_give(folder: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        build('data "philly.csv" as philly { Jobs = job; cluster[job] = status; }', folder)
    [found] = caught.value.diagnostics
    assert (found.code, found.primary.text) == ("GSM2011", "status")  # type: ignore[union-attr]


def test_places_of_values_are_lines_of_the_file(folder: Path) -> None:
    text = MODEL.replace("param gpus[Jobs]", "param gpus[Jobs] <= 64")
    found = Diagnostics()
    body = 'data "helios.csv" as helios (skip = 1) { Jobs = job; gpus[job] = gpus; }'
    workspace = workspace_from_text(f"{text}scenario S for M {{ {body} }}", "test.gsm", found)
    checked = check_scenario(workspace, "S", {}, found)
    assert checked is not None
    with pytest.raises(DiagnosticError) as caught:
        build_instance(checked, folder=folder)
    assert [(d.code, str(d.primary)) for d in caught.value.diagnostics] == [("GSM2109", "helios.csv:4, column gpus")]


# --- generators ------------------------------------------------------------------------------------------------------


def drawn(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    assert raw is None
    count, seed = settings["jobs"], settings["seed"]
    assert isinstance(count, int)
    assert isinstance(seed, int)
    frame = pl.DataFrame({"job": [f"g{i}" for i in range(count)], "length": [float(i + seed) for i in range(count)]})
    return FormatTable(frame, count, (Dropped("too long", 1),) if settings["lossy"] else ())


FAKE = Format(
    "fake_jobs",
    "made for this test",
    (FormatColumn("job", "the job"), FormatColumn("length", "its length", "h")),
    drawn,
    (
        Option("jobs", "how many", kind=int, least=1),
        Option("seed", "of the draws", 0),
        Option("lossy", "lose a row", False),
    ),
)


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fake_formats")
    module.FORMATS = {"fake_jobs": FAKE}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    point = EntryPoint("fake_jobs", "fake_formats:FORMATS", registry.GENERATORS_GROUP)
    own = {group: {**registry.own_entry_points(group)} for group in (registry.FORMATS_GROUP, registry.GENERATORS_GROUP)}
    own[registry.GENERATORS_GROUP]["fake_jobs"] = point
    monkeypatch.setattr(registry, "own_entry_points", own.__getitem__)


@pytest.mark.usefixtures("generator")
def test_what_a_generator_draws_is_recorded_by_its_name_and_options(tmp_path: Path) -> None:
    body = "{ Jobs = job; minutes[job] = length; }"
    instance = build(f"generate fake_jobs (seed = 2, jobs = 3) {body}", tmp_path)
    assert labels(instance) == ["g0", "g1", "g2"]
    assert values(instance, "minutes") == [120.0, 180.0, 240.0]
    assert list(instance.inputs) == ["generate fake_jobs (jobs = 3, seed = 2, lossy = false)"]
    again = build(f"generate fake_jobs (jobs = 3, lossy = false, seed = 2) {body}", tmp_path)
    assert again.inputs == instance.inputs
    other = build(f"generate fake_jobs (jobs = 3, seed = 3) {body}", tmp_path)
    assert set(other.inputs.values()).isdisjoint(instance.inputs.values())


@pytest.mark.usefixtures("generator")
def test_options_of_generators() -> None:
    assert wrong("generate fake_jobs { Jobs = job; }") == [("GSM1519", "fake_jobs")]
    assert wrong("generate fake_jobs (jobs = 0) { Jobs = job; }") == [("GSM1519", "0")]
    assert wrong("generate fake_jobs (jobs = 2, lossy = 1) { Jobs = job; }") == [("GSM1519", "1")]
    assert wrong("generate fakejobs (jobs = 2) { Jobs = job; }") == [("GSM1518", "fakejobs")]
    assert wrong('data "a" as fake_jobs { Jobs = job; }') == [("GSM1518", "fake_jobs")]


@pytest.mark.usefixtures("generator")
def test_notes_of_generators_point_at_their_name(tmp_path: Path) -> None:
    [note] = build("generate fake_jobs (jobs = 1, lossy = true) { Jobs = job; }", tmp_path).notes
    assert note.primary.text == "fake_jobs"  # type: ignore[union-attr]


# --- layout ----------------------------------------------------------------------------------------------------------


def test_options_stand_apart_from_the_name() -> None:
    text = 'scenario S for M {\n  data "a" as philly(first=3,after=2[h]){Jobs=job;}\n  generate fake(jobs=3){ }\n}\n'
    after = (
        'scenario S for M {\n  data "a" as philly (first = 3, after = 2[h]) { Jobs = job; }\n'
        "  generate fake (jobs = 3) { }\n}\n"
    )
    assert format_text(text) == after
    assert format_text(after) == after
