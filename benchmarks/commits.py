"""`python -m benchmarks.commits BASE [CASE ...]`: our own arms by an earlier commit and by this checkout, in turns.

Prints CPU seconds and peak memory of both, and their ratios, each at once on standard error. The least of all rounds
counts, since noise only adds. The ratio of seconds is printed with imports and without: between two commits a package
may move from the imports of an arm to its first use, and imports grow with the language. Exit code 1 when an arm is
slower by both, or larger, than `--most` times what it was; the case `startup` measures imports by themselves.
`--keep` stores the figures in `benchmarks/history`, whose page shows all that were kept.
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
from datetime import date
from pathlib import Path

from benchmarks.history import keep
from benchmarks.machine import describe
from benchmarks.measure import ROOT, Measured, missing, reformulated, run_arm
from benchmarks.registry import CASES, Arm, Case
from benchmarks.report import table

FIGURES = ("CPU with imports", "CPU", "peak_mb")
BATCHES = 4  # of rounds: what is worse at first is measured again, as single runs vary by several percent
OURS = ("gsdsl", "startup")  # how the module of an arm of our own is called, after `by_`


def main() -> int:
    names = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("base", help="the earlier commit")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each arm by each commit, at most (default 5)")
    parser.add_argument("--fast", action="store_true", help="leave out the arms that take many seconds a run")
    parser.add_argument("--most", type=float, default=1.03, help="the largest ratio that passes (default 1.03)")
    parser.add_argument("--keep", action="store_true", help="store the figures in benchmarks/history")
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
                both = BothCommits(case, arm, earlier)
                for _ in range(BATCHES):
                    both.measure(options.rounds)
                    print(f"{case.name}, {arm.name}: {both.ratios()}", file=sys.stderr, flush=True)
                    if not both.is_worse(options.most):
                        break
                worse |= both.is_worse(options.most)
                rows.append([case.name, arm.name, *both.row()])
    header = ["case", "arm", "CPU before", "now", "ratio", "without imports", "MB before", "now", "ratio"]
    print(table(header, rows, left=(0, 1)))
    if options.keep:
        commits = {"before": abbreviated(options.base), "now": abbreviated("HEAD")}
        keep({"date": date.today().isoformat(), **commits, "machine": describe(), "rows": rows})
    return 1 if worse else 0


def abbreviated(commit: str) -> str:
    """The abbreviated name of a commit."""
    command = ["git", "rev-parse", "--short=8", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


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
    return place.with_suffix(".py").exists() or place.is_dir()


class BothCommits:
    """The samples of an arm by the earlier commit and by this checkout."""

    def __init__(self, case: Case, arm: Arm, earlier: Path) -> None:
        self.before, self.now = Measured(replace(arm)), Measured(replace(arm))
        self._rounds = case.rounds
        self._sides = [
            (measured, root, reformulated(case, root)) for measured, root in ((self.before, earlier), (self.now, ROOT))
        ]

    def measure(self, rounds: int) -> None:
        """Add samples of both; they take turns to go first."""
        for number in range(min(self._rounds or rounds, self.before.arm.repeats)):
            for measured, root, folder in self._sides if number % 2 == 0 else self._sides[::-1]:
                measured.samples.append(run_arm(measured.arm, folder, root))

    def ratio(self, figure: str) -> float:
        return self.now.figure(figure) / self.before.figure(figure)

    def ratios(self) -> str:
        return ", ".join(f"{self.ratio(figure):.3f} {figure}" for figure in FIGURES)

    def is_worse(self, most: float) -> bool:
        return max(min(self.ratio("CPU with imports"), self.ratio("CPU")), self.ratio("peak_mb")) > most

    def row(self) -> list[str]:
        cpu, memory = "CPU with imports", "peak_mb"
        return [
            f"{self.before.figure(cpu):.3f}", f"{self.now.figure(cpu):.3f}", f"{self.ratio(cpu):.3f}",
            f"{self.ratio('CPU'):.3f}",
            f"{self.before.figure(memory):.0f}", f"{self.now.figure(memory):.0f}", f"{self.ratio(memory):.3f}",
        ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
