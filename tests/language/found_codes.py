"""Assertions on diagnostics by code, underlined text and the computed values of the message: its wording may change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import pytest

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

_NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf"
_VALUE = re.compile(rf"`([^`]+)`|(?<![\w.])({_NUMBER})(?!\w)")
_HEAD = re.compile(r"^(error|warning|note)\[(GSM\d{4})\]: (.*)$", re.MULTILINE)


class Shown(NamedTuple):
    """One diagnostic of a printed text: its severity, code, and the values of its message."""

    severity: str
    code: str
    values: tuple[str, ...]


def message_values(text: str | None) -> tuple[str, ...]:
    """The quoted names and the plain numbers of a sentence, in order: what was computed for it."""
    return tuple(quoted or number for quoted, number in _VALUE.findall(text or ""))


def shown_diagnostics(printed: str) -> list[Shown]:
    """The diagnostics in what a command printed."""
    return [Shown(severity, code, message_values(message)) for severity, code, message in _HEAD.findall(printed)]


def first_error(diagnostics: Iterable[Diagnostic]) -> Diagnostic:
    return next(each for each in diagnostics if each.severity is Severity.ERROR)


def raises_code(code: str, *named: str, at: str | None = None) -> pytest.RaisesExc[DiagnosticError]:
    """Expect a diagnostic error whose first error has this code and these values in its message.

    `at`: the text that it underlines.
    """

    def is_it(error: DiagnosticError) -> bool:
        found = first_error(error.diagnostics)
        assert found.code == code, str(error)
        assert set(named) <= set(message_values(found.message)), str(error)
        if at is not None:
            assert isinstance(found.primary, Span), str(error)
            assert found.primary.text == at, str(error)
        return True

    return pytest.raises(DiagnosticError, check=is_it)


def shows(printed: str, code: str, *named: str, severity: str = "error") -> bool:
    """Whether a command printed a diagnostic with this code, severity and these values in its message."""
    return any(
        (each.severity, each.code) == (severity, code) and set(named) <= set(each.values)
        for each in shown_diagnostics(printed)
    )
