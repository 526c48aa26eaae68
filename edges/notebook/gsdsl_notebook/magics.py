"""`%%gsm` cells and `%gsm` lines of IPython and Jupyter.

Diagnostics are an error of the cell (`_render_traceback_` shows them): a magic that only prints would let "run all"
continue with an old model.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gpusched_dsl.api import Model, load
from gpusched_dsl.cli.arguments.parser import CommandLineError, Parser
from gpusched_dsl.cli.instance import permissions
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.option_checks import as_flag, check_options, given_options
from gsdsl_notebook.cells import gsm
from gsdsl_notebook.commands import COMMANDS, parser_of, refuse_others, run_command

DEFAULT_NAME = "model"


class Shell(Protocol):
    """The part of an interactive shell that is needed here."""

    user_ns: dict[str, Any]

    def register_magic_function(self, func: Callable[..., Any], magic_kind: str, magic_name: str) -> None: ...


def register(shell: Shell) -> None:
    """Add the magics `%%gsm` and `%gsm`."""
    magics = Magics(shell.user_ns)
    shell.register_magic_function(magics.cell, "cell", "gsm")
    shell.register_magic_function(magics.line, "line", "gsm")


class Magics:
    """The magics of one shell, with its variables."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables

    def cell(self, line: str, cell: str) -> Model | None:
        """Check the text of the cell and assign its model to a variable: `%%gsm [NAME] [--file FILE] [--quiet]`.

        NAME is `model` if omitted. `--file FILE` also writes the text to a file, which other cells may import.
        `--quiet` does not show the mathematics of the model. After errors NAME keeps its value.
        """
        parser = Parser(prog="%%gsm", description="Check the text of the cell and assign its model to a variable.")
        parser.add_argument("name", nargs="?", default=DEFAULT_NAME, metavar="NAME", help="variable (default: model)")
        parser.add_argument("-f", "--file", metavar="FILE", help="also write the text to this file")
        parser.add_argument("-q", "--quiet", action="store_true", help="do not show the model as mathematics")
        parser.add_argument("--allow-outside", action="store_true", help="allow imports and data outside this folder")
        options = _parse_options(parser, _words(line))
        if options is None:
            return None
        if not options.name.isidentifier():
            raise _usage(f"`{options.name}` is not the name of a variable", "write `%%gsm NAME`")
        model = gsm(cell, file=options.file, allow_outside=options.allow_outside)
        self.variables[options.name] = model
        return None if options.quiet else model

    def line(self, line: str) -> Any:
        """Solve, run, compare, explain or check a model: `%gsm COMMAND [MODEL] [OPTIONS]`.

        MODEL is a variable (`model` if omitted), a file, or a shipped model such as `gsdsl:price_aware/model.gsm`.
        Options are those of the command line, and `%gsm COMMAND --help` lists them. The result is the value, as in
        `result = %gsm solve model --method Greedy`.
        """
        words = _words(line)
        name = words[0] if words else ""
        if name not in COMMANDS:
            help = did_you_mean(name, COMMANDS) or f"write `%gsm COMMAND`: {', '.join(COMMANDS)}"
            raise _usage(f"unknown command `{name}`" if name else "which command?", help, "GSM6001")
        parser = parser_of(name, DEFAULT_NAME)
        options = _parse_options(parser, words[1:])
        if options is None:
            return None
        refuse_others(name, options, parser)
        check_options(name, given_options(name, vars(options)), spell=as_flag)
        return run_command(name, self._model(options), options)

    def _model(self, options: Any) -> Model:
        """Return the model of a variable or file."""
        name = str(options.file)
        value = self.variables.get(name)
        if isinstance(value, Model):
            if options.allow_outside or options.memory_limit is not None:
                message = "`--allow-outside` and `--memory-limit` are for files: the model is already loaded"
                raise _usage(message, "give them where the model is loaded")
            return value
        if name.startswith("gsdsl:") or Path(name).suffix == ".gsm":
            allowed = permissions(options)
            return load(name, allow_outside=allowed.outside, memory=allowed.memory)
        models = [variable for variable, found in self.variables.items() if isinstance(found, Model)]
        help = did_you_mean(name, models) or "create it by a cell that begins with `%%gsm NAME`, or name a .gsm file"
        raise _usage(f"`{name}` is not a model of this notebook", help)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as failure:
        raise _usage(f"cannot read the options: {str(failure).lower()}", "close the quotation marks") from failure


def _parse_options(parser: Parser, words: list[str]) -> Any:
    """Return the options; None after `--help`, which is printed."""
    try:
        return parser.parse_args(words)
    except CommandLineError as error:
        raise _usage(error.message, error.help, error.code) from error
    except SystemExit:
        return None


def _usage(message: str, help: str | None, code: str = "GSM6002") -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, message, help=help)])
