"""Options that several groups of commands share."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.values import (
    duration,
    fraction,
    names,
    nonnegative_integer,
    path,
    positive_number,
    report_target,
    seeds,
    thread_count,
    worker_count,
)

PROBLEM_HELP = "a .gsm file, gsdsl:NAME for a shipped model, or a problem that `export --to json` wrote"
FILE_HELP = "a .gsm file, or gsdsl:NAME for a shipped model"
FILES_HELP = ".gsm files or folders of them, or gsdsl:NAME for shipped models"
ONLINE_HELP = "a .gsm file (or gsdsl:NAME) that has or imports an `online` block"

Group = Parser | argparse._ArgumentGroup  # mutually exclusive options are a kind of group


def add_output_options(parser: Parser, default: str | None) -> None:
    """Add the options for output; `default` replaces the default of each option, unless it is None."""
    group = parser.add_argument_group("output")

    def add(*names: str, **settings: object) -> None:
        fallback = settings.pop("default")
        group.add_argument(*names, default=default if default is not None else fallback, **settings)  # type: ignore[arg-type]

    add("--diagnostics", choices=("text", "json"), default="text", help="format of diagnostics (default: text)")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: on a terminal)")
    add("-q", "--quiet", action="store_true", default=False, help="print only errors")
    add("--debug", action="store_true", default=False, help="show the traceback of an internal error")


def add_instance_options(parser: Parser) -> None:
    """Add the options that choose the problem of a file and limit data access and memory."""
    parser.add_argument(
        "-s", "--scenario", metavar="NAME", help="name of the scenario (needed if several could be meant)"
    )
    parser.add_argument(
        "-D",
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option, a parameter or a single value, such as period=30[min] or 'deadline[j1]=20[h]', or an "
        "option of a generator, such as seed=2",
    )
    parser.add_argument(
        "--set-file",
        action="append",
        type=path,
        default=[],
        metavar="CSV",
        help="set the values of a CSV file with the columns name, value and, optionally, unit",
    )
    parser.add_argument(
        "--start",
        metavar="DATE",
        help="date at time 0, as in 2026-03-01T00:00Z; without an offset on the clock of the calendar of the scenario",
    )
    add_memory_limit(parser)
    add_allow_outside(parser)


def add_memory_limit(parser: Parser) -> None:
    parser.add_argument(
        "--memory-limit",
        type=positive_number,
        metavar="GIB",
        help="largest memory for data and problem (default: half of the machine, at most 8)",
    )


def add_allow_outside(parser: Parser) -> None:
    parser.add_argument(
        "--allow-outside", action="store_true", help="allow imports and data from outside the folder of the file"
    )


# --- methods ---------------------------------------------------------------------------------------------------------


def add_method(parser: Group, help: str, default: str | None = "highs") -> None:
    """Add `--method`, a solver or a policy; `--backend` is its older name."""
    shown = help if default is None else f"{help} (default: {default})"
    parser.add_argument("-m", "--method", "--backend", dest="method", default=default, metavar="NAME", help=shown)


def add_methods(parser: Group, help: str, *, only: bool = False) -> None:
    """Add `--methods`; if the command has `only` this option, it is required and `--method` means the same."""
    if only:
        parser.add_argument(
            "-m", "--methods", "--method", dest="methods", type=names, required=True, metavar="A,B,...", help=help
        )
    else:
        parser.add_argument("--methods", type=names, metavar="A,B,...", help=help)


def add_seed(parser: Group, help: str) -> None:
    parser.add_argument("--seed", type=nonnegative_integer, default=0, metavar="N", help=f"{help} (default: 0)")


def add_seeds(parser: Group, help: str, default: tuple[int, ...] | None = (0,)) -> None:
    parser.add_argument("--seeds", type=seeds, default=default, metavar="N,N,...", help=f"{help}; `1..10` is a range")


def add_judge(parser: Parser) -> None:
    parser.add_argument(
        "--judge",
        default="highs",
        metavar="NAME",
        help="the solver that completes and verifies the plan of a policy (default: highs)",
    )


# --- limits ----------------------------------------------------------------------------------------------------------


def add_limits(
    parser: Parser, gap: str = "relative gap at which a solution counts as optimal", time_limit: str = ""
) -> None:
    """Add the options for limits of solvers and policies."""
    parser.add_argument(
        "-g",
        "--gap",
        type=fraction,
        default=1e-4,
        metavar="G",
        help=f"{gap}, such as 0.01 or 1%% (default: 0.0001)",
    )
    add_time_limit(parser, time_limit or "stop after this time with the best solution so far")
    parser.add_argument("--threads", type=thread_count, metavar="N", help="threads of the solver")


def add_time_limit(parser: Parser, help: str, *names: str, default: float | None = None) -> None:
    """Add a limit of time, `--time-limit` or another name, in seconds or with units."""
    shown = f"{help}: seconds, or 90s, 5m, 1h30m" + ("" if default is None else f" (default: {default:g})")
    parser.add_argument(*(names or ("-t", "--time-limit")), type=duration, default=default, metavar="TIME", help=shown)


def add_solver_option(parser: Parser) -> None:
    parser.add_argument(
        "--solver-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the solver itself, such as mip_heuristic_effort=0.2",
    )


def add_without(parser: Parser) -> None:
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PASS",
        help="skip a tightening pass (`all`: every pass); may be given several times",
    )


def add_engine(group: Group, default: str | None = "local") -> None:
    """Add `--engine` and `--workers`; with the default None, only if one of them is given."""
    what = "local (processes of this machine{}), dask, dask://HOST:PORT or slurm".format(
        ", the default" if default else ""
    )
    group.add_argument("--workers", type=worker_count, metavar="N", help="number of workers (default: one per core)")
    group.add_argument("--engine", default=default, metavar="ENGINE", help=what)


# --- documents -------------------------------------------------------------------------------------------------------


def add_json(parser: Parser, what: str) -> None:
    parser.add_argument("--json", type=path, metavar="OUT", help=f"write {what} as JSON (`-`: to standard output)")


def add_csv(parser: Parser, help: str, metavar: str = "OUT") -> None:
    parser.add_argument("--csv", type=path, metavar=metavar, help=help)


def add_html(parser: Group) -> None:
    parser.add_argument("--html", type=path, metavar="OUT", help="write a page with charts (`-`: to standard output)")


def add_report(parser: Group) -> None:
    parser.add_argument(
        "--report",
        type=report_target,
        action="append",
        default=[],
        metavar="NAME=OUT",
        help="write the result in a format that an installed package adds; may be given several times",
    )


def add_figures(parser: Group) -> None:
    parser.add_argument("--figures", type=path, metavar="DIR", help="write the charts of the page as SVG and PNG")
