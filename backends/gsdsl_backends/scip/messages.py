"""SCIP's error messages, which it writes to the terminal unless it gets a function for them.

PySCIPOpt has a function that prints them from Python, but it is called where the interpreter is released and may crash.
The function set here is of `ctypes`, which takes the interpreter first; it keeps what SCIP says for a diagnostic.
"""

from __future__ import annotations

import atexit
import ctypes
import re
import threading
from typing import Any

import pyscipopt.scip

MOST = 20  # messages of a thread; the first say what is wrong, the others through which functions it went
PLACE = re.compile(r"^\[[^\]]*\] ERROR: ")
PASSED_ON = re.compile(r"^Error <-?\d+> in function call$")

_messages = threading.local()


def take() -> tuple[str, ...]:
    """Return SCIP's messages in this thread since the last call, without positions in its source code."""
    parts: list[str] = getattr(_messages, "parts", [])
    _messages.parts = []
    lines = (PLACE.sub("", line).strip() for line in "".join(parts).splitlines())
    return tuple(line for line in lines if line and not PASSED_ON.match(line))


def _keep(data: object, file: object, message: bytes | None) -> None:
    parts: list[str] | None = getattr(_messages, "parts", None)
    if parts is None:
        parts = _messages.parts = []
    if message and len(parts) < 2 * MOST:  # the place and the message are two calls
        parts.append(message.decode(errors="replace"))


# Lives as long as the library may call it.
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(_keep)


def keep_messages() -> None:
    """Keep SCIP's error messages from the terminal, where its library can be reached.

    To be called before every use of SCIP: other code in the process may have set a function of its own since.
    """
    if _SET_PRINTING is not None:
        _SET_PRINTING(_CALLBACK, None)


def _set_printing() -> Any:
    """Return the function of SCIP's library that sets the callback; None on platforms without symbols of
    linked libraries.
    """
    try:
        found = ctypes.CDLL(pyscipopt.scip.__file__).SCIPmessageSetErrorPrinting
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found.restype = None
    atexit.register(found, None, None)
    return found


_SET_PRINTING = _set_printing()
