"""Lines of a formatted text: their breaks, indentation and comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusched_dsl.language.formatting.spacing import Spacing
from gpusched_dsl.language.source import Source, Span

INDENT = 2
_COMMENT_GAP = "  "


@dataclass(slots=True)
class FormattedLine:
    """One line of the result: tokens by number, with the comment after or instead of them."""

    tokens: list[int] = field(default_factory=list)
    comment: str | None = None
    blank_before: bool = False
    indent: int = 0
    text: str = ""


def break_lines(source: Source, spacing: Spacing, comments: Sequence[Span]) -> list[FormattedLine]:
    """Return the author's lines, except that tokens of the end of a line move to that line."""
    lines: list[FormattedLine] = []
    end = 0
    kept = [range(t.start_pos or 0, t.end_pos or 0) for t in spacing.tokens if t.type == "SKIPPED"]
    waiting = [c for c in reversed(comments) if not any(c.start in k for k in kept)]

    def add_comment(comment: Span) -> None:
        breaks = source.text.count("\n", end, comment.start)
        text = comment.text.rstrip()
        if lines and breaks == 0 and lines[-1].comment is None:
            lines[-1].comment = text
        else:
            lines.append(FormattedLine(comment=text, blank_before=breaks > 1))

    for number, token in enumerate(spacing.tokens):
        start = token.start_pos or 0
        while waiting and waiting[-1].start < start:
            comment = waiting.pop()
            add_comment(comment)
            end = comment.end
        breaks = source.text.count("\n", end, start)
        here = lines[-1] if lines and lines[-1].comment is None else None
        if here is not None and (breaks == 0 or _belongs_behind(number, spacing)):
            here.tokens.append(number)
        else:
            lines.append(FormattedLine(tokens=[number], blank_before=breaks > 1))
        end = token.end_pos or 0
    for comment in reversed(waiting):
        add_comment(comment)
        end = comment.end
    return lines


def _belongs_behind(number: int, spacing: Spacing) -> bool:
    kind = spacing.tokens[number].type
    return kind in ("SEMICOLON", "COMMA") or (kind == "LBRACE" and number in spacing.braces)


def indent_lines(lines: list[FormattedLine], spacing: Spacing) -> None:
    """Statements by the blocks around them; their further lines one step more, and one for a bracket opened before."""
    line_of = {number: line for line in lines for number in line.tokens}
    depth = 0
    statement = 0
    coming = 0
    for line in lines:
        first = line.tokens[0] if line.tokens else coming
        if first == len(spacing.tokens):
            line.indent = 0
        elif not line.tokens:
            line.indent = INDENT * depth if first in spacing.starts else _inner(first, statement, line_of, spacing)
        elif first in spacing.starts:
            line.indent = INDENT * (depth - _closes(first, spacing))
        elif first in spacing.braces:
            line.indent = statement
        else:
            line.indent = _inner(first, statement, line_of, spacing)
        for number in line.tokens:
            if number in spacing.starts:
                statement = INDENT * (depth - _closes(number, spacing))
            coming = number + 1
            if number in spacing.braces:
                depth += 1 if spacing.tokens[number].type == "LBRACE" else -1


def _closes(number: int, spacing: Spacing) -> bool:
    return number in spacing.braces and spacing.tokens[number].type == "RBRACE"


def _inner(first: int, statement: int, line_of: dict[int, FormattedLine], spacing: Spacing) -> int:
    """The indent of a line within a statement that is indented by `statement`."""
    opened = spacing.opener.get(first, spacing.bracket[first])
    if opened is None:
        return statement + INDENT
    before = line_of[opened]
    hanging = before.tokens[-1] == opened
    return before.indent + (0 if hanging and first in spacing.opener else INDENT)


def join_lines(lines: list[FormattedLine]) -> str:
    """The text of all lines, with comments of neighbouring lines one below the other."""
    columns = _comment_columns(lines)
    parts: list[str] = []
    previous: FormattedLine | None = None
    for line, column in zip(lines, columns, strict=True):
        if line.blank_before and previous is not None and not _opens(previous) and not line.text.startswith("}"):
            parts.append("")
        text = " " * line.indent + line.text
        if line.comment is not None:
            text = text.ljust(column) + line.comment if line.text else " " * line.indent + line.comment
        parts.append(text)
        previous = line
    return "\n".join(parts) + "\n" if parts else ""


def _opens(line: FormattedLine) -> bool:
    return line.text.endswith("{")


def _comment_columns(lines: list[FormattedLine]) -> list[int]:
    """Return the column of the comment after each line: consecutive commented lines share a column."""
    columns = [0] * len(lines)
    run: list[int] = []
    for i, line in enumerate([*lines, FormattedLine()]):
        goes_on = line.comment is not None and line.text and "\n" not in line.text
        if run and (not goes_on or line.blank_before):
            widest = max(lines[k].indent + len(lines[k].text) for k in run)
            for k in run:
                columns[k] = widest + len(_COMMENT_GAP)
            run = []
        if goes_on:
            run.append(i)
        elif i < len(lines) and line.text and line.comment is not None:
            columns[i] = line.indent + len(line.text) + len(_COMMENT_GAP)
    return columns
