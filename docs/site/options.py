"""reference/options.md: every command with its arguments and options, and the options of campaigns and tests."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from markdown_tables import paragraph, table

from gpusched_dsl.cli.arguments.commands import build_parser
from gpusched_dsl.cli.arguments.examples import EXAMPLES
from gpusched_dsl.options.table import by_name

_HIDDEN = ("-h", "--diagnostics", "--color", "-q", "--debug", "-V")


def page() -> str:
    """The text of the page."""
    parts = [
        "# Options of all commands\n",
        paragraph(
            """[cli.md](cli.md) explains the commands. This page is made by `make docs` from the table of options,
            `gpusched_dsl/options/`. `--diagnostics`, `--color`, `--quiet`, `--debug` and `--help` belong to every
            command."""
        ),
    ]
    for parser in _with_subcommands(build_parser()[1].values()):
        only = _with_what(parser)
        rows = [(name, only.get(id(a), "") + text) for a in parser._actions if _is_shown(a) for name, text in [_row(a)]]
        description = (parser.description or "").strip().splitlines()[0]
        parts.append(f"## `{parser.prog}`\n\n{_plain(description)}\n\n" + table(("argument", "meaning"), rows))
        examples = EXAMPLES.get(parser.prog.removeprefix("gsdsl "), ())
        if examples:
            lines = "\n".join(f"# {about}\n{line}" for line, about in examples)
            parts.append(f"```sh\n{lines}\n```\n")
    return "\n".join([*parts, *_campaigns()])


def _campaigns() -> Iterator[str]:
    """Yield the options of methods in campaigns and tests, and those that a campaign refuses."""
    yield "## Options in campaigns and tests\n"
    yield paragraph(
        """In a [campaign](../campaigns.md) and in a `test` block the options of a method stand in brackets, as in
        `solve Small with highs (gap = 0.01)`. Tests have those with a star. Other names are options
        of the solver itself."""
    )
    for verb in ("solve", "run"):
        own, refused = by_name(verb, "campaign"), [row for row in by_name(verb).values() if "campaign" in row.absent]
        tests = by_name(verb, "test") if verb == "solve" else {}
        yield f"Of a method of `{verb}`:\n"
        rows = [(f"`{n}`{'*' if n in tests else ''}", row.kind.stated, _plain(row.help)) for n, row in own.items()]
        yield table(("option", "value", "meaning"), rows)
        yield f"A campaign refuses these options of `gsdsl {verb}`:\n"
        yield table(("option", "reason"), [(f"`{row.name}`", row.absent["campaign"]) for row in refused])


def _with_subcommands(parsers: object) -> Iterator[argparse.ArgumentParser]:
    for parser in parsers:  # type: ignore[attr-defined]
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not inner:
            yield parser
        for action in inner:
            yield from _with_subcommands(action.choices.values())


def _with_what(parser: argparse.ArgumentParser) -> dict[int, str]:
    """Return the words before the meaning of options that belong to one choice of an argument, such as `run: `."""
    words = {str(word) for a in parser._actions if not a.option_strings for word in a.choices or ()}
    groups = [group for group in parser._action_groups if group.title in words]
    return {id(a): f"{group.title}: " for group in groups for a in group._group_actions}


def _is_shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS and not set(action.option_strings) & set(_HIDDEN)


def _row(action: argparse.Action) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    value = ""
    if action.nargs != 0:
        choices = "|".join(map(str, action.choices)) if action.choices else ""
        value = str(action.metavar or choices or action.dest.upper())
    shown = f"{names} `{value}`" if names and value else names or f"`{value}`"
    return shown, _plain((action.help or "") % {**vars(action), "prog": "gsdsl"})


def _plain(text: str) -> str:
    """Text in one line, without marks that Markdown would take for HTML."""
    return re.sub(r"<", "&lt;", " ".join(text.split()))
