"""Settings from outside a text, such as `--set period=30[min]`, read like the statements of a scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.scenarios.formats import describe_format
from gpusched_dsl.language.source import Source, Span

N = TypeVar("N", bound=tree.Node)
SOURCE_NAME = "--set"
HELP = "write `name=value`, such as `period=30[min]`, or `name[key]=value`, such as `deadline[j1]=20[h]`"
_OF_DATA = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*')  # `"jobs.csv"`
_OF_GENERATOR = re.compile(r"\s*(\w+)\s*\.\s*(\w+)\s*", re.ASCII)  # `capacity_jobs.seed`

ReadSetting: TypeAlias = tree.NamedArgument | tree.Assign


class FileText(str):
    """The text of a value of a settings file, with the place of `name=value` in a source with the lines of the file."""

    row: Span


class GeneratorArgument(tree.NamedArgument, frozen=True, kw_only=True):
    """`capacity_jobs.seed = 2`: an option of the statements that use one generator or data format."""

    generator: tree.Identifier


class DataPathArgument(tree.NamedArgument, frozen=True, kw_only=True):
    """`"jobs.csv" = "other.csv"`: another file in place of one that data statements read; `name` is the first one."""


def read_setting(name: str, text: str, diagnostics: Diagnostics) -> ReadSetting | None:
    """Read `name=text` (NamedArgument), or for `name[key]=text` a statement; reports GSM1513.

    Spans are in a source that reads `name=text`, or are the row of a settings file.
    """
    whole = span_of_setting(name, text)
    source, start = whole.source, whole.start
    qualified, of_data = _OF_GENERATOR.fullmatch(name), _OF_DATA.fullmatch(name)
    shown = qualified[2] if qualified else "path" if of_data else name
    head = f"scenario s {{ {shown} = "
    found = Diagnostics()
    blocks = parse(Source(SOURCE_NAME, f"{head}{text}\n; }}"), found).blocks
    statements = blocks[0].statements if len(blocks) == 1 and isinstance(blocks[0], tree.Scenario) else ()
    statement = statements[0] if len(statements) == 1 else None
    if found.has_errors or not isinstance(statement, tree.Assign):
        notes = [diagnostic.message for diagnostic in found][:1]
        diagnostics.error("GSM1513", f"malformed setting `{whole.text}`", whole, notes=notes, help=HELP)
        return None

    def placed(node: N) -> N:
        before = node.span.start < len(head) - 3  # in the name; the text follows ` = `
        return _move(node, source, start + (-len("scenario s { ") if before else len(name) + 1 - len(head)))

    value = placed(statement.value)
    if statement.subscripts or statement.indexing is not None:
        keys = tuple(item for key in statement.subscripts for item in _parts(key))
        return tree.Assign(
            span=whole,
            target=placed(statement.target),
            value=value,
            subscripts=tuple(map(placed, keys)),
            indexing=None if statement.indexing is None else placed(statement.indexing),
        )
    place = source.span(start, start + len(name))
    identifier = tree.Identifier(span=place, text=statement.target.text)
    if of_data:
        path = tree.Identifier(span=place, text=re.sub(r"\\(.)", r"\1", of_data[1]))
        return DataPathArgument(span=whole, name=path, value=value)
    if qualified:
        generator = tree.Identifier(span=place, text=qualified[1])
        return GeneratorArgument(span=whole, name=identifier, value=value, generator=generator)
    return tree.NamedArgument(span=whole, name=identifier, value=value)


def span_of_setting(name: str, text: str) -> Span:
    """Return the row of a settings file, or a source that reads `name=text`."""
    if isinstance(text, FileText):
        return text.row
    source = Source(SOURCE_NAME, f"{name}={text}")
    return source.span(0, len(source.text))


def _parts(key: tree.Expr) -> Sequence[tree.Expr]:
    """The components of a key: `(j1, n1)` is the same as `j1, n1`."""
    return key.items if isinstance(key, tree.TupleExpr) else (key,)


def _move(node: N, source: Source, by: int) -> N:
    """The same tree with its spans in another source."""
    changes: dict[str, Any] = {"span": Span(source, node.span.start + by, node.span.end + by)}
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, tree.Node):
            changes[name] = _move(value, source, by)
        elif isinstance(value, tuple):
            changes[name] = tuple(_move(v, source, by) if isinstance(v, tree.Node) else v for v in value)
    return structs.replace(node, **changes)


# --- options of generators and data formats --------------------------------------------------------------------------


def options_of_data(parts: Iterable[tree.Scenario]) -> dict[str, set[str]]:
    """Return the options of the generators and data formats that scenarios use: option to names of generators."""
    found: dict[str, set[str]] = {}
    for statement in _statements(parts):
        for option in _options_of(statement):
            found.setdefault(option, set()).add(format_name(statement).text)
    return found


def with_options(part: tree.Scenario, settings: Sequence[tree.NamedArgument]) -> tree.Scenario:
    """Return a scenario in which generators and data formats have other values of their options.

    A setting replaces the option in every statement that has it; a GeneratorArgument only in those of one generator.
    A DataPathArgument replaces the path of data statements.
    """
    if not settings:
        return part
    options = [setting for setting in settings if not isinstance(setting, DataPathArgument)]
    paths = {setting.name.text: setting.value for setting in settings if isinstance(setting, DataPathArgument)}
    changed = tuple(
        _with_path(_with_options(statement, options), paths)
        if isinstance(statement, tree.Data | tree.Generate)
        else statement
        for statement in part.statements
    )
    return structs.replace(part, statements=changed)


def _with_path(statement: tree.Data | tree.Generate, paths: Mapping[str, tree.Expr]) -> tree.Data | tree.Generate:
    if isinstance(statement, tree.Generate) or statement.path.value not in paths:
        return statement
    value = paths[statement.path.value]
    assert isinstance(value, tree.Text)
    return structs.replace(statement, path=value)


def _with_options(
    statement: tree.Data | tree.Generate, settings: Sequence[tree.NamedArgument]
) -> tree.Data | tree.Generate:
    known = _options_of(statement)
    own: Mapping[str, tree.NamedArgument] = {
        setting.name.text: tree.NamedArgument(span=setting.span, name=setting.name, value=setting.value)
        for setting in settings
        if setting.name.text in known
        and (not isinstance(setting, GeneratorArgument) or setting.generator.text == format_name(statement).text)
    }
    if not own:
        return statement
    kept = tuple(option for option in statement.options if option.name.text not in own)
    return structs.replace(statement, options=(*kept, *own.values()))


def _statements(parts: Iterable[tree.Scenario]) -> Iterator[tree.Data | tree.Generate]:
    for part in parts:
        for statement in part.statements:
            if isinstance(statement, tree.Generate) or (isinstance(statement, tree.Data) and statement.format):
                yield statement


def format_name(statement: tree.Data | tree.Generate) -> tree.Identifier:
    """Return the name of the format or generator of a statement that has one."""
    name = statement.generator if isinstance(statement, tree.Generate) else statement.format
    assert name is not None
    return name


def _options_of(statement: tree.Data | tree.Generate) -> set[str]:
    if isinstance(statement, tree.Data) and statement.format is None:
        return set()
    generated = isinstance(statement, tree.Generate)
    try:
        return {option.name for option in describe_format(format_name(statement).text, generated).options}
    except KeyError:
        return set()  # reported with the statement
