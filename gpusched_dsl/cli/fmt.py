"""`gsdsl fmt`: rewrite files in the standard layout, or list the files that are not in it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.paths import gsm_files
from gpusched_dsl.data.sources.writing import write_text
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.text.numbers import count_text

STDIN = "-"


def run(options: argparse.Namespace, output: Output) -> int:
    if STDIN in options.files:
        return _format_standard_input(options, output)
    changed, unchanged, failed = 0, 0, 0
    for path in gsm_files(options.files):
        text = _read_text(path, output)
        formatted = None if text is None else _format(text, str(path), output)
        if text is None or formatted is None:
            failed += 1
        elif text == formatted:
            unchanged += 1
        else:
            changed += 1
            _write_or_show(path, text, formatted, options, output)
    output.say(_summary(changed, unchanged, failed, options.check or options.diff))
    return exits.BAD_INPUT if failed or (changed and options.check) else exits.OK


def _format_standard_input(options: argparse.Namespace, output: Output) -> int:
    """Format standard input; only the formatted text (or the difference) goes to standard output."""
    text = _read_standard_input(output)
    if text is None:
        return exits.BAD_INPUT
    formatted = _format(text, "<stdin>", output)
    if formatted is None:
        return exits.BAD_INPUT
    if options.diff:
        sys.stdout.write(_difference(text, formatted, "<stdin>"))
    elif not options.check:
        sys.stdout.write(formatted)
    return exits.BAD_INPUT if options.check and text != formatted else exits.OK


def _read_standard_input(output: Output) -> str | None:
    """Read standard input as UTF-8 text, independent of the encoding of the terminal."""
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:
        return sys.stdin.read()
    try:
        text: str = raw.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8: byte {error.start + 1} is not valid"
        output.report([Diagnostic("GSM1002", message, help="save it as UTF-8")])
        return None
    return text


def _write_or_show(path: Path, text: str, formatted: str, options: argparse.Namespace, output: Output) -> None:
    if options.diff:
        output.say_document(_difference(text, formatted, str(path)).rstrip("\n"))
    elif options.check:
        output.say(f"would reformat {path}")
    elif str(path).startswith("gsdsl:"):
        message = f"`{path}` is a shipped model, which is not rewritten"
        raise DiagnosticError([Diagnostic("GSM6008", message, help="copy it, and format the copy")])
    else:
        write_text(path, formatted)
        output.say(f"reformatted {path}")


def _read_text(path: Path, output: Output) -> str | None:
    from gpusched_dsl.language.source_files import Place, is_library_name, library_place, read_source

    diagnostics = Diagnostics()
    place = library_place(str(path), diagnostics) if is_library_name(str(path)) else Place(path, str(path), None)
    text_and_hash = None if place is None else read_source(place, diagnostics)
    output.report(diagnostics)
    return None if text_and_hash is None else text_and_hash[0].text


def _format(text: str, name: str, output: Output) -> str | None:
    """Return the text in the standard layout, None after syntax errors, which are reported."""
    from gpusched_dsl.language.formatting.formatter import format_text

    try:
        return format_text(text, name)
    except DiagnosticError as error:
        output.report(error.diagnostics)
        return None


def _difference(text: str, formatted: str, name: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        text.splitlines(keepends=True), formatted.splitlines(keepends=True), name, f"{name} (formatted)"
    )
    return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


def _summary(changed: int, unchanged: int, failed: int, dry: bool) -> str:
    parts = [
        f"{count_text(changed, 'file')} {'would be reformatted' if dry else 'reformatted'}" if changed else "",
        f"{count_text(unchanged, 'file')} {'are' if unchanged != 1 else 'is'} already formatted" if unchanged else "",
        f"{count_text(failed, 'file')} could not be formatted" if failed else "",
    ]
    return ", ".join(p for p in parts if p) or "nothing to format"
