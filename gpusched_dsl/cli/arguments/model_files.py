"""Options of the commands for model files: `check`, `test`, `fmt`, `export` and `new`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import PROBLEM_HELP, add_allow_outside, add_instance_options
from gpusched_dsl.cli.arguments.values import path, positive_number

TARGETS = ("lp", "mps", "json", "latex", "markdown")


def add_check_options(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help=".gsm files or folders of them")
    add_allow_outside(parser)


def add_test_options(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help=".gsm files or folders of them")
    parser.add_argument("--filter", metavar="TEXT", default="", help="only tests whose name contains TEXT")
    parser.add_argument("--backend", metavar="NAME", help="only the runs with this backend or policy")
    parser.add_argument(
        "--every-backend",
        action="store_true",
        help="also run all other backends on the tests that they support",
    )
    parser.add_argument(
        "--memory-limit",
        type=positive_number,
        metavar="GIB",
        help="largest memory for data and problem (default: half of the machine, at most 8)",
    )
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
        help="LP or MPS text, the problem as JSON, or the formulation as mathematics",
    )
    parser.add_argument("--out", type=path, metavar="FILE", help="output file (default: standard output)")
    parser.add_argument(
        "--model", metavar="NAME", help="name of the model to write as mathematics (default: all models of the file)"
    )
    add_instance_options(parser)


def add_new_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the project and of its new folder")
