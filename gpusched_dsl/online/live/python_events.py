"""Events of a Python program, with numbers of NumPy and tuples as subscripts, as events of a live run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
import numpy as np

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import VERSION, AnyEvent, event_of


def python_event(event: AnyEvent | Mapping[str, Any], id: str) -> AnyEvent:
    """Return an event from a program, checked as a line is; `id` is its id if it has none.

    Raises DiagnosticError: GSM5204 for a NaN and for values that no event has, and as `event_of` does.
    """
    if not isinstance(event, Mapping | msgspec.Struct):
        message = f"an event is a dictionary, not a value of type `{type(event).__name__}`"
        raise DiagnosticError([Diagnostic("GSM5204", message)])
    content = event if isinstance(event, Mapping) else _fields(event) | {"kind": event.__struct_config__.tag}
    return event_of(_plain({"version": VERSION, "id": id, **content}, ""))


def fingerprint(event: AnyEvent) -> str:
    """Return a text that is equal for events with the same id and content only."""
    return f"{event.id}\0{msgspec.json.encode(event, order='sorted').decode()}"


def _fields(value: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _plain(value: Any, at: str) -> Any:
    """Return a value with the types of JSON; `at` is its place in the event."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    match value:
        case msgspec.Struct():
            return _plain(_fields(value), at)
        case Mapping():
            if any(isinstance(key, tuple) for key in value):
                return [[*_subscripts(key, at), _plain(one, at)] for key, one in value.items()]
            return {_key(key, at): _plain(one, f"{at}.{key}" if at else str(key)) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one, at) for one in value]
        case float() if math.isnan(value):
            _refuse(f"`{at}` is NaN", "leave it out if it is unknown")
    return value


def _subscripts(key: Any, at: str) -> list[Any]:
    return [_plain(one, at) for one in (key if isinstance(key, tuple) else (key,))]


def _key(key: Any, at: str) -> str:
    """Return a key as text: integers are labels too."""
    key = key.item() if isinstance(key, np.generic) else key
    if not isinstance(key, str | int) or isinstance(key, bool):
        _refuse(f"`{at}` has the key {key!r}", "keys are labels, or tuples of labels")
    return str(key)


def _refuse(message: str, help: str) -> NoReturn:
    raise DiagnosticError([Diagnostic("GSM5204", f"the event does not fit: {message}", help=help)])
