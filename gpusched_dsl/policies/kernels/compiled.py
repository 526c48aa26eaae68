"""Numba where it can be had and its cache written; the same functions as plain Python otherwise."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpusched_dsl.language.blocks.policies import rule_table

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Where machine code is kept: a folder of its own for each version of the kernels.

    Numba looks at the file of a function alone to tell whether what it kept is stale, not at the files of the functions
    that it calls; the name of the folder depends on all of them, and on the tables whose rows number the rules.
    """
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    package = Path(__file__).parent.parent
    arrays = (package / "workload.py", package / "gangs" / "workload.py")
    tables = (*arrays, package / "rules.py", Path(rule_table.__file__))
    sources += b"".join(path.read_bytes() for path in tables)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        base = str(Path("~/Library/Caches" if sys.platform == "darwin" else "~/.cache").expanduser())
    return Path(base) / "gsdsl" / f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"


class Kernel:
    """A function for two kinds of callers: `py_func` compiled with the entry that Python needs, and without.

    The entry takes all arrays of a workload apart, which takes the compiler far longer than most functions themselves,
    so that functions called by other kernels alone go without.
    """

    def __init__(self, function: Callable[..., Any], compile_: Callable[..., Any]) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)
        self.inner = compile_(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
        self._compile = compile_
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._entry is None:
            own = self.py_func
            copy = types.FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
            copy.__qualname__ = f"{own.__qualname__}_entry"  # what is kept of the two must not be mixed up
            copy.__module__ = own.__module__
            self._entry = self._compile(copy)
        return self._entry(*arguments)


def _compiler() -> Callable[[Any], Any] | None:
    """Return a compiler of kernels with a disk cache if possible; None if GSDSL_PYTHON_KERNELS is set."""
    if os.environ.get("GSDSL_PYTHON_KERNELS"):
        return None
    try:
        import numba
        from numba.extending import typeof_impl
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

    def compile_(function: Any, **options: bool) -> Any:
        try:
            return numba.njit(cache=cached, nogil=True, **options)(function)  # type: ignore[call-overload]
        except RuntimeError:  # no place for a cache
            return numba.njit(nogil=True, **options)(function)  # type: ignore[call-overload]

    @typeof_impl.register(Kernel)
    def type_of(kernel: Kernel, _context: object) -> object:
        return numba.types.Dispatcher(kernel.inner)

    return lambda function: Kernel(function, compile_)


if TYPE_CHECKING:

    def compiled(function: _Function) -> _Function:
        """Compile on the first call. The function must not be called by keywords."""
        return function

else:
    _COMPILE = _compiler()

    def compiled(function):
        return function if _COMPILE is None else _COMPILE(function)
