"""Numba, loaded when a kernel is first compiled, and the folder of the user where machine code is kept."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from gpusched_dsl.ir.distributions import tables as survival_tables
from gpusched_dsl.language.blocks.policies import rule_table

ENTRY = "_entry"  # the end of the names of functions with an entry for Python

# Called before a kernel is compiled while its caller waits.
announcements: list[Callable[[], None]] = []
# Called with Numba's module of events when Numba has been loaded.
when_loaded: list[Callable[[Any], None]] = []


class NotCompiled(Exception):
    """There is no machine code for arguments of these types."""


@functools.cache
def cache_folder() -> Path:
    """Where machine code is kept: a folder of its own for each version of the kernels.

    Numba looks at the file of a function alone to tell whether what it kept is stale, not at the files of the functions
    that it calls; the name of the folder depends on all of them, on the tables whose rows number the rules, and on the
    constants of survival functions.
    """
    package = Path(__file__).parent.parent
    folders = (Path(__file__).parent, _package("gsdsl_backends") / "search" / "kernels")
    sources = b"".join(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py")))
    arrays = (package / "workload.py", package / "gangs" / "workload.py")
    read = (*arrays, package / "rules.py", Path(rule_table.__file__), Path(survival_tables.__file__))
    sources += b"".join(path.read_bytes() for path in read)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        base = str(Path("~/Library/Caches" if sys.platform == "darwin" else "~/.cache").expanduser())
    return Path(base) / "gsdsl" / f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"


def _package(name: str) -> Path:
    """The folder of a package, which is not imported."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def may_be_kept(function: Callable[..., Any]) -> bool:
    """Return whether machine code of a function may be kept, without loading Numba."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return True
    stem = function.__module__.rpartition(".")[2]
    return any(cache_folder().glob(f"*/{stem}.{function.__name__}{ENTRY}-*.nbi"))


def is_kept(entry: Any, signature: tuple[Any, ...]) -> bool:
    """Return whether machine code for these types of arguments is kept."""
    try:
        cache = entry._cache
        key = cache._index_key(signature, entry.targetctx.codegen())
        return key in cache._cache_file._load_index()
    except (AttributeError, TypeError, OSError):  # nothing can be kept, or another version of Numba keeps it otherwise
        return False


def announce(entry: Any, signature: tuple[Any, ...]) -> None:
    """Tell those who want to know that the caller now waits for the compiler."""
    if announcements and not is_kept(entry, signature):
        for tell in announcements:
            tell()


def never_compiling_by_itself(entry: Any) -> Any:
    """Let an entry raise `NotCompiled` for unknown types of arguments."""

    def refuse(*_arguments: Any, **_more: Any) -> Any:
        raise NotCompiled

    entry._compile_for_args = refuse
    return entry


class Callee:
    """A function that compiled functions may call: `inner` is its compiled form."""

    inner: Any


@functools.cache
def without_reference_counts() -> dict[str, bool]:
    """Return the option of the compiler by which a function counts no references to arrays; none if it has no such."""
    targets = import_module("numba.core.cpu")
    return {"_nrt": False} if hasattr(targets.CPUTargetOptions, "_nrt") else {}


@functools.cache
def compiler() -> Callable[..., Any]:
    """Return the compiler of functions, with a cache on disk if possible."""
    import numba
    from numba.extending import typeof_impl

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

    @typeof_impl.register(Callee)
    def type_of(callee: Callee, _context: object) -> object:
        return numba.types.Dispatcher(callee.inner)

    for tell in when_loaded:
        tell(import_module("numba.core.event"))
    return compile_
