"""All commands with their summaries, and the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gpusched_dsl.cli.arguments.assistants import add_grammar_options, add_mcp_options
from gpusched_dsl.cli.arguments.campaigns import add_campaign_options
from gpusched_dsl.cli.arguments.clusters import add_drive_options, add_inspect_options, add_serve_options
from gpusched_dsl.cli.arguments.examples import examples_text
from gpusched_dsl.cli.arguments.explaining import (
    add_completion_options,
    add_explain_options,
    add_policies_options,
    add_show_options,
)
from gpusched_dsl.cli.arguments.flexibility import add_flexibility_options
from gpusched_dsl.cli.arguments.model_files import (
    add_check_options,
    add_export_options,
    add_fmt_options,
    add_lsp_options,
    add_new_options,
    add_test_options,
)
from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.runs import add_estimate_options, add_run_options, add_why_options
from gpusched_dsl.cli.arguments.shared import add_output_options
from gpusched_dsl.cli.arguments.solving import add_compare_options, add_solve_options, add_watch_options
from gpusched_dsl.cli.arguments.tables import add_profile_options, add_trace_options
from gpusched_dsl.cli.exits import TABLE

EXITS = "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in TABLE)

# In the order of `gsdsl --help`; a summary is also the first line of the command's own help.
COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "solve": ("solve a scenario and show the schedule", add_solve_options),
    "run": ("run a scenario over time, plan after plan, with one or several methods", add_run_options),
    "inspect": ("look at a cluster without a model: load, waits and why, starts, what helps", add_inspect_options),
    "drive": ("watch a real cluster and plan for it, or change it; report the savings", add_drive_options),
    "serve": ("serve live runs of a model over HTTP: events in, decisions out", add_serve_options),
    "estimate": ("estimate when a job starts and ends in a run, and its cost", add_estimate_options),
    "why": ("explain why a job runs on its node, or waits, at a time of a run", add_why_options),
    "compare": ("solve a scenario with several solvers and policies, in one table", add_compare_options),
    "flexibility": ("find how much power can be shed for sure in some slots, and its cost", add_flexibility_options),
    "campaign": ("run a grid of experiments in parallel, continue it, show its results", add_campaign_options),
    "policies": ("list the policies for a model, and the rules of policies", add_policies_options),
    "explain": (
        "explain a problem (sizes, reformulations, conflicts), a policy or a diagnostic code",
        add_explain_options,
    ),
    "show": ("list the models, options, scenarios and sizes of a file, or the shipped models", add_show_options),
    "check": ("check syntax, names, units and data without solving", add_check_options),
    "watch": ("check and solve a file again after each save, and show what changed", add_watch_options),
    "test": ("run the test blocks of models", add_test_options),
    "fmt": ("format files", add_fmt_options),
    "export": ("write the compiled problem for other tools, or a model as mathematics", add_export_options),
    "profile": ("learn execution times from measured profiles, or summarise samples", add_profile_options),
    "trace": ("show a trace of jobs or a table of prices, and write it in standard columns", add_trace_options),
    "lsp": ("start the language server, for an editor", add_lsp_options),
    "mcp": ("start the server for assistants (Model Context Protocol)", add_mcp_options),
    "grammar": ("write the grammar of the language for other programs", add_grammar_options),
    "new": ("create a starter project", add_new_options),
    "completion": ("write a script that completes commands and options in a shell", add_completion_options),
}


def build_parser(wanted: str | None = None, *, options: bool = True) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command line, and the parsers of its commands by name.

    With `wanted`, the name of a command, they know only that one: to build the parsers of all takes longer than most
    commands. Without `options` the commands have none, which suffices for help and version.
    """
    parser = Parser(
        prog="gsdsl",
        description="Models of scheduling deep-learning jobs on GPU clusters: check, solve, test, export.",
        epilog=EXITS + "\n\n`gsdsl COMMAND --help` explains a command.",
    )
    parser.add_argument("-V", "--version", action="version", version=_version())
    add_output_options(parser, None)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands: dict[str, Parser] = {}
    for name in COMMANDS if wanted is None else (wanted,):
        summary, add_options = COMMANDS[name]
        if not options:
            subparsers.add_parser(name, help=summary)
            continue
        command = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"{examples_text(name)}\n\n{EXITS}",
        )
        add_options(command)
        add_output_options(command, argparse.SUPPRESS)
        commands[name] = command
    return parser, commands


def _version() -> str:
    from gpusched_dsl.version import __version__

    return f"gsdsl {__version__}"
