"""The listener of the commands that solve: it shows their progress."""

from __future__ import annotations

from contextlib import AbstractContextManager

from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, watch_progress
from gpusched_dsl.workflows.listener import Listener


class ProgressListener(Listener):
    """Shows the progress of long work in one line if `shown`, and handles Ctrl-C meanwhile."""

    def __init__(self, output: Output, watch: ProgressMonitor, *, show: bool = True) -> None:
        self.output, self.watch = output, watch
        self.shows = show and output.shows_progress

    def working_context(self) -> AbstractContextManager[object]:
        return watch_progress(self.output, show=self.shows, watch=self.watch)

    def begin(self, doing: str) -> None:
        self.watch.begin(doing)
