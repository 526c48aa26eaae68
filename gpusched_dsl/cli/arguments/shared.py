"""Options that several groups of commands share."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.values import nonnegative_number, positive_number, thread_count

PROBLEM_HELP = "a .gsm file, or a problem that `export --to json` wrote"


def add_output_options(parser: Parser, default: str | None) -> None:
    """Add the options for output; `default` replaces the default of each option, unless it is None."""
    group = parser.add_argument_group("output")

    def add(name: str, **settings: object) -> None:
        fallback = settings.pop("default")
        group.add_argument(name, default=default if default is not None else fallback, **settings)  # type: ignore[arg-type]

    add("--diagnostics", choices=("text", "json"), default="text", help="format of diagnostics (default: text)")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: on a terminal)")
    add("--quiet", action="store_true", default=False, help="print only errors")
    add("--debug", action="store_true", default=False, help="show the traceback of an internal error")


def add_instance_options(parser: Parser) -> None:
    """Add the options that choose the problem of a file and limit data access and memory."""
    parser.add_argument("--scenario", metavar="NAME", help="name of the scenario (needed if there are several)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter or an option of the model, such as period=30[min]",
    )
    parser.add_argument(
        "--memory-limit",
        type=positive_number,
        metavar="GIB",
        help="largest memory for data and problem (default: half of the machine, at most 8)",
    )
    add_allow_outside(parser)


def add_allow_outside(parser: Parser) -> None:
    parser.add_argument(
        "--allow-outside", action="store_true", help="allow imports and data from outside the folder of the file"
    )


def add_limits(parser: Parser) -> None:
    """Add the options for limits of solvers and policies."""
    parser.add_argument(
        "--gap",
        type=nonnegative_number,
        default=1e-4,
        metavar="G",
        help="relative gap at which a solution counts as optimal (default: 0.0001)",
    )
    parser.add_argument(
        "--time-limit",
        type=nonnegative_number,
        metavar="SECONDS",
        help="stop after this number of seconds with the best solution so far",
    )
    parser.add_argument("--threads", type=thread_count, metavar="N", help="threads of the solver")


def add_solver_option(parser: Parser) -> None:
    parser.add_argument(
        "--solver-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the solver itself, such as mip_heuristic_effort=0.2",
    )


def add_judge(parser: Parser) -> None:
    parser.add_argument(
        "--judge",
        default="highs",
        metavar="NAME",
        help="the solver that completes and verifies the plan of a policy (default: highs)",
    )


def add_without(parser: Parser) -> None:
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PASS",
        help="skip a tightening pass (`all`: every pass); may be given several times",
    )
