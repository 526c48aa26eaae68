"""Messages about the compilation of policy kernels, which is slow and happens once."""

from __future__ import annotations

import os

from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.text.numbers import seconds_text

LEAST_SECONDS = 1.0  # shorter compilations are not reported


def announce_compiling(output: Output) -> None:
    """Announce the compilation before the first policy of an installation runs."""
    if not output.shows_progress or os.environ.get("GSDSL_PYTHON_KERNELS") or "NUMBA_CACHE_DIR" in os.environ:
        return
    from gpusched_dsl.policies.kernels.compiled import cache_folder

    if not any(cache_folder().rglob("*.nbc")):
        output.note("compiling the heuristic kernels: only once, up to a minute")


def report_compiling(seconds: float, output: Output) -> None:
    """Report that the kernels were compiled; later runs load them."""
    if seconds >= LEAST_SECONDS:
        output.note(f"compiled the heuristic kernels in {seconds_text(seconds)}; later runs load them from the cache")
