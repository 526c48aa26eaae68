"""The leaderboard: frozen tracks, a referee that finds planted cheats and passes honest entries, pages in step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from found_codes import raises_code

from benchmarks.leaderboard import evaluate as evaluation
from benchmarks.leaderboard.__main__ import main
from benchmarks.leaderboard.entries import Entry, explained, policy_text, read_entries
from benchmarks.leaderboard.evaluate import Run, bound_of, evaluate, examine, read_results, store
from benchmarks.leaderboard.page import (
    BEGIN,
    END,
    PAGE,
    RUNS_PAGE,
    board_of,
    render,
    render_runs,
    seeds_of,
    traps,
    unexplained,
    with_results,
    with_runs,
)  # fmt: skip
from benchmarks.leaderboard.referee import fault
from benchmarks.leaderboard.tracks import Track, read_frozen, read_tracks

TRACKS = {track.name: track for track in read_tracks()}
ENTRIES = {entry.name: entry for entry in read_entries()}
FROZEN = read_frozen()


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.quick(2)
def test_tracks_are_frozen(name: str) -> None:
    assert FROZEN[name].sha256 == TRACKS[name].content_hash(), "the track has changed: a new track needs a new name"
    assert FROZEN[name].bounds.keys() <= set(TRACKS[name].seeds)


@pytest.mark.slow
@pytest.mark.parametrize("name", FROZEN)
def test_bounds_are_computed_again(name: str) -> None:
    seed = TRACKS[name].seeds[0]
    assert bound_of(TRACKS[name], seed) == pytest.approx(FROZEN[name].bounds[seed], rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "Nobody"], "unknown entry `Nobody`"),
        (["run", "--entry", "Nobody"], "unknown entry `Nobody`"),
        (["check", "FIFO", "--track", "nowhere"], "unknown track `nowhere`"),
        (["check"], "name the entry to check"),
        (["run", "--seeds", "0"], "at least 1"),
    ],
)
def test_wrong_names_are_errors(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["leaderboard", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, words in capsys.readouterr().err) == (2, True)


def test_no_run_beats_its_bound() -> None:
    runs = read_results().filter(pl.col("cost").is_not_null())
    assert len(TRACKS) >= 12
    for row in runs.iter_rows(named=True):
        assert row["cost"] >= FROZEN[row["track"]].bounds[row["seed"]], row


def test_results_are_of_entries_and_tracks() -> None:
    for name, track, seed in read_results().select("entry", "track", "seed").iter_rows():
        assert ENTRIES[name].enters(track, TRACKS[track].family), (name, track)
        assert seed in TRACKS[track].seeds


def test_entries_need_their_package() -> None:
    assert Entry("A", "a test", (), package="polars").is_installed
    assert not Entry("A", "a test", (), package="no_such_package").is_installed
    assert ENTRIES["ATC"].is_installed


def test_no_trap_without_a_warning_or_a_reason() -> None:
    """Each method that costs more than 1.5 times the best was warned of, or has a documented reason."""
    board = board_of(list(TRACKS.values()), FROZEN, read_results())
    assert len({track for _, track in board}) >= 12
    assert unexplained(traps(list(TRACKS.values()), board), explained(list(ENTRIES.values()))) == []


def test_myopic_methods_are_warned_of_where_single_decisions_are_the_trap() -> None:
    """Local search by decisions, which costs twice as much as a queue under heavy load, has the warning there."""
    rows = read_results().filter(pl.col("track").is_in(["heavy_10", "heavy_20"]), pl.col("myopic"))
    assert len(rows) >= 4
    assert rows["warned"].all()


def test_seeds_count_when_all_entries_have_them() -> None:
    rows = [("philly", seed, name, 1.0, False, False, "", 0.0) for seed, name in ((1, "A"), (2, "A"), (1, "B"))]
    table = pl.DataFrame(rows, schema=read_results().schema, orient="row")
    assert seeds_of(table) == {"philly": [1]}
    tracks: list[Track] = with_results(list(TRACKS.values()), table)
    assert [(track.name, track.seeds) for track in tracks] == [("philly", (1,))]


def test_a_trap_without_a_warning_is_found() -> None:
    """A method that costs three times as much as another one, once without and once with the warning."""
    rows = [("philly", 0, "A", 3.0, False, True, "", 0.0), ("philly", 0, "B", 1.0, False, False, "", 0.0)]
    table = pl.DataFrame(rows, schema=read_results().schema, orient="row")
    track = TRACKS["philly"]
    found = traps([track], board_of([track], FROZEN, table))
    assert [(trap.entry, trap.track, trap.warned) for trap in found] == [("A", "philly", False)]
    assert found[0].ratio == pytest.approx(3.0)
    assert (unexplained(found, ()), unexplained(found, {"A"})) == (found, [])
    warned = traps([track], board_of([track], FROZEN, table.with_columns(warned=pl.lit(True))))
    assert (warned, unexplained(warned, ())) == ([replace(found[0], warned=True)], [])


def test_the_pages_are_in_step_with_the_results() -> None:
    shown = (list(TRACKS.values()), list(ENTRIES.values()), FROZEN, read_results())
    assert render(*shown) == PAGE.read_text(encoding="utf-8"), "run `python -m benchmarks.leaderboard`"
    page = RUNS_PAGE.read_text(encoding="utf-8")
    assert with_runs(page, render_runs(*shown)) == page, "run `python -m benchmarks.leaderboard`"
    with pytest.raises(ValueError, match="has no"):
        with_runs(page.replace(END, ""), "")
    assert page.index(BEGIN) < page.index(END)


def test_results_are_stored_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run of an entry replaces the earlier one, all others stay."""
    monkeypatch.setattr(evaluation, "RESULTS", tmp_path / "results.csv")
    runs = [Run("philly", 0, name, cost, False, False, "", 1.0) for name, cost in (("B", 1.0), ("A", 2.0), ("B", 3.0))]
    for each in runs:
        store([each])
    assert read_results().select("entry", "cost").rows() == [("A", 2.0), ("B", 3.0)]


# --- the referee -----------------------------------------------------------------------------------------------------

JOBS = pl.DataFrame({"job": ["a", "b"], "arrival": [0.0, 1.0]})


def schedule(*rows: tuple[str, str, str, float, float, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["job", "node", "node_type", "gpus", "start", "end"], orient="row")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "n", "t", 2.0, 0.0, 2.0), ("b", "n", "t", 2.0, 1.0, 3.0)], None),
        ([("a", "n", "t", 4.0, 0.0, 1.0), ("b", "n", "t", 4.0, 1.0, 3.0)], None),
        (
            [("a", "n", "t", 2.0, 0.0, 2.0), ("b", "n", "t", 3.0, 1.0, 3.0)],
            "use 5 GPUs of the node `n` at 1, which has 4",
        ),
        ([("b", "n", "t", 1.0, 0.5, 2.0)], "`b` runs from 0.5 on, before its arrival"),
        ([("c", "n", "t", 1.0, 0.5, 2.0)], "`c` runs from 0.5 on, before its arrival"),
        ([("a", "n", "t", 1.0, 0.0, 2.0), ("a", "m", "t", 1.0, 1.0, 2.0)], "`a` runs at two places at 1"),
        ([("a", "n", "t", 1.0, 0.0, 2.0), ("b", "n", "u", 1.0, 1.0, 3.0)], "the node `n` has two types at 1"),
    ],
)
def test_impossible_schedules_are_found(
    rows: list[tuple[str, str, str, float, float, float]], message: str | None
) -> None:
    found = fault(JOBS, schedule(*rows), {"t": 4.0, "u": 8.0})
    assert found is None if message is None else message in str(found)


# Jobs by the length that only the simulation knows.
CLAIRVOYANT = """import "gsdsl:gpu_sharing/scenarios/synthetic.gsm";
policy Oracle for GpuSharingByNetwork extends Greedy "shortest real length first" {
  order j in Jobs by truth[j];
}
"""


def entry_of(tmp_path: Path, name: str, text: str) -> Entry:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    kind = "program" if name.endswith(".py") else "policy"
    return Entry("Oracle", "a test", ("gpu_sharing",), kind, file=str(file))  # type: ignore[arg-type]


def test_entries_contain_only_policies(tmp_path: Path) -> None:
    file = tmp_path / "entry.gsm"
    file.write_text(CLAIRVOYANT + 'import "other.gsm";\nscenario Track for GpuSharingByNetwork { }\n', encoding="utf-8")
    with raises_code("GSM7012") as raised:
        policy_text(file)
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["GSM7012"] * 2


@pytest.mark.slow
def test_a_clairvoyant_policy_is_refused(tmp_path: Path) -> None:
    assert examine(TRACKS["sharing_overload"], 1, entry_of(tmp_path, "entry.gsm", CLAIRVOYANT)) == "GSM7014"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("track", "name"),
    [
        ("sharing_overload", "STS"), ("sharing_light", "RG"), ("capacity_noisy", "ATC"),
        ("capacity_overload", "LocalSearch"), ("capacity_overload", "Sample"), ("shockwave", "Tiresias"),
        ("gavel", "GavelMaxMin"), ("capacity_noisy", "SlackATC"),
    ],
)  # fmt: skip
def test_honest_entries_pass(track: str, name: str) -> None:
    assert examine(TRACKS[track], TRACKS[track].seeds[0], ENTRIES[name]) == ""


@pytest.mark.slow
def test_overbooking_is_refused(tmp_path: Path) -> None:
    """The sample, but every node seems to have ten times its GPUs."""
    source = ENTRIES["Sample"].path.read_text(encoding="utf-8")
    cheat = source.replace(
        "free = Free(self)", "free = Free(self); free.nodes = {n: 10 * g for n, g in free.nodes.items()}"
    )
    assert cheat != source
    found = evaluate(TRACKS["sharing_overload"], 1, entry_of(tmp_path, "entry.py", cheat))
    assert (found.cost, found.refused) == (None, "GSM7012")


@pytest.mark.slow
def test_stored_results_are_computed_again() -> None:
    stored = read_results().filter((pl.col("track") == "capacity_overload") & (pl.col("seed") == 1))
    for row in stored.filter(pl.col("entry").is_in(["FIFO", "ATC", "Sample"])).iter_rows(named=True):
        again = evaluate(TRACKS["capacity_overload"], 1, ENTRIES[row["entry"]])
        assert again.cost == pytest.approx(row["cost"], rel=1e-9)
