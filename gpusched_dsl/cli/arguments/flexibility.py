"""Options of `flexibility`."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.shared import (
    FILE_HELP,
    add_csv,
    add_instance_options,
    add_json,
    add_limits,
    add_method,
    add_seed,
    add_solver_option,
    add_without,
)
from gpusched_dsl.cli.arguments.values import fraction, path, positive_number, sample_count


def add_flexibility_options(parser: Parser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "--event",
        required=True,
        metavar="SLOTS",
        help="the slots in which power is shed: the first and the last, such as 68..75, or times from the start of "
        "slot 0, such as 17:00..19:00",
    )
    parser.add_argument(
        "--days",
        action="append",
        default=[],
        metavar="DAYS",
        help="realised days: values of a setting, such as seed=1..20 or scenario=Monday,Tuesday, or a CSV file with a "
        "column per setting and a row per day; several: every combination (default: the scenario is the only day)",
    )
    parser.add_argument(
        "--probability",
        type=probability,
        default=1.0,
        metavar="P",
        help="share of the days on which the shed must be possible, such as 0.95 or 95%% (default: 1)",
    )
    parser.add_argument(
        "--offers",
        type=offers,
        metavar="KW,KW,...",
        help="the sheds to price, in kW (default: equal parts of the largest guaranteed one)",
    )
    parser.add_argument(
        "--steps", type=sample_count, default=4, metavar="N", help="number of offers without --offers (default: 4)"
    )
    parser.add_argument(
        "--power", metavar="NAME", help="the variable or `let` of the power by slot, if there are several"
    )
    parser.add_argument(
        "--notice",
        metavar="TIME",
        help="slots (8) or time (2h) from the announcement to the event: earlier decisions are those of the plan "
        "without the event (default: announced before the first slot)",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="the policy or solver of the plan without the event, such as ValleyGreedy (default: --method, at least "
        "cost)",
    )
    add_instance_options(parser)
    add_method(parser, "the solver: highs, scip, cpsat, or concurrent")
    add_limits(parser, time_limit="limit of each of the solves, four per day and two per further offer")
    add_seed(parser, "the random seed of the solver")
    add_solver_option(parser)
    add_without(parser)
    add_json(parser, "the result")
    add_csv(parser, "write the table of offers as CSV (`-`: to standard output)")


def probability(text: str) -> float:
    """Read a share of days: above 0, at most 1."""
    if not 0 < (value := fraction(text)) <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not above 0 and at most 1 (100%)")
    return value


def offers(text: str) -> tuple[float, ...]:
    """Read positive numbers of kW."""
    return tuple(positive_number(part) for part in text.split(","))
