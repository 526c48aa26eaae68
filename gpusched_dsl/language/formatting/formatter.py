"""`format_text`: the one layout of a `.gsm` text.

The author decides where lines break; the formatter decides about everything between: blanks, indentation, at most one
empty line in a row, columns of tables and of comments. It never changes what the text means, and formatting twice
changes nothing more.
"""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.layout import INDENT, FormattedLine, break_lines, indent_lines, join_lines
from gpusched_dsl.language.formatting.spacing import Spacing
from gpusched_dsl.language.parsing.builder import build_file
from gpusched_dsl.language.parsing.lexing import Lexed, lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree_walk import nodes_in

_CELL_GAP = "  "


def format_text(source_text: str, name: str = "<text>") -> str:
    """The text in its one layout.

    Raises `DiagnosticError` when the text has syntax errors: only what was understood is laid out anew.
    """
    source = Source(name, source_text)
    diagnostics = Diagnostics()
    lexed = lex(source, diagnostics)
    diagnostics.raise_if_errors()
    assert lexed is not None
    reading = read_blocks(source, lexed.tokens, diagnostics)
    file = build_file(source, reading.blocks, diagnostics)
    diagnostics.raise_if_errors()
    units = sorted({(u.span.start, u.span.end) for b in file.blocks for u in nodes_in(b, tree.UnitNode)})
    spacing = Spacing(reading.tokens, reading.starts, reading.braces, units)
    lines = break_lines(source, spacing, lexed.comments)
    indent_lines(lines, spacing)
    for line in lines:
        line.text = _text(source, line, spacing)
    for block in file.blocks:
        tables: list[tree.Table | tree.MatrixTable] = [*nodes_in(block, tree.Table), *nodes_in(block, tree.MatrixTable)]
        for table in tables:
            _align(table, lines, spacing)
    result = join_lines(lines)
    _require_same(lexed, result)
    return result


def _text(source: Source, line: FormattedLine, spacing: Spacing) -> str:
    parts: list[str] = []
    for position, number in enumerate(line.tokens):
        token = spacing.tokens[number]
        if position:
            parts.append(_gap(source, number, spacing))
        parts.append(str(token))
    return "".join(parts)


def _gap(source: Source, number: int, spacing: Spacing) -> str:
    """The blanks before a token; in a table on one line the author may set rows apart by more than one."""
    gap = spacing.before(number)
    if gap == " " and spacing.cell[number] and spacing.cell[number - 1] and number not in spacing.starts:
        written = source.text[spacing.tokens[number - 1].end_pos : spacing.tokens[number].start_pos]
        return _CELL_GAP if len(written) > 1 else gap
    return gap


# --- tables ----------------------------------------------------------------------------------------------------------


def _align(table: tree.Table | tree.MatrixTable, lines: list[FormattedLine], spacing: Spacing) -> None:
    """Put the cells of a table with one row a line into columns under the names in its head."""
    tokens = spacing.tokens
    numbers = spacing.within(table.span.start, table.span.end)
    own = [line for line in lines if line.tokens and line.tokens[0] in numbers]
    if len(own) < 2:
        return
    head, *rows = own
    if tokens[head.tokens[-1]].type != "EQUAL" or head.tokens[0] not in spacing.starts:
        return
    cells = [_cells(line, spacing) for line in rows]
    if any(row is None for row in cells):
        return
    grid = [row for row in cells if row is not None]
    columns = [_column_text(c, spacing) for c in table.columns]
    keys = len(grid[0]) - len(columns)
    if keys < isinstance(table, tree.Table) or any(len(row) != len(grid[0]) for row in grid):
        return
    widths = [max(len(row[i]) for row in grid) for i in range(len(grid[0]))]
    begin = _text_to_colon(head, spacing)
    row_indent = head.indent + INDENT
    key_end = row_indent + sum(widths[:keys]) + len(_CELL_GAP) * (keys - 1)
    first = max(head.indent + len(begin), key_end) + len(_CELL_GAP)
    if keys:
        widths[keys - 1] += first - len(_CELL_GAP) - key_end
    else:
        row_indent = first
    for i, column in enumerate(columns):
        widths[keys + i] = max(widths[keys + i], len(column))
    padded = [c.ljust(w) for c, w in zip(columns, widths[keys:], strict=True)]
    head.text = begin.ljust(first - head.indent) + _CELL_GAP.join(padded).rstrip() + " ="
    for line, row in zip(rows, grid, strict=True):
        end = ";" if tokens[line.tokens[-1]].type == "SEMICOLON" else ""
        line.indent = row_indent
        line.text = _CELL_GAP.join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() + end


def _cells(line: FormattedLine, spacing: Spacing) -> list[str] | None:
    """Return the cells of a row, or None if the line contains anything else."""
    texts: list[str] = []
    for number in line.tokens:
        token = spacing.tokens[number]
        if token.type == "SEMICOLON" and number == line.tokens[-1]:
            continue
        if not spacing.cell[number] or number in spacing.starts:
            return None
        if spacing.bracket[number] is not None or number in spacing.opener:  # inside `{ j1 j2 }`
            texts[-1] += spacing.before(number) + str(token)
            continue
        if number != line.tokens[0] and spacing.sign[number - 1]:
            texts[-1] += str(token)
        else:
            texts.append(str(token))
    return texts or None


def _text_to_colon(head: FormattedLine, spacing: Spacing) -> str:
    """Return the beginning of the head of a table, with the colon before its columns."""
    text = ""
    for number in head.tokens:
        text += (spacing.before(number) if number != head.tokens[0] else "") + str(spacing.tokens[number])
        if spacing.tokens[number].type == "COLON":
            break
    return text


def _column_text(column: tree.TableColumn | tree.MatrixLabel, spacing: Spacing) -> str:
    inside = spacing.within(column.span.start, column.span.end)
    return "".join((spacing.before(i) if i != inside[0] else "") + str(spacing.tokens[i]) for i in inside)


# --- safety ----------------------------------------------------------------------------------------------------------


def _require_same(lexed: Lexed, result: str) -> None:
    """A formatter that lost or changed a word would be worse than none."""
    again = lex(Source("", result), Diagnostics())
    words = [(t.type, str(t)) for t in lexed.tokens]
    comments = [c.text.rstrip() for c in lexed.comments]
    if again is None or words != [(t.type, str(t)) for t in again.tokens]:
        raise RuntimeError("the formatter changed the text")
    if comments != [c.text.rstrip() for c in again.comments]:
        raise RuntimeError("the formatter changed a comment")
