"""Options of the commands that explain and list: `explain`, `policies`, `show` and `completion`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    FILE_HELP,
    PROBLEM_HELP,
    add_allow_outside,
    add_instance_options,
    add_json,
    add_memory_limit,
    add_method,
    add_time_limit,
    add_without,
)
from gpusched_dsl.cli.arguments.values import path

SHELLS = ("bash", "zsh", "fish")


def add_explain_options(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=path,
        metavar="FILE",
        help=PROBLEM_HELP + "; or the code of a diagnostic, such as GSM3002; optional with `--policy` for policies of "
        "the library",
    )
    parser.add_argument("--policy", metavar="NAME", help="describe this policy in plain English instead")
    parser.add_argument("--model", metavar="NAME", help="with `--policy`: the model of the policy")
    add_instance_options(parser)
    add_method(parser, "explain the problem for this solver")
    add_without(parser)
    parser.add_argument("--no-why", action="store_true", help="do not search for a solution, a conflict or a ray")
    add_time_limit(parser, "time limit for this search", default=60.0)
    add_json(parser, "the explanation")


def add_policies_options(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=path,
        metavar="FILE",
        help=f"{FILE_HELP}: its policies, and those of the library for its models (default: all of the library)",
    )
    parser.add_argument("--model", metavar="NAME", help="only policies for this model")
    parser.add_argument("--rules", action="store_true", help="list the rules and moves for policies instead")
    add_json(parser, "them")
    add_allow_outside(parser)


def add_show_options(parser: Parser) -> None:
    parser.add_argument(
        "file", nargs="?", type=path, metavar="FILE", help=f"{FILE_HELP} (default: list the shipped models)"
    )
    parser.add_argument("-s", "--scenario", metavar="NAME", help="only this scenario")
    parser.add_argument("--no-data", action="store_true", help="do not read data: no sizes")
    add_memory_limit(parser)
    add_allow_outside(parser)
    add_json(parser, "it")


def add_completion_options(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to write a script for")
