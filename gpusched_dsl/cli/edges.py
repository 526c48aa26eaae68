"""Commands of the packages beside the core, by entry points: the core imports none of these packages."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.language.entry_points import own_entry_point

if TYPE_CHECKING:
    from gpusched_dsl.cli.output import Output

GROUP = "gpusched_dsl.commands"


def edge_command(name: str) -> Callable[[argparse.Namespace, Output], int]:
    """Load the function that runs a command; it returns the exit code.

    Raises CommandLineError if it is not installed, as after an update of a checkout.
    """
    point = own_entry_point(GROUP, name)
    if point is None:
        raise CommandLineError("GSM6001", f"the command `{name}` is not installed", "install gsdsl again")
    run: Callable[[argparse.Namespace, Output], int] = point.load()
    return run
