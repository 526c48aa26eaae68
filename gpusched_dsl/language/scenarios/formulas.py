"""Checks formulas and arrays of a scenario: `deadline[j in Jobs] = 2 * length[j];`, `length = [4, 2, 3][h];`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedParam,
    CheckedSet,
    NamedSet,
    Numeric,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checking import ExpressionChecker
from gpusched_dsl.language.checking.kinds import as_element, describe
from gpusched_dsl.language.checking.scope import EMPTY, Scope
from gpusched_dsl.language.checking.symbols import SubscriptSlot, slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Edit, Label
from gpusched_dsl.language.scenarios.assignments import ONE, ArrayAssignment, ExpressionAssignment
from gpusched_dsl.language.scenarios.columns import ColumnChecker
from gpusched_dsl.language.scenarios.values import ValueChecker
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import DIMENSIONLESS

_Target: TypeAlias = CheckedParam | CheckedSet


class FormulaChecker:
    """Checks values for many keys of a parameter at once."""

    def __init__(self, checker: ExpressionChecker, values: ValueChecker, columns: ColumnChecker) -> None:
        self.checker = checker
        self.values = values
        self.columns = columns

    # --- formulas ----------------------------------------------------------------------------------------------------

    def formula(self, level: int, statement: tree.Assign, target: CheckedParam) -> ExpressionAssignment | None:
        """Check `deadline[j in Jobs where late[j]] = 2 * length[j];`: the values of all keys of an index list."""
        assert statement.indexing is not None
        indexing, scope = self._index_list(statement.indexing, target)
        value = self.values.parameter(statement.value, target, scope)
        subscripts = None if indexing is None else self._subscripts(statement.indexing, indexing, target)
        if indexing is None or value is None or subscripts is None:
            return None
        return ExpressionAssignment(
            target=target.name,
            span=statement.span,
            level=level,
            patch=True,
            value=value,
            subscripts=subscripts,
            indexing=indexing,
        )

    def elements(self, level: int, statement: tree.Assign, target: CheckedSet) -> ExpressionAssignment | None:
        """Check `Pred[b] = { a };` and `Pred[j in Jobs] = { i in Jobs where rank[i] < rank[j] };`."""
        indexing, scope = None, EMPTY
        subscripts: tuple[TypedExpr, ...] | None
        if statement.indexing is None:
            subscripts = self.values.subscripts(statement, target)
        else:
            indexing, scope = self._index_list(statement.indexing, target)
            subscripts = None if indexing is None else self._subscripts(statement.indexing, indexing, target)
        value = self.values.elements_at_index(statement.value, target, scope)
        if value is None or subscripts is None:
            return None
        return ExpressionAssignment(
            target=target.name,
            span=statement.span,
            level=level,
            patch=True,
            value=value,
            subscripts=subscripts,
            indexing=indexing,
        )

    def _index_list(self, node: tree.Indexing, target: _Target) -> tuple[TypedIndexing | None, Scope]:
        """The indices of a formula that have names, and their scope."""
        from gpusched_dsl.language.scenarios.formula_indices import literals_within

        named = tuple(index for index in literals_within(node, slots_of(target)) if index.names)
        return self.checker.indexing(tree.Indexing(span=node.span, indices=named, where=node.where))

    def _subscripts(
        self, node: tree.Indexing, indexing: TypedIndexing, target: _Target
    ) -> tuple[TypedExpr, ...] | None:
        """The subscripts of the target: indices of the formula, and fixed labels."""
        from gpusched_dsl.language.scenarios.formula_indices import listed_subscripts

        slots = slots_of(target)
        subscripts = listed_subscripts(node, indexing, complete=False)
        tuples = listed_subscripts(node, indexing, complete=True)
        if len(subscripts) != len(slots) == len(tuples):  # `cap[("a", j) in Links]` of `cap[Links]`
            subscripts = tuples
        if not self.values.arity_fits(len(subscripts), node.span, target):
            return None
        found = [
            self._index(typed, slot, target, span) if written is None else self.values.subscript(written, slot, target)
            for (written, typed, span), slot in zip(subscripts, slots, strict=True)
        ]
        typed_args = tuple(typed for typed in found if typed is not None)
        return typed_args if len(typed_args) == len(found) else None

    def _index(self, typed: TypedExpr | None, slot: SubscriptSlot, target: _Target, span: Span) -> TypedExpr | None:
        assert typed is not None
        fitted = as_element(typed, slot.type)
        if fitted is None:
            self.checker.error(
                "GSM1508",
                f"a subscript of `{target.name}` must be {describe(slot.type)}, this index is {describe(typed.type)}",
                span,
                describe(typed.type),
                secondary=[Label(slot.domain.span, f"`{target.name}` is indexed by this")],
            )
        return fitted

    def index_without_set(self, statement: tree.Assign, target: _Target) -> bool:
        """Report (GSM1101) the index of `deadline[j] = 2 * length[j];`, which has no set."""
        from gpusched_dsl.language.tree_walk import nodes_in

        slots = slots_of(target)
        used = {name.text: name for name in nodes_in(statement.value, tree.Name)}
        for label in _bare_labels(statement.value, target):
            used.pop(label, None)
        symbols = self.checker.symbols
        for subscript, slot in zip(statement.subscripts, slots, strict=False):
            if not isinstance(subscript, tree.Name) or subscript.text not in used:
                continue
            if symbols.span_of(subscript.text) is not None:
                continue
            own = slot.domain.span.text if isinstance(slot.domain, NamedSet) else "..."
            name = f"{subscript.text} in {own}"
            self.checker.error(
                "GSM1101",
                f"unknown name `{subscript.text}`",
                used[subscript.text].span,
                "neither an index nor declared",
                secondary=[Label(subscript.span, "this is a label, not an index")],
                help=f"for a formula, name the index and its set: `{name}`",
                fix=Edit(subscript.span, name) if isinstance(slot.domain, NamedSet) else None,
            )
            return True
        return False

    # --- arrays ------------------------------------------------------------------------------------------------------

    def array(self, level: int, statement: tree.Assign, target: CheckedParam) -> ArrayAssignment | None:
        """Check `length = [4, 2, 3][h];`: all values in the order of the index sets, nested for several of them."""
        array = statement.value
        assert isinstance(array, tree.ArrayExpr)
        iterators = target.indexing.iterators
        declared = Label(target.span, f"`{target.name}` is declared here")
        if statement.subscripts or statement.indexing is not None:
            self.checker.error(
                "GSM1507",
                f"an array gives all values of `{target.name}`",
                array.span,
                "an array for some of its keys",
                secondary=[declared],
                help="write a formula or a table for some of the keys",
            )
            return None
        shape = self._shape(array)
        if shape is None:
            return None
        if len(shape) != len(iterators):
            has = f"{count_text(len(iterators), 'index set')}" if iterators else "no index"
            self.checker.error(
                "GSM1507",
                f"`{target.name}` has {has}, but this array has {count_text(len(shape), 'level')} of brackets",
                array.span,
                secondary=[declared],
                help=f"write `{target.name} = ...;`"
                if not iterators
                else "write one list" + "".join(f" of lists for `{i.domain.span.text}`" for i in iterators[1:]),
            )
            return None
        factor = ONE
        unit = target.type.unit if isinstance(target.type, Numeric) else DIMENSIONLESS
        items = list(_items(array))
        bare = bool(items) and all(
            isinstance(_without_sign(item), tree.Number) and not _has_unit(item) for item in items
        )
        if array.unit is not None or (bare and unit != DIMENSIONLESS):
            place = (
                array.span.source.span(array.span.end - 1, array.span.end) if array.unit is None else array.unit.span
            )
            found = self.columns.factor(
                target.name, array.unit, place, target, what="array", help=f"write `[{unit}]` after the array"
            )
            if found is None:
                return None
            factor = found
        unit_node = array.unit
        typed = [
            self.values.parameter(item, target) if unit_node is None else self._plain(item, unit_node) for item in items
        ]
        values = tuple(value for value in typed if value is not None)
        if len(values) < len(typed):
            return None
        return ArrayAssignment(
            target=target.name, span=statement.span, level=level, shape=shape, values=values, factor=factor
        )

    def _plain(self, item: tree.Expr, unit: tree.UnitNode) -> TypedExpr | None:
        because = Label(unit.span, "the unit of all values")
        typed = self.checker.number(item, unit=DIMENSIONLESS, because=because)
        return typed if typed is not None and self.checker.data_only(typed, "an array") else None

    def _shape(self, array: tree.ArrayExpr) -> tuple[int, ...] | None:
        """The number of items on each level; reports (GSM1509) lists of one level with different lengths."""
        shape: list[int] = []
        lists: list[tree.ArrayExpr] = [array]
        while lists:
            first, *rest = lists
            odd = next((other for other in rest if len(other.items) != len(first.items)), None)
            if odd is not None:
                self.checker.error(
                    "GSM1509",
                    f"this list has {count_text(len(odd.items), 'value')}, the first one has {len(first.items)}",
                    odd.span,
                    secondary=[Label(first.span, "the first list")],
                    help="give all values of each list",
                )
                return None
            inner = [item for one in lists for item in one.items if isinstance(item, tree.ArrayExpr)]
            shape.append(len(first.items))
            single = next((i for one in lists for i in one.items if not isinstance(i, tree.ArrayExpr)), None)
            unit = next((i.unit for i in inner if i.unit is not None), None)
            if unit is not None:
                self.checker.error(
                    "GSM1307", "only the complete array has a unit", unit.span, help="write it after the last bracket"
                )
                return None
            if inner and single is not None:
                self.checker.error(
                    "GSM1509",
                    "a value beside a list in an array",
                    single.span,
                    "not a list",
                    secondary=[Label(inner[0].span, "a list")],
                    help="nest all values alike",
                )
                return None
            lists = inner
        return tuple(shape)


def _bare_labels(value: tree.Expr, target: _Target) -> list[str]:
    """The bare names in a value that are labels."""
    if isinstance(value, tree.Name):
        return [value.text] if not isinstance(target, CheckedParam) or not isinstance(target.type, Numeric) else []
    if isinstance(value, tree.Binary) and isinstance(target, CheckedSet):
        return [*_bare_labels(value.left, target), *_bare_labels(value.right, target)]
    if isinstance(value, tree.SetLiteral):
        items = [i for item in value.items for i in (item.items if isinstance(item, tree.TupleExpr) else (item,))]
        return [item.text for item in items if isinstance(item, tree.Name)]
    return []


def _items(array: tree.ArrayExpr) -> Iterator[tree.Expr]:
    for item in array.items:
        if isinstance(item, tree.ArrayExpr):
            yield from _items(item)
        else:
            yield item


def _without_sign(item: tree.Expr) -> tree.Expr:
    return item.operand if isinstance(item, tree.UnaryExpr) else item


def _has_unit(item: tree.Expr) -> bool:
    number = _without_sign(item)
    return isinstance(number, tree.Number) and number.unit is not None
