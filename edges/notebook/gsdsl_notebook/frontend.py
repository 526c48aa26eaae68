"""The front end that shows the output of this process: Jupyter, marimo, or none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol


class Area(Protocol):
    """A place below the cell whose content changes while the cell runs."""

    def show(self, html: str, text: str) -> None:
        """Replace the content; `text` is for front ends without HTML."""
        ...

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        """Return a thread that may call `show`."""
        ...


def in_marimo() -> bool:
    """Whether a cell of a marimo notebook runs."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def open_area() -> Area | None:
    """Return an area below the running cell; None outside notebooks."""
    if in_marimo():
        return MarimoArea()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return JupyterArea() if getattr(shell, "kernel", None) is not None else None


class JupyterArea:
    """An output of Jupyter that is updated by its identifier."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, html: str, text: str) -> None:
        from IPython.display import display

        bundle = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        # the context has the cell that outputs belong to
        return threading.Thread(target=copy_context().run, args=(target,), daemon=True)


class MarimoArea:
    """The output of the cell, which its value replaces at the end."""

    def show(self, html: str, text: str) -> None:
        import marimo

        marimo.output.replace(marimo.Html(html or "<span></span>"))

    def thread(self, target: Callable[[], None]) -> threading.Thread:
        import marimo

        return marimo.Thread(target=target, daemon=True)
