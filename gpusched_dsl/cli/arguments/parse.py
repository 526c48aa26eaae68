"""Parse a command line, and explain unknown commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gpusched_dsl.cli.arguments.commands import COMMANDS, build_parser
from gpusched_dsl.cli.arguments.parser import CommandLineError, Parser

# Shared options before the command, with a value and without one.
_WITH_VALUE = ("--diagnostics", "--color")
_ENDING = ("-h", "--help", "-V", "--version")  # they print something and end
_SWITCHES = ("-q", "--quiet", "--debug")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; raise CommandLineError, or SystemExit after `--help` and `--version`."""
    parser, commands = build_parser(_command_of(argv), options=not argv or argv[0] not in _ENDING)
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        raise _unknown_argument(unknown[0], commands.get(options.command or "", parser))
    return options


def _command_of(argv: Sequence[str]) -> str | None:
    """Return the command; None if there is none, or something before it that may concern all commands, such as help.

    Raise CommandLineError if it is not a command: argparse would list all commands without a suggestion.
    """
    words, alone = iter(argv), True
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            if word in COMMANDS:
                return word if alone else None
            from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

            help: str | None = did_you_mean(word, COMMANDS)
            if help is None and word.endswith(".gsm"):
                help = f"to solve it: `gsdsl solve {word}`"
            commands_help = f"the commands are {', '.join(COMMANDS)}"
            raise CommandLineError("GSM6001", f"unknown command `{word}`", help or commands_help)
        else:
            alone = alone and word.partition("=")[0] in (*_WITH_VALUE, *_SWITCHES)
    return None


def _unknown_argument(word: str, parser: Parser) -> CommandLineError:
    from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

    if not word.startswith("-"):
        return CommandLineError("GSM6002", f"unexpected argument `{word}`")
    name = word.partition("=")[0]
    matches = [option for option in parser.option_names if option.startswith(name)]
    suggestion = f"did you mean `{matches[0]}`?" if len(matches) == 1 else did_you_mean(name, parser.option_names)
    help = suggestion or f"`{parser.prog} --help` lists the options"
    return CommandLineError("GSM6002", f"unknown option `{name}`", help)
