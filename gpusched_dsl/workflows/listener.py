"""Listeners of a solve: the command line shows progress with one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from gpusched_dsl.compiling.build import Built


class Listener:
    """Receives the steps of a solve or of a comparison. This class ignores them."""

    def working_context(self) -> AbstractContextManager[object]:
        """Return the context of long work. It is entered until the problem is built, to solve it, and to find
        why jobs wait."""
        return nullcontext()

    def has_read(self, built: Built) -> None:
        """Note that the data are read."""

    def has_built(self, built: Built) -> None:
        """Note that the problem is built."""

    def begin(self, doing: str) -> None:
        """Note the start of a stage, such as a method of a comparison; "" is the solve itself."""
