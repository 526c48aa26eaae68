"""`--profile`: the table of where the time of a command went."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.cli.output import Output
from gpusched_dsl.ir.log import REST, STARTING, PhaseTime

SHOWN = 0.0005  # wall seconds, below which a phase is left out


def show_phases(times: Sequence[PhaseTime], output: Output) -> None:
    """Print a table to standard error: wall seconds, CPU seconds of this process, and turns of each phase."""
    shown = [each for each in times if each.wall >= SHOWN or each.name == REST]
    total = PhaseTime("all", 1, sum(each.wall for each in times), sum(each.cpu for each in times))
    width = max(len(each.name) for each in (*shown, total))
    output.note(f"{'phase':<{width}}  seconds      CPU  turns")
    for each in (*shown, total):
        wall = "-" if each.name == STARTING else f"{each.wall:.3f}"
        output.note(f"{each.name:<{width}}  {wall:>7}  {each.cpu:>7.3f}  {each.turns:>5}".rstrip())
    output.note("CPU: of this process, without solvers in processes of their own. starting: until the command is read")
