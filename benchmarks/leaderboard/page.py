"""Renders leaderboard.md and the tables of complete_runs.md, in docs/reference, from stored results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl

from benchmarks.leaderboard.entries import Entry
from benchmarks.leaderboard.tracks import Frozen, Track
from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.reporting.bootstrap import Interval, mean_interval

ROOT = Path(__file__).resolve().parents[2]
TEXTS = Path(__file__).resolve().parent / "texts"
PAGE = ROOT / "docs" / "reference" / "leaderboard.md"
RUNS_PAGE = ROOT / "docs" / "reference" / "complete_runs.md"
BEGIN, END = "<!-- complete runs: begin -->", "<!-- complete runs: end -->"
TRAP = 1.5  # times the least cost of a track
FAMILIES = {
    "trace_replay": "Queues: fixed GPUs, jobs priced by their time in the system",
    "priced_replay": "Priced replay: fixed GPUs, rent and tardiness",
    "capacity_planning": "Capacity planning: rented nodes, chosen numbers of GPUs",
    "gpu_sharing": "Unknown lengths: distributions of lengths, costs of nodes by used GPUs",
    "price_aware": "Price-aware training and serving, slot by slot",
}


@dataclass(frozen=True)
class Cell:
    """The runs of an entry on a track: costs by seed (those that finished), and scores."""

    costs: dict[int, float]
    scores: dict[int, float]
    warned: bool
    myopic: bool
    refused: str

    @property
    def score(self) -> float | None:
        return None if self.refused or not self.scores else fmean(self.scores.values())

    @property
    def cost(self) -> float | None:
        return None if self.refused or not self.costs else fmean(self.costs.values())


Board = dict[tuple[str, str], Cell]  # by entry and track


def board_of(tracks: Sequence[Track], frozen: dict[str, Frozen], results: pl.DataFrame) -> Board:
    """Return the cells of all entries and tracks with results, over the seeds that all entries of a track have."""
    names = {track.name for track in tracks}
    counted = seeds_of(results)
    found: Board = {}
    for (entry, track), rows in results.group_by("entry", "track", maintain_order=True):
        if str(track) not in names:
            continue
        rows = rows.filter(pl.col("seed").is_in(counted[str(track)]))
        bounds = frozen[str(track)].bounds
        costs = {row["seed"]: row["cost"] for row in rows.iter_rows(named=True) if row["cost"] is not None}
        refused = next((code for code in rows["refused"].to_list() if code), "")
        found[str(entry), str(track)] = Cell(
            costs, {seed: cost / bounds[seed] for seed, cost in costs.items()},
            bool(rows["warned"].any()), bool(rows["myopic"].any()), refused,
        )  # fmt: skip
    return found


def seeds_of(results: pl.DataFrame) -> dict[str, list[int]]:
    """Return the seeds of each track with runs of all entries that have a run there."""
    found: dict[str, list[int]] = {}
    for (track,), rows in results.group_by("track", maintain_order=True):
        counts = rows.group_by("seed").len()
        complete = counts.filter(pl.col("len") == rows["entry"].n_unique())
        found[str(track)] = sorted(complete["seed"].to_list())
    return found


def with_results(tracks: Sequence[Track], results: pl.DataFrame) -> list[Track]:
    """Return the tracks that the pages show, with the seeds that they count."""
    counted = seeds_of(results)
    return [replace(track, seeds=tuple(seeds)) for track in tracks if (seeds := counted.get(track.name))]


@dataclass(frozen=True)
class Trap:
    """A method that costs `ratio` times as much as the best of a track; `warned`: with GSM7009."""

    entry: str
    track: str
    ratio: float
    warned: bool


def traps(tracks: Sequence[Track], board: Board) -> list[Trap]:
    """Return the methods and tracks that cost more than `TRAP` times the least, by method, then by track."""
    found = []
    for track in tracks:
        scores = {entry: cell.score for (entry, name), cell in board.items() if name == track.name}
        finished = {entry: score for entry, score in scores.items() if score is not None}
        least = min(finished.values(), default=np.inf)
        found += [
            Trap(entry, track.name, score / least, board[entry, track.name].warned)
            for entry, score in finished.items()
            if score > TRAP * least
        ]
    return sorted(found, key=lambda trap: trap.entry)


def unexplained(found: Sequence[Trap], explained: Collection[str]) -> list[Trap]:
    """Return the traps without a warning of methods without a documented reason."""
    return [trap for trap in found if not trap.warned and trap.entry not in explained]


def render(tracks: Sequence[Track], entries: Sequence[Entry], frozen: dict[str, Frozen], results: pl.DataFrame) -> str:
    """Return the page of the leaderboard."""
    tracks = with_results(tracks, results)
    board = board_of(tracks, frozen, results)
    minutes = number_text(float(f"{results['cpu_seconds'].sum() / 60:.2g}"))
    parts = [_text("introduction"), _track_table(tracks, frozen, board), _overall(tracks, entries, board)]
    for family, title in FAMILIES.items():
        members = [track for track in tracks if track.family == family]
        if members:
            parts.append(f"## {title}\n\n{_scores(members, entries, board)}")
    parts += [_origins(entries, board), _text("choices"), _text("enter"), _text("refresh").format(minutes=minutes)]
    return "\n".join(parts)


def _track_table(tracks: Sequence[Track], frozen: dict[str, Frozen], board: Board) -> str:
    lines = [
        "## Tracks",
        "",
        "| track | workload | seeds | bound, $ | best score | by |",
        "| --- | --- | --: | --: | --: | --- |",
    ]
    for track in tracks:
        best = _best(track, board)
        bound = _mean_bound(track, frozen)
        score = "-" if best is None else _score_text(board[best, track.name], is_best=False)
        seeds = len(track.seeds) if track.generated or track.drawn else "-"
        lines.append(
            f"| `{track.name}` | {track.title}: {track.text} | {seeds} | {_money(bound)} | {score} | {best or '-'} |"
        )
    return "\n".join(lines) + "\n"


def _overall(tracks: Sequence[Track], entries: Sequence[Entry], board: Board) -> str:
    """Return the means of the entries that finish all tracks that run by events."""
    common = [track for track in tracks if track.family != "price_aware"]
    means = {}
    for entry in entries:
        scores = [cell.score for track in common if (cell := board.get((entry.name, track.name))) is not None]
        if len(scores) == len(common) and all(score is not None for score in scores):
            means[entry.name] = fmean(score for score in scores if score is not None)
    lines = [
        "## Entries on all tracks", "",
        f"Mean score over the {len(common)} tracks that run by events, of the entries that finish all of them.", "",
        "| entry | mean score |", "| --- | --: |",
    ]  # fmt: skip
    lines += [f"| {name} | {mean:.3f} |" for name, mean in sorted(means.items(), key=lambda pair: pair[1])]
    return "\n".join(lines) + "\n"


def _scores(tracks: Sequence[Track], entries: Sequence[Entry], board: Board) -> str:
    """Return the table of scores, the entries by their mean score; entries that miss a track come last."""
    found: list[tuple[tuple[int, float], str, list[str]]] = []
    best = {track.name: _best(track, board) for track in tracks}
    for entry in entries:
        cells = [board.get((entry.name, track.name)) for track in tracks]
        if all(cell is None for cell in cells):
            continue
        scores = [cell.score for cell in cells if cell is not None and cell.score is not None]
        mean = fmean(scores) if scores else np.inf
        texts = [_score_text(cell, best[track.name] == entry.name) for cell, track in zip(cells, tracks, strict=True)]
        missing = len(cells) - len(scores)
        found.append(((missing, float(mean)), entry.name, [*texts, "-" if missing else f"{mean:.3f}"]))
    lines = [
        _row(["entry", *(f"`{track.name}`" for track in tracks), "mean"]),
        _row(["---"] + ["--:"] * (len(tracks) + 1)),
    ]
    lines += [_row([name, *texts]) for _, name, texts in sorted(found)]
    return "\n".join(lines) + "\n"


def _score_text(cell: Cell | None, is_best: bool) -> str:
    if cell is None:
        return ""
    if cell.score is None:
        return cell.refused or "-"
    text = f"**{cell.score:.3f}**" if is_best else f"{cell.score:.3f}"
    interval = mean_interval(np.array(list(cell.scores.values())))
    if interval is not None:
        text += f" ({interval.low:.2f} to {interval.high:.2f})"
    return text + (" !" if cell.warned else "")


def _mean_bound(track: Track, frozen: dict[str, Frozen]) -> float:
    return fmean(frozen[track.name].bounds[seed] for seed in track.seeds)


def _best(track: Track, board: Board) -> str | None:
    scores = {
        entry: cell.score for (entry, name), cell in board.items() if name == track.name and cell.score is not None
    }
    return min(scores, key=lambda entry: (scores[entry] or np.inf, entry), default=None)


def _origins(entries: Sequence[Entry], board: Board) -> str:
    listed = {entry for entry, _ in board}
    by: dict[str, list[str]] = {}
    for entry in entries:
        if entry.name in listed:
            by.setdefault(entry.by, []).append(entry.name)
    rows = [f"| {', '.join(names)} | {origin} |" for origin, names in by.items()]
    return "\n".join(["## Origins", "", "| entries | by |", "| --- | --- |", *rows]) + "\n"


# --- docs/reference/complete_runs.md --------------------------------------------------------------------------------


def render_runs(
    tracks: Sequence[Track], entries: Sequence[Entry], frozen: dict[str, Frozen], results: pl.DataFrame
) -> str:
    """Return the tables of complete runs: mean costs, and paired differences to the best method of the track."""
    tracks = with_results(tracks, results)
    board = board_of(tracks, frozen, results)
    costly = {each.name: each.costly for each in entries if each.costly}
    found = traps(tracks, board)
    text = _text("runs").format(
        count=len(tracks), methods=len({entry for entry, _ in board}), trap=number_text(TRAP), traps=len(found),
        cells=sum(cell.score is not None for cell in board.values()), warned=sum(trap.warned for trap in found),
        silent=len(unexplained(found, costly)), seeds=max((len(track.seeds) for track in tracks), default=0),
    )  # fmt: skip
    lines = [text.rstrip("\n"), "", _row(["method", "times the best", "why"]), _row(["---"] * 3)]
    for entry, group in groupby(found, key=lambda trap: trap.entry):
        of_entry = list(group)
        ratios = [f"`{trap.track}` {trap.ratio:.2f}" + (" !" if trap.warned else "") for trap in of_entry]
        whys = [costly[entry]] if entry in costly else []
        if any(trap.warned for trap in of_entry):
            whys.append("single decisions, under load (GSM7009)")
        lines.append(_row([entry, ", ".join(ratios), "; ".join(whys) or "**no reason**"]))
    for family, title in FAMILIES.items():
        members = [track for track in tracks if track.family == family]
        if members:
            lines += ["", f"### {title}", "", *_cost_rows(members, entries, frozen, board)]
    return "\n".join(lines) + "\n"


def _cost_rows(tracks: Sequence[Track], entries: Sequence[Entry], frozen: dict[str, Frozen], board: Board) -> list[str]:
    lines = [_row(["method", *(f"`{track.name}`" for track in tracks)]), _row(["---"] + ["--:"] * len(tracks))]
    lines.append(_row(["bound", *(_money(_mean_bound(track, frozen)) for track in tracks)]))
    best = {track.name: _best(track, board) for track in tracks}
    rows = []
    for entry in entries:
        cells = [board.get((entry.name, track.name)) for track in tracks]
        if all(cell is None for cell in cells):
            continue
        texts = [
            _cost_text(cell, None if (name := best[track.name]) is None else board[name, track.name])
            for cell, track in zip(cells, tracks, strict=True)
        ]
        scores = [cell.score for cell in cells if cell is not None and cell.score is not None]
        rows.append((len(cells) - len(scores), fmean(scores) if scores else np.inf, entry.name, texts))
    return lines + [_row([name, *texts]) for _, _, name, texts in sorted(rows)]


def _cost_text(cell: Cell | None, best: Cell | None) -> str:
    if cell is None or best is None:
        return ""
    if cell.cost is None or best.cost is None:
        return cell.refused or "-"
    if cell.costs == best.costs:
        return f"**{_money(cell.cost)}**" + (" !" if cell.warned else "")
    seeds = sorted(cell.costs.keys() & best.costs.keys())
    differences = np.array([100 * (cell.costs[seed] - best.costs[seed]) / best.cost for seed in seeds])
    interval: Interval | None = mean_interval(differences)
    more = f"{differences.mean():+.1f} %"
    if interval is not None:
        more += f", {interval.low:.1f} to {interval.high:.1f}"
    return f"{_money(cell.cost)} ({more})" + (" !" if cell.warned else "")


def with_runs(page: str, runs: str) -> str:
    """Return complete_runs.md with other tables. Raises ValueError without the two marks."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(f"docs/reference/complete_runs.md has no `{BEGIN}` and `{END}`")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{runs}{END}{rest.split(END)[1]}"


def _text(name: str) -> str:
    return (TEXTS / f"{name}.md").read_text(encoding="utf-8")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _money(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
