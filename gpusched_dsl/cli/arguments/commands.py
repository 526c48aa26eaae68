"""All commands with their summaries, and the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

from gpusched_dsl.cli.arguments.examples import examples_text
from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import add_output_options
from gpusched_dsl.cli.exits import TABLE

EXITS = "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in TABLE)

# In the order of `gsdsl --help`: a summary, which is also the first line of the command's own help, and the function
# of this folder that adds the options of the command, loaded when they are needed.
COMMANDS: dict[str, tuple[str, str]] = {
    "solve": ("solve a scenario and show the schedule", "solving.add_solve_options"),
    "run": ("run a scenario over time, plan after plan, with one or several methods", "runs.add_run_options"),
    "inspect": (
        "look at a cluster without a model: load, waits and why, starts, what helps",
        "clusters.add_inspect_options",
    ),
    "drive": ("watch a real cluster and plan for it, or change it; report the savings", "clusters.add_drive_options"),
    "serve": ("serve live runs of a model over HTTP: events in, decisions out", "clusters.add_serve_options"),
    "estimate": ("estimate when a job starts and ends in a run, and its cost", "runs.add_estimate_options"),
    "why": ("explain why a job runs on its node, or waits, at a time of a run", "runs.add_why_options"),
    "compare": ("solve a scenario with several solvers and policies, in one table", "solving.add_compare_options"),
    "flexibility": (
        "find how much power can be shed for sure in some slots, and its cost",
        "flexibility.add_flexibility_options",
    ),
    "campaign": (
        "run a grid of experiments in parallel, continue it, show its results",
        "campaigns.add_campaign_options",
    ),
    "policies": ("list the policies for a model, and the rules of policies", "explaining.add_policies_options"),
    "explain": (
        "explain a problem (sizes, reformulations, conflicts), a policy or a diagnostic code",
        "explaining.add_explain_options",
    ),
    "show": (
        "list the models, options, scenarios and sizes of a file, or the shipped models",
        "explaining.add_show_options",
    ),
    "check": ("check syntax, names, units and data without solving", "model_files.add_check_options"),
    "watch": ("check and solve a file again after each save, and show what changed", "solving.add_watch_options"),
    "test": ("run the test blocks of models", "model_files.add_test_options"),
    "fmt": ("format files", "model_files.add_fmt_options"),
    "export": (
        "write the compiled problem for other tools, or a model as mathematics",
        "model_files.add_export_options",
    ),
    "profile": ("learn execution times from measured profiles, or summarise samples", "tables.add_profile_options"),
    "trace": (
        "show a trace of jobs or a table of prices, and write it in standard columns",
        "tables.add_trace_options",
    ),
    "lsp": ("start the language server, for an editor", "model_files.add_lsp_options"),
    "mcp": ("start the server for assistants (Model Context Protocol)", "assistants.add_mcp_options"),
    "grammar": ("write the grammar of the language for other programs", "assistants.add_grammar_options"),
    "new": ("create a starter project", "model_files.add_new_options"),
    "completion": (
        "write a script that completes commands and options in a shell",
        "explaining.add_completion_options",
    ),
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
        _function(add_options)(command)
        add_output_options(command, argparse.SUPPRESS)
        commands[name] = command
    return parser, commands


def _function(name: str) -> Callable[[Parser], None]:
    module, _, function = name.partition(".")
    found: Callable[[Parser], None] = getattr(import_module(f"gpusched_dsl.cli.arguments.{module}"), function)
    return found


def _version() -> str:
    from gpusched_dsl.version import __version__

    return f"gsdsl {__version__}"
