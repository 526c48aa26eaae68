"""The command line's surface: commands, options, help. Imports nothing but argparse, so that `--help` is quick."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import NoReturn

from gpusched_dsl.cli.exits import TABLE

EXITS = "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in TABLE)
TARGETS = ("lp", "mps", "json", "latex", "markdown")
MOST_THREADS = 4096
PROFILE_ACTIONS = ("fit", "summarise")
LEARNERS = ("auto", "linear", "interactions", "forest", "both")
PROBLEM_HELP = "a .gsm file, or a problem that `export --to json` wrote"


class UsageError(Exception):
    """The command line is wrong; `help` says what to do."""

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.help = code, message, help


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and exiting, and knows no abbreviations."""

    def __init__(self, *args: object, **settings: object) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError("GSM6002", message, f"`{self.prog} --help` lists what it takes")

    @property
    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; raises UsageError, or SystemExit after `--help` and `--version`."""
    parser, commands = build_parser()
    _check_command(argv, commands)
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        raise _unknown_argument(unknown[0], commands.get(options.command or "", parser))
    return options


def build_parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser and those of its commands by name."""
    parser = Parser(
        prog="gsdsl",
        description="Models of scheduling deep-learning jobs on GPU clusters: check, solve, test, export.",
        epilog=EXITS + "\n\n`gsdsl COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=_version())
    _add_shared(parser, None)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands: dict[str, Parser] = {}
    for name, (summary, fill) in COMMANDS.items():
        command = subparsers.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", epilog=EXITS
        )
        fill(command)
        _add_shared(command, argparse.SUPPRESS)
        commands[name] = command
    return parser, commands


def _version() -> str:
    from gpusched_dsl.version import __version__

    return f"gsdsl {__version__}"


def _add_shared(parser: Parser, default: str | None) -> None:
    group = parser.add_argument_group("output")

    def add(name: str, **settings: object) -> None:
        fallback = settings.pop("default")
        group.add_argument(name, default=default if default is not None else fallback, **settings)  # type: ignore[arg-type]

    add("--diagnostics", choices=("text", "json"), default="text", help="how findings are told (default: text)")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: on a terminal)")
    add("--quiet", action="store_true", default=False, help="tell errors only")
    add("--debug", action="store_true", default=False, help="show the traceback of an internal error")


# --- commands --------------------------------------------------------------------------------------------------------


def _solve(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help=PROBLEM_HELP)
    _add_instance(parser)
    parser.add_argument(
        "--backend",
        default="highs",
        metavar="NAME",
        help="highs, scip, cvxpy, or a policy such as Greedy (default: highs)",
    )
    _add_effort(parser)
    parser.add_argument(
        "--seed", type=_integer, default=0, metavar="N", help="the random seed of the solver or policy (default: 0)"
    )
    _add_judge(parser)
    parser.add_argument(
        "--bound",
        action="store_true",
        help="beside the plan of a policy, the bound that the judge proves (at most --time-limit or 60 seconds)",
    )
    parser.add_argument(
        "--heuristic",
        choices=("auto", "on", "off"),
        default="auto",
        help="search for a good start before the solver does (default: where the problem is large)",
    )
    _add_solver_option(parser)
    parser.add_argument(
        "--decompose",
        choices=("auto", "on", "off"),
        default="auto",
        help="solve block by block where the model says `decompose by` (default: where it is large)",
    )
    _add_without(parser)
    parser.add_argument(
        "--warm-start",
        type=_place,
        metavar="START",
        help="start from a result that --json wrote, or from the plan of a policy",
    )
    parser.add_argument("--json", type=_place, metavar="OUT", help="write the result as JSON (`-`: to standard output)")
    parser.add_argument("--csv", type=_place, metavar="DIR", help="write one CSV file per variable into a folder")
    parser.add_argument("--verbose", action="store_true", help="show the solver's own log")


def _compare(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file")
    _add_instance(parser)
    parser.add_argument(
        "--methods",
        type=_names,
        required=True,
        metavar="A,B,...",
        help="solvers and policies, such as highs,FIFO,Greedy",
    )
    parser.add_argument(
        "--seeds",
        type=_seeds,
        default=(0,),
        metavar="N,N,...",
        help="policies that draw run once for each (default: 0)",
    )
    _add_effort(parser)
    _add_judge(parser)
    parser.add_argument(
        "--bound",
        action="store_true",
        help="let the judge prove a bound even where no solver is among the methods (at most "
        "--time-limit or 60 seconds)",
    )
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="write the comparison as JSON (`-`: to standard output)"
    )
    parser.add_argument("--csv", type=_place, metavar="OUT", help="write the table as CSV (`-`: to standard output)")


def _run(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--online", metavar="NAME", help="which online block (needed where there are several)")
    _add_instance(parser)
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "--method",
        default="highs",
        metavar="NAME",
        help="what makes the plans: a solver, or a policy such as Greedy (default: highs)",
    )
    one.add_argument(
        "--methods", type=_names, metavar="A,B,...", help="run each of these by itself, and compare them in one table"
    )
    parser.add_argument(
        "--fallback",
        metavar="NAME",
        help="makes a plan where the method finds none in time (default: that of the online block)",
    )
    parser.add_argument(
        "--seed",
        type=_integer,
        default=0,
        metavar="N",
        help="of all that is drawn: by the run, solvers and policies (default: 0)",
    )
    parser.add_argument(
        "--gap",
        type=_not_negative,
        default=1e-4,
        metavar="G",
        help="relative gap at which a solver's plan counts as optimal (default: 0.0001)",
    )
    parser.add_argument("--time-limit", type=_not_negative, metavar="SECONDS", help="for each plan")
    parser.add_argument("--threads", type=_thread_count, metavar="N", help="threads of the solver")
    _add_solver_option(parser)
    parser.add_argument(
        "--journal",
        type=_place,
        metavar="DB",
        help="record every plan in this file, and go on with the run that it has",
    )
    parser.add_argument(
        "--replay", action="store_true", help="with --journal: make all its plans again, and tell which are others"
    )
    parser.add_argument(
        "--verify",
        choices=("none", "sample", "full"),
        default="sample",
        help="check plans against the model, and fast replays: some (default), all, or none",
    )
    parser.add_argument(
        "--live",
        type=_place,
        metavar="SOURCE",
        help="take events from this file or named pipe (`-`: standard input) instead of simulating "
        "them, and write decisions to standard output, both as lines of JSON",
    )
    parser.add_argument("--start", metavar="DATE", help="with --live: the date at time 0, as in 2026-03-01T00:00Z")
    parser.add_argument(
        "--tell-from",
        type=_integer,
        metavar="STEP",
        help="with --live and --journal: tell recorded decisions again from this step on",
    )
    parser.add_argument(
        "--bound",
        action="store_true",
        help="for runs in windows: a bound from the linear relaxation of the whole horizon",
    )
    parser.add_argument("--json", type=_place, metavar="OUT", help="write the result as JSON (`-`: to standard output)")
    parser.add_argument(
        "--csv",
        type=_place,
        metavar="OUT",
        help="write tables into a folder; of several methods: the table (`-`: to standard output)",
    )
    parser.add_argument("--html", type=_place, metavar="OUT", help="write a page with charts (`-`: to standard output)")


def _estimate(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="the job that is asked about")
    parser.add_argument(
        "--at",
        type=_not_negative,
        metavar="TIME",
        help="when it is asked, in the unit of the run's clock (default: when the job is submitted)",
    )
    parser.add_argument(
        "--samples",
        type=_samples,
        default=100,
        metavar="N",
        help="runs from there on, with what nobody can know drawn anew (default: 100)",
    )
    _add_driven(parser)
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="write the estimate as JSON (`-`: to standard output)"
    )


def _why(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="the job that is asked about")
    parser.add_argument(
        "--at",
        type=_not_negative,
        required=True,
        metavar="TIME",
        help="the plan that holds at this time, in the unit of the run's clock, is explained",
    )
    _add_driven(parser)
    parser.add_argument(
        "--journal", type=_place, metavar="DB", help="take the plans from this journal, as far as it goes"
    )
    _add_judge(parser)
    parser.add_argument(
        "--patience",
        type=_not_negative,
        default=60.0,
        metavar="SECONDS",
        help="for finding out what other plans would cost (default: 60)",
    )
    parser.add_argument("--json", type=_place, metavar="OUT", help="write the answer as JSON (`-`: to standard output)")


def _add_driven(parser: Parser) -> None:
    """Which run is meant."""
    parser.add_argument("--online", metavar="NAME", help="which online block (needed where there are several)")
    _add_instance(parser)
    parser.add_argument(
        "--method",
        default="highs",
        metavar="NAME",
        help="what makes the plans: a solver, or a policy such as Greedy (default: highs)",
    )
    parser.add_argument(
        "--fallback",
        metavar="NAME",
        help="makes a plan where the method finds none in time (default: that of the online block)",
    )
    parser.add_argument("--seed", type=_integer, default=0, metavar="N", help="of all that is drawn (default: 0)")
    parser.add_argument("--time-limit", type=_not_negative, metavar="SECONDS", help="for each plan")


def _policies(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=_place,
        metavar="FILE",
        help="a .gsm file: its policies, and those of the library for its models (default: all of the library)",
    )
    parser.add_argument("--model", metavar="NAME", help="only those for this model")
    parser.add_argument("--rules", action="store_true", help="the rules and moves that a policy may name, instead")
    parser.add_argument("--json", type=_place, metavar="OUT", help="write them as JSON (`-`: to standard output)")
    _add_outside(parser)


def _add_effort(parser: Parser) -> None:
    """How much is tried, by solvers and by policies."""
    parser.add_argument(
        "--gap",
        type=_not_negative,
        default=1e-4,
        metavar="G",
        help="relative gap at which a solution counts as optimal (default: 0.0001)",
    )
    parser.add_argument(
        "--time-limit", type=_not_negative, metavar="SECONDS", help="stop after so many seconds with the best found"
    )
    parser.add_argument("--threads", type=_thread_count, metavar="N", help="threads of the solver")


def _add_solver_option(parser: Parser) -> None:
    parser.add_argument(
        "--solver-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the solver itself, such as mip_heuristic_effort=0.2",
    )


def _add_judge(parser: Parser) -> None:
    parser.add_argument(
        "--judge",
        default="highs",
        metavar="NAME",
        help="the solver that completes and checks the plan of a policy (default: highs)",
    )


def _explain(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=_place,
        metavar="FILE",
        help=PROBLEM_HELP + "; may be left out with `--policy` for those of the library",
    )
    parser.add_argument("--policy", metavar="NAME", help="tell in words what this policy does, instead")
    parser.add_argument("--model", metavar="NAME", help="with `--policy`: the one for this model")
    _add_instance(parser)
    parser.add_argument(
        "--backend",
        default="highs",
        metavar="NAME",
        help="explain the problem as this backend gets it (default: highs)",
    )
    _add_without(parser)
    parser.add_argument(
        "--no-why", action="store_true", help="do not find out whether there is a solution, and why not"
    )
    parser.add_argument(
        "--time-limit", type=_not_negative, default=60.0, metavar="SECONDS", help="for finding that out (default: 60)"
    )
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="write the explanation as JSON (`-`: to standard output)"
    )


def _add_without(parser: Parser) -> None:
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PASS",
        help="leave out a tightening pass (`all`: every one); may be given several times",
    )


def _add_instance(parser: Parser) -> None:
    """What says which problem of a file is meant, and what may be read and taken for it."""
    parser.add_argument("--scenario", metavar="NAME", help="which scenario (needed where there are several)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter or an option of the model, such as period=30[min]",
    )
    parser.add_argument(
        "--memory-limit",
        type=_positive,
        metavar="GIB",
        help="refuse to build what would take more memory (default: half of the machine, at most 8)",
    )
    _add_outside(parser)


def _add_outside(parser: Parser) -> None:
    parser.add_argument(
        "--allow-outside", action="store_true", help="allow imports and data from outside the folder of the file"
    )


def _check(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=_place, metavar="FILE", help=".gsm files or folders of them")
    _add_outside(parser)


def _fmt(parser: Parser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=_place,
        metavar="FILE",
        help=".gsm files or folders of them, rewritten in place; `-` reads standard input and writes standard output",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is not formatted")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


def _test(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=_place, metavar="FILE", help=".gsm files or folders of them")
    parser.add_argument("--filter", metavar="TEXT", default="", help="only tests whose name contains TEXT")
    parser.add_argument("--backend", metavar="NAME", help="only the runs with this backend or policy")
    parser.add_argument(
        "--every-backend",
        action="store_true",
        help="run all backends, also those that a test does not name, on what they take",
    )
    parser.add_argument(
        "--memory-limit",
        type=_positive,
        metavar="GIB",
        help="refuse to build what would take more memory (default: half of the machine, at most 8)",
    )
    _add_outside(parser)


def _export(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help=PROBLEM_HELP)
    parser.add_argument(
        "--to",
        choices=TARGETS,
        required=True,
        help="LP or MPS text, the problem as JSON, or the formulation as mathematics",
    )
    parser.add_argument("--out", type=_place, metavar="FILE", help="where to write (default: standard output)")
    parser.add_argument(
        "--model", metavar="NAME", help="which model to write as mathematics (default: all of the file)"
    )
    _add_instance(parser)


def _profile(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=PROFILE_ACTIONS,
        metavar="fit|summarise",
        help="fit: learn from a table of profiles and predict the pairs of job and GPU model that it "
        "lacks; summarise: burst, idle and peak from a table of samples",
    )
    parser.add_argument("table", type=_place, metavar="TABLE", help="a .csv or .parquet file")
    parser.add_argument(
        "--out",
        type=_place,
        metavar="FILE",
        help="write the table that scenarios read, as .csv or .parquet (`-`: to standard output)",
    )
    parser.add_argument("--gpus", type=_place, metavar="FILE", help="table of GPUs: gpu_type, memory_mb")
    parser.add_argument(
        "--jobs",
        type=_place,
        metavar="FILE",
        help="fit: table of jobs: job_id and what describes them; jobs without a row are predicted",
    )
    parser.add_argument(
        "--group",
        choices=("job", "model"),
        default="job",
        help="fit: what never stands on both sides of a split (default: job)",
    )
    parser.add_argument(
        "--folds", type=_folds, default=5, metavar="K", help="fit: parts of the cross-validation (default: 5)"
    )
    parser.add_argument(
        "--learner",
        choices=LEARNERS,
        default="auto",
        help="fit: what learns (default: auto, the best by an inner cross-validation)",
    )
    parser.add_argument("--seed", type=_integer, default=0, metavar="N", help="fit: of folds and forests (default: 0)")
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="fit: write the errors as JSON (`-`: to standard output)"
    )
    parser.add_argument(
        "--split",
        choices=("two-means", "median"),
        default="two-means",
        help="summarise: where samples are parted in burst and idle (default: two-means)",
    )


def _trace(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", type=_place, metavar="FILE", help="a trace or table as it was published")
    parser.add_argument("--as", dest="format", metavar="FORMAT", help="its format, such as philly, gavel, swf")
    parser.add_argument(
        "--formats",
        nargs="?",
        const="",
        metavar="FORMAT",
        help="list the formats and generators, or the columns and options of one",
    )
    parser.add_argument("--first", metavar="N", help="keep so many rows, in the order of submission")
    parser.add_argument("--skip", metavar="N", help="number of first rows to skip")
    parser.add_argument("--after", metavar="TIME", help="only jobs from this time of the trace on, such as 10[h]")
    parser.add_argument("--before", metavar="TIME", help="only jobs before this time of the trace")
    parser.add_argument("--status", metavar="WORDS", help="only jobs that ended so, such as 'COMPLETED|FAILED'")
    parser.add_argument("--vc", metavar="NAMES", help="only jobs of these virtual clusters")
    parser.add_argument("--most-gpus", metavar="N", help="only jobs that request at most this number of GPUs")
    parser.add_argument("--least-duration", metavar="TIME", help="only jobs that ran at least this time")
    parser.add_argument("--clock", metavar="first|file", help="where times begin (default: at the first job kept)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="any other option of the format"
    )
    parser.add_argument("--csv", type=_place, metavar="OUT", help="write the table as CSV (`-`: to standard output)")
    parser.add_argument("--parquet", type=_place, metavar="OUT", help="write the table as Parquet")


def _new(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the project: a folder of this name is made")


COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "solve": ("solve a scenario and show the schedule", _solve),
    "run": ("drive a scenario over time, plan after plan, by one method or several", _run),
    "estimate": ("tell when a job would start and end in a run, and what it would cost", _estimate),
    "why": ("tell why a job runs where it does, or waits, at some time of a run", _why),
    "compare": ("solve a scenario by several solvers and policies, in one table", _compare),
    "policies": ("list the policies for a model, and the rules they are made of", _policies),
    "explain": ("show sizes and reformulations, why there is no solution, or what a policy does", _explain),
    "check": ("check syntax, names, units and data without solving", _check),
    "test": ("run the test blocks of models", _test),
    "fmt": ("format files", _fmt),
    "export": ("write the compiled problem for other tools, or a model as mathematics", _export),
    "profile": ("learn execution times from measured profiles, or sum up samples", _profile),
    "trace": ("show what is in a trace of jobs or a table of prices, and write it in standard columns", _trace),
    "new": ("make a starter project", _new),
}


# --- values ----------------------------------------------------------------------------------------------------------


def _place(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is empty")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"`{text}` is no list of names, such as highs,Greedy")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise argparse.ArgumentTypeError(f"`{twice}` stands there twice")
    return names


def _seeds(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_integer(part) for part in text.split(",")))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number")
    return value


def _not_negative(text: str) -> float:
    if (value := _number(text)) < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is negative")
    return value


def _positive(text: str) -> float:
    if (value := _number(text)) <= 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not positive")
    return value


def _integer(text: str) -> int:
    value = _number(text)
    if not value.is_integer() or value < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a nonnegative integer")
    return int(value)


def _samples(text: str) -> int:
    if (value := _integer(text)) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is less than 1")
    return value


def _folds(text: str) -> int:
    if (value := _integer(text)) < 2:
        raise argparse.ArgumentTypeError(f"`{text}` is less than 2")
    return value


def _thread_count(text: str) -> int:
    if not 1 <= (value := _integer(text)) <= MOST_THREADS:
        raise argparse.ArgumentTypeError(f"`{text}` is not from 1 to {MOST_THREADS}")
    return value


# --- mistakes --------------------------------------------------------------------------------------------------------

_WITH_VALUE = ("--diagnostics", "--color")


def _check_command(argv: Sequence[str], commands: dict[str, Parser]) -> None:
    """Raise UsageError when the first word is no command; argparse would list all of them instead of guessing."""
    words = iter(argv)
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            if word in commands:
                return
            from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

            help: str | None = did_you_mean(word, commands)
            if help is None and word.endswith(".gsm"):
                help = f"to solve it: `gsdsl solve {word}`"
            listed = f"the commands are {', '.join(commands)}"
            raise UsageError("GSM6001", f"unknown command `{word}`", help or listed)


def _unknown_argument(word: str, parser: Parser) -> UsageError:
    from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

    if not word.startswith("-"):
        return UsageError("GSM6002", f"one argument too many: `{word}`")
    name = word.partition("=")[0]
    begun = [option for option in parser.option_names if option.startswith(name)]
    near = f"did you mean `{begun[0]}`?" if len(begun) == 1 else did_you_mean(name, parser.option_names)
    help = near or f"`{parser.prog} --help` lists the options"
    return UsageError("GSM6002", f"unknown option `{name}`", help)
