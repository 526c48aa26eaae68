"""Options of the commands for runs over time: `run`, `estimate` and `why`."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import add_instance_options, add_judge, add_solver_option
from gpusched_dsl.cli.arguments.values import (
    names,
    nonnegative_integer,
    nonnegative_number,
    path,
    sample_count,
    thread_count,
)


def add_run_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--online", metavar="NAME", help="name of the online block (needed if there are several)")
    add_instance_options(parser)
    one = parser.add_mutually_exclusive_group()
    _add_method(one)
    one.add_argument(
        "--methods",
        type=names,
        metavar="A,B,...",
        help="run each of these methods separately, and compare them in one table",
    )
    _add_fallback_and_seed(parser)
    parser.add_argument(
        "--gap",
        type=nonnegative_number,
        default=1e-4,
        metavar="G",
        help="relative gap at which a plan of a solver counts as optimal (default: 0.0001)",
    )
    parser.add_argument("--time-limit", type=nonnegative_number, metavar="SECONDS", help="time limit of each plan")
    parser.add_argument("--threads", type=thread_count, metavar="N", help="threads of the solver")
    add_solver_option(parser)
    parser.add_argument(
        "--journal",
        type=path,
        metavar="DB",
        help="record every plan in this file, and continue the run in it",
    )
    parser.add_argument(
        "--replay", action="store_true", help="with --journal: compute all its plans again, and report differences"
    )
    parser.add_argument(
        "--verify",
        choices=("none", "sample", "full"),
        default="sample",
        help="verify plans against the model, and fast replays: some (default), all, or none",
    )
    parser.add_argument(
        "--live",
        type=path,
        metavar="SOURCE",
        help="read events from this file or named pipe (`-`: standard input) instead of simulating them, and write "
        "decisions to standard output, both as lines of JSON",
    )
    parser.add_argument("--start", metavar="DATE", help="with --live: the date at time 0, as in 2026-03-01T00:00Z")
    parser.add_argument(
        "--tell-from",
        type=nonnegative_integer,
        metavar="STEP",
        help="with --live and --journal: write recorded decisions again from this step",
    )
    parser.add_argument(
        "--bound",
        action="store_true",
        help="for runs with windows: a bound from the linear relaxation of the complete horizon",
    )
    parser.add_argument("--json", type=path, metavar="OUT", help="write the result as JSON (`-`: to standard output)")
    parser.add_argument(
        "--csv",
        type=path,
        metavar="OUT",
        help="write tables into a folder; for several methods: the table (`-`: to standard output)",
    )
    parser.add_argument("--html", type=path, metavar="OUT", help="write a page with charts (`-`: to standard output)")


def add_estimate_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    parser.add_argument(
        "--at",
        type=nonnegative_number,
        metavar="TIME",
        help="time of the estimate, in the unit of the run's clock (default: the submission of the job)",
    )
    parser.add_argument(
        "--samples",
        type=sample_count,
        default=100,
        metavar="N",
        help="number of simulated runs from that time, with unknown quantities drawn again (default: 100)",
    )
    _add_run_choice(parser)
    parser.add_argument("--json", type=path, metavar="OUT", help="write the estimate as JSON (`-`: to standard output)")


def add_why_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    parser.add_argument(
        "--at",
        type=nonnegative_number,
        required=True,
        metavar="TIME",
        help="time of the explained plan, in the unit of the run's clock",
    )
    _add_run_choice(parser)
    parser.add_argument("--journal", type=path, metavar="DB", help="take the recorded plans from this journal")
    add_judge(parser)
    parser.add_argument(
        "--patience",
        type=nonnegative_number,
        default=60.0,
        metavar="SECONDS",
        help="time limit for the cost of other plans (default: 60)",
    )
    parser.add_argument("--json", type=path, metavar="OUT", help="write the answer as JSON (`-`: to standard output)")


def _add_run_choice(parser: Parser) -> None:
    """Add the options that choose a run: its online block, scenario, method and seed."""
    parser.add_argument("--online", metavar="NAME", help="name of the online block (needed if there are several)")
    add_instance_options(parser)
    _add_method(parser)
    _add_fallback_and_seed(parser)
    parser.add_argument("--time-limit", type=nonnegative_number, metavar="SECONDS", help="time limit of each plan")


def _add_method(parser: Parser | argparse._MutuallyExclusiveGroup) -> None:
    parser.add_argument(
        "--method",
        default="highs",
        metavar="NAME",
        help="method that plans: a solver, or a policy such as Greedy (default: highs)",
    )


def _add_fallback_and_seed(parser: Parser) -> None:
    parser.add_argument(
        "--fallback",
        metavar="NAME",
        help="method that plans if the main method finds no plan in time (default: that of the online block)",
    )
    parser.add_argument(
        "--seed",
        type=nonnegative_integer,
        default=0,
        metavar="N",
        help="random seed of the run, solvers and policies (default: 0)",
    )
