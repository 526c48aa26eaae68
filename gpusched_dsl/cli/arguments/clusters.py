"""Options of the command for real clusters: `drive`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import add_html, add_json, add_methods
from gpusched_dsl.cli.arguments.values import path, sample_count


def add_drive_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="the cluster file, such as cluster.toml")
    parser.add_argument("--act", action="store_true", help="change the cluster; without it only watch and record")
    parser.add_argument("--check", action="store_true", help="observe once, show the nodes and the data of the jobs")
    parser.add_argument(
        "--report", action="store_true", help="compare the recorded jobs of the cluster with what a plan had cost"
    )
    parser.add_argument("--rounds", type=sample_count, metavar="N", help="end after N observations (default: never)")
    add_methods(parser, "with --report: compare these methods (default: that of the cluster file)")
    add_json(parser, "the comparison")
    add_html(parser)
    parser.add_argument("--allow-outside", action="store_true", help="read files outside the folder of the model")
