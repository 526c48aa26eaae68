"""The log: start and end of solves at INFO, short phases at DEBUG, nothing without a listener."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import gpusched_dsl as gs
from gpusched_dsl.ir import log

TEXT = "model M { var x >= 0 <= 3; maximize f: x; constraint c: x <= 2; } scenario S for M { }"


def test_a_solve_writes_its_phases(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="gpusched_dsl"):
        gs.loads(TEXT).solve()
    lines = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert (logging.INFO, "M, scenario S with highs: starts") in lines
    assert any(
        level == logging.INFO and text.startswith("M, scenario S with highs: optimal, 2, ") for level, text in lines
    )
    assert any(level == logging.DEBUG and text.startswith("grounding: ") for level, text in lines)


def test_long_phases_are_at_info(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LONG", 0.0)
    with caplog.at_level(logging.INFO, logger="gpusched_dsl"), log.log_phase("work"):
        pass
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["work"]


def test_nothing_is_printed_without_a_listener() -> None:
    """A NullHandler is attached, and a program without `logging` does not import it."""
    code = "from gpusched_dsl.ir import log, deadline; import sys; "
    code += "assert 'logging' not in sys.modules; log.log('a'); import logging; log.log('b'); "
    code += "print(logging.getLogger('gpusched_dsl').handlers)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[<NullHandler (NOTSET)>]", "")
