"""Checks of a model that hold in every part of the data in which they held as a whole.

A part has fewer elements of some root sets, and other values of the carried parameters. A check of the form `for all
elements: condition` cannot fail in it if the condition reads only given values, and those derived from them, of its own
elements. So it is evaluated once, with the data of the run, and not again for every plan.
"""

from __future__ import annotations

from collections.abc import Container

from gpusched_dsl.language.checked import (
    CheckedCheck,
    CheckedModel,
    ComprehensionSet,
    Element,
    Expected,
    IndexRef,
    KnownValue,
    LetRef,
    Membership,
    NamedSet,
    Ordinal,
    ParamRef,
    RandomRef,
    Shift,
    TypedIndexing,
    TypedSet,
    ValueType,
    VariableRef,
)
from gpusched_dsl.language.checking.walk import Part, children


def lasting_checks(
    model: CheckedModel, given: Container[str], carried: Container[str], roots: Container[str]
) -> frozenset[int]:
    """Return the positions of these checks. `roots` are the root sets of which parts have only some elements."""
    reader = _Reader(model, given, carried, roots)
    return frozenset(number for number, check in enumerate(model.checks) if reader.lasts(check))


class _Reader:
    def __init__(
        self, model: CheckedModel, given: Container[str], carried: Container[str], roots: Container[str]
    ) -> None:
        self.model, self.given, self.carried, self.roots = model, given, carried, roots
        self._known: dict[tuple[str, str], bool] = {}

    def lasts(self, check: CheckedCheck) -> bool:
        """Its own iterators range over fewer elements in a part; sets that depend on the part are refused there too."""
        return self._indexing_lasts(check.indexing) and self._holds(check.condition)

    def _indexing_lasts(self, indexing: TypedIndexing) -> bool:
        """Whether kept elements are in an index list in a part if and only if they are in the whole one."""
        sets = all(self._set_lasts(iterator.domain) for iterator in indexing.iterators)
        return sets and all(map(self._holds, indexing.conditions))

    def _holds(self, part: Part) -> bool:
        """Whether a value is the same in a part, for the same elements."""
        match part:
            case VariableRef() | Expected() | KnownValue() | RandomRef():
                return False
            case Shift() | Ordinal() if self._is_cut(part.operand.type):
                return False
            case Membership():
                return self._set_lasts(part.domain) and all(map(self._holds, part.element))
            case NamedSet():  # of an aggregate: all of its elements count
                return not any(map(self._is_cut, part.types)) and self._set_lasts(part)
            case ParamRef():
                return self._param_lasts(part.name) and all(map(self._holds, part.subscripts))
            case LetRef():
                let = self.model.lets.get(part.name)
                return let is not None and self._holds(let.value) and all(map(self._holds, part.subscripts))
        return all(map(self._holds, children(part)))

    def _param_lasts(self, name: str) -> bool:
        key = "param", name
        if key not in self._known:
            self._known[key] = False  # of recursive ones
            param = self.model.params.get(name)
            lasts = param is not None and name not in self.carried and not self._is_cut(param.type)
            if lasts and param is not None and name not in self.given:
                formula = param.value or param.default
                lasts = formula is not None and not param.recursive and self._holds(formula)
            self._known[key] = lasts
        return self._known[key]

    def _set_lasts(self, expr: TypedSet) -> bool:
        """Whether a tuple of kept elements is in the set in a part if and only if it is in the whole set."""
        if isinstance(expr, ComprehensionSet):
            shown = {e.variable for e in expr.element if isinstance(e, IndexRef)}
            if shown.issuperset(expr.indexing.variables):  # else an element may be there because of one that is not
                return self._indexing_lasts(expr.indexing)
        if not isinstance(expr, NamedSet):
            return self._holds(expr)
        key = "set", expr.name
        if key not in self._known:
            self._known[key] = False
            declared = self.model.sets[expr.name]
            is_input = declared.root == expr.name or expr.name in self.given
            self._known[key] = is_input or (declared.value is not None and self._set_lasts(declared.value))
        return self._known[key]

    def _is_cut(self, kind: ValueType) -> bool:
        return isinstance(kind, Element) and kind.root in self.roots
