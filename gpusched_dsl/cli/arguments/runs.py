"""Options of the commands for runs over time: `run`, `estimate` and `why`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    ONLINE_HELP,
    add_csv,
    add_figures,
    add_html,
    add_instance_options,
    add_json,
    add_judge,
    add_limits,
    add_method,
    add_methods,
    add_report,
    add_seed,
    add_seeds,
    add_solver_option,
    add_time_limit,
    add_without,
)
from gpusched_dsl.cli.arguments.values import changed_values, nonnegative_integer, path, sample_count, time_of_run

METHOD_HELP = "method that plans: a solver, or a policy such as Greedy"
SEED_HELP = "random seed of the run, solvers and policies"


def add_run_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=ONLINE_HELP)
    _add_online(parser)
    add_instance_options(parser)
    one = parser.add_mutually_exclusive_group()
    add_method(one, METHOD_HELP)
    add_methods(one, "run each of these methods separately, and compare them in one table")
    _add_fallback(parser)
    seed = parser.add_mutually_exclusive_group()
    add_seed(seed, SEED_HELP)
    add_seeds(seed, "run every method once for each of these seeds, and show the means", default=None)
    add_limits(parser, "relative gap at which a plan of a solver counts as optimal", "time limit of each plan")
    add_solver_option(parser)
    add_without(parser)
    parser.add_argument(
        "--controllers",
        type=sample_count,
        default=1,
        metavar="K",
        help="divide jobs and nodes among K controllers; each plans for its own when its own jobs arrive or end",
    )
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
        choices=("none", "sample", "rows", "full"),
        default="rows",
        help="verify plans against the model: all against rows that no role implies (default), some of them, all plans "
        "against all rows and replays event by event, or none",
    )
    parser.add_argument(
        "--live",
        type=path,
        metavar="SOURCE",
        help="read events from this file or named pipe (`-`: standard input) instead of simulating them, and write "
        "decisions to standard output, both as lines of JSON",
    )
    parser.add_argument(
        "--tell-from",
        type=nonnegative_integer,
        metavar="STEP",
        help="with --live and --journal: write recorded decisions again from this step",
    )
    parser.add_argument(
        "--bound",
        action="store_true",
        help="bounds by linear relaxation: with windows of the complete horizon, otherwise over time with the capacity",
    )
    parser.add_argument(
        "--why-gap",
        action="store_true",
        help="divide the gap into myopia, forecast error and heuristic loss, by two more runs that look ahead",
    )
    add_json(parser, "the result")
    add_csv(parser, "write tables into a folder; for several methods: the table (`-`: to standard output)")
    add_html(parser)
    add_figures(parser)
    add_report(parser)


def add_estimate_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=ONLINE_HELP)
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    _add_at(parser, "time of the estimate (default: the submission of the job)")
    parser.add_argument(
        "--samples",
        type=sample_count,
        default=100,
        metavar="N",
        help="number of simulated runs from that time, with unknown quantities drawn again (default: 100)",
    )
    parser.add_argument(
        "--alternatives", action="store_true",
        help="for a waiting job: what would start it earlier, and its effect on the other jobs",
    )  # fmt: skip
    parser.add_argument(
        "--change", type=changed_values, action="append", metavar="NAME=VALUE,...",
        help="also examine these values of parameters of the job, such as needs=2,exec_time=5; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--no-arrivals", action="store_true",
        help="with a cluster file: no further jobs arrive (default: copies of past jobs, at the rate of the past)",
    )  # fmt: skip
    add_run_choice(parser)
    add_json(parser, "the estimate")
    add_csv(parser, "write the start, end, cost and tardiness of all runs as CSV (`-`: to standard output)")


def add_why_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=ONLINE_HELP)
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    _add_at(parser, "time of the explained plan (with a cluster file: now)")
    add_run_choice(parser)
    parser.add_argument("--journal", type=path, metavar="DB", help="take the recorded plans from this journal")
    add_judge(parser)
    add_time_limit(parser, "time limit for the cost of other plans", "--patience", default=60.0)
    add_json(parser, "the answer")


def _add_online(parser: Parser) -> None:
    parser.add_argument("--online", metavar="NAME", help="name of the online block (needed if there are several)")


def _add_at(parser: Parser, help: str) -> None:
    """Add a time of the run: with a unit, in that of the clock, or a date."""
    shown = f"{help}, such as 11.7h, 11.7 in the unit of the run's clock, or '2026-10-29 15:00'"
    parser.add_argument("--at", type=time_of_run, metavar="TIME", help=shown)


def add_run_choice(parser: Parser) -> None:
    """Add the options that choose a run: its online block, scenario, method and seed."""
    _add_online(parser)
    add_instance_options(parser)
    add_method(parser, METHOD_HELP)
    _add_fallback(parser)
    add_seed(parser, SEED_HELP)
    add_limits(parser, "relative gap at which a plan of a solver counts as optimal", "time limit of each plan")
    add_solver_option(parser)
    add_without(parser)


def _add_fallback(parser: Parser) -> None:
    parser.add_argument(
        "--fallback",
        metavar="NAME",
        help="method that plans if the main method finds no plan in time (default: that of the online block)",
    )
