"""Options of the commands that solve a scenario: `solve` and `compare`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    FILE_HELP,
    PROBLEM_HELP,
    add_csv,
    add_engine,
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
    add_without,
)
from gpusched_dsl.cli.arguments.values import count_of_at_least_two, fraction, names, path


def add_solve_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=PROBLEM_HELP)
    add_instance_options(parser)
    add_method(
        parser,
        "highs, scip, cvxpy, cpsat, search (local search), concurrent (several at once), or a policy such as Greedy",
    )
    add_limits(parser)
    add_seed(parser, "the random seed of the solver or policy")
    add_judge(parser)
    parser.add_argument(
        "--bound",
        action="store_true",
        help="for a policy or search: also let the judge prove a bound (at most --time-limit or 60 seconds)",
    )
    parser.add_argument(
        "--heuristic",
        choices=("auto", "on", "off"),
        default="auto",
        help="search for a good start before the solver (default: if the problem is large)",
    )
    add_solver_option(parser)
    parser.add_argument(
        "--decompose",
        choices=("auto", "on", "off"),
        default="auto",
        help="use the blocks of `decompose by` in the model (default: if it is large)",
    )
    parser.add_argument(
        "--no-second-opinion",
        dest="second_opinion",
        action="store_false",
        help="do not confirm the result of a short solve by a second one without presolve",
    )
    add_engine(parser, None)
    add_without(parser)
    parser.add_argument(
        "--warm-start",
        type=path,
        metavar="START",
        help="start from a result written by --json, or from the plan of a policy",
    )
    parser.add_argument("--relax", action="store_true", help="solve the relaxation: no variable needs to be integer")
    parser.add_argument(
        "--duals",
        action="store_true",
        help="show duals, slacks, reduced costs and ranges; with integers, those of the solution's linear program",
    )
    parser.add_argument(
        "--alternatives",
        type=count_of_at_least_two,
        metavar="K",
        help="also find other solutions, K in all, distinct up to the names of interchangeable elements",
    )
    parser.add_argument(
        "--within",
        type=fraction,
        metavar="G",
        help="how much worse an alternative may be, such as 5%% (default: 1%%)",
    )
    parser.add_argument(
        "--distinct-by",
        type=names,
        metavar="A,B,...",
        help="the variables in which alternatives differ (default: that of the placement, or all integer variables)",
    )
    parser.add_argument(
        "--options-of", metavar="JOB", help="rank all placements of a job, with the best for all others"
    )
    parser.add_argument(
        "--show",
        type=names,
        default=(),
        metavar="A,B,...",
        help="print all values of these variables, reports and parameters (`all`: of every variable)",
    )
    add_json(parser, "the result")
    add_csv(parser, "write one CSV file per variable into a folder", "DIR")
    add_html(parser)
    add_figures(parser)
    add_report(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="show the solver's own log")


def add_watch_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=FILE_HELP)
    parser.add_argument("--check-only", action="store_true", help="do not solve")
    add_instance_options(parser)
    add_method(parser, "highs, scip, cvxpy, cpsat, search, or a policy such as Greedy")
    add_limits(parser)
    add_seed(parser, "the random seed of the solver or policy")


def add_compare_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=FILE_HELP)
    add_instance_options(parser)
    add_methods(parser, "solvers and policies, such as highs,FIFO,Greedy", only=True)
    add_seeds(parser, "run randomised policies once for each seed (default: 0)")
    add_limits(parser)
    add_judge(parser)
    parser.add_argument(
        "--bound",
        action="store_true",
        help="let the judge prove a bound even if no method is a solver (at most --time-limit or 60 seconds)",
    )
    add_without(parser)
    add_json(parser, "the comparison")
    add_csv(parser, "write the table as CSV (`-`: to standard output)")
    add_html(parser)
    add_figures(parser)
    add_report(parser)
