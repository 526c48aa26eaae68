"""Whether values are the same in a part of the data as in all of it.

A part has fewer elements of some root sets, and other values of some parameters. A value of elements that are in the
part is the same there if it reads only given values, and those derived from them, of these elements.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from gpusched_dsl.language.checked import (
    CheckedModel,
    ComparisonChain,
    ComprehensionSet,
    Element,
    Expected,
    IndexRef,
    IndexVar,
    KnownValue,
    LetRef,
    Membership,
    NamedSet,
    Ordinal,
    ParamRef,
    RandomRef,
    Reduction,
    SetOperation,
    Shift,
    TypedIndexing,
    TypedSet,
    ValueType,
    VariableRef,
)
from gpusched_dsl.language.checking.walk import Part, children


class PartValues:
    """Answers for one model and one kind of part.

    `given` have values in the data. `roots` are the root sets of which the part has only some elements; outside of
    formulas of the data, `present` has the same elements anyway. The values of `changing` parameters differ; where
    `decided_change`, also those of variables, and all that only a plan or a run knows.
    """

    def __init__(
        self,
        model: CheckedModel,
        given: Container[str],
        roots: Container[str],
        *,
        changing: Container[str] = (),
        decided_change: bool = False,
        present: str = "",
    ) -> None:
        self.model, self.given, self.roots = model, given, roots
        self.changing, self.decided_change, self.present = changing, decided_change, present
        self._known: dict[tuple[str, str], bool] = {}

    def stay(self, part: Part, *, in_data: bool = False) -> bool:
        """Whether a value is the same in the part, for the same elements; `in_data`: of a formula of the data."""
        match part:
            case VariableRef() | Expected() | KnownValue() | RandomRef() if self.decided_change:
                return False
            case Shift() | Ordinal() if self.is_cut(part.operand.type):
                return False
            case Membership():
                return self._set_stays(part.domain) and self._all_stay(part.element, in_data)
            case Reduction() if self._is_of_kept_elements(part.indexing):
                return self.index_list_stays(part.indexing) and self.stay(part.body, in_data=in_data)
            case NamedSet():  # of an aggregate: all of its elements count
                if part.name == self.present and not in_data:
                    return True
                return not any(map(self.is_cut, part.types)) and self._set_stays(part)
            case ParamRef():
                return self._param_stays(part.name) and self._all_stay(part.subscripts, in_data)
            case LetRef() if part.name in self.model.lets:
                value = self.model.lets[part.name].value
                return self.stay(value, in_data=in_data) and self._all_stay(part.subscripts, in_data)
            case LetRef() if self.decided_change:
                return False
        return self._all_stay(children(part), in_data)

    def index_list_stays(self, indexing: TypedIndexing) -> bool:
        """Whether elements of the part are in an index list there if and only if they are in the whole one."""
        sets = all(self._set_stays(iterator.domain) for iterator in indexing.iterators)
        return sets and self._all_stay(indexing.conditions, in_data=True)

    def _is_of_kept_elements(self, indexing: TypedIndexing) -> bool:
        """Whether each index of an aggregate with elements that the part may lack is equal to one from outside of it.

        What is outside has elements of the part.
        """
        own = frozenset(indexing.variables)
        cut = {variable for variable in own if self.is_cut(variable.type)}
        equal: set[IndexVar] = set()
        for condition in indexing.conditions:
            if isinstance(condition, ComparisonChain) and condition.ops == ("==",):
                sides = {side.variable for side in condition.operands if isinstance(side, IndexRef)}
                if len(sides) == 2 and len(sides & own) == 1:
                    equal |= sides & own
        return bool(cut) and cut <= equal

    def _all_stay(self, parts: Iterable[Part], in_data: bool) -> bool:
        return all(self.stay(part, in_data=in_data) for part in parts)

    def _param_stays(self, name: str) -> bool:
        key = "param", name
        if key not in self._known:
            self._known[key] = False  # of recursive ones
            self._known[key] = self._is_param_alike(name)
        return self._known[key]

    def _is_param_alike(self, name: str) -> bool:
        param = self.model.params.get(name)
        if param is None or name in self.changing or self.is_cut(param.type):
            return False
        if name in self.given:  # the default has the place of what is not given
            return param.default is None or self.stay(param.default, in_data=True)
        formula = param.value or param.default
        if formula is None:
            return not self.decided_change  # what a run gives
        return not param.recursive and self.stay(formula, in_data=True)

    def _set_stays(self, expr: TypedSet) -> bool:
        """Whether a tuple of elements of the part is in the set there if and only if it is in the whole set."""
        if isinstance(expr, ComprehensionSet):
            shown = {e.variable for e in expr.element if isinstance(e, IndexRef)}
            if shown.issuperset(expr.indexing.variables):  # else an element may be there because of one that is not
                return self.index_list_stays(expr.indexing)
        if isinstance(expr, SetOperation):
            return self._set_stays(expr.left) and self._set_stays(expr.right)
        if not isinstance(expr, NamedSet):
            return self.stay(expr, in_data=True)
        key = "set", expr.name
        if key not in self._known:
            self._known[key] = False
            declared = self.model.sets[expr.name]
            is_input = declared.root == expr.name or expr.name in self.given
            self._known[key] = is_input or (declared.value is not None and self._set_stays(declared.value))
        return self._known[key]

    def is_cut(self, kind: ValueType) -> bool:
        """Whether values of this type are elements that the part may not have."""
        return isinstance(kind, Element) and kind.root in self.roots
