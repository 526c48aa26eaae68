"""Reads the names, integers and media types of requests: one function for each, so that all are checked alike."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

UNFIT = "GSM5505"
SHOWN = 80  # characters of a refused value
JSON, LINES = "application/json", "application/x-ndjson"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_INTEGER = re.compile(r"[0-9]+")


def session_name(text: str) -> str:
    """Return the name of a session, which is also the name of its files. Raises DiagnosticError (GSM5505)."""
    if not _NAME.fullmatch(text):
        help = "use at most 63 letters, digits, `_`, `.` and `-`, and begin with a letter or digit"
        raise unfit(f"`{text[:SHOWN]}` cannot be the name of a session", help)
    return text


def integer(name: str, texts: Sequence[str], default: int, most: int) -> int:
    """Return a parameter of a query, from 1 to `most`; `texts` are its values. Raises DiagnosticError (GSM5505)."""
    if not texts:
        return default
    digits = texts[0].lstrip("0") if len(texts) == 1 and _INTEGER.fullmatch(texts[0]) else ""
    if not digits or len(digits) > len(str(most)) or int(digits) > most:
        shown = ", ".join(f"`{text[:SHOWN]}`" for text in texts[:3])
        raise unfit(f"`{name}` must be an integer from 1 to {most}, not {shown}")
    return int(digits)


def media_type(texts: Sequence[str]) -> str:
    """Return the media type of the values of `Content-Type`, without parameters; empty if there is not one value."""
    return texts[0].partition(";")[0].strip().lower() if len(texts) == 1 else ""


def unfit(message: str, help: str | None = None) -> DiagnosticError:
    """Return GSM5505: the request does not fit."""
    return DiagnosticError([Diagnostic(UNFIT, message, help=help)])
