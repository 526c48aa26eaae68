"""The command line `gsdsl`: one module per command, imported when the command runs."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.streams import ClosedOutput, keep_writing, open_closed_streams, release

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gpusched_dsl.cli.output import Output

COMPLETE = "--complete"  # the scripts of `gsdsl completion` call this
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WAITING = {"serve", "drive", "watch", "lsp", "mcp"}  # commands that do not end with their work


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see `gsdsl --help`); raise only SystemExit, for help and version."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == [COMPLETE]:
        from gpusched_dsl.cli.completion import print_candidates

        return print_candidates(arguments[1:])
    open_closed_streams()
    _never_fail_at_printing()
    if argv is None:
        from gpusched_dsl.engines.own_process import ThisProcess, collect_rarely, keep_freed_memory

        ThisProcess.is_command = True
        collect_rarely()
        if WAITING.isdisjoint(arguments[:1]):
            keep_freed_memory()
    try:
        code = _guard(arguments)
        sys.stdout.flush()
        if release() and code == exits.OK:
            code = exits.BROKEN_PIPE
        _leave_running_solver(code)
        return code
    except BrokenPipeError:
        _silence_pipes()
        return exits.BROKEN_PIPE
    except ClosedOutput:
        _report_unwritable("standard output: it is closed", "redirect it, as in `> result.txt`, or add `--quiet`")
        return exits.BAD_INPUT
    except OSError as failure:
        if failure.errno not in FULL:
            raise
        _silence_pipes()
        place = "the output" if failure.filename is None else f"`{failure.filename}`"
        _report_unwritable(f"{place}: {failure.strerror}", "free space, or write to another disk")
        return exits.BAD_INPUT
    finally:
        release()


def _guard(arguments: list[str]) -> int:
    """Run the command; every failure becomes a diagnostic and an exit code."""
    from gpusched_dsl.cli.arguments.parse import parse
    from gpusched_dsl.cli.arguments.parser import CommandLineError
    from gpusched_dsl.cli.output import Output

    try:
        options = parse(arguments)
    except CommandLineError as error:
        return _report_usage(error, arguments)
    if options.command is None:
        from gpusched_dsl.cli.arguments.commands import build_parser

        print(build_parser(options=False)[0].format_help(), end="", file=sys.stderr)
        return exits.USAGE
    keep_writing(options)
    output = Output(
        diagnostics=options.diagnostics,
        color=options.color,
        quiet=options.quiet,
        diagnostics_are_output=options.command == "check",
    )
    if options.profile:
        from gpusched_dsl.cli.phases import show_phases
        from gpusched_dsl.ir.log import recorded_phases

        with recorded_phases() as record:
            code = _run(options, output, arguments)
        show_phases(record.times(), output)
    else:
        code = _run(options, output, arguments)
    output.finish()
    return code


def _run(options: argparse.Namespace, output: Output, arguments: list[str]) -> int:
    from gpusched_dsl.cli.address_space import explain_failure, refuse_small_space
    from gpusched_dsl.cli.arguments.parser import CommandLineError
    from gpusched_dsl.cli.watchdog import end_watchdog, watch_options
    from gpusched_dsl.ir.log import log_phase
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
    from gpusched_dsl.language.diagnostics.errors import DiagnosticError

    refused = refuse_small_space(options)
    if refused is not None:
        output.report([refused])
        return exits.BAD_INPUT
    try:
        if options.command not in WAITING:
            watch_options(options, output)
        with log_phase("loading the command"):
            run = _command(options.command)
        return run(options, output)
    except DiagnosticError as error:
        output.report(error.diagnostics)
        return exits.BAD_INPUT
    except CommandLineError as error:  # errors that the parser alone cannot find
        output.report([Diagnostic(error.code, error.message, help=error.help)])
        return exits.USAGE
    except KeyboardInterrupt:
        output.note("interrupted")
        return exits.INTERRUPTED
    except (BrokenPipeError, ClosedOutput):
        raise
    except MemoryError:
        help = "close other programs, or set a smaller `--memory-limit`, which stops before this happens"
        output.report([Diagnostic("GSM6014", "the machine ran out of memory", help=help)])
        return exits.BAD_INPUT
    except Exception as failure:
        if isinstance(failure, OSError) and failure.errno in FULL:
            raise
        from gpusched_dsl.cli.crash import crash_diagnostic, show_traceback, wants_traceback

        if wants_traceback(options.debug):
            show_traceback(failure)
        limited = explain_failure()
        if limited is not None:
            output.report([limited])
            return exits.BAD_INPUT
        output.report([crash_diagnostic(failure, arguments)])
        return exits.INTERNAL
    finally:
        end_watchdog()


def _command(name: str) -> Callable[[argparse.Namespace, Output], int]:
    match name:
        case "solve":
            from gpusched_dsl.cli.solve import run
        case "check":
            from gpusched_dsl.cli.check import run
        case "test":
            from gpusched_dsl.cli.testing import run
        case "fmt":
            from gpusched_dsl.cli.fmt import run
        case "export":
            from gpusched_dsl.cli.export import run
        case "compare":
            from gpusched_dsl.cli.compare import run
        case "flexibility":
            from gpusched_dsl.cli.flexibility import run
        case "campaign":
            from gpusched_dsl.cli.campaign import run
        case "policies":
            from gpusched_dsl.cli.policies import run
        case "explain":
            from gpusched_dsl.cli.explain import run
        case "profile":
            from gpusched_dsl.cli.profile import run
        case "run":
            from gpusched_dsl.cli.run import run
        case "estimate":
            from gpusched_dsl.cli.estimate import run
        case "why":
            from gpusched_dsl.cli.why import run
        case "trace":
            from gpusched_dsl.cli.trace import run
        case "show":
            from gpusched_dsl.cli.inventory import run
        case "watch":
            from gpusched_dsl.cli.watch import run
        case "completion":
            from gpusched_dsl.cli.completion import run
        case "new":
            from gpusched_dsl.cli.new import run
        case _:
            from gpusched_dsl.cli.edges import edge_command

            return edge_command(name)
    return run


def _report_usage(error: Exception, arguments: list[str]) -> int:
    from gpusched_dsl.cli.arguments.parser import CommandLineError
    from gpusched_dsl.cli.output import Output
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

    assert isinstance(error, CommandLineError)
    as_json = "--diagnostics=json" in arguments or any(
        pair == ("--diagnostics", "json") for pair in pairwise(arguments)
    )
    output = Output(diagnostics="json" if as_json else "text", diagnostics_are_output="check" in arguments[:1])
    output.report([Diagnostic(error.code, error.message, help=error.help)])
    output.finish()
    return exits.USAGE


def _leave_running_solver(code: int) -> None:
    """Exit at once if a solver still runs in its thread, after Ctrl-C or its time limit: nothing else can stop it."""
    import threading

    if any(thread.name == "solver" and thread.is_alive() for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)


def _never_fail_at_printing() -> None:
    """Print escapes for characters that a terminal cannot show, instead of failing, and nothing that controls it."""
    from gpusched_dsl.cli.terminal import protect_terminals

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    protect_terminals()


def _report_unwritable(what: str, help: str) -> None:
    """Report GSM6008 for standard output that is closed, or a file on a full disk."""
    from gpusched_dsl.cli.output import Output
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

    with suppress(OSError):
        output = Output()
        output.report([Diagnostic("GSM6008", f"cannot write {what}", help=help)])
        output.finish()


def _silence_pipes() -> None:
    """Redirect output that its reader has closed, or for which its disk is full: Python would complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
