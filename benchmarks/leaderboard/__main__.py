"""`python -m benchmarks.leaderboard`: freezes tracks, examines and runs entries, and renders the pages.

python -m benchmarks.leaderboard    render docs/reference/leaderboard.md and docs/reference/complete_runs.md
python -m benchmarks.leaderboard run [--entry NAME] [--track NAME] [--seeds N] [--missing]
python -m benchmarks.leaderboard check NAME [--track NAME]
python -m benchmarks.leaderboard freeze [--track NAME] [--missing]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.leaderboard.entries import Entry, explained, read_entries
from benchmarks.leaderboard.evaluate import bound_of, evaluate, examine, read_results, store
from benchmarks.leaderboard.page import PAGE, ROOT, RUNS_PAGE, render, render_runs, traps, unexplained, with_runs
from benchmarks.leaderboard.page import board_of as board
from benchmarks.leaderboard.tracks import Frozen, Track, read_frozen, read_tracks, write_frozen


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.leaderboard", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("task", nargs="?", default="render", choices=("render", "run", "check", "freeze"))
    parser.add_argument("name", nargs="?", help="the entry to check")
    parser.add_argument("--entry", action="append", help="only this entry; may be repeated")
    parser.add_argument("--track", action="append", help="only this track; may be repeated")
    parser.add_argument("--seeds", type=int, help="only the first N seeds of each track")
    parser.add_argument("--missing", action="store_true", help="only runs, or bounds, that are not stored")
    options = parser.parse_args()
    _check_names(parser, "track", options.track, [track.name for track in read_tracks()])
    _check_names(parser, "entry", [options.name] if options.name else options.entry, [e.name for e in read_entries()])
    if options.task == "check" and options.name is None:
        parser.error("name the entry to check")
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {options.seeds}")
    tracks = [
        replace(track, seeds=track.seeds[: options.seeds])
        for track in read_tracks()
        if options.track is None or track.name in options.track
    ]
    wanted = [options.name] if options.name else options.entry
    entries = [entry for entry in read_entries() if wanted is None or entry.name in wanted]
    if options.task == "freeze":
        freeze(tracks, missing=options.missing)
    elif options.task == "check":
        return check(tracks, entries)
    elif options.task == "run":
        run(tracks, entries, missing=options.missing)
    else:
        return write_pages()
    return 0


def _check_names(parser: argparse.ArgumentParser, kind: str, wanted: Sequence[str] | None, known: list[str]) -> None:
    """End with a message about the first name that is unknown: without it, nothing would be examined or run."""
    for name in wanted or ():
        if name not in known:
            parser.error(f"unknown {kind} `{name}`; known are {', '.join(known)}")


def freeze(tracks: Sequence[Track], *, missing: bool) -> None:
    """Compute hashes and bounds, one seed after the other; with `missing` only those that are not stored."""
    frozen = read_frozen()
    for track in tracks:
        content = track.content_hash()
        known = frozen.get(track.name)
        stored = known.bounds if missing and known is not None and known.sha256 == content else {}
        bounds = {seed: stored[seed] for seed in track.seeds if seed in stored}
        for seed in track.seeds:
            if seed not in bounds:
                bounds[seed] = bound_of(track, seed)
                frozen[track.name] = Frozen(content, dict(sorted(bounds.items())))
                write_frozen({each.name: frozen[each.name] for each in read_tracks() if each.name in frozen})
                print(f"{track.name:20} {seed:2} {bounds[seed]:.6g}", flush=True)


def check(tracks: Sequence[Track], entries: Sequence[Entry]) -> int:
    """Run entries once on each of their tracks, and test whether they read the future; return 1 if one is refused."""
    refused = 0
    for entry in entries:
        for track in tracks:
            if entry.enters(track.name, track.family):
                found = evaluate(track, track.seeds[0], entry)
                code = found.refused or examine(track, track.seeds[0], entry)
                refused |= bool(code)
                print(f"{track.name:20} {entry.name:24} {code or f'passes, {found.cost:.6g} $'}", flush=True)
    return refused


def run(tracks: Sequence[Track], entries: Sequence[Entry], *, missing: bool) -> None:
    """Run entries on their tracks, one seed of all tracks after the other, and store each result.

    Entries whose package is not installed are left out.
    """
    for entry in entries:
        if not entry.is_installed:
            print(f"{entry.name}: not run, it needs the package {entry.package}", flush=True)
    entries = [entry for entry in entries if entry.is_installed]
    known = set(read_results().select("track", "seed", "entry").iter_rows()) if missing else set()
    for place in range(max(len(track.seeds) for track in tracks)):  # one seed of all before the next
        for track in tracks:
            for entry in entries:
                if place >= len(track.seeds) or not entry.enters(track.name, track.family):
                    continue
                seed = track.seeds[place]
                if (track.name, seed, entry.name) not in known:
                    found = evaluate(track, seed, entry)
                    store([found])
                    cost = found.refused or f"{found.cost:.5g}"
                    seconds = f"{found.cpu_seconds:.1f} CPU s"
                    print(f"{track.name:20} {seed:2} {entry.name:24} {seconds:>12}  {cost}", flush=True)


def write_pages() -> int:
    """Render both pages; return 1 if a trap has neither a warning nor a reason."""
    tracks, entries, frozen, results = read_tracks(), read_entries(), read_frozen(), read_results()
    PAGE.write_text(render(tracks, entries, frozen, results), encoding="utf-8")
    page = RUNS_PAGE.read_text(encoding="utf-8")
    RUNS_PAGE.write_text(with_runs(page, render_runs(tracks, entries, frozen, results)), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and {RUNS_PAGE.relative_to(ROOT)}")
    found = unexplained(traps(tracks, board(tracks, frozen, results)), explained(entries))
    for trap in found:
        print(f"{trap.entry} costs {trap.ratio:.2f} times the best on {trap.track}, without a warning or a reason")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
