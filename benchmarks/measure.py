"""Runs the arms of a case, interleaved, each run in a fresh process, and keeps every sample."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.packages import ROOT, search_path
from benchmarks.registry import Arm, Case

RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Sample:
    """One run: wall and CPU seconds per phase, peak resident memory in MB, and facts about what was made."""

    phases: dict[str, float]
    cpu_phases: dict[str, float]
    peak_mb: float
    facts: dict[str, float]

    @property
    def seconds(self) -> float:
        """Wall seconds without imports."""
        return sum(seconds for phase, seconds in self.phases.items() if phase != "import")

    @property
    def cpu(self) -> float:
        """CPU seconds without imports."""
        return sum(seconds for phase, seconds in self.cpu_phases.items() if phase != "import")

    @property
    def cpu_with_imports(self) -> float:
        return sum(self.cpu_phases.values())

    @property
    def imports(self) -> float:
        return self.phases.get("import", 0.0)


@dataclass
class Measured:
    """The samples of one arm, or why there are none."""

    arm: Arm
    samples: list[Sample] = field(default_factory=list)
    skipped: str | None = None

    @property
    def best(self) -> Sample:
        return min(self.samples, key=lambda sample: sample.seconds)

    @property
    def median(self) -> float:
        return statistics.median(sample.seconds for sample in self.samples)

    def figure(self, name: str) -> float:
        """The least over the runs of a figure (see `Target`)."""
        return min(self._figure_of(sample, name) for sample in self.samples)

    @staticmethod
    def _figure_of(sample: Sample, name: str) -> float:
        if name == "peak_mb":
            return sample.peak_mb
        if name == "seconds":
            return sample.seconds
        if name == "CPU":
            return sample.cpu
        if name == "CPU with imports":
            return sample.cpu_with_imports
        if name == "gap":
            return sample.facts.get("gap", math.inf)
        phase = name.removeprefix("CPU ")
        return (sample.phases if phase == name else sample.cpu_phases)[phase]


def missing(arm: Arm) -> str | None:
    """What an arm needs and this machine lacks."""
    for need in arm.needs:
        program = need.removeprefix("program:")
        found = shutil.which(program) if program != need else importlib.util.find_spec(need)
        if not found:
            return f"{program} is not installed"
    return None


def run_python(arguments: Sequence[str], root: Path = ROOT) -> str:
    """Standard output of `python -m ...` from a checkout's folder; raises CalledProcessError, its stderr shown.

    Kernels are compiled before they run: the steady state is measured, not how far a compilation has come. So are
    modules, kept for later runs whatever the environment says.
    """
    command = [sys.executable, "-m", *arguments]
    environment = {**os.environ, "GSDSL_COMPILED_KERNELS": "1"}
    environment["PYTHONPATH"] = search_path(root)  # of the checkout, also for the commands of an arm
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_arm(arm: Arm, folder: Path, root: Path = ROOT) -> Sample:
    """One run of an arm by the code of the checkout at `root`, on the data in `folder`."""
    output = run_python(["benchmarks.child", arm.module, str(folder), *arm.arguments], root)
    return Sample(**json.loads(output.splitlines()[-1]))


def reformulated(case: Case, root: Path = ROOT) -> Path:
    """The folder with the data of a case, made by the code of the checkout at `root`."""
    folder = root / RESULTS.relative_to(ROOT) / "data" / case.name
    folder.mkdir(parents=True, exist_ok=True)
    if case.prepare:
        run_python([case.prepare[0], str(folder), *case.prepare[1:]], root)
    return folder


def measure(case: Case, rounds: int, slow: bool, say: Callable[[str], None]) -> list[Measured]:
    """Every arm `min(rounds, arm.repeats)` times, in turns, so that a busy minute of the machine meets all of them."""
    folder = reformulated(case)
    measured = []
    for arm in case.arms:
        skipped = missing(arm) or ("slow arm left out" if arm.slow and not slow else None)
        measured.append(Measured(arm, skipped=skipped))
    for number in range(case.rounds or rounds):
        for one in measured:
            if one.skipped is None and number < one.arm.repeats:
                one.samples.append(run_arm(one.arm, folder))
                say(f"{case.name}: {one.arm.name}, run {number + 1}: {one.samples[-1].seconds:.3f} s")
    return measured
