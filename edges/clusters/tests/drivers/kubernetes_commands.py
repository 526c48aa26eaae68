"""Runs commands of a page of the documentation: `kubectl` as an administrator, `gsdsl` as a user would."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gsdsl_clusters.drivers.drive import ORIGIN

GSDSL = (sys.executable, "-m", "gpusched_dsl")


@dataclass
class Commands:
    """`folder` is where commands run, `admin` the kubeconfig of `kubectl`. `seconds` has the time of each command."""

    folder: Path
    admin: Path
    seconds: dict[str, float] = field(default_factory=dict)

    def kubectl(self, command: str) -> None:
        words = ["bash", "-c", f'kubectl() {{ command kubectl --kubeconfig "{self.admin}" "$@"; }}\n{command}']
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (command, done.stderr)

    def gsdsl(self, command: str, folder: Path | None = None) -> str:
        began = time.monotonic()
        words = [*GSDSL, *command.split()[1:]]
        done = subprocess.run(
            words, cwd=folder or self.folder, text=True, capture_output=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        self.seconds[command] = time.monotonic() - began
        return done.stdout

    @contextmanager
    def running(self, command: str, records: str, folder: Path | None = None) -> Iterator[Path]:
        """A command that runs during the block, from when its run has begun, and is stopped by SIGTERM; its output."""
        place = folder or self.folder
        log = self.folder / f"{records}.log"
        with log.open("w") as file:
            started = subprocess.Popen([*GSDSL, *command.split()[1:]], cwd=place, stdout=file, stderr=file)
        try:
            wait_for((place / records / ORIGIN).exists, log)
            yield log
        finally:
            started.send_signal(signal.SIGTERM)
            assert started.wait(120) == 0, log.read_text()


def wait_for(condition: Callable[[], bool], log: Path, seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.5)
