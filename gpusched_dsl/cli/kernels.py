"""Messages about the compilation of policy kernels, which is slow and happens once."""

from __future__ import annotations

from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.text.numbers import seconds_text

LEAST_SECONDS = 1.0  # shorter compilations are not reported


def announce_compiling(output: Output) -> None:
    """Announce that a policy waits for the compiler, which only happens for large data."""
    from gpusched_dsl.policies.kernels import machine_code

    told: list[bool] = []

    def tell() -> None:
        if output.shows_progress and not told:
            output.note("compiling the heuristic kernels: only once, up to a minute")
            told.append(True)

    machine_code.announcements[:] = [tell]


def report_compiling(seconds: float, output: Output) -> None:
    """Report that the kernels were compiled; later runs load them."""
    if seconds >= LEAST_SECONDS:
        output.note(f"compiled the heuristic kernels in {seconds_text(seconds)}; later runs load them from the cache")
