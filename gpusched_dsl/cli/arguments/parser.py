"""The argument parser of the command line, and the error of a wrong command line."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

_NO_VALUE = re.compile(r"argument (?:\S+/)?(--?[\w-]+): expected (?:one|at least one) argument")


class CommandLineError(Exception):
    """A wrong command line; `help` has the remedy."""

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.help = code, message, help


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and exiting, and accepts no abbreviations."""

    def __init__(self, *args: object, **settings: object) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **settings)  # type: ignore[arg-type]
        # `-1%`, `-5m` and `-1,2` are values too, which the type of the option refuses: no option begins with a digit.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")

    def error(self, message: str) -> NoReturn:
        if (option := _NO_VALUE.fullmatch(message)) is not None:
            message = f"`{option[1]}` needs a value"
        raise CommandLineError("GSM6002", message, f"`{self.prog} --help` lists the arguments")

    @property
    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]
