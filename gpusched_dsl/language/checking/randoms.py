"""Distributions: `exponential(mean = 40[epoch])`, `empirical("epochs.csv", column = "epochs")`."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedRandom, SampleFile, TypedExpr, TypedLaw, TypedList
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.conversion import because_declared, require_plain
from gpusched_dsl.language.checking.protocol import Checker
from gpusched_dsl.language.checking.scope import EMPTY, Binding, Scope
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.distributions import LISTS, RESTRICTIONS, Spelling, distribution_names, spelling_of
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit

_FILE_ARGUMENTS = ("column", "key", "weight", "unit", "table")


def check_law(checker: Checker, call: tree.Call, random: CheckedRandom | None, scope: Scope = EMPTY) -> TypedLaw | None:
    """Return the distribution of a random quantity; None after reported errors.

    Without `random` (if its declaration has errors), only the names in the call are checked.
    """
    if random is None:
        _names_only(checker, call, scope)
        return None
    return LawChecker(checker, random, scope).law(call)


def scope_of(random: CheckedRandom) -> Scope:
    """Bind the indices of a random by the names of its declaration, for a distribution in a scenario."""
    scope = EMPTY
    for iterator in random.indexing.iterators:
        for component, variable in enumerate(iterator.variables):
            if variable.name != IGNORED:
                scope = scope.bind(variable.name, Binding(variable, iterator.domain, component))
    return scope


def _names_only(checker: Checker, call: tree.Call, scope: Scope) -> None:
    for expr in (*call.arguments, *(a.value for a in call.named)):
        if isinstance(expr, tree.Call) and expr.function.text in distribution_names():
            _names_only(checker, expr, scope)
        elif not isinstance(expr, (tree.SetLiteral, tree.Comprehension)):
            checker.check(expr, scope)


class LawChecker:
    """Reads the calls that define the distribution of one random quantity."""

    def __init__(self, checker: Checker, random: CheckedRandom, scope: Scope) -> None:
        self.checker = checker
        self.random = random
        self.scope = scope

    def law(self, call: tree.Expr) -> TypedLaw | None:
        if not isinstance(call, tree.Call):
            self.checker.error(
                "GSM1212",
                f"`{call.span.text}` is not a distribution",
                call.span,
                "a distribution is needed here",
                help="write one such as `exponential(mean = ...)`; a plain number is `deterministic(...)`",
            )
            return None
        name = call.function.text
        if name in RESTRICTIONS:
            return self._restriction(call)
        if name == "mixture":
            return self._mixture(call)
        if name in LISTS or name == "empirical":
            return self._samples(call)
        spelling = spelling_of(name)
        if spelling is not None:
            numbers = self._numbers(call, spelling, call.arguments)
            return None if numbers is None else TypedLaw(span=call.span, name=name, numbers=numbers)
        self.checker.error(
            "GSM1416",
            f"unknown distribution `{name}`",
            call.function.span,
            "no distribution of this name",
            help=did_you_mean(name, distribution_names()) or f"distributions are {', '.join(distribution_names())}",
        )
        return None

    # --- numbers by name ---------------------------------------------------------------------------------------------

    def _numbers(
        self, call: tree.Call, spelling: Spelling, positional: tuple[tree.Expr, ...]
    ) -> tuple[tuple[str, TypedExpr], ...] | None:
        arguments = self._by_name(call, spelling.arguments, positional)
        if arguments is None:
            return None
        if frozenset(arguments) not in spelling.argument_sets:
            needed_text = " or ".join(
                _list_names([a for a in spelling.arguments if a in argument_set])
                for argument_set in spelling.argument_sets
            )
            has = _list_names(list(arguments)) if arguments else "nothing"
            self._wrong(call.span, f"`{call.function.text}` needs {needed_text}", f"{has} given")
            return None
        found = [(name, self._number(expr, name, spelling)) for name, expr in arguments.items()]
        numbers = tuple((name, typed) for name, typed in found if typed is not None)
        return numbers if len(numbers) == len(found) else None

    def _by_name(
        self, call: tree.Call, names: tuple[str, ...], positional: tuple[tree.Expr, ...]
    ) -> dict[str, tree.Expr] | None:
        """Return the arguments by name: those without a name get the names in order."""
        law = call.function.text
        if len(positional) > len(names):
            extra = positional[len(names)].span.to(positional[-1].span)
            self._wrong(extra, f"`{law}` has {_count_text(len(names))}: {', '.join(names)}", "too many")
            return None
        arguments = dict(zip(names, positional, strict=False))
        sound = True
        for argument in call.named:
            name = argument.name.text
            if name not in names:
                help = did_you_mean(name, names) or f"its arguments are {', '.join(names)}"
                self._wrong(argument.name.span, f"`{law}` has no argument `{name}`", "unknown", help)
                sound = False
            elif name in arguments:
                self._wrong(argument.name.span, f"`{name}` is given twice", "again")
                sound = False
            else:
                arguments[name] = argument.value
        return arguments if sound else None

    def _number(self, expr: tree.Expr, name: str, spelling: Spelling) -> TypedExpr | None:
        unit = self.random.type.unit
        if name in spelling.plain:
            return self._plain_number(expr, f"`{name}`")
        if name in spelling.per_unit:
            unit = DIMENSIONLESS / unit
        return self.quantity(expr, unit)

    def quantity(self, expr: tree.Expr, unit: Unit, scope: Scope | None = None) -> TypedExpr | None:
        """Return a number in the unit of the random (or its reciprocal)."""
        because = because_declared(self.random.name, self.random.span, self.random.type.unit)
        typed = self.checker.number(expr, scope or self.scope, unit=unit, because=because)
        return typed if typed is not None and self.checker.data_only(typed, "a distribution") else None

    def _plain_number(self, expr: tree.Expr, what: str, scope: Scope | None = None) -> TypedExpr | None:
        typed = self.checker.number(expr, scope or self.scope)
        if typed is None or not self.checker.data_only(typed, "a distribution"):
            return None
        return require_plain(self.checker, typed, what)

    # --- laws of laws ------------------------------------------------------------------------------------------------

    def _restriction(self, call: tree.Call) -> TypedLaw | None:
        if not call.arguments:
            self._wrong(call.span, f"`{call.function.text}` needs a distribution", "no distribution given")
            return None
        inner = self.law(call.arguments[0])
        numbers = self._numbers(call, RESTRICTIONS[call.function.text], call.arguments[1:])
        if inner is None or numbers is None:
            return None
        return TypedLaw(span=call.span, name=call.function.text, numbers=numbers, parts=(inner,))

    def _mixture(self, call: tree.Call) -> TypedLaw | None:
        items = self._items(call)
        if items is None:
            return None
        parts: list[TypedLaw] = []
        weights: list[TypedExpr] = []
        for item in items:
            if not isinstance(item, tree.TupleExpr) or len(item.items) != 2:
                self._wrong(item.span, "a part of a mixture must be `(distribution, probability)`", "not a pair")
                return None
            law, weight = self.law(item.items[0]), self._plain_number(item.items[1], "a probability")
            if law is not None and weight is not None:
                parts.append(law)
                weights.append(weight)
        if len(parts) < len(items):
            return None
        return TypedLaw(span=call.span, name="mixture", parts=tuple(parts), weights=tuple(weights))

    def _items(self, call: tree.Call) -> tuple[tree.Expr, ...] | None:
        only = call.arguments[0] if len(call.arguments) == 1 and not call.named else None
        if isinstance(only, tree.SetLiteral) and only.items:
            return only.items
        text = "{ (exponential(mean = ...), 0.3), (deterministic(...), 0.7) }"
        self._wrong(call.span, "`mixture` needs its parts in braces", "", f"write `mixture({text})`")
        return None

    # --- lists and files ---------------------------------------------------------------------------------------------

    def _samples(self, call: tree.Call) -> TypedLaw | None:
        """`discrete({ (value, probability), ... })`, `empirical({ w[s] : s in Samples })`, `empirical("file", ...)`."""
        name = call.function.text
        first = call.arguments[0] if call.arguments else None
        if name == "empirical" and isinstance(first, tree.Text):
            file = _check_file(self, call, first)
            return None if file is None else TypedLaw(span=call.span, name=name, file=file)
        if len(call.arguments) == 1 and not call.named and isinstance(first, (tree.SetLiteral, tree.Comprehension)):
            points = self._list(first, name)
            return None if points is None else TypedLaw(span=call.span, name=name, points=points)
        example = "{ w[s] : s in Samples }" if name == "empirical" else "{ (10, 0.3), (20, 0.7) }"
        also = ' or a file: `empirical("epochs.csv", column = "epochs")`' if name == "empirical" else ""
        self._wrong(call.span, f"`{name}` needs a list in braces", "", f"write `{name}({example})`{also}")
        return None

    def _list(self, expr: tree.SetLiteral | tree.Comprehension, name: str) -> TypedList | None:
        """Return pairs of a value and a probability; for `empirical` also single values."""
        if isinstance(expr, tree.SetLiteral):
            rows = [self._row(item, name, self.scope) for item in expr.items]
            found = tuple(row for row in rows if row is not None)
            if not rows:
                self.checker.error("GSM1212", f"`{name}` of an empty list", expr.span, "an empty list")
            if len(found) < len(rows) or not rows:
                return None
            if len({len(row) for row in found}) > 1:
                self.checker.error("GSM1212", "some items have a weight and others do not", expr.span, "different form")
                return None
            return TypedList(span=expr.span, rows=found)
        indexing, inside = self.checker.indexing(expr.indexing, self.scope)
        row = self._row(expr.element, name, inside)
        if indexing is None or row is None:
            return None
        return TypedList(span=expr.span, rows=(row,), indexing=indexing)

    def _row(self, item: tree.Expr, name: str, scope: Scope) -> tuple[TypedExpr, ...] | None:
        unit = self.random.type.unit
        if isinstance(item, tree.TupleExpr) and len(item.items) == 2:
            value = self.quantity(item.items[0], unit, scope)
            weight = self._plain_number(item.items[1], "a weight" if name == "empirical" else "a probability", scope)
            return None if value is None or weight is None else (value, weight)
        if name == "empirical" and not isinstance(item, tree.TupleExpr):
            only = self.quantity(item, unit, scope)
            return None if only is None else (only,)
        what = "(value, survival)" if name == "survival_points" else "(value, probability)"
        self.checker.error("GSM1212", f"an item of `{name}` must be a pair `{what}`", item.span, "not a pair")
        return None

    def _wrong(self, span: Span, message: str, label: str, help: str | None = None) -> None:
        self.checker.error("GSM1212", message, span, label, help=help)


# --- samples from a data file: `empirical("epochs.csv", column = "epochs", key = "job", unit = 1[min])` --------------


def _check_file(law: LawChecker, call: tree.Call, path: tree.Text) -> SampleFile | None:
    """Check the columns of a file with samples, their weights and their indices; reports GSM1212."""
    checker, random = law.checker, law.random
    given: dict[str, tree.Expr] = {}
    sound = len(call.arguments) == 1
    if not sound:
        checker.error(
            "GSM1212", "arguments after the file need names", call.arguments[1].span, "argument without a name",
            help='write `column = "epochs"`',
        )  # fmt: skip
    for argument in call.named:
        name = argument.name.text
        if name not in _FILE_ARGUMENTS or name in given:
            twice = name in given
            checker.error(
                "GSM1212",
                f"`{name}` is given twice" if twice else f"`empirical` of a file has no argument `{name}`",
                argument.name.span,
                "again" if twice else "unknown",
                help=None
                if twice
                else did_you_mean(name, _FILE_ARGUMENTS) or f"the arguments are {', '.join(_FILE_ARGUMENTS)}",
            )
            sound = False
        given.setdefault(name, argument.value)
    column = _text(law, call, given, "column", needed=True)
    weight, table = _text(law, call, given, "weight"), _text(law, call, given, "table")
    unit: TypedExpr | None = law.quantity(given["unit"], random.type.unit) if "unit" in given else None
    keys = _keys(law, call, given.get("key"))
    wrong = ("weight" in given and weight is None) or ("table" in given and table is None)
    if not sound or wrong or column is None or keys is None or ("unit" in given and unit is None):
        return None
    columns = [c for c in (column, weight) if c is not None]
    item = tree.DataItem(
        span=call.span,
        target=tree.Identifier(span=random.span, text=random.name),
        keys=tuple(tree.DataKey(span=key.span, column=key.value) for key in keys),
        columns=tuple(tree.DataColumn(span=c.span, name=c.value) for c in columns),
    )
    data = tree.Data(span=call.span, path=path, items=(item,), table=table)
    return SampleFile(
        data=data,
        item=item,
        value=column.value,
        keys=tuple(key.value for key in keys),
        weight=None if weight is None else weight.value,
        unit=unit,
    )


def _text(
    law: LawChecker, call: tree.Call, given: dict[str, tree.Expr], name: str, *, needed: bool = False
) -> tree.Text | None:
    expr = given.get(name)
    if isinstance(expr, tree.Text):
        return expr
    if expr is not None:
        law.checker.error(
            "GSM1212", f"`{name}` must be a column or table, as a text in quotes", expr.span, "not a text"
        )
    elif needed:
        law.checker.error(
            "GSM1212", "the column of the samples is missing", call.span, "no `column`", help='add `column = "epochs"`'
        )
    return None


def _keys(law: LawChecker, call: tree.Call, expr: tree.Expr | None) -> tuple[tree.Text, ...] | None:
    """The key columns: none (one law for all indices), or one for each index of the random."""
    if expr is None:
        return ()
    items = expr.items if isinstance(expr, tree.TupleExpr) else (expr,)
    texts = tuple(item for item in items if isinstance(item, tree.Text))
    if len(texts) < len(items):
        law.checker.error(
            "GSM1212", "`key` must be a column, as a text in quotes, or several in parentheses", expr.span, "not a text"
        )
        return None
    slots = len(slots_of(law.random))
    if len(texts) != slots:
        has = f"`{law.random.name}` has {slots or 'no'} subscript{'' if slots == 1 else 's'}"
        law.checker.error(
            "GSM1507",
            f"{has}, {len(texts)} key columns given",
            expr.span,
            f"{len(texts)} given",
            secondary=[_declaration_label(law.random)],
        )
        return None
    return texts


def _declaration_label(random: CheckedRandom) -> Label:
    return Label(random.span, f"`{random.name}` is declared here")


# --- words -----------------------------------------------------------------------------------------------------------


def _list_names(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _count_text(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"
