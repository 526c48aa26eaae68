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
    """A wrong command line; `help` has the remedy."""

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.help = code, message, help


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and exiting, and accepts no abbreviations."""

    def __init__(self, *args: object, **settings: object) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError("GSM6002", message, f"`{self.prog} --help` lists the arguments")

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

    add("--diagnostics", choices=("text", "json"), default="text", help="format of diagnostics (default: text)")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: on a terminal)")
    add("--quiet", action="store_true", default=False, help="print only errors")
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
        help="for a policy: also let the judge prove a bound (at most --time-limit or 60 seconds)",
    )
    parser.add_argument(
        "--heuristic",
        choices=("auto", "on", "off"),
        default="auto",
        help="search for a good start before the solver (default: if the problem is large)",
    )
    _add_solver_option(parser)
    parser.add_argument(
        "--decompose",
        choices=("auto", "on", "off"),
        default="auto",
        help="use the blocks of `decompose by` in the model (default: if it is large)",
    )
    _add_without(parser)
    parser.add_argument(
        "--warm-start",
        type=_place,
        metavar="START",
        help="start from a result written by --json, or from the plan of a policy",
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
        help="run randomised policies once for each seed (default: 0)",
    )
    _add_effort(parser)
    _add_judge(parser)
    parser.add_argument(
        "--bound",
        action="store_true",
        help="let the judge prove a bound even if no method is a solver (at most --time-limit or 60 seconds)",
    )
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="write the comparison as JSON (`-`: to standard output)"
    )
    parser.add_argument("--csv", type=_place, metavar="OUT", help="write the table as CSV (`-`: to standard output)")


def _run(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--online", metavar="NAME", help="name of the online block (needed if there are several)")
    _add_instance(parser)
    one = parser.add_mutually_exclusive_group()
    _add_method(one)
    one.add_argument(
        "--methods",
        type=_names,
        metavar="A,B,...",
        help="run each of these methods separately, and compare them in one table",
    )
    _add_fallback_and_seed(parser)
    parser.add_argument(
        "--gap",
        type=_not_negative,
        default=1e-4,
        metavar="G",
        help="relative gap at which a plan of a solver counts as optimal (default: 0.0001)",
    )
    parser.add_argument("--time-limit", type=_not_negative, metavar="SECONDS", help="time limit of each plan")
    parser.add_argument("--threads", type=_thread_count, metavar="N", help="threads of the solver")
    _add_solver_option(parser)
    parser.add_argument(
        "--journal",
        type=_place,
        metavar="DB",
        help="record every plan in this file, and continue the run in it",
    )
    parser.add_argument(
        "--replay", action="store_true", help="with --journal: compute all its plans again, and report differences"
    )
    parser.add_argument(
        "--verify",
        choices=("none", "sample", "full"),
        default="sample",
        help="verify plans against the model, and fast replays: some (default), all, or none",
    )
    parser.add_argument(
        "--live",
        type=_place,
        metavar="SOURCE",
        help="read events from this file or named pipe (`-`: standard input) instead of simulating them, and write "
        "decisions to standard output, both as lines of JSON",
    )
    parser.add_argument("--start", metavar="DATE", help="with --live: the date at time 0, as in 2026-03-01T00:00Z")
    parser.add_argument(
        "--tell-from",
        type=_integer,
        metavar="STEP",
        help="with --live and --journal: write recorded decisions again from this step",
    )
    parser.add_argument(
        "--bound",
        action="store_true",
        help="for runs with windows: a bound from the linear relaxation of the complete horizon",
    )
    parser.add_argument("--json", type=_place, metavar="OUT", help="write the result as JSON (`-`: to standard output)")
    parser.add_argument(
        "--csv",
        type=_place,
        metavar="OUT",
        help="write tables into a folder; for several methods: the table (`-`: to standard output)",
    )
    parser.add_argument("--html", type=_place, metavar="OUT", help="write a page with charts (`-`: to standard output)")


def _estimate(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    parser.add_argument(
        "--at",
        type=_not_negative,
        metavar="TIME",
        help="time of the estimate, in the unit of the run's clock (default: the submission of the job)",
    )
    parser.add_argument(
        "--samples",
        type=_samples,
        default=100,
        metavar="N",
        help="number of simulated runs from that time, with unknown quantities drawn again (default: 100)",
    )
    _add_driven(parser)
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="write the estimate as JSON (`-`: to standard output)"
    )


def _why(parser: Parser) -> None:
    parser.add_argument("file", type=_place, metavar="FILE", help="a .gsm file that has or imports an `online` block")
    parser.add_argument("--job", required=True, metavar="JOB", help="name of the job")
    parser.add_argument(
        "--at",
        type=_not_negative,
        required=True,
        metavar="TIME",
        help="time of the explained plan, in the unit of the run's clock",
    )
    _add_driven(parser)
    parser.add_argument("--journal", type=_place, metavar="DB", help="take the recorded plans from this journal")
    _add_judge(parser)
    parser.add_argument(
        "--patience",
        type=_not_negative,
        default=60.0,
        metavar="SECONDS",
        help="time limit for the cost of other plans (default: 60)",
    )
    parser.add_argument("--json", type=_place, metavar="OUT", help="write the answer as JSON (`-`: to standard output)")


def _add_driven(parser: Parser) -> None:
    """Which run is meant."""
    parser.add_argument("--online", metavar="NAME", help="name of the online block (needed if there are several)")
    _add_instance(parser)
    _add_method(parser)
    _add_fallback_and_seed(parser)
    parser.add_argument("--time-limit", type=_not_negative, metavar="SECONDS", help="time limit of each plan")


def _add_method(parser: Parser | argparse._MutuallyExclusiveGroup) -> None:
    parser.add_argument(
        "--method",
        default="highs",
        metavar="NAME",
        help="method that plans: a solver, or a policy such as Greedy (default: highs)",
    )


def _add_fallback_and_seed(parser: Parser) -> None:
    parser.add_argument(
        "--fallback",
        metavar="NAME",
        help="method that plans if the main method finds no plan in time (default: that of the online block)",
    )
    parser.add_argument(
        "--seed",
        type=_integer,
        default=0,
        metavar="N",
        help="random seed of the run, solvers and policies (default: 0)",
    )


def _policies(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=_place,
        metavar="FILE",
        help="a .gsm file: its policies, and those of the library for its models (default: all of the library)",
    )
    parser.add_argument("--model", metavar="NAME", help="only policies for this model")
    parser.add_argument("--rules", action="store_true", help="list the rules and moves for policies instead")
    parser.add_argument("--json", type=_place, metavar="OUT", help="write them as JSON (`-`: to standard output)")
    _add_outside(parser)


def _add_effort(parser: Parser) -> None:
    """Add the options for limits of solvers and policies."""
    parser.add_argument(
        "--gap",
        type=_not_negative,
        default=1e-4,
        metavar="G",
        help="relative gap at which a solution counts as optimal (default: 0.0001)",
    )
    parser.add_argument(
        "--time-limit",
        type=_not_negative,
        metavar="SECONDS",
        help="stop after this number of seconds with the best solution so far",
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
        help="the solver that completes and verifies the plan of a policy (default: highs)",
    )


def _explain(parser: Parser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=_place,
        metavar="FILE",
        help=PROBLEM_HELP + "; optional with `--policy` for policies of the library",
    )
    parser.add_argument("--policy", metavar="NAME", help="describe this policy in plain English instead")
    parser.add_argument("--model", metavar="NAME", help="with `--policy`: the model of the policy")
    _add_instance(parser)
    parser.add_argument(
        "--backend",
        default="highs",
        metavar="NAME",
        help="explain the problem for this backend (default: highs)",
    )
    _add_without(parser)
    parser.add_argument("--no-why", action="store_true", help="do not search for a solution, a conflict or a ray")
    parser.add_argument(
        "--time-limit",
        type=_not_negative,
        default=60.0,
        metavar="SECONDS",
        help="time limit for this search (default: 60)",
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
        help="skip a tightening pass (`all`: every pass); may be given several times",
    )


def _add_instance(parser: Parser) -> None:
    """Add the options that choose the problem of a file and limit data access and memory."""
    parser.add_argument("--scenario", metavar="NAME", help="name of the scenario (needed if there are several)")
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
        help="largest memory for data and problem (default: half of the machine, at most 8)",
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
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is not formatted")
    parser.add_argument("--diff", action="store_true", help="change nothing; show the differences")


def _test(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", type=_place, metavar="FILE", help=".gsm files or folders of them")
    parser.add_argument("--filter", metavar="TEXT", default="", help="only tests whose name contains TEXT")
    parser.add_argument("--backend", metavar="NAME", help="only the runs with this backend or policy")
    parser.add_argument(
        "--every-backend",
        action="store_true",
        help="also run all other backends on the tests that they support",
    )
    parser.add_argument(
        "--memory-limit",
        type=_positive,
        metavar="GIB",
        help="largest memory for data and problem (default: half of the machine, at most 8)",
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
    parser.add_argument("--out", type=_place, metavar="FILE", help="output file (default: standard output)")
    parser.add_argument(
        "--model", metavar="NAME", help="name of the model to write as mathematics (default: all models of the file)"
    )
    _add_instance(parser)


def _profile(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=PROFILE_ACTIONS,
        metavar="fit|summarise",
        help="fit: learn from a table of profiles and predict its missing pairs of job and GPU model; summarise: "
        "compute burst, idle and peak from a table of samples",
    )
    parser.add_argument("table", type=_place, metavar="TABLE", help="a .csv or .parquet file")
    parser.add_argument(
        "--out",
        type=_place,
        metavar="FILE",
        help="write the table for scenarios, as .csv or .parquet (`-`: to standard output)",
    )
    parser.add_argument("--gpus", type=_place, metavar="FILE", help="table of GPUs: gpu_type, memory_mb")
    parser.add_argument(
        "--jobs",
        type=_place,
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
        "--folds", type=_folds, default=5, metavar="K", help="fit: folds of the cross-validation (default: 5)"
    )
    parser.add_argument(
        "--learner",
        choices=LEARNERS,
        default="auto",
        help="fit: learner (default: auto, the best by an inner cross-validation)",
    )
    parser.add_argument(
        "--seed", type=_integer, default=0, metavar="N", help="fit: random seed of folds and forests (default: 0)"
    )
    parser.add_argument(
        "--json", type=_place, metavar="OUT", help="fit: write the errors as JSON (`-`: to standard output)"
    )
    parser.add_argument(
        "--split",
        choices=("two-means", "median"),
        default="two-means",
        help="summarise: method that separates samples into burst and idle (default: two-means)",
    )


def _trace(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", type=_place, metavar="FILE", help="a published trace or table")
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
    parser.add_argument("--csv", type=_place, metavar="OUT", help="write the table as CSV (`-`: to standard output)")
    parser.add_argument("--parquet", type=_place, metavar="OUT", help="write the table as Parquet")


def _new(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the project and of its new folder")


COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "solve": ("solve a scenario and show the schedule", _solve),
    "run": ("run a scenario over time, plan after plan, with one or several methods", _run),
    "estimate": ("estimate when a job starts and ends in a run, and its cost", _estimate),
    "why": ("explain why a job runs on its node, or waits, at a time of a run", _why),
    "compare": ("solve a scenario with several solvers and policies, in one table", _compare),
    "policies": ("list the policies for a model, and the rules of policies", _policies),
    "explain": ("explain a problem (sizes, reformulations, conflicts) or a policy", _explain),
    "check": ("check syntax, names, units and data without solving", _check),
    "test": ("run the test blocks of models", _test),
    "fmt": ("format files", _fmt),
    "export": ("write the compiled problem for other tools, or a model as mathematics", _export),
    "profile": ("learn execution times from measured profiles, or summarise samples", _profile),
    "trace": ("show a trace of jobs or a table of prices, and write it in standard columns", _trace),
    "new": ("create a starter project", _new),
}


# --- values ----------------------------------------------------------------------------------------------------------


def _place(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is empty")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"`{text}` is not a list of names, such as highs,Greedy")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise argparse.ArgumentTypeError(f"`{twice}` is repeated")
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
        return UsageError("GSM6002", f"unexpected argument `{word}`")
    name = word.partition("=")[0]
    begun = [option for option in parser.option_names if option.startswith(name)]
    near = f"did you mean `{begun[0]}`?" if len(begun) == 1 else did_you_mean(name, parser.option_names)
    help = near or f"`{parser.prog} --help` lists the options"
    return UsageError("GSM6002", f"unknown option `{name}`", help)
