"""Tests of this folder run HiGHS on the thread of the test, which other tests have used."""

from __future__ import annotations

import pytest

from gsdsl_backends.highs.quiet import QuietHighs


@pytest.fixture(autouse=True)
def fresh_scheduler() -> None:
    """Forget the scheduler of HiGHS: it fixes the number of threads at its start, and a run with another number fails.

    The product starts a thread for each decomposed solve; a test of one part has none of its own.
    """
    QuietHighs.resetGlobalScheduler(False)
