"""Samples from a data file: `empirical("epochs.csv", column = "epochs", key = "job", unit = 1[min])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedRandom, Core, SampleFile
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.randoms import LawChecker

_ARGUMENTS = ("column", "key", "weight", "unit", "table")


def check_file(law: LawChecker, call: tree.Call, path: tree.Text) -> SampleFile | None:
    """The columns of a file that hold samples, their weights and the index that each belongs to; reports GSM1212."""
    checker, random = law.checker, law.random
    given: dict[str, tree.Expr] = {}
    sound = len(call.arguments) == 1
    if not sound:
        checker.error(
            "GSM1212", "what follows the file is given by name", call.arguments[1].span, "which argument is this?",
            help='write `column = "epochs"`',
        )  # fmt: skip
    for argument in call.named:
        name = argument.name.text
        if name not in _ARGUMENTS or name in given:
            twice = name in given
            checker.error(
                "GSM1212",
                f"`{name}` is given twice" if twice else f"`empirical` of a file has no argument `{name}`",
                argument.name.span,
                "again" if twice else "unknown",
                help=None if twice else did_you_mean(name, _ARGUMENTS) or f"they are {', '.join(_ARGUMENTS)}",
            )
            sound = False
        given.setdefault(name, argument.value)
    column = _text(law, call, given, "column", needed=True)
    weight, table = _text(law, call, given, "weight"), _text(law, call, given, "table")
    unit: Core | None = law.quantity(given["unit"], random.type.unit) if "unit" in given else None
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
        law.checker.error("GSM1212", f"`{name}` names a column or table: a text in quotes", expr.span, "not a text")
    elif needed:
        law.checker.error(
            "GSM1212", "which column holds the samples?", call.span, "no `column`", help='add `column = "epochs"`'
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
            "GSM1212", "`key` names columns: a text in quotes, or several in parentheses", expr.span, "not a text"
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
            secondary=[_declared(law.random)],
        )
        return None
    return texts


def _declared(random: CheckedRandom) -> Label:
    return Label(random.span, f"`{random.name}` is declared here")
