"""Formats and generators named by data statements: known, with options that fit, and columns that they have."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.formats import (
    Described,
    FormatColumn,
    Option,
    Setting,
    Use,
    describe_format,
    names,
)
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor, parse_unit_text, unit_of

_LISTED = 30


class FormatChecker:
    """Checks the format options of a data statement before anything is read."""

    def __init__(self, diagnostics: Diagnostics, start: str = "") -> None:
        """Create a checker; `start` is the date at time 0, as a text with its offset."""
        self.diagnostics = diagnostics
        self.start = start

    def use(self, data: tree.Data | tree.Generate) -> tuple[Use, Described] | None:
        """The format or generator of a statement with all its options; None if there is none (GSM1518).

        Options that do not fit (GSM1519) are left out, so that what else is wrong with the statement is found too.
        """
        generated = isinstance(data, tree.Generate)
        named = data.generator if isinstance(data, tree.Generate) else data.format
        assert named is not None
        try:
            found = describe_format(named.text, generated)
        except KeyError:
            self._report_unknown(named, generated)
            return None
        settings = self._settings(data, found, named)
        if isinstance(data, tree.Data) and data.table is not None:
            self.diagnostics.error(
                "GSM1519",
                f"a file of format `{found.name}` has no tables",
                data.table.span,
                "not with a format",
                help="`table` is for SQLite databases without a format",
            )
        return Use(found.name, generated, settings), found

    def _report_unknown(self, named: tree.Identifier, generated: bool) -> None:
        what, known = ("generator", names(True)) if generated else ("format of data files", names(False))
        other = named.text in names(not generated)
        swapped = f"it is a {'format of files: `data FILE as' if generated else 'generator: `generate'} {named.text}`"
        shown = ", ".join(known[:_LISTED]) + (" ..." if len(known) > _LISTED else "")
        self.diagnostics.error(
            "GSM1518",
            f"unknown {what} `{named.text}`",
            named.span,
            "unknown",
            notes=[f"the {'generators' if generated else 'formats'} are {shown}"] if known else [],
            help=swapped if other else did_you_mean(named.text, known),
        )

    # --- options -----------------------------------------------------------------------------------------------------

    def _settings(
        self, data: tree.Data | tree.Generate, description: Described, named: tree.Identifier
    ) -> tuple[tuple[str, Setting], ...]:
        """Return all options in the order of the format; errors are reported and skipped."""
        known = {option.name: option for option in description.options}
        values_by_name: dict[str, Setting | None] = {}
        places: dict[str, Span] = {}
        for argument in data.options:
            name = argument.name.text
            option = known.get(name)
            if option is None:
                self.diagnostics.error(
                    "GSM1519",
                    f"`{description.name}` has no option `{name}`",
                    argument.name.span,
                    "unknown",
                    notes=[f"its options are {', '.join(known)}"] if known else ["it has no options"],
                    help=did_you_mean(name, known),
                )
            elif name in places:
                self.diagnostics.error(
                    "GSM1519",
                    f"option `{name}` is given twice",
                    argument.name.span,
                    "given again",
                    secondary=[Label(places[name], "first given here")],
                )
            else:
                places[name] = argument.name.span
                values_by_name[name] = self._value(argument.value, option)
        for option in description.options:
            if option.name not in places and option.default is None:
                self.diagnostics.error(
                    "GSM1519",
                    f"`{description.name}` needs option `{option.name}`: {option.meaning}",
                    named.span,
                    f"no `{option.name}`",
                    help=f"write `{description.name} ({option.name} = ...)`: {option.needs}",
                )
        values = (
            (option.name, values_by_name.get(option.name, self._default(option))) for option in description.options
        )
        return tuple((name, value) for name, value in values if value is not None)

    def _default(self, option: Option) -> Setting | None:
        return self.start if option.starts and self.start else option.default

    def _value(self, expr: tree.Expr, option: Option) -> Setting | None:
        """Return the value of an option in its own unit; None after a reported error."""
        value = self._read_value(expr, option)
        if value is None:
            return None
        if isinstance(value, str) and option.choices and value not in option.choices:
            help = did_you_mean(value, option.choices) or f"it is {option.needs}"
            self._report_value(expr, option, f"it is {option.needs}", help)
            return None
        if not isinstance(value, str) and option.least is not None and value < option.least:
            self._report_value(expr, option, f"it is at least {option.least:g}", None)
            return None
        return value

    def _read_value(self, expr: tree.Expr, option: Option) -> Setting | None:
        from gpusched_dsl.language.scenarios.row_conditions import condition_text

        if option.condition:
            return condition_text(expr, lambda span, why: self._report_part(span, option, why))
        if option.type is str:
            if isinstance(expr, (tree.Name, tree.Text)):
                return expr.text if isinstance(expr, tree.Name) else expr.value
        elif option.type is bool:
            if isinstance(expr, tree.Boolean):
                return expr.value
        else:
            negative = isinstance(expr, tree.UnaryExpr) and expr.op == "-"
            number = expr.operand if isinstance(expr, tree.UnaryExpr) and negative else expr
            if isinstance(number, tree.Number):
                return self._number(number, expr, option, negative)
        self._report_value(expr, option, f"it is {option.needs}", None)
        return None

    def _number(self, number: tree.Number, expr: tree.Expr, option: Option, negative: bool) -> Setting | None:
        option_unit = parse_unit_text(option.unit) if option.unit else DIMENSIONLESS
        value = Fraction(number.value)
        if number.unit is not None:
            unit = unit_of(number.unit, self.diagnostics)
            if unit is None:
                return None
            if not convertible(unit, option_unit):
                plain = "a plain number" if option_unit == DIMENSIONLESS else f"in `{option_unit}`"
                self.diagnostics.error(
                    "GSM1302",
                    f"units do not agree: `{unit}`, but option `{option.name}` is {plain}",
                    number.unit.span,
                    f"this is `{unit}`",
                )
                return None
            value *= factor(unit, option_unit)
        value = -value if negative else value
        if option.type is float and abs(value) <= sys.float_info.max:
            return float(value)
        if option.type is int and value.denominator == 1:
            return int(value)
        self._report_value(expr, option, f"it is {option.needs}", None)
        return None

    def _report_value(self, expr: tree.Expr, option: Option, label: str, help: str | None) -> None:
        self.diagnostics.error(
            "GSM1519",
            f"option `{option.name}` cannot be `{expr.span.text}`",
            expr.span,
            label,
            notes=[f"`{option.name}`: {option.meaning}"],
            help=help,
        )

    def _report_part(self, span: Span, option: Option, help: str) -> None:
        self.diagnostics.error(
            "GSM1519",
            f"option `{option.name}` cannot contain `{span.text}`",
            span,
            f"not {option.needs.split(',')[0]}" if option.condition else "",
            notes=[f"`{option.name}`: {option.meaning}"],
            help=help,
        )

    # --- columns -----------------------------------------------------------------------------------------------------

    def columns(self, item: tree.DataItem, description: Described) -> bool:
        """Whether the format has all columns of an item; report GSM1520 for unknown ones."""
        if description.open_columns:
            return True
        names = [column.name for column in description.columns]
        sound = True
        for name, span in [(k.column, k.span) for k in item.keys] + [(c.name, c.span) for c in item.columns]:
            if name not in names:
                sound = False
                self.diagnostics.error(
                    "GSM1520",
                    f"`{description.name}` has no column `{name}`",
                    span,
                    "unknown",
                    notes=[f"its columns are {', '.join(names)}"],
                    help=did_you_mean(name, names),
                )
        return sound


def unit_of_column(found: Described | None, name: str) -> Unit | None:
    """Return the unit of a column of a format; None without a unit or a format."""
    column = None if found is None else _find_column(found.columns, name)
    return parse_unit_text(column.unit) if column is not None and column.unit else None


def _find_column(columns: Sequence[FormatColumn], name: str) -> FormatColumn | None:
    return next((column for column in columns if column.name == name), None)
