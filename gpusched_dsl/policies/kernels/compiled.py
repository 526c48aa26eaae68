"""Numba where it can be had and its cache written; the same functions as plain Python otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiler() -> Callable[[Any], Any] | None:
    """`numba.njit` with its cache on disk, if there is a place for one; None if GSDSL_PYTHON_KERNELS is set."""
    if os.environ.get("GSDSL_PYTHON_KERNELS"):
        return None
    try:
        import numba
    except ImportError:
        return None

    def compile_(function: Any) -> Any:
        try:
            return numba.njit(cache=True, nogil=True)(function)
        except RuntimeError:  # a read-only installation without a home: no place for a cache
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
