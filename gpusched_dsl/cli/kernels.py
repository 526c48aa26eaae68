"""What a command tells of compiling the kernels of policies: that it takes a while, and that it does so once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpusched_dsl.cli.output import Output
from gpusched_dsl.reporting.numbers import seconds_text

LEAST_SECONDS = 1.0  # less is not worth a word, and is mostly the reading of the cache


def kept_kernels() -> int:
    """How many compiled kernels the cache holds; 0 where kernels are not compiled."""
    from gpusched_dsl.policies.kernels.compiled import cache_folder

    if os.environ.get("GSDSL_PYTHON_KERNELS"):
        return 0
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder())
    try:
        return sum(1 for _ in folder.rglob("*.nbc"))
    except OSError:
        return 0


def announce_compiling(output: Output) -> None:
    """Say, before the first policy of an installation runs, what the wait is for."""
    if output.shows_progress and not os.environ.get("GSDSL_PYTHON_KERNELS") and not kept_kernels():
        output.note("compiling the heuristic kernels, which is done once and may take a minute")


def tell_compiled(statistics: Mapping[str, float], kept_before: int, output: Output) -> None:
    """Say that kernels were compiled, and whether later runs are spared it."""
    seconds, new = statistics.get("compile_seconds", 0.0), kept_kernels() - kept_before
    if new > 0 and seconds >= LEAST_SECONDS:
        output.note(f"compiled the heuristic kernels in {seconds_text(seconds)}; later runs take them from the cache")
