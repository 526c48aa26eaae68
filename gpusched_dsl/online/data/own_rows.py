"""Finds the derived parameters whose values for an element follow from the data of this element alone.

Parts of the data have only some elements of some root sets; jobs, for example. If `time_left[j, v, g]` is
`remaining[j] * exec_time[j, v, g]`, it changes with `remaining` of the same job, not with which other jobs there are.
Only operations count whose results are exact, or exactly rounded: the values are then the same to the last bit,
whichever other elements they are computed with. Sums are not among them, since their terms may be added in another
order.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from msgspec import Struct

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedModel,
    CheckedParam,
    ComparisonChain,
    Constant,
    Element,
    Function,
    IfThenElse,
    IndexRef,
    IndexVar,
    Logic,
    Membership,
    Negate,
    Numeric,
    ParamRef,
    Reduction,
    StringLiteral,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checking.walk import children
from gpusched_dsl.online.data.part_values import PartValues

_EXACT = {"+", "-", "*", "/", "min", "max", "abs", "floor", "ceil", "round", "sqrt"}
_EXACT_REDUCTIONS = {"min", "max", "any", "all", "count"}


class OwnRows(Struct, frozen=True):
    """`place`: the component of its domain that is of a cut root set, `root`.

    `reads`: the carried parameters in it; `through`: the others of these parameters that its formula names.
    """

    formula: TypedExpr
    root: str
    place: int
    reads: frozenset[str]
    through: frozenset[str]


class OwnRowsFinder:
    """Finds them for one model: `given` have values in the data, `carried` from a run; `roots` are cut."""

    def __init__(
        self, model: CheckedModel, given: Container[str], carried: Container[str], roots: Container[str]
    ) -> None:
        self._model, self._given = model, given
        self._values = PartValues(model, given, roots, changing=carried, decided_change=True)
        self._places: dict[str, int | None] = {}  # of usable carried parameters: their component of a cut root set
        self.found: dict[str, OwnRows] = {}
        for name in model.data_order:
            param = model.params.get(name)
            if param is None or param.recursive or not self._values.index_list_stays(param.indexing):
                continue
            if name in carried:
                self._add_carried(param)
            elif name not in given and isinstance(param.type, Numeric) and param.kind in ("real", "integer"):
                self._add_derived(param)

    @property
    def carried_places(self) -> dict[str, int | None]:
        """The component of a cut root set of each carried parameter that is read by a parameter found; None: none."""
        read = frozenset[str]().union(*(rows.reads for rows in self.found.values()))
        return {name: place for name, place in self._places.items() if name in read}

    def _add_carried(self, param: CheckedParam) -> None:
        places = self._cut_places(param.indexing)
        if not self._values.is_cut(param.type) and len(places) <= 1:
            self._places[param.name] = next(iter(places), None)

    def _add_derived(self, param: CheckedParam) -> None:
        formula, places = param.value or param.default, self._cut_places(param.indexing)
        if formula is None or len(places) != 1 or param.within is not None:
            return
        own, names = param.indexing.variables[places[0]], set[str]()
        assert isinstance(own.type, Element)
        if self._are_own([formula, *(bound.value for bound in param.bounds)], own, names):
            through = names & self.found.keys()
            reads = (names - through).union(*(self.found[name].reads for name in through))
            self.found[param.name] = OwnRows(formula, own.type.root, places[0], frozenset(reads), frozenset(through))

    def _cut_places(self, indexing: TypedIndexing) -> list[int]:
        return [at for at, variable in enumerate(indexing.variables) if self._values.is_cut(variable.type)]

    def _is_own(self, expr: TypedExpr, own: IndexVar, names: set[str]) -> bool:
        match expr:
            case Constant() | StringLiteral() | IndexRef():
                return True
            case Membership():
                return self._values.stay(expr, in_data=True)
            case ParamRef():
                return self._is_own_value(expr, own, names)
            case Reduction():
                if expr.op not in _EXACT_REDUCTIONS:
                    return False
                domains = all(self._values.stay(i.domain, in_data=True) for i in expr.indexing.iterators)
                return domains and self._are_own((*expr.indexing.conditions, expr.body), own, names)
            case Arithmetic(op=name) | Function(name=name) if name not in _EXACT:
                return False
            case Arithmetic() | Function() | Negate() | ComparisonChain() | Logic() | IfThenElse():
                return self._are_own([part for part in children(expr) if isinstance(part, TypedExpr)], own, names)
        return False

    def _are_own(self, parts: Sequence[TypedExpr], own: IndexVar, names: set[str]) -> bool:
        return all(self._is_own(part, own, names) for part in parts)

    def _is_own_value(self, expr: ParamRef, own: IndexVar, names: set[str]) -> bool:
        name = expr.name
        if name in self.found:
            place: int | None = self.found[name].place
        elif name in self._places:
            place = self._places[name]
        else:
            one_for_all = name in self._given or not self._cut_places(self._model.params[name].indexing)
            return one_for_all and self._values.stay(expr, in_data=True)
        names.add(name)
        at_own = place is None or (isinstance(s := expr.subscripts[place], IndexRef) and s.variable is own)
        others = (s for at, s in enumerate(expr.subscripts) if at != place)
        return at_own and all(self._values.stay(s, in_data=True) for s in others)
