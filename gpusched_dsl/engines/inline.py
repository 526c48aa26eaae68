"""The engine in this process: one run after the other, for debugging and small campaigns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType

from gpusched_dsl.engines.protocol import BROKEN, Done, Failure, Shared, Stop, Work
from gpusched_dsl.engines.shared_data import keep
from gpusched_dsl.engines.worker import function_named


class InlineEngine:
    """Calls the function here: nothing limits its memory, and a crash of a solver ends the campaign."""

    name = "inline"
    workers = 1

    def __enter__(self) -> InlineEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(
        self, function: str, work: Sequence[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        if shared is not None:
            keep(shared)
        for each in work:
            if stop():
                return
            try:
                result: bytes | Failure = function_named(function)(each.message)
            except KeyboardInterrupt:  # Ctrl-C stopped a solver
                return
            except Exception as failure:
                result = Failure(BROKEN, f"{type(failure).__name__}: {failure}")
            yield Done(each.key, result)

    def close(self) -> None:
        """Do nothing: there are no workers."""
