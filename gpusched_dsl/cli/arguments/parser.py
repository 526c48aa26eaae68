"""The argument parser of the command line, and the error of a wrong command line."""

from __future__ import annotations

import argparse
from typing import NoReturn


class UsageError(Exception):
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

    def error(self, message: str) -> NoReturn:
        raise UsageError("GSM6002", message, f"`{self.prog} --help` lists the arguments")

    @property
    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]
