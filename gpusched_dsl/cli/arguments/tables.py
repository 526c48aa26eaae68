"""Options of the commands for tables of measurements and traces: `profile` and `trace`."""

from __future__ import annotations

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import add_json, add_memory_limit
from gpusched_dsl.cli.arguments.values import fold_count, nonnegative_integer, path

PROFILE_ACTIONS = ("fit", "summarise")
LEARNERS = ("auto", "linear", "interactions", "forest", "both")


def add_profile_options(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=PROFILE_ACTIONS,
        metavar="fit|summarise",
        help="fit: learn from a table of profiles and predict its missing pairs of job and GPU model; summarise: "
        "compute burst, idle and peak from a table of samples",
    )
    parser.add_argument("table", type=path, metavar="TABLE", help="a .csv or .parquet file")
    parser.add_argument(
        "--out",
        type=path,
        metavar="FILE",
        help="write the table for scenarios, as .csv or .parquet (`-`: to standard output)",
    )
    parser.add_argument("--gpus", type=path, metavar="FILE", help="table of GPUs: gpu_type, memory_mb")
    parser.add_argument(
        "--jobs",
        type=path,
        metavar="FILE",
        help="fit: table of jobs: job_id and their features; all jobs without a measurement are predicted",
    )
    parser.add_argument(
        "--group",
        choices=("job", "model"),
        default="job",
        help="fit: unit that is never split between training and test data (default: job)",
    )
    parser.add_argument(
        "--folds", type=fold_count, default=5, metavar="K", help="fit: folds of the cross-validation (default: 5)"
    )
    parser.add_argument(
        "--learner",
        choices=LEARNERS,
        default="auto",
        help="fit: learner (default: auto, the best by an inner cross-validation)",
    )
    parser.add_argument(
        "--seed",
        type=nonnegative_integer,
        default=0,
        metavar="N",
        help="fit: random seed of folds and forests (default: 0)",
    )
    parser.add_argument(
        "--json", type=path, metavar="OUT", help="fit: write the errors as JSON (`-`: to standard output)"
    )
    parser.add_argument(
        "--split",
        choices=("two-means", "median"),
        default="two-means",
        help="summarise: method that separates samples into burst and idle (default: two-means)",
    )


def add_trace_options(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", type=path, metavar="FILE", help="a published trace or table")
    parser.add_argument("--as", dest="format", metavar="FORMAT", help="its format, such as philly, gavel, swf")
    parser.add_argument(
        "--formats",
        nargs="?",
        const="",
        metavar="FORMAT",
        help="list the formats and generators, or the columns and options of one",
    )
    parser.add_argument("--first", metavar="N", help="number of rows to keep, in the order of submission")
    parser.add_argument("--skip", metavar="N", help="number of first rows to skip")
    parser.add_argument(
        "--after", metavar="TIME", help="only jobs submitted at or after this time of the trace, such as 10[h]"
    )
    parser.add_argument("--before", metavar="TIME", help="only jobs submitted before this time of the trace")
    parser.add_argument("--status", metavar="WORDS", help="only jobs with this status, such as 'COMPLETED|FAILED'")
    parser.add_argument("--vc", metavar="NAMES", help="only jobs of these virtual clusters")
    parser.add_argument("--most-gpus", metavar="N", help="only jobs that request at most this number of GPUs")
    parser.add_argument("--least-duration", metavar="TIME", help="only jobs that ran at least this time")
    parser.add_argument("--clock", metavar="first|file", help="origin of times (default: the first kept job)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="any other option of the format"
    )
    parser.add_argument("--csv", type=path, metavar="OUT", help="write the table as CSV (`-`: to standard output)")
    parser.add_argument("--parquet", type=path, metavar="OUT", help="write the table as Parquet")
    add_json(parser, "the summary")
    add_memory_limit(parser)
