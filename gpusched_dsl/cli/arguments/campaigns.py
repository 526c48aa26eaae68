"""Options of the command `campaign`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    FILE_HELP,
    add_allow_outside,
    add_engine,
    add_figures,
    add_html,
    add_memory_limit,
)
from gpusched_dsl.cli.arguments.values import path, positive_number

ACTIONS = ("run", "status", "show", "export", "verify")


def add_campaign_options(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="run|status|show|export|verify",
        help="run: execute the runs that the store lacks; status: count them; show: means by factors and method; "
        "export: write all results as one table; verify: whether the results belong to the present inputs",
    )
    parser.add_argument("file", type=path, metavar="FILE", help=FILE_HELP)
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the campaign (needed if there are several)")
    parser.add_argument(
        "--store", type=path, metavar="DIR", help="folder of the results (default: NAME.results in this folder)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="only runs with this value of a factor, method, scenario or seed; of repeated names, any of the values",
    )
    group = parser.add_argument_group("run")
    add_engine(group)
    group.add_argument(
        "--memory",
        type=positive_number,
        metavar="GIB",
        help="largest memory of a worker (default: an equal share of four fifths of the machine)",
    )
    group.add_argument("--retry", action="store_true", help="also execute runs that failed before")
    group.add_argument("--dry-run", action="store_true", help="show the number of runs and an estimate, execute none")
    show = parser.add_argument_group("show")
    add_html(show)
    add_figures(show)
    export = parser.add_argument_group("export")
    export.add_argument(
        "--out", type=path, metavar="FILE", help="a .parquet, .csv or .json file (default: NAME.parquet)"
    )
    export.add_argument("--all", action="store_true", help="all measures, not only those of `measure`")
    add_memory_limit(parser)
    add_allow_outside(parser)
