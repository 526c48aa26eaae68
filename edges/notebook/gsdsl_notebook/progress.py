"""Progress of solves and runs below a cell."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Final

from gpusched_dsl.cli.progress import ProgressMonitor
from gpusched_dsl.cli.run import RunProgressMonitor
from gsdsl_notebook.frontend import Area, open_area

SECONDS: Final = 0.25  # between two updates


class NotebookProgress(RunProgressMonitor):
    """The `monitor` of a solve or comparison; `observe` is the `tell` of a run."""

    def __init__(self, time_limit: float | None = None) -> None:
        super().__init__(lambda text: None)
        self.time_limit = time_limit

    @property
    def fraction(self) -> float | None:
        """The finished jobs of a run, or the used time if there is a limit; None if neither is known."""
        if self.reader is not None:
            current = self.reader.read()
            jobs = current.done + current.there + current.to_come
            return current.done / jobs if jobs else None
        if not self.time_limit:
            return None
        return min(1.0, (time.perf_counter() - self.start_time) / self.time_limit)

    def html(self) -> str:
        """A bar, if the fraction is known, and the line of the terminal."""
        fraction = self.fraction
        bar = "" if fraction is None else f'<progress value="{fraction:.3f}" style="width: 12em"></progress> '
        return f'{bar}<span style="font-variant-numeric: tabular-nums; white-space: pre">{escape(self.line())}</span>'

    def _progress_text(self, seconds: float) -> str:
        if self.reader is None:
            return ProgressMonitor._progress_text(self, seconds)
        return super()._progress_text(seconds)

    def _seconds_left(self, seconds: float) -> str:
        if self.reader is None:
            return ProgressMonitor._seconds_left(self, seconds)
        return super()._seconds_left(seconds)


@contextmanager
def progress(time_limit: float | None = None) -> Iterator[NotebookProgress]:
    """Show progress below the cell until the end of the block, and remove it then.

    `with progress() as watch: model.solve(monitor=watch)`, or `model.run(tell=watch.observe)`. With `time_limit`, in
    seconds, it has a bar. Outside notebooks nothing is shown.
    """
    watch, area = NotebookProgress(time_limit), open_area()
    if area is None:
        yield watch
        return
    ended = threading.Event()
    updates = area.thread(lambda: _update(area, watch, ended))
    updates.start()
    try:
        yield watch
    finally:
        ended.set()
        updates.join()


def _update(area: Area, watch: NotebookProgress, ended: threading.Event) -> None:
    """Show the progress until the end; nothing if the work takes less time than one update."""
    shown = False
    while not ended.wait(SECONDS):
        area.show(watch.html(), watch.line())
        shown = True
    if shown:
        area.show("", "")
