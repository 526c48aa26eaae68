"""`python -m benchmarks.commits BASE [CASE ...]`: our own arms by an earlier commit and by this checkout, in turns.

Prints CPU seconds and peak memory of both, and their ratios, each at once on standard error. The least of all rounds
counts, since noise only adds. The ratio of seconds is printed with imports and without: between two commits a package
may move from the imports of an arm to its first use, and imports grow with the language. Exit code 1 when an arm is
slower by both, or larger, than `--most` times what it was; the case `startup` measures imports by themselves.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import ROOT, Measured, missing, reformulated, run_arm
from benchmarks.registry import CASES, Arm, Case
from benchmarks.report import table

OURS = ("gsdsl", "startup")  # how the module of an arm of our own is called, after `by_`


def main() -> int:
    names = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("base", help="the earlier commit")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each arm by each commit, at most (default 5)")
    parser.add_argument("--fast", action="store_true", help="leave out the arms that take many seconds a run")
    parser.add_argument("--most", type=float, default=1.03, help="the largest ratio that passes (default 1.03)")
    options = parser.parse_args()
    for name in options.cases:
        if name not in names:
            parser.error(f"no case `{name}`; there are: {', '.join(names)}")
    rows, worse = [], False
    with checkout(options.base) as earlier:
        for case in [names[name] for name in options.cases] or CASES:
            for arm in our_arms(case, options.fast):
                if not all(is_there(module, earlier) for module in (*case.prepare[:1], arm.module)):
                    print(f"{case.name}, {arm.name}: not in {options.base}, left out", file=sys.stderr, flush=True)
                    continue
                before, now = in_turns(case, arm, earlier, options.rounds)
                cpu, alone, memory = (
                    now.figure(figure) / before.figure(figure) for figure in ("CPU with imports", "CPU", "peak_mb")
                )
                worse |= max(min(cpu, alone), memory) > options.most
                print(
                    f"{case.name}, {arm.name}: {cpu:.3f} with imports, {alone:.3f}, {memory:.3f}",
                    file=sys.stderr,
                    flush=True,
                )
                rows.append([
                    case.name, arm.name, f"{before.figure('CPU with imports'):.3f}",
                    f"{now.figure('CPU with imports'):.3f}", f"{cpu:.3f}", f"{alone:.3f}",
                    f"{before.figure('peak_mb'):.0f}", f"{now.figure('peak_mb'):.0f}", f"{memory:.3f}",
                ])  # fmt: skip
    header = ["case", "arm", "CPU before", "now", "ratio", "without imports", "MB before", "now", "ratio"]
    print(table(header, rows, left=(0, 1)))
    return 1 if worse else 0


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A work tree of the commit in a temporary folder, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "earlier"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(place), commit], cwd=ROOT, check=True)
        state_entry_points(place)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=ROOT, check=True)


def state_entry_points(place: Path) -> None:
    """Write the metadata of a checkout beside its code, where they come before those that are installed."""
    project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = place / "gpusched_dsl.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n", encoding="utf-8")
    lines = []
    for group, entries in project.get("entry-points", {}).items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def our_arms(case: Case, fast: bool) -> list[Arm]:
    """The arms that run this project's code and can run here."""
    ours = [a for a in case.arms if a.module.rpartition(".")[2].removeprefix("by_") in OURS]
    return [a for a in ours if missing(a) is None and not (fast and a.slow)]


def is_there(module: str, root: Path) -> bool:
    """Whether a checkout has a module of the benchmarks: an earlier commit lacks later cases."""
    place = root.joinpath(*module.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def in_turns(case: Case, arm: Arm, earlier: Path, rounds: int) -> tuple[Measured, Measured]:
    """The samples of an arm by the earlier commit and by this checkout; they take turns to go first."""
    sides = [(Measured(replace(arm)), root, reformulated(case, root)) for root in (earlier, ROOT)]
    for number in range(min(case.rounds or rounds, arm.repeats)):
        for measured, root, folder in sides if number % 2 == 0 else sides[::-1]:
            measured.samples.append(run_arm(arm, folder, root))
    return sides[0][0], sides[1][0]


if __name__ == "__main__":
    sys.exit(main())
