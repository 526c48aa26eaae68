"""All commands with their summaries, and the parser of the command line."""

from __future__ import annotations

import argparse
import textwrap

from gpusched_dsl.cli.arguments.examples import examples_text
from gpusched_dsl.cli.arguments.parser import Parser, add_options, add_output_options
from gpusched_dsl.cli.exits import TABLE

EXITS = "exit codes:\n" + "\n".join(
    textwrap.fill(meaning, 80, initial_indent=f"  {code:>3}  ", subsequent_indent=" " * 7) for code, meaning in TABLE
)

# In the order of `gsdsl --help`: the summary is also the first line of the command's own help.
COMMANDS: dict[str, str] = {
    "solve": "solve a scenario and show the schedule",
    "run": "run a scenario over time, plan after plan, with one or several methods",
    "inspect": "look at a cluster without a model: load, waits and why, starts, what helps",
    "drive": "watch a real cluster and plan for it, or change it; report the savings",
    "serve": "serve live runs of a model over HTTP: events in, decisions out",
    "estimate": "estimate when a job starts and ends in a run, and its cost",
    "why": "explain why a job runs on its node, or waits, at a time of a run",
    "compare": "solve a scenario with several solvers and policies, in one table",
    "flexibility": "find how much power can be shed for sure in some slots, and its cost",
    "campaign": "run a grid of experiments in parallel, continue it, show its results",
    "policies": "list the policies for a model, and the rules of policies",
    "explain": "explain a problem (sizes, reformulations, conflicts), a policy or a diagnostic",
    "show": "list the models, options, scenarios and sizes of a file, or the shipped models",
    "check": "check syntax, names, units and data without solving",
    "watch": "check and solve a file again after each save, and show what changed",
    "test": "run the test blocks of models",
    "fmt": "format files",
    "export": "write the compiled problem for other tools, or a model as mathematics",
    "profile": "learn execution times from measured profiles, or summarise samples",
    "trace": "show a trace of jobs or a table of prices, and write it in standard columns",
    "lsp": "start the language server, for an editor",
    "mcp": "start the server for assistants (Model Context Protocol)",
    "grammar": "write the grammar of the language for other programs",
    "new": "create a starter project",
    "completion": "write a script that completes commands and options in a shell",
}


def build_parser(wanted: str | None = None, *, options: bool = True) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command line, and the parsers of its commands by name.

    With `wanted`, the name of a command, they know only that one: to build the parsers of all takes longer than most
    commands. Without `options` the commands have none, which suffices for help and version.
    """
    parser = Parser(
        prog="gsdsl",
        description="Models of scheduling deep-learning jobs on GPU clusters: check, solve, test.",
        epilog=EXITS + "\n\n`gsdsl COMMAND --help` explains a command.",
    )
    parser.add_argument("-V", "--version", action="version", version=_version())
    add_output_options(parser, None)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands: dict[str, Parser] = {}
    for name in COMMANDS if wanted is None else (wanted,):
        summary = COMMANDS[name]
        if not options:
            subparsers.add_parser(name, help=summary)
            continue
        command = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"{examples_text(name)}\n\n{EXITS}",
        )
        add_options(command, name)
        add_output_options(command, argparse.SUPPRESS)
        commands[name] = command
    return parser, commands


def _version() -> str:
    from gpusched_dsl.version import __version__

    return f"gsdsl {__version__}"
