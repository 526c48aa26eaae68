"""Numba where it can be had and its cache written; the same functions as plain Python otherwise."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Where machine code is kept: a folder of its own for each version of the kernels.

    Numba looks at the file of a function alone to tell whether what it kept is stale, not at the files of the functions
    that it calls; the name of the folder depends on all of them.
    """
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    sources += (Path(__file__).parent.parent / "workload.py").read_bytes()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        base = str(Path("~/Library/Caches" if sys.platform == "darwin" else "~/.cache").expanduser())
    return Path(base) / "gsdsl" / f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"


def _compiler() -> Callable[[Any], Any] | None:
    """`numba.njit` with its cache on disk, if there is a place for one; None if GSDSL_PYTHON_KERNELS is set."""
    if os.environ.get("GSDSL_PYTHON_KERNELS"):
        return None
    try:
        import numba
    except ImportError:
        return None
    cached = True
    if "NUMBA_CACHE_DIR" not in os.environ:
        folder = cache_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            setattr(numba.config, "CACHE_DIR", str(folder))  # noqa: B010 (unknown to its types)
        except OSError:  # a read-only installation without a home
            cached = False

    def compile_(function: Any) -> Any:
        try:
            return numba.njit(cache=cached, nogil=True)(function)
        except RuntimeError:  # no place for a cache
            return numba.njit(nogil=True)(function)

    return compile_


if TYPE_CHECKING:

    def compiled(function: _Function) -> _Function:
        """Compile on the first call."""
        return function

else:
    _COMPILE = _compiler()

    def compiled(function):
        return function if _COMPILE is None else _COMPILE(function)
