"""Columns of tables and files against the declarations they give values for: units, keys, shape, aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedParam, CheckedSet, Numeric, ValueType
from gpusched_dsl.language.checking.conversion import because_declared
from gpusched_dsl.language.checking.kinds import describe, describe_all, same_kind
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import AGGREGATES, ONE, FileAssignment, SlotKey
from gpusched_dsl.language.scenarios.formats import Described
from gpusched_dsl.language.scenarios.labels import check_labels
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor, reads_as_duration, unit_of


class ColumnChecker:
    """Checks columns and determines the conversion to the declared unit."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics

    # --- units -------------------------------------------------------------------------------------------------------

    def factor(
        self,
        name: str,
        unit: tree.UnitNode | None,
        span: Span,
        target: CheckedParam,
        own: Unit | None = None,
        *,
        what: str = "column",
        help: str | None = None,
    ) -> Fraction | None:
        """Return the factor for the numbers of a column; None if its unit is incompatible, which is reported.

        `own` is the unit that the format of the file states: the numbers are in it, whatever unit is written. `what`
        has the numbers, and `help` is the remedy for a missing unit.
        """
        declared = Label(target.span, f"`{target.name}` is declared here")
        if not isinstance(target.type, Numeric):
            if unit is None:
                return ONE
            self.diagnostics.error(
                "GSM1307",
                f"`{target.name}` is {describe(target.type)}, so its {what} has no unit",
                unit.span,
                "no unit here",
                secondary=[declared],
            )
            return None
        wanted = target.type.unit
        because = because_declared(target.name, target.span, wanted)
        if unit is None and own is None:
            if wanted == DIMENSIONLESS:
                return ONE
            self.diagnostics.error(
                "GSM1303",
                f"{what} `{name}` needs a unit: `{target.name}` is declared in `{wanted}`",
                span,
                "no unit",
                secondary=[because],
                help=help or f"write `{span.text}[{wanted}]` if it is in `{wanted}`",
            )
            return None
        place = span if unit is None else unit.span
        found = own if unit is None else unit_of(unit, self.diagnostics)
        if found is None:
            return None
        if own is not None and not convertible(found, own):
            self.diagnostics.error(
                "GSM1302",
                f"units do not agree: column `{name}` of the format is in `{own}`, not in `{found}`",
                place,
                f"this is `{found}`",
                help=f"remove the unit, or use a unit that converts to `{own}`",
            )
            return None
        found = own or found
        if convertible(found, wanted):
            return factor(found, wanted)
        if reads_as_duration(found, wanted):
            self.diagnostics.error(
                "GSM1304",
                f"`{found}` is used as `{wanted}`: the reciprocal of a rate is read as a duration",
                place,
                f"this is in `{found}`",
                secondary=[because],
                severity=Severity.WARNING,
            )
            return factor(found, wanted)
        plain = wanted == DIMENSIONLESS
        self.diagnostics.error(
            "GSM1302",
            f"units do not agree: `{found}` where {'a plain number' if plain else f'`{wanted}`'} is needed",
            place,
            f"this is `{found}`",
            secondary=[because],
        )
        return None

    # --- tables ------------------------------------------------------------------------------------------------------

    def keys_fit(
        self,
        table: tree.Table,
        column: tree.TableColumn,
        target: CheckedParam | CheckedSet,
        types: tuple[ValueType, ...],
    ) -> bool:
        """Whether the key sets of a table are the index sets of a parameter or of an indexed set."""
        slots = tuple(slot.type for slot in slots_of(target))
        if len(slots) == len(types) and all(map(same_kind, slots, types)):
            return True
        arity = len(slots) != len(types)
        indexed = f"indexed by {describe_all(slots)}" if slots else "not indexed"
        self.diagnostics.error(
            "GSM1507" if arity else "GSM1508",
            f"`{target.name}` is {indexed}, the keys of this table are {describe_all(types)}",
            column.name.span,
            "not by these keys",
            secondary=[
                Label(table.keys[0].span.to(table.keys[-1].span), "the keys"),
                Label(target.span, f"`{target.name}` is declared here"),
            ],
            help=None if slots else f"write `{target.name} = ...;`",
        )
        return False

    def shape(self, table: tree.Table, keys: int) -> bool:
        """Whether the cells form complete rows that begin at the visible line breaks; reports GSM1509."""
        width = keys + len(table.columns)
        line = misplaced_line(table.cells, keys, width)
        if line is None and len(table.cells) % width == 0:
            return True
        names = ", ".join(f"`{name.text}`" for name in (*table.keys, *(c.name for c in table.columns)))
        if line is not None:
            span = line[0].span.to(line[-1].span)
            message = f"this line of the table has {len(line)} cell{'' if len(line) == 1 else 's'}"
        else:
            rest = table.cells[len(table.cells) // width * width :]
            span = rest[0].span.to(rest[-1].span)
            message = f"the last row of the table has {len(rest)} cell{'' if len(rest) == 1 else 's'}"
        keyed = f" ({keys} for the keys)" if keys > len(table.keys) else ""
        self.diagnostics.error(
            "GSM1509",
            f"{message}, but a row has {width}{keyed}: {names}",
            span,
            help="write `.` for a value that is not given",
        )
        return False

    def set_cells(self, column: tree.TableColumn, cells: Sequence[tree.TableCell], target: CheckedSet) -> bool:
        """Whether the cells of a column are the elements of an indexed set."""
        sound = True
        if column.unit is not None:
            self.diagnostics.error(
                "GSM1307", f"the elements of set `{target.name}` have no unit", column.unit.span, "no unit here"
            )
            sound = False
        if len(target.types) - target.index_arity > 1:
            self.diagnostics.error(
                "GSM1510",
                f"the elements of `{target.name}` are tuples, which a cell cannot list",
                column.name.span,
                help=f"write `{target.name}[...] = {{ (...), ... }};`, or a data statement",
            )
            sound = False
        for cell in cells:
            if isinstance(cell, tree.SetCell):
                check_labels(cell.items, self.diagnostics)
            elif cell.label is not None:
                sound = False
                self.diagnostics.error(
                    "GSM1510",
                    f"a cell of the set `{target.name}` has its elements in braces",
                    cell.span,
                    "not a set",
                    help=f"write `{{ {cell.span.text} }}`",
                    fix=f"{{ {cell.span.text} }}",
                )
        return sound

    def plain_cells(self, cells: Sequence[tree.TableCell], target: CheckedParam) -> bool:
        """Whether no cell of a parameter is a set."""
        wrong = next((cell for cell in cells if isinstance(cell, tree.SetCell)), None)
        if wrong is not None:
            self.diagnostics.error(
                "GSM1510",
                f"`{target.name}` is a parameter, but this cell is a set",
                wrong.span,
                "a set",
                secondary=[Label(target.span, f"`{target.name}` is declared here")],
            )
        return wrong is None

    # --- files -------------------------------------------------------------------------------------------------------

    def set_item(
        self, level: int, data: tree.Data | tree.Generate, item: tree.DataItem, target: CheckedSet
    ) -> FileAssignment | None:
        """`Jobs = job;`, `F = (job, type);`, `Jobs = distinct(job);`, of an indexed set `Pred[job] = pred;`."""
        sound = True
        declared = Label(target.span, f"`{target.name}` is declared here")
        types = target.types
        if item.keys and target.is_indexed:
            types = types[target.index_arity :]
            sound = self._set_keys(item, target)
        elif item.keys:
            self.diagnostics.error(
                "GSM1507",
                f"set `{target.name}` has no keys; its elements are in the columns after `=`",
                item.keys[0].span.to(item.keys[-1].span),
                "not for a set",
                secondary=[declared],
            )
            sound = False
        if len(item.columns) != len(types):
            many = len(types)
            self.diagnostics.error(
                "GSM1507",
                f"elements of `{target.name}` are {describe_all(types)}: {many} column"
                f"{'' if many == 1 else 's'} needed, {len(item.columns)} given",
                item.columns[0].span.to(item.columns[-1].span),
                f"{len(item.columns)} given",
                secondary=[declared],
            )
            sound = False
        for column in item.columns:
            if column.function is not None:
                self._no_aggregate(column.function, f"`{target.name}` is a set")
                sound = False
            if column.unit is not None:
                self.diagnostics.error(
                    "GSM1307", f"the elements of set `{target.name}` have no unit", column.unit.span, "no unit here"
                )
                sound = False
        if not sound:
            return None
        names = (*(key.column for key in item.keys), *(column.name for column in item.columns))
        return FileAssignment(
            target=target.name,
            span=item.span,
            level=level,
            data=data,
            item=item,
            keys=names,
            value=None,
            distinct=item.distinct,
        )

    def _set_keys(self, item: tree.DataItem, target: CheckedSet) -> bool:
        """Whether the key columns fit the indices of a set."""
        sound = True
        if len(item.keys) != target.index_arity:
            self.diagnostics.error(
                "GSM1507",
                f"`{target.name}` has {count_text(target.index_arity, 'index', 'indices')}, {len(item.keys)} given",
                item.keys[0].span.to(item.keys[-1].span),
                f"{len(item.keys)} given",
                secondary=[Label(target.span, f"`{target.name}` is declared here")],
            )
            sound = False
        for key in item.keys:
            if key.function is not None:
                self._no_aggregate(key.function, f"`{target.name}` is a set")
                sound = False
        return sound

    def param_item(
        self,
        level: int,
        data: tree.Data | tree.Generate,
        item: tree.DataItem,
        target: CheckedParam,
        described: Described | None = None,
    ) -> FileAssignment | None:
        """`exec_time[job, type] = seconds[s];`, `tariff[hour] = mean(lbmp[$/MWh]);`."""
        slots = slots_of(target)
        declared = Label(target.span, f"`{target.name}` is declared here")
        slotted = self._derived_keys(item, described)
        sound = slotted is not None
        if len(item.keys) != len(slots):
            place = item.keys[0].span.to(item.keys[-1].span) if item.keys else item.target.span
            kinds = f" ({', '.join(describe(slot.type) for slot in slots)})" if slots else ""
            self.diagnostics.error(
                "GSM1507",
                f"`{target.name}` has {len(slots) or 'no'} key{'' if len(slots) == 1 else 's'}{kinds}, "
                f"{len(item.keys)} given",
                place,
                f"{len(item.keys)} given",
                secondary=[declared],
            )
            sound = False
        if len(item.columns) != 1 or item.distinct:
            what = "`distinct` is only for sets" if item.distinct else f"{len(item.columns)} columns given"
            self.diagnostics.error(
                "GSM1510",
                f"`{target.name}` is a parameter: its values need one column, {what}",
                item.columns[0].span.to(item.columns[-1].span),
                "one column needed",
                secondary=[declared],
            )
            return None
        [column] = item.columns
        function = self._aggregate(column, target)
        from gpusched_dsl.language.scenarios.data_formats import unit_of_column

        ratio = (
            self._count_factor(column, target)
            if function == "count"
            else self.factor(column.name, column.unit, column.span, target, unit_of_column(described, column.name))
        )
        if not sound or slotted is None or ratio is None or (column.function is not None and function is None):
            return None
        return FileAssignment(
            target=target.name,
            span=item.span,
            level=level,
            data=data,
            item=item,
            keys=tuple(key.column for key in item.keys),
            value=column.name,
            factor=ratio,
            function=function,
            slots=slotted,
        )

    def _derived_keys(self, item: tree.DataItem, described: Described | None) -> tuple[SlotKey | None, ...] | None:
        """For each key how it is derived from its column; None, reported, where a function does not fit."""
        from gpusched_dsl.language.scenarios.slot_keys import slot_key

        found: list[SlotKey | None] = []
        sound = True
        for key in item.keys:
            if key.function is None:
                found.append(None)
                continue
            if key.function.text == "slot":
                from gpusched_dsl.language.scenarios.data_formats import unit_of_column

                slot = slot_key(key, unit_of_column(described, key.column), self.diagnostics)
                sound &= slot is not None
                found.append(slot)
                continue
            sound = False
            self.diagnostics.error(
                "GSM1511",
                f"unknown function `{key.function.text}` of a key column",
                key.function.span,
                "unknown",
                help=did_you_mean(key.function.text, ["slot"]) or "a key is a column, or `slot(time, length)`",
            )
        return tuple(found) if sound else None

    def _aggregate(self, column: tree.DataColumn, target: CheckedParam) -> str | None:
        function = column.function
        if function is None:
            return None
        if function.text not in AGGREGATES:
            self.diagnostics.error(
                "GSM1511",
                f"unknown aggregate `{function.text}`",
                function.span,
                "unknown",
                help=did_you_mean(function.text, AGGREGATES) or f"aggregates are {', '.join(AGGREGATES)}",
            )
            return None
        if not isinstance(target.type, Numeric) and function.text not in ("first", "last"):
            self._no_aggregate(function, f"`{target.name}` is {describe(target.type)}")
            return None
        return function.text

    def _no_aggregate(self, function: tree.Identifier, reason: str) -> None:
        self.diagnostics.error(
            "GSM1511", f"aggregate `{function.text}` is not allowed here: {reason}", function.span, "not here"
        )

    def _count_factor(self, column: tree.DataColumn, target: CheckedParam) -> Fraction | None:
        """A count of rows has no unit, whatever the column has."""
        if column.unit is not None:
            self.diagnostics.error("GSM1307", "a count of rows has no unit", column.unit.span, "no unit here")
            return None
        assert isinstance(target.type, Numeric)
        if target.type.unit == DIMENSIONLESS:
            return ONE
        self.diagnostics.error(
            "GSM1302",
            f"units do not agree: a count of rows where `{target.type.unit}` is needed",
            column.span,
            "a plain number",
            secondary=[because_declared(target.name, target.span, target.type.unit)],
        )
        return None


def misplaced_line(cells: tuple[tree.TableCell, ...], keys: int, width: int) -> list[tree.TableCell] | None:
    """Return the first line with cells that do not fit rows of `width`, or None.

    A line has whole rows, or a row goes on over lines of its own. A row that begins or ends within a line shows that a
    cell is missing or too many; so do two lines, equally indented, that could each be a row with missing cells.
    """
    lines = [list(group) for _, group in groupby(cells, key=lambda cell: cell.span.line)]
    if len(lines) <= 1:
        return None
    pending = 0
    row = lines[0]
    for number, line in enumerate(lines):
        if not pending:
            row = line
            if len(line) > width and len(line) % width:
                return line
        elif pending + len(line) > width:
            return lines[number - 1]
        elif min(len(line), len(row)) > keys and _indent(line) <= _indent(row):
            return row
        pending = (pending + len(line)) % width
    return None


def _indent(line: list[tree.TableCell]) -> int:
    """The column where the text of a line begins."""
    source = line[0].span.source
    text = source.line(line[0].span.line)
    return len(text) - len(text.lstrip())
