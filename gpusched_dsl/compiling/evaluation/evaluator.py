"""The one evaluator: a checked expression over the rows of a frame, as arrays.

Numbers come as float64 or int64 arrays, elements as int64 codes, texts as objects; shape () when a value is the same
in every row. The same methods derive parameters, filter index lists, give the coefficients of rows, judge a solution
(`store.point` set: variables read their values) and evaluate what a test expects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.compiling.evaluation import dependent_sets
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.free_variables import OUTCOME, SITUATION, free_variables
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.compiling.evaluation.references import References
from gpusched_dsl.compiling.evaluation.store import MISSING, PAST, as_codes, is_element
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values, spread, unique
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Constant,
    Element,
    ElementWithLabel,
    Executed,
    Expected,
    Fallback,
    Function,
    IfThenElse,
    IndexRef,
    IntervalLoad,
    LetRef,
    Logic,
    Membership,
    NamedSet,
    Negate,
    Numeric,
    Ordinal,
    ParamRef,
    PiecewiseLinear,
    RandomRef,
    Reduction,
    SetFunction,
    Shift,
    StringLiteral,
    TextType,
    TimeInterval,
    TypedExpr,
    TypedIndexing,
    TypedSet,
    VariableRef,
    interval_of,
)
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.scenarios.calendars import EXAMPLE

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.expectations import Expectations

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip
_REDUCE = {"min": np.minimum, "max": np.maximum, "prod": np.multiply}
_OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("sum", np.add), "-": ("difference", np.subtract), "*": ("product", np.multiply), "/": ("quotient", np.divide),
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
}  # fmt: skip


_FEW = 4  # of so many times as many rows as are read, a derived parameter is not made for a reader

_MANY = 64  # rows from which an aggregate is evaluated once for all rows with the same subscripts

# Of what is evaluated once where it is the same in all rows.
_COSTLY = frozenset({Reduction, LetRef})


def decayed_time(age: float, length: float, half_life: Floats) -> Floats:
    """Return the integral of 0.5^(t / half_life) for ages t from `age` to `age + length`."""
    rate = np.log(2.0) / half_life
    decayed: Floats = np.exp(-rate * age) * -np.expm1(-rate * length) / rate
    return decayed


class Evaluator(References):
    """Evaluates the typed expressions of one model against a store."""

    def values(self, expr: TypedExpr, frame: Frame) -> Values:
        """The value in every row: shape (frame.size,), or () when it does not depend on the row."""
        checkpoint()
        make = getattr(self, f"_{type(expr).__name__}")
        if frame.size > 1 and type(expr) in _COSTLY and self._is_constant(expr, frame):
            return np.asarray(make(expr, EMPTY_FRAME)).reshape(())
        part = frame.part(self.needs(expr)) if len(frame.axes) > 1 else None
        result: Values
        if part is None or not frame.size:
            result = make(expr, frame)
            return result
        # On a grid, evaluate once per combination of the axes that matter and spread the result over the others.
        grid, sizes = part
        result = np.asarray(make(expr, grid))
        if result.ndim == 0:
            return result
        return np.broadcast_to(result.reshape(sizes), frame.shape).reshape(-1)

    def _is_constant(self, expr: TypedExpr, frame: Frame) -> bool:
        """Whether the value is the same in all rows; outcomes of random quantities may differ without being named."""
        return not self.needs(expr) and SITUATION not in frame.columns and OUTCOME not in frame.columns

    def numbers(self, expr: TypedExpr, frame: Frame) -> Floats:
        """The value as float64; elements of an ordered set of integers read as their labels."""
        values = self.values(expr, frame)
        if isinstance(expr.type, Element):
            values = self._labels_as_integers(expr, values)
        return np.asarray(values, dtype=np.float64)

    def number_column(self, expr: TypedExpr, frame: Frame) -> Floats:
        """The value in every row, in a new array of shape (frame.size,)."""
        return np.array(spread(self.numbers(expr, frame), frame.size), dtype=np.float64)

    def codes(self, expr: TypedExpr, frame: Frame) -> Codes:
        """The value as index codes."""
        return as_codes(self.values(expr, frame))

    def mask(self, expr: TypedExpr, frame: Frame) -> Bools:
        """A condition as one truth value per row."""
        return spread(np.asarray(self.values(expr, frame), dtype=bool), frame.size)

    def _Constant(self, expr: Constant, frame: Frame) -> Values:
        return np.asarray(expr.value)

    def _StringLiteral(self, expr: StringLiteral, frame: Frame) -> Values:
        if isinstance(expr.type, TextType):
            return np.array(expr.text, dtype=object)
        assert isinstance(expr.type, Element)
        universe = self.store.universes[expr.type.root]
        code = universe.code_of.get(expr.text)
        if code is None and expr.text.lstrip("-").isdigit():
            code = universe.code_of.get(int(expr.text))
        if code is None:
            raise self.failure(
                "GSM3006",
                f'`{universe.name}` has no element "{expr.text}"',
                expr.span,
                "not in the data",
                help=did_you_mean(expr.text, map(str, universe.labels)),
            )
        return np.asarray(code, dtype=np.int64)

    def _IndexRef(self, expr: IndexRef, frame: Frame) -> Values:
        return frame.columns[expr.variable]

    def _ParamRef(self, expr: ParamRef, frame: Frame) -> Values:
        params = self.store.params
        if isinstance(params, OnDemand) and params.waits(expr.name) and (few := self._few(expr, frame)) is not None:
            return few
        param = params[expr.name]
        if not expr.subscripts:
            return param.values.reshape(())
        if not frame.size:
            return np.empty(0, dtype=param.values.dtype)
        position = self.position(param.domain, expr, frame)
        self._refuse_missing(expr, position, frame)
        result: Values = param.values[position]
        return result

    def _few(self, expr: ParamRef, frame: Frame) -> Values | None:
        """The values of a derived parameter in a few rows, by its formula: quicker than to make all of them."""
        declared = self.model.params[expr.name]
        formula = declared.value
        if formula is None or declared.recursive or not expr.subscripts or not isinstance(declared.type, Numeric):
            return None
        if not frame.size:
            return None
        rows = self.called_frame(expr, declared.indexing, frame)
        if not self._are_few(declared.indexing, frame.size):
            domain = self.index_domain(declared.indexing, declared.span)
            if _FEW * frame.size > domain.size:
                return None
        self._refuse_missing(expr, np.where(self.in_index_list(declared.indexing, rows), 0, -1), frame)
        values = self.number_column(formula, rows)
        message = f"parameter `{expr.name}` has no finite value"
        self.refuse_where(~np.isfinite(values), "GSM3004", message, formula, rows, "not finite")
        return values

    def _are_few(self, indexing: TypedIndexing, size: int) -> bool:
        """Whether so many rows are few beside an index list that has not been made: without them it need not be."""
        from gpusched_dsl.compiling.evaluation.membership import MOST_BY_FORMULA, waits

        return size <= MOST_BY_FORMULA and any(waits(self, iterator.domain) for iterator in indexing.iterators)

    @cached_property
    def expectations(self) -> Expectations:
        from gpusched_dsl.compiling.evaluation.expectations import Expectations

        return Expectations(self)

    def _Executed(self, expr: Executed, frame: Frame) -> Values:
        """The integral over the time since the last plan: each span of time has the decisions in effect in it."""
        total, spans = np.zeros(frame.size), self.store.executed
        half_life = None if expr.half_life is None else self._half_life(expr.half_life, frame)
        age = sum(executed.times for executed in spans)
        for executed in spans:
            age -= executed.times
            values = Evaluator(self.model, executed.store, self.limits).numbers(expr.body, frame)
            times = executed.times if half_life is None else decayed_time(max(age, 0.0), executed.times, half_life)
            total = total + times * values
        return total

    def _half_life(self, expr: TypedExpr, frame: Frame) -> Floats:
        found = self.number_column(expr, frame)
        self.refuse_where(~(found > 0), "GSM3004", "a half-life must be positive", expr, frame, "not positive")
        return found

    def _RandomRef(self, expr: RandomRef, frame: Frame) -> Values:
        return self.expectations.random(expr, frame)

    def _Expected(self, expr: Expected, frame: Frame) -> Values:
        return self.expectations.values(expr, frame)

    def _VariableRef(self, expr: VariableRef, frame: Frame) -> Values:
        assert self.store.point is not None, "a variable has no value before the solve"
        family = self.store.variables[expr.name]
        if not expr.subscripts:
            return np.asarray(self.store.point[family.first])
        position = self.variable_position(expr, frame)
        if not family.domain.size:
            return np.zeros(position.shape)
        values = self.store.point[family.first + np.maximum(position, 0)]
        return np.where(position >= 0, values, 0.0)

    def _LetRef(self, expr: LetRef, frame: Frame) -> Values:
        value, rows = self.model.lets[expr.name].value, self.let_frame(expr, frame)
        if rows.size >= _MANY and type(value) is Reduction and rows.columns:
            return self._of_each_element(expr, rows)
        return self.values(value, rows)

    def _of_each_element(self, expr: LetRef, rows: Frame) -> Values:
        """The values of a `let` that is an aggregate, computed once for each of its elements that the rows name."""
        let = self.model.lets[expr.name]
        domain = self.index_domain(let.indexing, let.span)
        if 2 * domain.size > rows.size:
            return self.values(let.value, rows)
        element = self._locate(domain, [rows.columns[v] for v in let.indexing.variables])
        row_of = np.full(domain.size, -1, dtype=np.int64)
        row_of[element] = np.arange(rows.size)
        named = row_of >= 0
        values = self.values(let.value, rows.take(row_of[named]))
        return values if values.ndim == 0 else values[np.cumsum(named)[element] - 1]

    def _Fallback(self, expr: Fallback, frame: Frame) -> Values:
        found = self.is_inside(expr.reference, frame)
        if found.all():
            return self.values(expr.reference, frame)
        return self._where(found, expr.reference, expr.fallback, frame)

    def _IfThenElse(self, expr: IfThenElse, frame: Frame) -> Values:
        return self._where(self.mask(expr.condition, frame), expr.then, expr.otherwise, frame)

    def _where(self, mask: Bools, then: TypedExpr, otherwise: TypedExpr, frame: Frame) -> Values:
        """Each branch is evaluated on its own rows only: the other rows may not have it."""
        yes, no = np.flatnonzero(mask), np.flatnonzero(~mask)
        if not len(no):
            return self.values(then, frame)
        if not len(yes):
            return self.values(otherwise, frame)
        a, b = self.values(then, frame.take(yes)), self.values(otherwise, frame.take(no))
        result = np.empty(frame.size, dtype=np.result_type(a, b) if a.dtype != object else object)
        result[yes], result[no] = a, b
        return result

    def _ElementWithLabel(self, expr: ElementWithLabel, frame: Frame) -> Values:
        """The code of the element with a label, MISSING where there is none."""
        assert isinstance(expr.type, Element)
        universe = self.store.universes[expr.type.root]
        numbers = as_codes(self.numbers(expr.operand, frame))
        labels = self._labels_as_integers(expr, np.arange(len(universe.labels), dtype=np.int64)).astype(np.int64)
        if not len(labels):
            return np.full(numbers.shape, MISSING)
        order = np.argsort(labels, kind="stable")
        place = np.minimum(np.searchsorted(labels[order], numbers), len(labels) - 1)
        return np.where(labels[order][place] == numbers, order[place], MISSING)

    def _Shift(self, expr: Shift, frame: Frame) -> Values:
        ordering = self.store.sets[expr.ordering]
        place = self._shifted_place(expr, frame)
        inside = (place >= 0) & (place < ordering.size)
        outside = np.where(place < 0, MISSING, PAST)
        if not ordering.size:
            return outside
        return np.where(inside, ordering.columns()[0][np.where(inside, place, 0)], outside)

    def _shifted_place(self, expr: Shift, frame: Frame) -> Codes:
        """The place in the ordering, also before its first and after its last: `(h - 1) + 1` is `h` everywhere."""
        inner = expr.operand
        if isinstance(inner, Shift) and inner.ordering == expr.ordering:
            return self._shifted_place(inner, frame) + self.codes(expr.offset, frame)
        codes = self.codes(inner, frame)
        place = self.store.sets[expr.ordering].locate((np.atleast_1d(codes),)).reshape(codes.shape)
        shifted = place + self.codes(expr.offset, frame)
        return np.where(place >= 0, shifted, np.where(codes == PAST, PAST, MISSING))

    def _Negate(self, expr: Negate, frame: Frame) -> Values:
        return -self.numbers(expr.operand, frame)

    def _Arithmetic(self, expr: Arithmetic, frame: Frame) -> Values:
        left, right = self.numbers(expr.left, frame), self.numbers(expr.right, frame)
        match expr.op:
            case "+" | "-" | "*" | "/":
                if expr.op == "/":
                    self.refuse_where(right == 0, "GSM3003", "division by zero", expr.right, frame, "is zero")
                name, operation = _OPERATIONS[expr.op]
                with np.errstate(over="ignore", invalid="ignore"):
                    result: Values = operation(left, right)
                if not np.isfinite(result).all():
                    overflow = np.isinf(result) & np.isfinite(left) & np.isfinite(right)
                    self._refuse_overflow(overflow, name, expr, frame)
                return result
        with np.errstate(all="ignore"):
            power = np.power(left, right)
        self.refuse_where(~np.isfinite(power), "GSM3004", "the power has no finite value", expr, frame, "undefined")
        return power

    def _ComparisonChain(self, expr: ComparisonChain, frame: Frame) -> Values:
        result: Values = np.asarray(True)
        for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False):
            a, b = self._comparable(left, right, frame)
            result = result & np.asarray(_COMPARE[op](a, b), dtype=bool)
        return result

    def _comparable(self, left: TypedExpr, right: TypedExpr, frame: Frame) -> tuple[Values, Values]:
        if isinstance(left.type, Element) and isinstance(right.type, Element):
            return self.codes(left, frame), self.codes(right, frame)
        texts = [isinstance(c.type, TextType) for c in (left, right)]
        if any(texts):
            return self._texts(left, frame), self._texts(right, frame)
        return self.numbers(left, frame), self.numbers(right, frame)

    def _texts(self, expr: TypedExpr, frame: Frame) -> Values:
        values = self.values(expr, frame)
        if isinstance(expr.type, Element):
            values = self.store.universes[expr.type.root].label_array[values]
        return values

    def _Logic(self, expr: Logic, frame: Frame) -> Values:
        result = np.asarray(self.values(expr.operands[0], frame), dtype=np.bool_)
        if expr.op == "not":
            return np.logical_not(result)
        if expr.op == "<=>":
            return np.equal(result, np.asarray(self.values(expr.operands[1], frame), dtype=np.bool_))
        if expr.op == "=>":
            result = np.logical_not(result)
        for operand in expr.operands[1:]:
            result = self._and_then(result, operand, frame, undecided=expr.op == "and")
        return result

    def _and_then(self, known: Bools, expr: TypedExpr, frame: Frame, *, undecided: bool) -> Bools:
        """`known`, and where that is `undecided` the next condition: the other rows may not have it."""
        rows = np.flatnonzero(spread(known == undecided, frame.size))
        if len(rows) == frame.size:
            return np.asarray(self.values(expr, frame), dtype=np.bool_)
        result = np.full(frame.size, not undecided)
        if len(rows):
            result[rows] = self.values(expr, frame.take(rows))
        return result

    def _Membership(self, expr: Membership, frame: Frame) -> Values:
        codes = tuple(spread(self.codes(e, frame), frame.size) for e in expr.element)
        inside = self.contains(expr.domain, codes, frame)
        return ~inside if expr.negated else inside

    def _numbers_or_codes(self, expr: TypedExpr, frame: Frame) -> Values:
        """Numbers, or codes of elements."""
        return self.codes(expr, frame) if isinstance(expr.type, Element) else self.numbers(expr, frame)

    def _are_distinct(self, values: Values, groups: Codes, size: int) -> Bools:
        """Whether the values of each group differ; numbers closer than rounding are equal."""
        order = np.lexsort((values, groups))
        values, groups = values[order], groups[order]
        near = np.diff(values) <= 1e-9 * np.maximum(1.0, np.abs(values[1:]))
        again = groups[1:][near & (np.diff(groups) == 0)]
        return np.asarray(np.bincount(again, minlength=size) == 0)

    def _refuse_overflow(self, overflow: Values, name: str, expr: TypedExpr, frame: Frame) -> None:
        """Refuse an infinite result of finite numbers (GSM3004): as a side of a row it would mean no limit."""
        self.refuse_where(overflow, "GSM3004", f"the {name} is too large", expr, frame, "beyond 1.8e308")

    def _Function(self, expr: Function, frame: Frame) -> Values:
        from gpusched_dsl.ir.definitions.quotient import quotient

        if expr.name == "all_different":
            columns = [spread(self._numbers_or_codes(a, frame), frame.size) for a in expr.arguments]
            groups = np.tile(np.arange(frame.size, dtype=np.int64), len(columns))
            return self._are_distinct(np.concatenate(columns), groups, frame.size)
        if expr.name in ("div", "mod"):
            number, divisors = self.numbers(expr.arguments[0], frame), self.divisors(expr, frame)
            times = quotient(number, divisors)
            return times if expr.name == "div" else number - times * divisors
        if expr.name in CLOCK_FUNCTIONS:
            return self._of_the_clock(expr, frame)
        arguments = [self.numbers(a, frame) for a in expr.arguments]
        if expr.name in ("min", "max"):
            result: Values = arguments[0]
            for argument in arguments[1:]:
                result = _REDUCE[expr.name](result, argument)
            return result
        if expr.name == "round":
            return np.floor(arguments[0] + 0.5)
        with np.errstate(all="ignore"):
            result = _UNARY[expr.name](arguments[0])
        wrong = ~np.isfinite(result)
        if np.any(wrong):
            first = float(np.atleast_1d(arguments[0])[np.atleast_1d(wrong)][0])
            message, label = f"`{expr.name}` has no finite value", f"`{expr.name}` of {first:g}"
            self.refuse_where(wrong, "GSM3004", message, expr, frame, label)
        return result

    def _of_the_clock(self, expr: Function, frame: Frame) -> Values:
        """Evaluate a function of the clock. Raises GSM1692 without a calendar, GSM3004 for a time without a date."""
        calendar = self.store.calendar
        if calendar is None:
            message = f"`{expr.name}` needs a calendar, but the scenario states none"
            raise self.failure("GSM1692", message, expr.span, "read here", help=f"write in the scenario: `{EXAMPLE}`")
        seconds = self.numbers(expr.arguments[0], frame)
        message, label = f"`{expr.name}` has no value", "this time is outside the years 1 to 9999"
        self.refuse_where(~calendar.has_date(seconds), "GSM3004", message, expr.arguments[0], frame, label)
        result: Values = getattr(calendar, expr.name)(seconds)
        return result

    def divisors(self, expr: Function, frame: Frame) -> Floats:
        """The divisors of `a div b` and `a mod b`; raises (GSM3003) where they are not positive."""
        divisors = self.numbers(expr.arguments[1], frame)
        message = f"the divisor of `{expr.name}` must be positive"
        self.refuse_where(divisors < 1, "GSM3003", message, expr.arguments[1], frame, "zero or less")
        return divisors

    def _PiecewiseLinear(self, expr: PiecewiseLinear, frame: Frame) -> Values:
        from gpusched_dsl.compiling.evaluation.piecewise_curves import curves_of

        curves, which = curves_of(self, expr, frame)
        return curves.values(which, spread(self.numbers(expr.operand, frame), frame.size))

    def _SetFunction(self, expr: SetFunction, frame: Frame) -> Values:
        if free_variables(expr.domain):
            return self._dependent_set_function(expr, frame)
        domain = self.domain(expr.domain)
        if expr.name == "count":
            return np.asarray(float(domain.size))
        if not domain.size:
            raise self.failure("GSM3005", f"`{expr.name}` of an empty set", expr.span, "the set is empty")
        codes = domain.columns()[0]
        if self._has_order_of_root(expr.domain):
            return np.asarray(codes.min() if expr.name == "first" else codes.max())
        return np.asarray(codes[0 if expr.name == "first" else -1])

    def _has_order_of_root(self, domain: TypedSet) -> bool:
        """Whether the elements of a set are ordered as in their root set, not by a declaration of the set itself."""
        if not isinstance(domain.types[0], Element):
            return False
        named = self.model.sets.get(domain.name) if isinstance(domain, NamedSet) else None
        return named is None or not named.ordered

    def _Ordinal(self, expr: Ordinal, frame: Frame) -> Values:
        """The position of an element, 1 for the first."""
        domain = self.domain(expr.domain)
        codes = self.codes(expr.operand, frame)
        if self._has_order_of_root(expr.domain):
            elements = unique(domain.columns()[0])
            place = np.minimum(np.searchsorted(elements, codes), max(len(elements) - 1, 0))
            place = np.where(elements[place] == codes, place, -1) if len(elements) else np.full(codes.shape, -1)
        else:
            place = domain.locate((np.atleast_1d(codes),)).reshape(codes.shape)
        text = expr.operand.span.text
        where = "its set" if expr.domain.span == expr.operand.span else f"`{expr.domain.span.text}`"
        message = f"`{text}` has no position in {where}"
        self.refuse_where(place < 0, "GSM3002", message, expr.operand, frame, "not an element of it")
        return place + 1

    def _dependent_set_function(self, expr: SetFunction, frame: Frame) -> Values:
        parent, columns = dependent_sets.elements(self, expr.domain, frame)
        counts = np.bincount(parent, minlength=frame.size)
        if expr.name == "count":
            return counts.astype(np.float64)
        self.refuse_where(counts == 0, "GSM3005", f"`{expr.name}` of an empty set", expr, frame, "the set is empty")
        starts = np.cumsum(counts) - counts
        if self._has_order_of_root(expr.domain):
            extreme = np.minimum if expr.name == "first" else np.maximum
            found: Values = extreme.reduceat(columns[0], starts) if frame.size else columns[0]
            return found
        end: Values = columns[0][starts if expr.name == "first" else starts + counts - 1]
        return end

    def _Reduction(self, expr: Reduction, frame: Frame) -> Values:
        grown = self.expand(frame, expr.indexing, expr.span, expr.body if expr.op in ("sum", "count", "any") else None)
        parent, size = grown.parents(), frame.size
        if expr.op in ("any", "all", "count"):
            body = self.mask(expr.body, grown.frame)
            true = np.bincount(parent[body], minlength=size)
            if expr.op == "count":
                return true.astype(np.float64)
            return true > 0 if expr.op == "any" else true == np.bincount(parent, minlength=size)
        if expr.op in ("no_overlap", "cumulative"):
            return self._intervals_fit(expr, grown.frame, parent, size)
        if expr.op == "all_different":
            different = spread(self._numbers_or_codes(expr.body, grown.frame), grown.frame.size)
            return self._are_distinct(different, parent, size)
        body = spread(self.numbers(expr.body, grown.frame), grown.frame.size)
        if expr.op == "sum":
            total = np.bincount(parent, weights=body, minlength=size)
            if not np.isfinite(total).all() and np.isfinite(body).all():
                self._refuse_overflow(np.isinf(total), "sum", expr, frame)
            return total
        counts = np.bincount(parent, minlength=size)
        empty = counts == 0
        if expr.op == "prod":
            result = np.ones(size)
        else:
            self.refuse_where(empty, "GSM3005", f"`{expr.op}` over an empty set", expr, frame, "no element")
            result = np.empty(size)
        if len(body):
            op = _REDUCE[expr.op.removeprefix("arg")]
            with np.errstate(over="ignore"):
                result[~empty] = op.reduceat(body, (np.cumsum(counts) - counts)[~empty])
        if expr.op == "prod" and not np.isfinite(result).all() and np.isfinite(body).all():
            self._refuse_overflow(np.isinf(result), "product", expr, frame)
        if expr.op.startswith("arg"):
            best = np.flatnonzero(body == result[parent])
            _, first = np.unique(parent[best], return_index=True)
            return grown.frame.columns[expr.indexing.variables[0]][best[first]]
        return result

    def _intervals_fit(self, expr: Reduction, frame: Frame, parent: Codes, size: int) -> Bools:
        """Whether the intervals of each row fit, for rows of a frame that come from the rows `parent`."""
        from gpusched_dsl.ir.definitions.scheduling import loads_fit, none_overlap

        body = expr.body
        parts = self.interval(interval_of(body), frame)
        start, length, present = (spread(v, frame.size) for v in parts)
        if not isinstance(body, IntervalLoad):
            return none_overlap(parent, size, start, length, present)
        demand, limit = (spread(self.numbers(e, frame), frame.size) for e in (body.demand, body.capacity))
        capacity = np.zeros(size)
        capacity[parent] = limit  # the same for all intervals of a row
        return loads_fit(parent, start, length, present, demand, capacity)

    def interval(self, expr: TypedExpr, frame: Frame) -> tuple[Values, Values, Values]:
        """The start and the length of an interval in every row, and 1 where it is present, else 0."""
        if isinstance(expr, LetRef):
            return self.interval(self.model.lets[expr.name].value, self.let_frame(expr, frame))
        assert isinstance(expr, TimeInterval)
        present = np.ones(()) if expr.presence is None else self.mask(expr.presence, frame).astype(np.float64)
        return self.numbers(expr.start, frame), self.numbers(expr.length, frame), present

    def _labels_as_integers(self, expr: TypedExpr, codes: Values) -> Values:
        assert isinstance(expr.type, Element)
        universe = self.store.universes[expr.type.root]
        if universe.integer_labels is None:
            raise self.failure(
                "GSM3009",
                f"elements of `{universe.name}` are used as numbers, but they are not integers in the data",
                expr.span,
                f"such as `{universe.labels[0]}`" if universe.labels else "",
                help="write the elements as integers, or compare them with `==`",
            )
        inside = is_element(codes)
        if not inside.all():  # before the first and after the last, as among elements
            labels = universe.integer_labels[np.where(inside, codes, 0)] if len(universe.labels) else np.float64(0)
            return np.where(inside, labels, np.where(codes == PAST, np.inf, -np.inf))
        return universe.integer_labels[codes]
