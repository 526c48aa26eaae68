"""Options of the commands for assistants: `mcp` and `grammar`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import add_allow_outside
from gpusched_dsl.cli.arguments.values import duration, path, positive_number

GRAMMARS = ("gbnf", "lark")


def add_mcp_options(parser: Parser) -> None:
    parser.add_argument("folder", nargs="?", type=path, metavar="FOLDER", help="folder of the models (default: this)")
    parser.add_argument(
        "-t",
        "--time-limit",
        type=duration,
        default=30.0,
        metavar="TIME",
        help="longest time of a call: seconds, or 90s, 5m (default: 30)",
    )
    parser.add_argument(
        "--memory-limit",
        type=positive_number,
        default=1.0,
        metavar="GIB",
        help="largest memory for data and problem of a call (default: 1)",
    )
    add_allow_outside(parser)


def add_grammar_options(parser: Parser) -> None:
    parser.add_argument(
        "--to",
        choices=GRAMMARS,
        default="gbnf",
        help="gbnf: a grammar over characters, for constrained output of language models (default); lark: the grammar "
        "that defines the language, over words",
    )
    parser.add_argument(
        "-o", "--out", type=path, default="-", metavar="FILE", help="output file (default: standard output)"
    )
