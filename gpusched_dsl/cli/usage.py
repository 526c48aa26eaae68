"""Refuses options of a command line that have no effect or no meaning beside the others."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.solving.option_checks import as_flag, given_options, option_diagnostics


def refuse_options(verb: str, values: Mapping[str, object], method: str = "", proves: bool | None = None) -> None:
    """Raise CommandLineError for the first that `option_diagnostics` finds; `values` are the options by name."""
    for found in option_diagnostics(verb, given_options(verb, values), method, proves, as_flag):
        raise CommandLineError(found.code, str(found.message), None if found.help is None else str(found.help))
