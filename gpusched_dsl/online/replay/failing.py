"""Whether the data of a plan could be refused only because time went on, or other jobs are there.

The loop over events makes the data of every plan anew and ends where a value breaks its bounds or cannot be computed. A
replay makes them once, so it is equal only where what changes can never be refused. What is not known may be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedBound,
    CheckedModel,
    CheckedParam,
    Constant,
    Element,
    Expected,
    Function,
    IntegerRange,
    KnownValue,
    LetRef,
    Numeric,
    Ordinal,
    ParamRef,
    PiecewiseLinear,
    RandomRef,
    Reduction,
    SetFunction,
    Shift,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checking.walk import Part, children
from gpusched_dsl.online.replay.constancy import Constancy
from gpusched_dsl.online.replay.dependence import FRACTION, Dependences

TOTAL = ("min", "max", "abs", "floor", "ceil", "round")  # functions that have a value for every number


class PartialValues:
    """Finds values that may be rejected, by the quantities that `still` marks as changing."""

    def __init__(self, still: Constancy) -> None:
        self.still = still
        self._seen: set[str] = set()

    def first_in(self, part: Part) -> str | None:
        """Return the first thing in a part that may have no value later in the run, as text."""
        return next(self._failures(part), None)

    def _failures(self, part: Part) -> Iterator[str]:
        if self.still.change_in(part) is None:
            return
        if isinstance(part, TypedExpr) and self._is_partial(part):
            yield f"`{part.span.text}` may have no value later in the run"
        if isinstance(part, IntegerRange):
            yield f"the numbers `{part.span.text}` may not be integers later in the run"
        if isinstance(part, LetRef) and part.name in self.still.model.lets and part.name not in self._seen:
            self._seen.add(part.name)
            yield from self._failures(self.still.model.lets[part.name].value)
        for inner in children(part):
            yield from self._failures(inner)

    def _is_partial(self, part: TypedExpr) -> bool:
        changes = self.still.change_in
        match part:
            case Arithmetic():
                return part.op == "^" or (part.op == "/" and changes(part.right) is not None)
            case Function():
                return part.name not in TOTAL
            case Reduction():
                return part.op not in ("sum", "prod", "any", "all", "count") and changes(part.indexing) is not None
            case SetFunction():
                return part.name != "count"
            case ParamRef():
                declared = self.still.model.params.get(part.name)
                moving = declared is not None and self.still.change_in_listed(declared.indexing) is not None
                return moving or any(changes(subscript) is not None for subscript in part.subscripts)
        return isinstance(part, PiecewiseLinear | Ordinal | Shift | VariableRef | RandomRef | Expected | KnownValue)


def refusals(model: CheckedModel, fractions: Collection[str], forms: Dependences) -> Iterator[str]:
    """Return declarations of a model that may reject the data of a later plan, though they accept those of the run."""
    still, partial_values = forms.still, PartialValues(forms.still)
    for check in model.checks:
        if still.change_in(check.condition) is not None or still.change_in_listed(check.indexing) is not None:
            yield f"the check `{check.condition.span.text}` may fail later in the run"
    for declared in model.sets.values():
        if declared.value is None or declared.root == declared.name:
            continue
        if declared.within is not None and still.change_in(declared.value) is not None:
            yield f"elements of `{declared.name}` may be rejected later in the run"
        elif (failure := partial_values.first_in(declared.value)) is not None:
            yield failure
    for name, random in model.randoms.items():
        if random.law is not None and still.change_in(random.law) is not None:
            yield f"the distribution of `{name}` may change"
    for param in model.params.values():
        yield from _of_param(param, fractions, forms, partial_values)


def _of_param(
    declared: CheckedParam, fractions: Collection[str], forms: Dependences, partial_values: PartialValues
) -> Iterator[str]:
    still, name = forms.still, declared.name
    bounds = [b for b in declared.bounds if not (name in fractions and _takes_fractions(b))]
    if name in still.carried:
        if bounds or (name not in fractions and (declared.within or not _is_real(declared))):
            yield f"`{name}` is carried and may get a value that its declaration excludes"
        return
    moving = next((b for b in bounds if still.change_in(b.value) is not None), None)
    if moving is not None:
        yield f"the bound of `{name}` may change"
    for expr in (declared.value, declared.default):
        if expr is None or (still.change_in(expr) is None and still.change_in_listed(declared.indexing) is None):
            continue
        if (failure := partial_values.first_in(expr)) is not None:
            yield failure
        if declared.within is not None or not _is_real(declared):
            yield f"`{name}` may get a value that its declaration excludes"
        own = frozenset(
            v for v in declared.indexing.variables if isinstance(v.type, Element) and v.type.root == still.jobs
        )
        fraction = len(own) == 1 and expr is declared.value and forms.of(expr, own) == FRACTION
        if bounds and not (fraction and all(_is_sign(b) for b in bounds)):
            yield f"`{name}` may violate its bounds later in the run"


def _is_real(declared: CheckedParam) -> bool:
    return declared.kind == "real" and isinstance(declared.type, Numeric)


def _takes_fractions(bound: CheckedBound) -> bool:
    """Whether every number above 0 and up to 1 is within a bound."""
    if not isinstance(bound.value, Constant):
        return False
    value = bound.value.value
    below, above = bound.op in (">", ">="), bound.op in ("<", "<=")
    return (below and value <= 0) or (above and (value > 1 or (bound.op == "<=" and value == 1)))


def _is_sign(bound: CheckedBound) -> bool:
    """Whether a fraction of a value is within a bound where the value is."""
    return bound.op in (">", ">=", "<", "<=") and isinstance(bound.value, Constant) and bound.value.value == 0


def clock_values(model: CheckedModel, exprs: Collection[TypedExpr], jobs: str, clock: Collection[str]) -> Iterator[str]:
    """Right sides of carries that may have no value later in the run."""
    partial_values = PartialValues(Constancy(model, jobs, clock, own_clock=False))
    for expr in exprs:
        if (failure := partial_values.first_in(expr)) is not None:
            yield failure
