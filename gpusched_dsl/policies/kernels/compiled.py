"""Kernels run as plain Python until machine code is worth its time, which another process compiles meanwhile.

Both give the same results to the last bit, so it does not matter when a kernel changes over. Numba takes 0.2 s to load
and up to a minute to compile kernels, while plain Python places 10,000 jobs in five seconds. So Numba is loaded when a
kernel has run for a while. Machine code that is kept from an earlier run is loaded then; otherwise a child process
compiles it. The kernel changes over at the first call after that, a long call also in its middle: it begins again with
machine code (`changeover.py`). Only arguments that are too large to be copied for that wait for the compiler.

With GSDSL_PYTHON_KERNELS=1 kernels stay plain Python, with GSDSL_COMPILED_KERNELS=1 they are compiled before they run.
Kernels that would take minutes as plain Python are always compiled.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from gpusched_dsl.policies.kernels import background, changeover, machine_code

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")

# Entries of all arrays of a call. Beyond the first, kept machine code is loaded at once, and a plain call can change
# over in its middle; beyond the second, a call waits for the compiler. 40 jobs on nine types of node have 6,000
# entries, 1,000 jobs 250,000.
LOADED_FROM: Final = 20_000
COMPILED_FROM: Final = 20_000_000
# Seconds of plain Python after which kept machine code is loaded, after which other is compiled in the background, and
# after which a call compiles itself, because the background has failed or other processes leave it no time.
LOADED_AFTER: Final = 0.05
REQUESTED_AFTER: Final = 0.2
COMPILED_AFTER: Final = 60.0
# Seconds of plain Python of a kernel after which the background finishes its work even if this process ends before.
WORTH_KEEPING_AFTER: Final = 2.0

_lock = threading.RLock()
_ready_seconds = 0.0


def ready_seconds() -> float:
    """Return the seconds so far in which kernels were loaded or compiled while their callers waited."""
    return _ready_seconds


class Kernel(machine_code.Callee):
    """A function for two kinds of callers: `py_func` compiled with the entry that Python needs, and without.

    The entry takes all arrays of a workload apart, which takes the compiler far longer than most functions themselves,
    so that functions called by other kernels alone go without (`inner`).

    Compiled functions count the references to each array that they pass on, with atomic instructions: for 40 arrays of
    a workload and a schedule more than placing a job takes. A function `in_place` neither creates nor returns arrays,
    and calls only such functions; then its caller keeps all arrays alive, and nothing needs to be counted.

    An array is passed on as seven words, a workload as 200, on the stack: for what is called for each job, as much work
    as the function itself. A function `inline` becomes a part of the functions that call it.
    """

    def __init__(
        self, function: Callable[..., Any], at_once: bool = False, in_place: bool = False, inline: bool = False
    ) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)
        self.is_in_place = in_place
        self._is_inline = inline
        self._at_once = at_once or bool(os.environ.get("GSDSL_COMPILED_KERNELS"))
        self._entry: Any = None
        self._is_ready = False  # whether the entry has machine code for some types of arguments
        self._plain: dict[bool, Callable[..., Any]] = {}  # without and with `changeover.watched_range`
        self._seconds = 0.0  # of plain Python
        self._may_be_kept: bool | None = None
        self._request: background.CompileRequest | None = None

    @functools.cached_property
    def inner(self) -> Any:
        """The function compiled for other kernels."""
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        if self.is_in_place:
            options |= machine_code.without_reference_counts()
        if self._is_inline:
            options |= {"forceinline": True}
        return machine_code.compiler()(self.py_func, **options)

    def __call__(self, *arguments: Any) -> Any:
        return self.call(arguments, None)

    def call(self, arguments: tuple[Any, ...], otherwise: Callable[[], Any] | None) -> Any:
        """Run machine code if there is some or it is worth its time, else `otherwise`, or the function as it is."""
        if self._is_ready:
            try:
                return self._entry(*arguments)
            except machine_code.NotCompiled:  # for arguments of these types
                pass
        entries = _entries(arguments)
        if self._at_once or (entries > COMPILED_FROM and otherwise is None) or self._loads(arguments, entries):
            return self._machine_code(arguments)(*arguments)
        before = time.perf_counter()
        try:
            with np.errstate(all="ignore"):  # as in compiled code
                if otherwise is not None:
                    return otherwise()
                if entries > LOADED_FROM:
                    return self._plain_or_changed_over(arguments)
                return self._plain_function()(*arguments)
        finally:
            self._seconds += time.perf_counter() - before
            self._request_in_time(arguments, 0.0)

    def _request_in_time(self, arguments: tuple[Any, ...], seconds: float) -> None:
        """Have machine code compiled in the background after enough plain Python, `seconds` of it in this call."""
        seconds += self._seconds
        if self._request is None and seconds > REQUESTED_AFTER and not self._may_be_kept:
            self._request = background.request(self, self.signature(arguments))
        if self._request is not None and seconds > WORTH_KEEPING_AFTER:
            self._request.outlive()

    def _plain_or_changed_over(self, arguments: tuple[Any, ...]) -> Any:
        """Run plain Python until it is done or machine code is ready, which then begins again."""
        try:
            saved = changeover.saved(arguments)
        except changeover.NotRestorable:
            return self._plain_function()(*arguments)
        before = time.perf_counter()

        def is_time() -> bool:
            seconds = time.perf_counter() - before
            self._request_in_time(arguments, seconds)
            return self._request is not None and self._has_answer(self._request, self._seconds + seconds)

        try:
            with changeover.watched(is_time):
                return self._plain_function(watched=True)(*arguments)
        except changeover.ChangeOver:
            changeover.restore(arguments, saved)
        return self._machine_code(arguments)(*arguments)

    def _loads(self, arguments: tuple[Any, ...], entries: int) -> bool:
        """Return whether there is machine code for a call that could be plain, and it is time to load it."""
        if self._request is not None:
            if not self._has_answer(self._request, self._seconds):
                return False
            if not self._request.is_done() or self._request.has_failed:
                return True
            self._request = None
            return machine_code.is_kept(self.entry(), self.signature(arguments))
        if self._may_be_kept is None:
            self._may_be_kept = machine_code.may_be_kept(self.py_func)
        if not self._may_be_kept or (self._seconds < LOADED_AFTER and entries < LOADED_FROM):
            return False
        self._may_be_kept = machine_code.is_kept(self.entry(), self.signature(arguments))
        return self._may_be_kept

    def _has_answer(self, request: background.CompileRequest, seconds: float) -> bool:
        """Return whether machine code is there, or is worth waiting for after `seconds` of plain Python."""
        return seconds > COMPILED_AFTER or (request.is_done() and not request.has_failed)

    def signature(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the compiler's types of arguments."""
        return tuple(self.entry().typeof_pyval(argument) for argument in arguments)

    def entry(self) -> Any:
        """The function compiled for Python; it compiles by `compile(signature)` alone."""
        with _lock:
            if self._entry is None:
                own = self.py_func
                copy = types.FunctionType(
                    own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__
                )
                copy.__qualname__ = (
                    own.__qualname__ + machine_code.ENTRY
                )  # what is kept of the two must not be mixed up
                copy.__module__ = own.__module__
                self._entry = machine_code.never_compiling_by_itself(machine_code.compiler()(copy))
            return self._entry

    def _machine_code(self, arguments: tuple[Any, ...]) -> Any:
        """The entry with machine code for the types of these arguments."""
        global _ready_seconds
        with _lock:
            before = time.perf_counter()
            entry = self.entry()
            signature = self.signature(arguments)
            if signature not in entry.overloads:
                machine_code.announce(entry, signature)
                entry.compile(signature)
            self._is_ready = True
            _ready_seconds += time.perf_counter() - before
            return entry

    def _plain_function(self, watched: bool = False) -> Callable[..., Any]:
        if watched not in self._plain:
            self._plain[watched] = _plain(self.py_func, watched)
        return self._plain[watched]


_plain_globals: dict[tuple[str, bool], dict[str, Any]] = {}


def _plain(function: Callable[..., Any], watched: bool) -> Callable[..., Any]:
    """Return a function that calls plain functions where it would call kernels, so that none decides anew."""
    assert isinstance(function, types.FunctionType)
    with _lock:
        key = (function.__module__, watched)
        known = _plain_globals.get(key)
        if known is None:
            known = _plain_globals[key] = dict(function.__globals__)
            if watched:
                known["range"] = changeover.watched_range
            for name, value in function.__globals__.items():
                if isinstance(value, Kernel):
                    known[name] = value._plain_function(watched)
        return types.FunctionType(
            function.__code__, known, function.__name__, function.__defaults__, function.__closure__
        )


def _entries(arguments: tuple[Any, ...]) -> int:
    """Return the number of entries of all arrays in arguments."""
    total = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            total += argument.size
        elif isinstance(argument, tuple):
            total += _entries(argument)
    return total


def machine_code_or(otherwise: Callable[[], _Result], kernel: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a kernel that has machine code or is worth compiling, else `otherwise`, which computes the same with arrays.

    As plain Python such a kernel would be slower than those arrays.
    """
    if not isinstance(kernel, Kernel):
        return otherwise()
    result: _Result = kernel.call(arguments, otherwise)
    return result


def _has_compiler() -> bool:
    return importlib.util.find_spec("numba") is not None


if TYPE_CHECKING:

    def compiled(function: _Function) -> _Function:
        """Compile when it is worth it. The function must not be called by keywords."""
        return function

    def compiled_at_once(function: _Function) -> _Function:
        """Compile on the first call."""
        return function

    def compiled_always(function: _Function) -> _Function:
        """Compile on the first call, also where kernels stay plain Python."""
        return function

    def compiled_in_place(function: _Function) -> _Function:
        """Compile when it is worth it, for kernels that neither create nor return arrays, nor call one that does."""
        return function

    def compiled_inline(function: _Function) -> _Function:
        """Compile like `compiled_in_place`, as a part of each caller: for kernels that are called for each job."""
        return function

else:
    _COMPILES = not os.environ.get("GSDSL_PYTHON_KERNELS") and _has_compiler()

    def compiled(function):
        return Kernel(function) if _COMPILES else function

    def compiled_at_once(function):
        return Kernel(function, at_once=True) if _COMPILES else function

    def compiled_always(function):
        return Kernel(function, at_once=True) if _has_compiler() else function

    def compiled_in_place(function):
        return Kernel(function, in_place=True) if _COMPILES else function

    def compiled_inline(function):
        return Kernel(function, in_place=True, inline=True) if _COMPILES else function
