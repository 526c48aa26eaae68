"""Checks the statements of a scenario against its model: the value of each set and parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel, CheckedParam, CheckedSet, Numeric
from gpusched_dsl.language.checking import ExpressionChecker, Symbols
from gpusched_dsl.language.checking.scope import EMPTY
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import (
    ArrayAssignment,
    Assignment,
    ColumnsAssignment,
    ExpressionAssignment,
    FileAssignment,
    LawAssignment,
    MatrixAssignment,
    TableAssignment,
)
from gpusched_dsl.language.scenarios.columns import ColumnChecker
from gpusched_dsl.language.scenarios.formats import Described
from gpusched_dsl.language.scenarios.labels import check_labels
from gpusched_dsl.language.scenarios.values import ValueChecker
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.scenarios.data_formats import FormatChecker
    from gpusched_dsl.language.scenarios.formulas import FormulaChecker
    from gpusched_dsl.language.scenarios.matrices import MatrixChecker


class AssignmentTable:
    """Collects the values of the scenarios of a chain, oldest first; later levels replace or patch earlier ones."""

    def __init__(
        self, model: CheckedModel, diagnostics: Diagnostics, lost: Mapping[str, Span], start: str = ""
    ) -> None:
        """Create a table; `lost` are names with unreadable declarations, which are not reported. `start` is the date at
        time 0, as a text with its offset.
        """
        self.model = model
        self.diagnostics = diagnostics
        self.lost = lost
        symbols = Symbols.of(model)
        symbols.poisoned.update(lost)
        checker = ExpressionChecker(symbols, diagnostics)
        self.checker = checker
        self.values = ValueChecker(checker)
        self.columns = ColumnChecker(diagnostics)
        self.start = start
        self.other_names: tuple[str, ...] = ()  # options of generators: settings may have these names
        self._given: dict[str, list[Assignment]] = {}
        self._table_keys: dict[str, TableAssignment | MatrixAssignment] = {}

    @cached_property
    def formulas(self) -> FormulaChecker:
        from gpusched_dsl.language.scenarios.formulas import FormulaChecker

        return FormulaChecker(self.checker, self.values, self.columns)

    @cached_property
    def matrices(self) -> MatrixChecker:
        from gpusched_dsl.language.scenarios.matrices import MatrixChecker

        return MatrixChecker(self.model, self.columns, self.diagnostics)

    @cached_property
    def formats(self) -> FormatChecker:
        from gpusched_dsl.language.scenarios.data_formats import FormatChecker

        return FormatChecker(self.diagnostics, self.start)

    def declares(self, name: str) -> bool:
        """Whether the model declares something of this name."""
        return name in self.lost or self.checker.symbols.span_of(name) is not None

    def add_level(self, level: int, statements: Iterable[tree.Statement]) -> None:
        """Check the statements of one scenario, which replace or patch the values of older ones."""
        here: dict[str, list[Assignment]] = {}
        keys: dict[str, TableAssignment | MatrixAssignment] = {}
        for statement in statements:
            for given in self._statement(level, statement, keys):
                here.setdefault(given.target, []).append(given)
        for target, givens in here.items():
            whole = [g for g in givens if not g.patch]
            self._report_conflict(whole)
            self._given[target] = (whole or self._given.get(target, [])) + [g for g in givens if g.patch]
        self._table_keys.update(keys)

    def add_settings(self, level: int, settings: Iterable[tree.NamedArgument]) -> None:
        """Settings from outside without subscripts: scalar parameters only."""
        seen: dict[str, tree.Identifier] = {}
        for setting in settings:
            target = self._target(setting.name)
            if target is None:
                continue
            report_twice(seen, setting.name, self.diagnostics)
            if isinstance(target, CheckedSet) or target.indexing.iterators:
                what = "a set" if isinstance(target, CheckedSet) else "an indexed parameter"
                self.diagnostics.error(
                    "GSM1515",
                    f"`{target.name}` is {what}; only options and parameters without indices can be set here",
                    setting.name.span,
                    what,
                    secondary=[declaration_label(target)],
                    help=_help_to_set(target),
                )
                continue
            value = self.values.parameter(setting.value, target)
            if value is not None:
                self._given[target.name] = [
                    ExpressionAssignment(target=target.name, span=setting.span, level=level, value=value)
                ]

    def add_columns(self, columns: Iterable[ColumnsAssignment]) -> None:
        """Add settings of many single values, which replace those of the scenarios."""
        for given in columns:
            self._given.setdefault(given.target, []).append(given)

    def result(self) -> dict[str, tuple[Assignment, ...]]:
        """Return the value of each target. The keys of a table define a set without another value."""
        given = {name: tuple(givens) for name, givens in self._given.items()}
        for name, keys in self._table_keys.items():
            given.setdefault(name, (keys,))
        return given

    # --- statements --------------------------------------------------------------------------------------------------

    def _statement(
        self, level: int, statement: tree.Statement, keys: dict[str, TableAssignment | MatrixAssignment]
    ) -> Iterable[Assignment]:
        match statement:
            case tree.Assign():
                yield from self.check_assignment(level, statement)
            case tree.Table():
                yield from self._table(level, statement, keys)
            case tree.MatrixTable():
                yield from self._matrix(level, statement, keys)
            case tree.Data(format=None):
                for item in statement.items:
                    yield from self._item(level, statement, item)
            case tree.Data() | tree.Generate():
                yield from self._read_formatted(level, statement)
            case tree.Draw():
                yield from self._draw(level, statement)

    def check_assignment(self, level: int, statement: tree.Assign) -> Iterable[Assignment]:
        """Check a value, a single value or a formula for a set or parameter."""
        target = self._target(statement.target)
        if target is None:
            return
        if isinstance(target, CheckedSet):
            if isinstance(statement.value, tree.ArrayExpr):
                self._no_array(target, statement.value)
                return
            if statement.subscripts or statement.indexing is not None:
                yield from self._elements_at_index(level, statement, target)
                return
            elements = self.values.elements(statement.value, target)
            if elements is not None:
                yield ExpressionAssignment(target=target.name, span=statement.span, level=level, value=elements)
            return
        given: Assignment | None
        if isinstance(statement.value, tree.ArrayExpr) or statement.indexing is not None:
            check = self.formulas.array if isinstance(statement.value, tree.ArrayExpr) else self.formulas.formula
            given = check(level, statement, target)
            if given is not None:
                yield given
            return
        if self.formulas.index_without_set(statement, target):
            return
        subscripts = self.values.subscripts(statement, target) if statement.subscripts else ()
        value = self.values.parameter(statement.value, target)
        if subscripts is not None and value is not None:
            yield ExpressionAssignment(
                target=target.name,
                span=statement.span,
                level=level,
                patch=bool(subscripts),
                value=value,
                subscripts=subscripts,
            )

    def _elements_at_index(self, level: int, statement: tree.Assign, target: CheckedSet) -> Iterable[Assignment]:
        if not target.is_indexed:
            self._no_subscripts(target, statement)
        elif not self.formulas.index_without_set(statement, target):
            given = self.formulas.elements(level, statement, target)
            if given is not None:
                yield given

    def _no_array(self, target: CheckedSet, array: tree.ArrayExpr) -> None:
        inside = ", ".join(item.span.text for item in array.items)
        flat = array.unit is None and not any(isinstance(item, tree.ArrayExpr) for item in array.items)
        self.diagnostics.error(
            "GSM1510",
            f"`{target.name}` is a set, but an array gives the values of a parameter",
            array.span,
            "an array",
            secondary=[declaration_label(target)],
            help="write the elements of a set in braces",
            fix=f"{{ {inside} }}" if flat and inside else None,
        )

    def _no_subscripts(self, target: CheckedSet, statement: tree.Assign) -> None:
        brackets = statement.indexing.indices if statement.indexing is not None else statement.subscripts
        self.diagnostics.error(
            "GSM1507",
            f"set `{target.name}` has no subscripts",
            brackets[0].span.to(brackets[-1].span),
            "not for a set",
            secondary=[declaration_label(target)],
            help=f"give the complete set: `{target.name} = {{ ... }};`",
        )

    def _matrix(
        self, level: int, matrix: tree.MatrixTable, keys: dict[str, TableAssignment | MatrixAssignment]
    ) -> Iterable[Assignment]:
        target = self._target(matrix.target)
        if isinstance(target, CheckedSet):
            self.diagnostics.error(
                "GSM1510",
                f"`{target.name}` is a set, but a matrix gives the values of a parameter",
                matrix.target.span,
                "a set",
                secondary=[declaration_label(target)],
                help=f"write `{target.name} = {{ ... }};`",
            )
        elif target is not None:
            for given in self.matrices.check(level, matrix, target):
                if given.values:
                    yield given
                else:
                    keys.setdefault(given.target, given)

    def _table(
        self, level: int, table: tree.Table, keys: dict[str, TableAssignment | MatrixAssignment]
    ) -> Iterable[Assignment]:
        sets = [self._key_set(key) for key in table.keys]
        seen: dict[str, tree.Identifier] = {}
        params: list[CheckedParam | CheckedSet | None] = []
        for column in table.columns:
            report_twice(seen, column.name, self.diagnostics)
            params.append(self._column_target(column))
        found = [s for s in sets if s is not None]
        if len(found) < len(sets):
            return
        types = tuple(kind for s in found for kind in s.types)
        if not self.columns.shape(table, len(types)):
            return
        width = len(types) + len(table.columns)
        for k in range(len(types)):
            check_labels(table.cells[k::width], self.diagnostics)
        if len(found) == 1 and found[0].value is None:
            keys.setdefault(
                found[0].name,
                TableAssignment(
                    target=found[0].name,
                    span=table.keys[0].span,
                    level=level,
                    table=table,
                    keys=len(types),
                    column=None,
                ),
            )
        for number, (column, param) in enumerate(zip(table.columns, params, strict=True)):
            if param is None or not self.columns.keys_fit(table, column, param, types):
                continue
            cells = table.cells[len(types) + number :: width]
            if isinstance(param, CheckedSet):
                if self.columns.set_cells(column, cells, param):
                    yield TableAssignment(
                        target=param.name, span=column.span, level=level, table=table, keys=len(types), column=number
                    )
                continue
            if not self.columns.plain_cells(cells, param):
                continue
            factor = self.columns.factor(column.name.text, column.unit, column.span, param)
            labels = not isinstance(param.type, Numeric)
            if labels:
                check_labels(cells, self.diagnostics)
            if factor is not None:
                yield TableAssignment(
                    target=param.name,
                    span=column.span,
                    level=level,
                    table=table,
                    keys=len(types),
                    column=number,
                    factor=factor,
                    labels=labels,
                )

    def _key_set(self, key: tree.Identifier) -> CheckedSet | None:
        found = self.model.sets.get(key.text)
        if found is None and key.text not in self.lost:
            where = self.checker.symbols.span_of(key.text)
            self.diagnostics.error(
                "GSM1504" if where is None else "GSM1510",
                f"unknown set `{key.text}`: the keys of a table are sets"
                if where is None
                else f"`{key.text}` is {self.checker.symbols.sort_of(key.text)}, but the keys of a table are sets",
                key.span,
                "not a set",
                secondary=[] if where is None else [Label(where, "declared here")],
                help=did_you_mean(key.text, self.model.sets),
            )
        return found

    def _column_target(self, column: tree.TableColumn) -> CheckedParam | CheckedSet | None:
        target = self._target(column.name)
        if isinstance(target, CheckedSet) and not target.is_indexed:
            self.diagnostics.error(
                "GSM1510",
                f"`{target.name}` is a set, but a table's columns are parameters",
                column.name.span,
                "a set",
                secondary=[declaration_label(target)],
                help="write the keys of a table before the `:`",
            )
            return None
        return target

    def _read_formatted(self, level: int, data: tree.Data | tree.Generate) -> Iterable[Assignment]:
        found = self.formats.use(data)
        for item in data.items:
            if found is None:
                self._target(item.target)
                continue
            use, described = found
            if self.formats.columns(item, described):
                yield from (replace(given, use=use) for given in self._item(level, data, item, described))
            else:
                self._target(item.target)

    def _item(
        self, level: int, data: tree.Data | tree.Generate, item: tree.DataItem, described: Described | None = None
    ) -> Iterable[FileAssignment]:
        target = self._target(item.target)
        if target is None:
            return
        given: FileAssignment | None
        if isinstance(target, CheckedSet):
            given = self.columns.set_item(level, data, item, target)
        else:
            given = self.columns.param_item(level, data, item, target, described)
        if given is not None:
            yield given

    def _draw(self, level: int, statement: tree.Draw) -> Iterable[Assignment]:
        from gpusched_dsl.language.checking.randoms import check_law, scope_of

        random = self.model.randoms.get(statement.target.text)
        law = check_law(self.checker, statement.distribution, random, EMPTY if random is None else scope_of(random))
        if random is not None:
            if random.law is not None:
                self._report_derived(statement.target, random.law.span, "the model gives its distribution")
            elif law is not None:
                yield LawAssignment(target=random.name, span=statement.span, level=level, law=law)
            return
        if statement.target.text in self.lost:
            return
        where = self.checker.symbols.span_of(statement.target.text)
        self.diagnostics.error(
            "GSM1516",
            f"`{statement.target.text}` is not declared as `random`",
            statement.target.span,
            "only a `random` has a distribution",
            secondary=[] if where is None else [Label(where, "declared here")],
            help=did_you_mean(statement.target.text, self.model.randoms),
        )

    # --- targets -----------------------------------------------------------------------------------------------------

    def _target(self, name: tree.Identifier) -> CheckedSet | CheckedParam | None:
        """The set or parameter that a statement gives; None, reported, when there is none that can be given."""
        target = self.model.sets.get(name.text) or self.model.params.get(name.text)
        if target is None:
            if name.text not in self.lost:
                self._report_no_target(name)
            return None
        if target.value is not None:
            self._report_derived(name, target.value.span, f"`{target.name}` is derived here")
            return None
        return target

    def _report_derived(self, name: tree.Identifier, where: Span, label: str) -> None:
        self.diagnostics.error(
            "GSM1505",
            f"`{name.text}` is derived by the model, so a scenario cannot give it",
            name.span,
            "derived",
            secondary=[Label(where, label)],
            help="give the data from which it is derived",
        )

    def _report_no_target(self, name: tree.Identifier) -> None:
        symbols = self.checker.symbols
        where = symbols.span_of(name.text)
        if name.text in self.model.randoms:
            self.diagnostics.error(
                "GSM1505",
                f"`{name.text}` is random, so it has no single value",
                name.span,
                "random",
                secondary=[] if where is None else [Label(where, "declared here")],
                help=f"give its distribution: `{name.text} ~ exponential(mean = ...);`",
            )
        elif where is not None:
            self.diagnostics.error(
                "GSM1505",
                f"`{name.text}` is {symbols.sort_of(name.text)}; a scenario can only give sets and parameters",
                name.span,
                symbols.sort_of(name.text),
                secondary=[Label(where, "declared here")],
            )
        else:
            known = [*self.model.sets, *self.model.params, *self.model.options, *self.other_names]
            self.diagnostics.error(
                "GSM1504",
                f"model `{self.model.name}` has no set, parameter or option `{name.text}`",
                name.span,
                "unknown",
                help=did_you_mean(name.text, known),
            )

    def _report_conflict(self, whole: list[Assignment]) -> None:
        """One expression, array or law gives all of a target; tables and files may share it."""
        alone = ExpressionAssignment | ArrayAssignment | LawAssignment
        expression = next((g for g in whole if isinstance(g, alone)), None)
        if expression is None or len(whole) == 1:
            return
        first, *rest = whole
        self.diagnostics.error(
            "GSM1506",
            f"`{first.target}` is given twice",
            rest[0].span,
            "given again",
            secondary=[Label(first.span, "first given here")],
            help=f"keep one of them; replace single values with a subscript, as in `{first.target}[...] = ...`"
            if first.target in self.model.params
            else "keep one of them",
        )


def _help_to_set(target: CheckedParam | CheckedSet) -> str:
    """Return how to set an indexed parameter or a set from outside."""
    if isinstance(target, CheckedSet):
        return "give it in a scenario that extends this one"
    count = len(slots_of(target))
    keys = ", ".join(f"key{n}" for n in range(1, count + 1)) if count > 1 else "key"
    return f"set single values on the command line, `--set '{target.name}[{keys}]=...'`, or give all in a scenario"


def report_twice(seen: dict[str, tree.Identifier], target: tree.Identifier, diagnostics: Diagnostics) -> None:
    """Report (GSM1506) a name that was seen before; else remember it."""
    first = seen.setdefault(target.text, target)
    if first is not target:
        diagnostics.error(
            "GSM1506",
            f"`{target.text}` is given twice",
            target.span,
            "given again",
            secondary=[Label(first.span, "first given here")],
            help="keep one of them",
        )


def declaration_label(target: CheckedSet | CheckedParam) -> Label:
    return Label(target.span, f"`{target.name}` is declared here")
