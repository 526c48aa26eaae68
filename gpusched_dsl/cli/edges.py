"""What commands take of the packages beside the core, by entry points: the core imports none of these packages."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.language.entry_points import load_own, own_entry_point

if TYPE_CHECKING:
    from gpusched_dsl.cli.output import Output

GROUP, CLUSTERS = "gpusched_dsl.commands", "gpusched_dsl.clusters"


class ClusterSettings(Protocol):
    """What a cluster file chooses: the model and the method of its run."""

    @property
    def model(self) -> Path: ...
    @property
    def method(self) -> str: ...


def edge_command(name: str) -> Callable[[argparse.Namespace, Output], int]:
    """Load the function that runs a command; it returns the exit code.

    Raises CommandLineError if it is not installed, as after an update of a checkout.
    """
    point = own_entry_point(GROUP, name)
    if point is None:
        raise CommandLineError("GSM6001", f"the command `{name}` is not installed", "install gsdsl again")
    run: Callable[[argparse.Namespace, Output], int] = point.load()
    return run


def cluster_function(name: str) -> Callable[..., Any]:
    """Load `settings` (of a cluster file), or `why` or `estimate` for a job of such a cluster."""
    function: Callable[..., Any] = load_own(CLUSTERS, name)
    return function
