"""Options of the commands for model files: `check`, `test`, `fmt`, `export`, `lsp` and `new`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    FILES_HELP,
    PROBLEM_HELP,
    add_allow_outside,
    add_instance_options,
    add_json,
    add_memory_limit,
    add_method,
)
from gpusched_dsl.cli.arguments.values import path
from gsdsl_backends.export_names import BUILT_IN, MATHEMATICS, Targets

TARGETS = Targets((*BUILT_IN, *MATHEMATICS))


def add_check_options(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help=FILES_HELP)
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also build the problem of every scenario, to find all errors that `solve` finds, without solving",
    )
    parser.add_argument("--strict", action="store_true", help="report warnings as errors")
    add_method(parser, "with --deep: the solver that the problems are built for, instead of highs", default=None)
    add_memory_limit(parser)
    add_allow_outside(parser)


def add_test_options(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help=FILES_HELP)
    parser.add_argument("--filter", metavar="TEXT", default="", help="only tests whose name contains TEXT")
    add_method(parser, "only the runs with this solver or policy", default=None)
    parser.add_argument(
        "--every-backend",
        action="store_true",
        help="also run all other solvers that prove results on the tests that they support",
    )
    add_memory_limit(parser)
    add_json(parser, "the outcome of every run")
    add_allow_outside(parser)


def add_fmt_options(parser: Parser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=path,
        metavar="FILE",
        help=".gsm files or folders of them, rewritten in place; `-` reads standard input and writes standard output",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is not formatted")
    parser.add_argument("--diff", action="store_true", help="change nothing; show the differences")


def add_export_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=PROBLEM_HELP)
    parser.add_argument(
        "--to",
        choices=TARGETS,
        required=True,
        help="lp, mps: text for other solvers; json: the problem, which `gsdsl solve` reads; python, python-scip: a "
        "script on the package of HiGHS or SCIP, which runs without gsdsl; latex, markdown: the formulation as "
        "mathematics; or a format of an installed package",
    )
    parser.add_argument("-o", "--out", type=path, metavar="FILE", help="output file (default: standard output)")
    parser.add_argument(
        "--aggregated",
        action="store_true",
        help="aggregate interchangeable elements, as `solve` does (default: name each element)",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="name of the model to write as mathematics (default: all models of the file)"
    )
    add_instance_options(parser)


def add_lsp_options(parser: Parser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="talk over standard input and output (the default; editors may add it)"
    )


def add_new_options(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the project and of its new folder")
    parser.add_argument(
        "--template", default="decision", metavar="NAME", help="decision, events or windows (default: decision)"
    )
    parser.add_argument("--list", action="store_true", help="list the templates")
