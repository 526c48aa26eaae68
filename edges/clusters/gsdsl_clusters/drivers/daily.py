"""Writes the report of a run after each day, in a process of its own: comparing may take longer than a plan may."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

REPORTS = "reports"  # the folder of the pages, within that of the records


@dataclass
class DailyReports:
    """A page and a text `2027-01-15.html`, `.txt` in `folder` for each day by the local clock, about the run so far.

    `command` makes the report, without the option of the page; `tell` is called with the outcome: whether the page was
    written, and a message.
    """

    folder: Path
    command: Sequence[str]
    tell: Callable[[bool, str], None]
    _today: date | None = None
    _running: tuple[date, subprocess.Popen[bytes]] | None = None

    def observed(self, now: float) -> None:
        """Start the report of a day after its end; `now` is in seconds since 1970.

        The first call makes up for a page that is missing because no process ran at the end of the day.
        """
        self._finish()
        today = datetime.fromtimestamp(now).date()
        if self._today is None:
            last = max((date.fromisoformat(page.stem) for page in self.folder.glob("????-??-??.html")), default=None)
            self._today = today if last is None else last + timedelta(days=1)
        if self._running is None and today > self._today:
            self._today = today
            self._start(today - timedelta(days=1))

    def wait(self) -> None:
        """Wait for a report that is being made."""
        if self._running is not None:
            self._running[1].wait()
            self._finish()

    def close(self) -> None:
        """End a report that is being made."""
        if self._running is not None:
            self._running[1].terminate()
            self.wait()

    def _start(self, day: date) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._file(day, "txt").open("wb") as text:
                words = [*self.command, "--html", str(self._file(day, "html"))]
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=text, stderr=subprocess.STDOUT)
        except OSError as failure:
            self.tell(False, f"there is no report of {day}: {failure.strerror}")
            return
        if sys.platform != "win32":
            os.setpriority(os.PRIO_PROCESS, process.pid, 10)  # plans come first
        self._running = day, process

    def _finish(self) -> None:
        """Tell how a report has ended, if it has."""
        if self._running is None or (code := self._running[1].poll()) is None:
            return
        day, _ = self._running
        self._running = None
        if code == 0:
            self.tell(True, f"the report of {day} is {self._file(day, 'html')}")
        elif code > 0:  # otherwise it was ended by a signal
            self.tell(False, f"there is no report of {day}: {self._file(day, 'txt')} has the reason")

    def _file(self, day: date, kind: str) -> Path:
        return self.folder / f"{day.isoformat()}.{kind}"


def report_command(cluster_file: Path, *, outside: bool) -> list[str]:
    """The command that makes a report of a cluster file."""
    words = [sys.executable, "-P", "-m", "gpusched_dsl", "drive", str(cluster_file.resolve()), "--report"]
    return [*words, "--allow-outside"] if outside else words
