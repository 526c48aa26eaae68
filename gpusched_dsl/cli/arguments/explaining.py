"""Options of the commands that explain problems and list policies: `explain` and `policies`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import PROBLEM_HELP, add_allow_outside, add_instance_options, add_without
from gpusched_dsl.cli.arguments.values import nonnegative_number, path


def add_explain_options(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=path,
        metavar="FILE",
        help=PROBLEM_HELP + "; optional with `--policy` for policies of the library",
    )
    parser.add_argument("--policy", metavar="NAME", help="describe this policy in plain English instead")
    parser.add_argument("--model", metavar="NAME", help="with `--policy`: the model of the policy")
    add_instance_options(parser)
    parser.add_argument(
        "--backend",
        default="highs",
        metavar="NAME",
        help="explain the problem for this backend (default: highs)",
    )
    add_without(parser)
    parser.add_argument("--no-why", action="store_true", help="do not search for a solution, a conflict or a ray")
    parser.add_argument(
        "--time-limit",
        type=nonnegative_number,
        default=60.0,
        metavar="SECONDS",
        help="time limit for this search (default: 60)",
    )
    parser.add_argument(
        "--json", type=path, metavar="OUT", help="write the explanation as JSON (`-`: to standard output)"
    )


def add_policies_options(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=path,
        metavar="FILE",
        help="a .gsm file: its policies, and those of the library for its models (default: all of the library)",
    )
    parser.add_argument("--model", metavar="NAME", help="only policies for this model")
    parser.add_argument("--rules", action="store_true", help="list the rules and moves for policies instead")
    parser.add_argument("--json", type=path, metavar="OUT", help="write them as JSON (`-`: to standard output)")
    add_allow_outside(parser)
