"""`gsdsl trace`: shows a trace, its table in standard columns, and the known formats."""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import permissions
from gpusched_dsl.cli.output import Output
from gpusched_dsl.data.sources.files import DataFile, Fault, FileLimits, Unreadable
from gpusched_dsl.data.sources.writing import cannot_write, replace_file
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.formats import Use, describe_format, names
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.formats.shape import Format, FormatTable
    from gpusched_dsl.language.scenarios.formats import Option

CONDITIONS = ("status", "vc")  # options that select rows, by columns that formats may let options name
# Options of formats that are also options of the command line.
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\["\\nt])*"')
OPTIONS = ("first", "skip", "after", "before", "status", "vc", "most_gpus", "least_duration", "clock")


def run(options: argparse.Namespace, output: Output) -> int:
    if options.formats is not None:
        if options.json is not None:
            raise CommandLineError(
                "GSM6002", "`--json` describes a file, not the formats", "`gsdsl trace FILE --as FORMAT`"
            )
        return _list(options.formats, output)
    if options.file is None or options.format is None:
        missing = "file" if options.file is None else "format"
        raise CommandLineError(
            "GSM6002", f"the {missing} is missing", "`gsdsl trace FILE --as FORMAT`, or `gsdsl trace --formats`"
        )
    check_targets(json=options.json, csv=options.csv, parquet=options.parquet)
    if STDOUT in (options.csv, options.json):
        output.only_diagnostics()
    use = _use(options)
    table_format, table = _read_table(options.file, use, permissions(options).memory)
    from gpusched_dsl.data.formats.reports import lines_of_table
    from gpusched_dsl.reporting.document import finite, json_text

    for line in lines_of_table(table_format, table):
        output.say_wrapped(line)
    if options.json is not None:
        from gpusched_dsl.data.formats.trace_document import table_document

        document = table_document(table_format, table, options.file, dict(use.options))
        write_document(json_text(finite(document)), options.json, output)
    if options.csv is not None:
        _write(table.frame, options.csv, table.frame.write_csv().encode(), output)
    if options.parquet is not None:
        content = io.BytesIO()
        table.frame.write_parquet(content)
        _write(table.frame, options.parquet, content.getvalue(), output)
    return exits.OK


def _list(name: str, output: Output) -> int:
    """List all formats and generators, or describe one of them."""
    from gpusched_dsl.data.formats.registry import generator, reader
    from gpusched_dsl.data.formats.reports import lines_of_format, lines_of_list

    if name:
        generated = name not in names(False) and name in names(True)
        _refuse_unknown(name, generated)
        for line in lines_of_format(generator(name) if generated else reader(name)):
            output.say_wrapped(line)
        return exits.OK
    for title, generated in (("formats of files: `data FILE as NAME`", False), ("generators: `generate NAME`", True)):
        known_names = names(generated)
        if known_names:
            output.say(title)
            for line in lines_of_list((generator if generated else reader)(format_name) for format_name in known_names):
                output.say_wrapped(line)
            output.say()
    output.say("`gsdsl trace --formats NAME` lists columns and options")
    return exits.OK


def _refuse_unknown(name: str, generated: bool) -> None:
    try:
        describe_format(name, generated)
    except KeyError:
        from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

        known_names = (*names(False), *names(True))
        help = did_you_mean(name, known_names) or f"they are {', '.join(known_names)}"
        raise DiagnosticError([Diagnostic("GSM1518", f"unknown format `{name}`", help=help)]) from None


def _use(options: argparse.Namespace) -> Use:
    """Return the format and its options, checked like those of a data statement."""
    from gpusched_dsl.language import tree
    from gpusched_dsl.language.parsing.parser import parse
    from gpusched_dsl.language.scenarios.data_formats import FormatChecker
    from gpusched_dsl.language.source import Source

    _refuse_unknown(options.format, False)
    known_options = {option.name: option for option in describe_format(options.format, False).options}
    values = [(name, getattr(options, name)) for name in OPTIONS if getattr(options, name) is not None]
    pairs = [_pair(text) for text in options.option]
    if "only" in known_options:
        values, pairs = _with_conditions(values, pairs)
    values += pairs
    values_text = ", ".join(f"{name} = {_written(value, known_options.get(name))}" for name, value in values)
    text = f'data "FILE" as {options.format}{f" ({values_text})" if values_text else ""} {{ }}'
    diagnostics = Diagnostics()
    blocks = parse(Source("command line", f"scenario s {{\n  {text}\n}}\n"), diagnostics).blocks
    diagnostics.raise_if_errors()
    scenario = blocks[0]
    assert isinstance(scenario, tree.Scenario)
    statement = scenario.statements[0]
    assert isinstance(statement, tree.Data)
    use = FormatChecker(diagnostics).use(statement)
    diagnostics.raise_if_errors()
    assert use is not None
    return use[0]


def _with_conditions(
    values: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Turn `--vc` and `--status` into the option `only` of a format whose options of these names are columns."""
    columns, conditions = dict(pairs), [text for name, text in pairs if name == "only"]
    for name, text in values:
        if name in CONDITIONS:
            listed = ", ".join(_quote(part.strip()) for part in text.split("|"))
            conditions.append(f"{_quote(columns.get(name, name))} in {{{listed}}}")
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    rest = [pair for pair in pairs if pair[0] != "only"]
    return (
        [pair for pair in values if pair[0] not in CONDITIONS],
        [*rest, ("only", " and ".join(conditions))] if conditions else rest,
    )


def _written(value: str, option: Option | None) -> str:
    """Return a value as in a data statement: texts in quotes, numbers and conditions as they are.

    Raises DiagnosticError (GSM1519) if it is none of these.
    """
    if option is None or (option.type is str and not option.condition):
        return _quote(value)
    from gpusched_dsl.language.parsing.lexing import lex
    from gpusched_dsl.language.parsing.parser import parse
    from gpusched_dsl.language.source import Source

    diagnostics = Diagnostics()
    source = Source("command line", f'scenario s {{ data "FILE" as f (o = {value}\n) {{ }} }}\n')
    blocks = parse(source, diagnostics).blocks
    if not diagnostics.has_errors and _has_one_option(blocks):
        lexed = lex(source, diagnostics)
        if lexed is not None and not lexed.comments:
            return value
    notes = [f"`{option.name}`: {option.meaning}", *(each.message for each in list(diagnostics)[:1])]
    message = f"option `{option.name}` cannot be `{value}`"
    raise DiagnosticError([Diagnostic("GSM1519", message, notes=tuple(notes), help=f"it is {option.needs}")])


def _has_one_option(blocks: Sequence[object]) -> bool:
    """Whether a value is one expression that does not end its statement."""
    from gpusched_dsl.language import tree

    if len(blocks) != 1 or not isinstance(blocks[0], tree.Scenario) or len(blocks[0].statements) != 1:
        return False
    statement = blocks[0].statements[0]
    return isinstance(statement, tree.Data) and len(statement.options) == 1 and not statement.items


def _quote(text: str) -> str:
    """Return a text in quotes, which it may have already, as in a data statement."""
    if _QUOTED.fullmatch(text):
        return text
    for letter, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(letter, escaped)
    return f'"{text}"'


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier() or not value.strip():
        raise CommandLineError("GSM6002", f"`{text}` does not set an option", "write `--option name=value`")
    return name.strip(), value.strip()


def _read_table(file: str, use: Use, memory: int) -> tuple[Format, FormatTable]:
    from gpusched_dsl.data.formats.registry import reader
    from gpusched_dsl.data.sources.formatted import read_with_format

    path = Path(file)
    try:
        if not path.exists():
            raise Unreadable(Fault("GSM2001", f"data file `{file}` does not exist"))
        result = read_with_format(use, DataFile(path.resolve(), file), FileLimits.within(memory, allow_outside=True))
    except Unreadable as error:
        raise DiagnosticError([diagnostic_of(fault) for fault in error.faults]) from None
    return reader(use.name), result.table


def diagnostic_of(fault: Fault) -> Diagnostic:
    return Diagnostic(fault.code, fault.message, fault.cell, notes=fault.notes, help=fault.help)


def _write(frame: pl.DataFrame, name: str, content: bytes, output: Output) -> None:
    if name == STDOUT:
        print(content.decode(), end="")
        return
    path = Path(name)
    try:
        with replace_file(path) as beside:
            beside.write_bytes(content)
    except OSError as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure
    output.say(f"wrote {name}: {count_text(frame.height, 'row')}")
