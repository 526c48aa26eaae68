"""The argument parser of the command line with the options of the table, and the error of a wrong command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Container
from typing import Any, NoReturn

from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.table import rows

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


Group = Parser | argparse._ArgumentGroup  # mutually exclusive options are a kind of group


def add_options(parser: Parser, verb: str) -> None:
    """Add the options of a command in the order of the table."""
    groups: dict[str, Group] = {}
    for row in rows(verb, "cli"):
        add_option(_group(parser, row, groups), row, _other_formats(verb, row.name))


def add_output_options(parser: Parser, default: str | None) -> None:
    """Add the options for output; `default` replaces the default of each option, unless it is None."""
    group = parser.add_argument_group("output")
    for row in rows("output"):
        action = add_option(group, row)
        action.default = row.default if default is None else default


def add_option(group: Group, row: OptionRow, choices: Container[str] | None = None) -> argparse.Action:
    """Add one option; `choices` replace those of its kind."""
    kind, settings = row.kind, dict[str, Any](help=row.shown_help.replace("%", "%%"))
    if kind.type is bool:
        settings["action"] = "store_false" if row.default is True else "store_true"
    else:
        settings["metavar"] = (row.metavar if row.metavar is not None else kind.metavar) or None
        settings["choices"] = choices or kind.choices or None
        settings["type"] = None if kind.read is None else _reader(kind.read)
        settings["default"] = [] if row.repeated else row.default
    if row.repeated:
        settings["action"] = "append"
    if row.const is not None:
        settings |= {"nargs": "?", "const": row.const}
    if row.place:
        return group.add_argument(row.name, nargs=None if row.place == "1" else row.place, **settings)
    return group.add_argument(*row.flags, dest=row.name, required=row.required, **settings)


def _group(parser: Parser, row: OptionRow, groups: dict[str, Group]) -> Group:
    """Return the group of an option, made for its first one."""
    if not (row.one_of or row.group):
        return parser
    key = row.one_of or row.group
    if key not in groups:
        groups[key] = parser.add_mutually_exclusive_group() if row.one_of else parser.add_argument_group(row.group)
    return groups[key]


def _reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    convert.__name__ = read.__name__
    return convert


def _other_formats(verb: str, name: str) -> Container[str] | None:
    """Return the formats of exports, which installed packages add to; None for other options."""
    if (verb, name) != ("export", "to"):
        return None
    from gsdsl_backends.export_names import BUILT_IN, MATHEMATICS, Targets

    return Targets((*BUILT_IN, *MATHEMATICS))
