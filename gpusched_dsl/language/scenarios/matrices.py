"""Checks the matrices of a scenario: `table time[Jobs, Machines] in h: m1 m2 = a 1 2  b 3 4;`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel, CheckedParam, CheckedSet, Element, Numeric
from gpusched_dsl.language.checking.kinds import describe, same_kind
from gpusched_dsl.language.checking.symbols import SubscriptSlot, slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import MatrixAssignment
from gpusched_dsl.language.scenarios.columns import ColumnChecker, misplaced_line
from gpusched_dsl.language.scenarios.labels import check_labels
from gpusched_dsl.language.text.numbers import count_text


class _Key(Struct, frozen=True):
    """A key in the head: a set that runs over one or more subscripts, or a label (`over` None) that fixes one."""

    written: tree.MatrixLabel
    over: CheckedSet | None

    @property
    def arity(self) -> int:
        return 1 if self.over is None else len(self.over.types)


class MatrixChecker:
    """Checks a matrix against the parameter that it gives."""

    def __init__(self, model: CheckedModel, columns: ColumnChecker, diagnostics: Diagnostics) -> None:
        self.model = model
        self.columns = columns
        self.diagnostics = diagnostics

    def check(self, level: int, matrix: tree.MatrixTable, target: CheckedParam) -> Iterator[MatrixAssignment]:
        """Return the values of the parameter, and the labels of rows and columns for the sets that may need them."""
        keys = self._keys(matrix, target)
        if keys is None:
            return
        components, rows = _components(keys)
        labels = not isinstance(target.type, Numeric)
        if not self._complete(matrix, rows, labels) or not self._distinct(matrix, rows):
            return
        width = rows + len(matrix.columns)
        check_labels(matrix.columns, self.diagnostics)
        for at in range(width if labels else rows):
            check_labels(matrix.cells[at::width], self.diagnostics)
        yield from _listed_sets(level, matrix, keys, rows)
        unit = target.type.unit if isinstance(target.type, Numeric) else None
        factor = self.columns.factor(
            target.name,
            matrix.unit,
            matrix.target.span,
            target,
            what="matrix",
            help=f"write `in {unit}` before the `:` if the values are in `{unit}`",
        )
        if factor is not None:
            yield MatrixAssignment(
                target=target.name,
                span=matrix.target.span,
                level=level,
                matrix=matrix,
                components=components,
                rows=rows,
                factor=factor,
                labels=labels,
            )

    # --- the head ----------------------------------------------------------------------------------------------------

    def _keys(self, matrix: tree.MatrixTable, target: CheckedParam) -> list[_Key] | None:
        found = [self._key(key) for key in matrix.keys]
        keys = [key for key in found if key is not None]
        if len(keys) < len(found):
            return None
        slots = slots_of(target)
        place = matrix.keys[0].span.to(matrix.keys[-1].span)
        declared = Label(target.span, f"`{target.name}` is declared here")
        arity = sum(key.arity for key in keys)
        if arity != len(slots):
            wanted = ", ".join(iterator.domain.span.text for iterator in target.indexing.iterators)
            self.diagnostics.error(
                "GSM1507",
                f"`{target.name}` has {count_text(len(slots), 'subscript') if slots else 'no subscripts'}, "
                f"{arity} given",
                place,
                f"{arity} given",
                secondary=[declared],
                help=f"write `table {target.name}[{wanted}]`" if slots else f"write `{target.name} = ...;`",
            )
            return None
        if all(key.over is None for key in keys):
            written = ", ".join(key.span.text for key in matrix.keys)
            self.diagnostics.error(
                "GSM1507",
                "no set runs over the columns of this matrix",
                place,
                "only labels",
                secondary=[declared],
                help=f"write `{target.name}[{written}] = ...;` for one value",
            )
            return None
        return keys if self._fit(keys, slots, target) else None

    def _key(self, key: tree.MatrixLabel) -> _Key | None:
        if not key.bare:
            check_labels([key], self.diagnostics)
            return _Key(key, None)
        name = key.span.text
        found = self.model.sets.get(name)
        if found is None:
            self.diagnostics.error(
                "GSM1504",
                f"unknown set `{name}`: a bare name in the brackets is a set",
                key.span,
                "not a set",
                help=did_you_mean(name, self.model.sets) or f'quote it if it is a label: `"{name}"`',
            )
            return None
        return _Key(key, found)

    def _fit(self, keys: Sequence[_Key], slots: Sequence[SubscriptSlot], target: CheckedParam) -> bool:
        """Whether every key has the type of its subscript; reports GSM1508."""
        sound = True
        at = 0
        for key in keys:
            for number in range(key.arity):
                slot = slots[at]
                at += 1
                if key.over is None:
                    wrong = not isinstance(slot.type, Element) and isinstance(key.written.label, str)
                    given = "a label"
                else:
                    wrong = not same_kind(key.over.types[number], slot.type)
                    given = describe(key.over.types[number])
                if wrong:
                    sound = False
                    self.diagnostics.error(
                        "GSM1508",
                        f"subscript {at} of `{target.name}` must be {describe(slot.type)}, this is {given}",
                        key.written.span,
                        given,
                        secondary=[Label(slot.domain.span, f"`{target.name}` is indexed by this")],
                    )
        return sound

    # --- the cells ---------------------------------------------------------------------------------------------------

    def _complete(self, matrix: tree.MatrixTable, rows: int, labels: bool) -> bool:
        """Whether the cells form complete rows that begin at the visible line breaks; reports GSM1509."""
        columns, cells = len(matrix.columns), matrix.cells
        width = rows + columns
        line = misplaced_line(cells, rows, width)
        if line is None and len(cells) % width == 0 and cells and (rows or len(cells) == width):
            return True
        if not cells:
            self.diagnostics.error("GSM1509", "the matrix has no rows", matrix.target.span, "no cells after the `=`")
            return False
        line = (None if labels else _misshaped_row(cells, rows, width)) or line
        if line is None:
            line = list(cells[len(cells) // width * width :]) if len(cells) > width and rows else list(cells)
        label = " ".join(f"`{cell.span.text}`" for cell in line[:rows])
        row = f"row {label}" if rows else "the only row"
        if len(line) <= rows or cells.index(line[0]) % width:
            row, values = "this line", count_text(len(line), "cell")
        else:
            values = count_text(len(line) - rows, "value")
        names = ", ".join(f"`{column.span.text}`" for column in matrix.columns[:8])
        more = f", ... {matrix.columns[-1].span.text}" if columns > 8 else ""
        self.diagnostics.error(
            "GSM1509",
            f"{row} has {values}, but the matrix has {count_text(columns, 'column')}: {names}{more}",
            line[0].span.to(line[-1].span),
            secondary=[Label(matrix.columns[0].span.to(matrix.columns[-1].span), "the columns")],
            help=("a row begins with its label; " if rows else "") + "write `.` for a value that is not given"
            if len(line) < width
            else "remove the values that are too many, or add their columns",
        )
        return False

    def _distinct(self, matrix: tree.MatrixTable, rows: int) -> bool:
        """Whether no row and no column occurs twice; reports GSM1506."""
        width = rows + len(matrix.columns)
        starts = range(0, len(matrix.cells), width) if rows else ()
        lines = [matrix.cells[start : start + rows] for start in starts]
        sound = [self._once("column", [(column,) for column in matrix.columns]), self._once("row", lines)]
        return all(sound)

    def _once(self, what: str, labels: Sequence[tuple[tree.TableCell, ...]]) -> bool:
        seen: dict[tuple[str, ...], tuple[tree.TableCell, ...]] = {}
        sound = True
        for label in labels:
            first = seen.setdefault(tuple(str(cell.label) for cell in label), label)
            if first is not label:
                sound = False
                span = label[0].span.to(label[-1].span)
                self.diagnostics.error(
                    "GSM1506",
                    f"{what} `{span.text}` is given twice",
                    span,
                    "given again",
                    secondary=[Label(first[0].span.to(first[-1].span), "first given here")],
                    help="keep one of them",
                )
        return sound


def _misshaped_row(cells: Sequence[tree.TableCell], rows: int, width: int) -> list[tree.TableCell] | None:
    """Return the first row of wrong length, if all rows visibly begin with a word and continue with numbers."""
    words = [at for at, cell in enumerate(cells) if isinstance(cell.value, str)]
    if rows != 1 or not words or words[0]:
        return None
    ends = [*words[1:], len(cells)]
    return next((list(cells[start:end]) for start, end in zip(words, ends, strict=True) if end - start != width), None)


def _components(keys: Sequence[_Key]) -> tuple[tuple[int | tree.TableCell, ...], int]:
    """Return the source of each subscript, and the number of labels that begin a row.

    A subscript is fixed by a label of the head, or it is a number: that of a label of the row, or, for the last set
    of the head, the number of these labels, which stands for the label of the column.
    """
    found: list[int | tree.TableCell] = []
    running = 0
    for key in keys:
        for _ in range(key.arity):
            found.append(key.written if key.over is None else running)
            running += key.over is not None
    return tuple(found), running - 1


def _listed_sets(level: int, matrix: tree.MatrixTable, keys: Sequence[_Key], rows: int) -> Iterator[MatrixAssignment]:
    """The sets that the columns and the rows list completely: one set runs over all of their labels."""
    over = [key for key in keys if key.over is not None]
    parts = [([rows], over[-1])] if over[-1].arity == 1 else []
    if len(over) == 2 and over[-1].arity == 1:
        parts.insert(0, ([*range(rows)], over[0]))
    for components, key in parts:
        if key.over is not None and key.over.value is None:
            yield MatrixAssignment(
                target=key.over.name,
                span=key.written.span,
                level=level,
                matrix=matrix,
                components=tuple(components),
                rows=rows,
                values=False,
            )
