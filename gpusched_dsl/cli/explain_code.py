"""`gsdsl explain GSM3002`: shows the section of a diagnostic code, as in docs/reference/errors.md."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, write_document
from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.similar_names import distance
from gpusched_dsl.language.pages import error_sections

PREFIX = "GSM"
_CODE = re.compile(r"([A-Za-z]{1,4})[-_ ]?([0-9]{2,5})|([0-9]{4})")  # `GSM3002`, `gsm3002`, `GMS3002`, `3002`
_SHOWN = 3


def is_code(word: str) -> bool:
    """Whether a word looks like a diagnostic code and is not the name of a file."""
    return _CODE.fullmatch(word) is not None and not Path(word).exists()


def explain_code(options: argparse.Namespace, output: Output) -> int:
    """Print the section of a code; raise CommandLineError for an unknown code."""
    code = _known_code(options.file)
    text = error_sections()[code]
    if options.json == STDOUT:
        output.only_diagnostics()
    output.say(output.style(f"{code} {CODES[code]}", "1"))
    output.say()
    for line in _lines(text):
        output.say_wrapped(line)
    if options.json is not None:
        from gpusched_dsl.reporting.document import json_text

        write_document(json_text({"code": code, "title": CODES[code], "text": text}), options.json, output)
    return exits.OK


def _known_code(word: str) -> str:
    found = _CODE.fullmatch(word)
    assert found is not None
    code = f"{PREFIX}{found[2] or found[3]}"
    if code in CODES and (found[1] or PREFIX).upper() == PREFIX:
        return code
    slips = {known: distance(code, known) for known in CODES}
    near = (
        [code]
        if code in CODES
        else sorted((known for known in CODES if slips[known] <= 1), key=lambda known: slips[known])[:_SHOWN]
    )
    listed = " or ".join(f"`{known}` ({CODES[known]})" for known in near)
    help = f"did you mean {listed}?" if near else "the codes are on the page docs/reference/errors.md"
    raise CommandLineError("GSM6002", f"unknown code `{word}`", help)


def _lines(text: str) -> list[str]:
    """Return Markdown as plain lines: code is indented, emphasis and the targets of links are left out."""
    lines, in_code = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}".rstrip())
        else:
            lines.append(re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", line.replace("**", "")))
    return lines
