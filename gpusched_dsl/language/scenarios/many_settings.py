"""Many settings of single values, such as those of a settings file: checked once for each kind, kept as columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedParam, Element, Numeric
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.scenarios.assignments import ColumnsAssignment, ExpressionAssignment
from gpusched_dsl.language.scenarios.settings import read_setting, span_of_setting
from gpusched_dsl.language.scenarios.statements import AssignmentTable

LEAST = 16  # settings of one parameter from which columns pay off
_KEY = r'(?:[^\W\d]\w*|"[^"\\]*"|0|-?[1-9]\d{0,17})'
_KEYS = re.compile(_KEY, re.ASCII)
_NAME = re.compile(rf"\s*([^\W\d]\w*)\s*\[\s*({_KEY}(?:\s*,\s*{_KEY})*)\s*\]\s*", re.ASCII)
_NUMBER = re.compile(r"\s*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?:\[([^\[\]]*)\])?\s*", re.ASCII)
_LABEL = re.compile(rf"\s*({_KEY})\s*", re.ASCII)


class PlainSetting(Struct, frozen=True):
    """`deadline["j1"]=20[h]`: a setting of one value by labels. `kind` is what the check of the setting depends on."""

    name: str
    text: str
    target: str
    keys: tuple[str, ...]
    value: str
    kind: tuple[object, ...]


def split_settings(overrides: Mapping[str, str]) -> tuple[dict[str, str], dict[str, list[PlainSetting]]]:
    """Return the settings to be read one by one, and by parameter those that may become columns."""
    targets = Counter(name.partition("[")[0].strip() for name in overrides if "[" in name)
    if not any(count >= LEAST for count in targets.values()):
        return dict(overrides), {}
    plain: dict[str, list[PlainSetting]] = {}
    others: dict[str, str] = {}
    for name, text in overrides.items():
        setting = _plain(name, text)
        if setting is None:
            others[name] = text
        else:
            plain.setdefault(setting.target, []).append(setting)
    for target in [target for target, found in plain.items() if len(found) < LEAST]:
        others |= {setting.name: setting.text for setting in plain.pop(target)}
    return others, plain


def check_columns(
    table: AssignmentTable, level: int, plain: Mapping[str, Sequence[PlainSetting]]
) -> tuple[list[ColumnsAssignment], list[PlainSetting]]:
    """Return the settings as columns, and those that must be read one by one, as one of their kind has an error."""
    columns: list[ColumnsAssignment] = []
    others: list[PlainSetting] = []
    for settings in plain.values():
        kinds: dict[tuple[object, ...], list[PlainSetting]] = {}
        for setting in settings:
            kinds.setdefault(setting.kind, []).append(setting)
        found = [_columns(table, level, same) for same in kinds.values()]
        if all(each is not None for each in found):
            columns += [each for each in found if each is not None]
        else:
            others += settings
    return columns, others


def _plain(name: str, text: str) -> PlainSetting | None:
    """Return a setting of one value by labels, or None for any other."""
    head = _NAME.fullmatch(name)
    if head is None:
        return None
    keys = tuple(_KEYS.findall(head[2]))
    number, label = _NUMBER.fullmatch(text), _LABEL.fullmatch(text)
    if number is not None:
        value, what = number[1], ("number", number[2], number[1][0] == "-", number[1].lstrip("-").isdigit())
    elif label is not None and _is_label(label[1]):
        value, what = label[1].strip('"'), ("label", None, False, False)
    else:
        return None
    if not all(map(_is_label, keys)):
        return None
    kind = (*what, *(_is_integer(key) for key in keys))
    return PlainSetting(name, text, head[1], tuple(key.strip('"') for key in keys), value, kind)


def _is_label(text: str) -> bool:
    return text not in vocabulary().reserved


def _is_integer(text: str) -> bool:
    return text[0] == "-" or text[0].isdigit()


def _columns(table: AssignmentTable, level: int, settings: Sequence[PlainSetting]) -> ColumnsAssignment | None:
    """Return the columns of settings of one kind, if the first of them is right."""
    first = settings[0]
    target = table.model.params.get(first.target)
    if target is None:
        return None
    scratch = Diagnostics()
    trial = AssignmentTable(table.model, scratch, table.lost)
    read = read_setting(first.name, first.text, scratch)
    if not isinstance(read, tree.Assign) or scratch.has_errors:
        return None
    given = list(trial.check_assignment(level, read))
    if scratch.has_errors or len(given) != 1 or not isinstance(given[0], ExpressionAssignment):
        return None
    unit = _unit_of(read.value)
    if not _types_fit(target, first, has_unit=unit is not None):
        return None
    factor = trial.columns.factor(target.name, unit, read.value.span, target)
    if factor is None:
        return None
    spans = tuple(span_of_setting(setting.name, setting.text) for setting in settings)
    return ColumnsAssignment(
        target=target.name,
        span=spans[0],
        level=level,
        patch=True,
        keys=tuple(zip(*(setting.keys for setting in settings), strict=True)),
        values=tuple(setting.value for setting in settings),
        spans=spans,
        factor=factor,
    )


def _types_fit(target: CheckedParam, first: PlainSetting, *, has_unit: bool) -> bool:
    """Whether labels are given for elements and numbers for numbers, with a unit unless the parameter has none.

    `0` needs no unit, so what is right for it is not right for all.
    """
    is_numeric = isinstance(target.type, Numeric)
    if is_numeric != (first.kind[0] == "number"):
        return False
    if isinstance(target.type, Numeric) and not has_unit and not target.type.unit.is_dimensionless:
        return False
    slots = slots_of(target)
    integers = first.kind[4:]
    return all(isinstance(slot.type, Element) or bool(whole) for slot, whole in zip(slots, integers, strict=True))


def _unit_of(value: tree.Expr) -> tree.UnitNode | None:
    number = value.operand if isinstance(value, tree.UnaryExpr) else value
    return number.unit if isinstance(number, tree.Number) else None
