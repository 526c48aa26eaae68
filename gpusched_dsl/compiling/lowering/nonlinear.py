"""Nonlinear decision expressions: each becomes auxiliary columns with a definition, once per distinct index tuple."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine, AffineBlock, assemble, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader
from gpusched_dsl.compiling.lowering.auxiliaries import Making, interleave
from gpusched_dsl.ir import definitions
from gpusched_dsl.ir.arrays import Codes, Floats, Int32s
from gpusched_dsl.ir.domains import Domain, Packing, ScalarDomain, TupleDomain
from gpusched_dsl.ir.problem import Matrix
from gpusched_dsl.language.checked import (
    Arithmetic,
    Function,
    IndexVar,
    Numeric,
    PiecewiseLinear,
    Reduction,
    TypedExpr,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.shortening import shorten

# The columns of one expression over some index tuples: (variables, their codes, size) and the results.
Remembered = tuple[tuple[IndexVar, ...], tuple[Codes, ...], int, Int32s]


class Nonlinear:
    """Defines nonaffine parts for a reader."""

    def __init__(self, linear: AffineReader) -> None:
        self.linear = linear
        self.ev = linear.ev
        self.terms = linear.terms
        self._known: dict[int, tuple[TypedExpr, list[Remembered]]] = {}

    def affine(self, expr: TypedExpr, frame: Frame) -> Affine:
        """Return a nonlinear expression as its auxiliary columns; raise GSM3010 if it has no form."""
        match expr:
            case Arithmetic(op="*"):
                return self.product(self.linear.affine(expr.left, frame), self.linear.affine(expr.right, frame), expr)
            case Arithmetic(op="/"):
                return self._quotient(expr, frame)
            case Arithmetic(op="^"):
                return self._power(expr, frame)
            case Function(name="min" | "max"):
                return self._extreme(expr, frame)
            case Function(name="exp" | "log" | "abs"):
                return self.define(expr, frame, lambda inner: self._unary(expr, inner))
            case Function(name="sqrt"):
                return self.define(
                    expr, frame, lambda inner: self._power_definition(expr, expr.arguments[0], 0.5, inner)
                )
            case Function(name="div" | "mod"):
                return self.define(expr, frame, lambda inner: self._integer_quotient(expr, inner), unbounded=True)
            case PiecewiseLinear():
                return self.define(expr, frame, lambda inner: self._piecewise(expr, inner))
            case Reduction(op="min" | "max"):
                return self.define(expr, frame, lambda inner: self._extreme_over(expr, inner))
        raise self.refusal(expr)

    # --- one definition for each distinct index tuple -----------------------------------------------------------------

    def define(
        self,
        expr: TypedExpr,
        frame: Frame,
        build: Callable[[Frame], tuple[str, Making]],
        *,
        zero_one: bool = False,
        integer: bool = False,
        unbounded: bool = False,
    ) -> Affine:
        """The columns of a definition, one per distinct tuple of the indices that `expr` needs.

        `build` gets the frame of these tuples and gives a short name for the family and the function that makes the
        definition for its result columns. The same expr over the same tuples is defined once.
        """
        inner, back = self._distinct(expr, frame)
        results = self._cached_columns(expr, inner)
        if results is None:
            kind, make = build(inner)
            unit = expr.type.unit.text if isinstance(expr.type, Numeric) else ""
            results = self.terms.add(
                kind, self._domain(inner), make, expr.span, "" if unit == "1" else unit, zero_one, integer, unbounded
            )
            key = (tuple(inner.columns), tuple(inner.columns.values()), inner.size, results)
            self._known.setdefault(id(expr), (expr, []))[1].append(key)
        columns = results if back is None else results[back]
        return self.of_columns(columns, frame.size, expr, frozenset(inner.columns))

    def of_columns(self, columns: Int32s, size: int, expr: TypedExpr, keys: frozenset[IndexVar]) -> Affine:
        """One column per row as an affine expression."""
        block = AffineBlock(None, columns.astype(np.int64), np.asarray(1.0), f"{expr.span.text}@{id(expr)}", keys)
        return Affine(size, np.asarray(np.float64(0.0)), (block,))

    def distinct_frame(self, expr: TypedExpr, frame: Frame) -> Frame:
        """The distinct index tuples that an expression depends on, as `define` gives them to `build`."""
        return self._distinct(expr, frame)[0]

    def _distinct(self, expr: TypedExpr, frame: Frame) -> tuple[Frame, Codes | None]:
        """The distinct index tuples that an expression depends on, and the place of each row among them."""
        needed = self.ev.needs(expr)
        variables = [v for v in frame.columns if v in needed]
        if not variables:
            return Frame(1, {}), np.zeros(frame.size, dtype=np.int64)
        if frame.axes and len(variables) == len(frame.columns):
            return frame, None
        columns = tuple(frame.columns[v] for v in variables)
        keys = Packing.of(columns).keys(columns)
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")  # in the order of the frame, not of the keys
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        chosen = first[order]
        inner = Frame(len(chosen), {v: c[chosen] for v, c in zip(variables, columns, strict=True)})
        return inner, None if inner.size == frame.size else place[back.reshape(-1)]

    def _cached_columns(self, expr: TypedExpr, inner: Frame) -> Int32s | None:
        for variables, columns, size, results in self._known.get(id(expr), (expr, []))[1]:
            if size == inner.size and variables == tuple(inner.columns):
                own_columns = tuple(inner.columns.values())
                if all(a is b or np.array_equal(a, b) for a, b in zip(columns, own_columns, strict=True)):
                    return results
        return None

    def _domain(self, inner: Frame) -> Domain:
        if not inner.columns:
            return ScalarDomain()
        components = tuple(self.ev.store.component(v.type) for v in inner.columns)
        return TupleDomain(components, tuple(np.ascontiguousarray(c) for c in inner.columns.values()))

    def arguments(self, expr: TypedExpr, frame: Frame) -> definitions.Affines:
        """An affine expression per row of the frame, ready to be an argument."""
        return self.as_affines(self.linear.affine(expr, frame))

    @staticmethod
    def as_affines(affine: Affine) -> definitions.Affines:
        constants = np.ascontiguousarray(np.broadcast_to(affine.constant, (affine.size,)), dtype=np.float64)
        return definitions.Affines(Matrix(*assemble(affine.size, affine.blocks)), constants)

    # --- products ----------------------------------------------------------------------------------------------------

    def product(self, left: Affine, right: Affine, expr: TypedExpr) -> Affine:
        """Two affine expressions multiplied out, row by row, into products of two columns each."""
        one, other = self.as_affines(left), self.as_affines(right)
        pairs = self._pairs(one.matrix, other.matrix, expr)
        result = left.scale(other.constants) + right.scale(one.constants)
        result = Affine(left.size, one.constants * other.constants, result.blocks)
        if pairs is None:
            return result
        rows, first, second, coefficients = pairs
        columns = self.terms.product(first, second, expr.span).astype(np.int64)
        block = AffineBlock(rows, columns, coefficients, f"{expr.span.text}@{id(expr)}", frozenset(), distinct=False)
        return Affine(left.size, result.constant, (*result.blocks, block))

    def _pairs(self, one: Matrix, other: Matrix, expr: TypedExpr) -> tuple[Codes, Int32s, Int32s, Floats] | None:
        """Every entry of a row with every entry of the same row of the other."""
        counts = np.diff(one.starts) * np.diff(other.starts)
        total = int(counts.sum())
        if not total:
            return None
        self.ev.budget.problem(total, expr.span, f"the product `{shorten(expr.span.text)}`")
        rows = np.repeat(np.arange(one.rows, dtype=np.int64), counts)
        within = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        width = np.diff(other.starts)[rows]
        first, second = one.starts[rows] + within // width, other.starts[rows] + within % width
        return rows, one.columns[first], other.columns[second], one.values[first] * other.values[second]

    def _quotient(self, expr: Arithmetic, frame: Frame) -> Affine:
        divisor = self.define(expr.right, frame, lambda inner: self._power_definition(expr, expr.right, -1.0, inner))
        if not expr.left.decision:
            return divisor.scale(np.broadcast_to(self.ev.numbers(expr.left, frame), (frame.size,)))
        return self.product(self.linear.affine(expr.left, frame), divisor, expr)

    def _integer_quotient(self, expr: Function, inner: Frame) -> tuple[str, Making]:
        arguments = self.arguments(expr.arguments[0], inner)
        divisors = np.array(np.broadcast_to(self.ev.divisors(expr, inner), (inner.size,)))
        starts, name, remainder = definitions.unary_starts(inner.size), shorten(expr.span.text), expr.name == "mod"
        return "remainder" if remainder else "quotient", lambda results: definitions.IntegerQuotient(
            results, starts, arguments, expr.span, name, divisors, remainder
        )  # fmt: skip

    # --- powers ------------------------------------------------------------------------------------------------------

    def _power(self, expr: Arithmetic, frame: Frame) -> Affine:
        if expr.right.decision:
            return self._exponential(expr, frame)
        exponents = np.broadcast_to(self.ev.numbers(expr.right, frame), (frame.size,))
        if frame.size and np.all(exponents == 1.0):
            return self.linear.affine(expr.left, frame)
        if frame.size and np.all(exponents == 0.0):
            return constant(frame.size, np.ones(frame.size))
        if frame.size and np.all(exponents == 2.0):
            squared = self._square_of_columns(expr, frame)
            if squared is not None:
                return squared
        return self.define(expr, frame, lambda inner: self._power_definition(expr, expr.left, expr.right, inner))

    def _square_of_columns(self, expr: Arithmetic, frame: Frame) -> Affine | None:
        """The square of single columns, shared with `x * x`; None for the square of anything longer."""
        base = self.linear.affine(expr.left, frame)
        affines = self.as_affines(base)
        lone = (np.diff(affines.matrix.starts) == 1) & (affines.constants == 0.0)
        return self.product(base, base, expr) if lone.all() else None

    def _power_definition(
        self, expr: TypedExpr, base: TypedExpr, exponent: TypedExpr | float, inner: Frame
    ) -> tuple[str, Making]:
        arguments = self.arguments(base, inner)
        power = np.float64(exponent) if isinstance(exponent, float) else self.ev.numbers(exponent, inner)
        exponents = np.array(np.broadcast_to(power, (inner.size,)), dtype=np.float64)
        name = shorten(expr.span.text)
        kind = {-1.0: "reciprocal", 0.5: "root"}.get(exponent if isinstance(exponent, float) else 0.0, "power")
        return kind, lambda results: definitions.Power(
            results, definitions.unary_starts(inner.size), arguments, expr.span, name, exponents
        )  # fmt: skip

    def _exponential(self, expr: Arithmetic, frame: Frame) -> Affine:
        """`a ^ x` with data a > 0 as `exp(log(a) * x)`."""
        if expr.left.decision:
            raise self.refusal(expr, help="write it with `exp` and `log`, which defines the range of its base")

        def build(inner: Frame) -> tuple[str, Making]:
            base = np.broadcast_to(self.ev.numbers(expr.left, inner), (inner.size,))
            self.ev.refuse_where(base <= 0, "GSM3004", "the base must be positive", expr.left, inner, "not positive")
            arguments = self.as_affines(self.linear.affine(expr.right, inner).scale(np.log(base)))
            name, starts = shorten(expr.span.text), definitions.unary_starts(inner.size)
            return "exp", lambda results: definitions.Unary(results, starts, arguments, expr.span, name, "exp")

        return self.define(expr, frame, build)

    # --- functions ---------------------------------------------------------------------------------------------------

    def _unary(self, expr: Function, inner: Frame) -> tuple[str, Making]:
        arguments = self.arguments(expr.arguments[0], inner)
        name, starts = shorten(expr.span.text), definitions.unary_starts(inner.size)
        return expr.name, lambda results: definitions.Unary(results, starts, arguments, expr.span, name, expr.name)

    def _piecewise(self, expr: PiecewiseLinear, inner: Frame) -> tuple[str, Making]:
        from gpusched_dsl.compiling.evaluation.piecewise_curves import curves_of

        arguments = self.arguments(expr.operand, inner)
        curves, which = curves_of(self.ev, expr, inner)
        name, starts = shorten(expr.span.text), definitions.unary_starts(inner.size)
        kind = definitions.Piecewise
        return "piecewise", lambda results: kind(results, starts, arguments, expr.span, name, which, curves)

    def _extreme(self, expr: Function, frame: Frame) -> Affine:
        if len(expr.arguments) == 1:
            return self.linear.affine(expr.arguments[0], frame)

        def build(inner: Frame) -> tuple[str, Making]:
            starts, arguments = interleave([self.arguments(a, inner) for a in expr.arguments])
            name, largest = shorten(expr.span.text), expr.name == "max"
            return expr.name, lambda results: definitions.MinMax(results, starts, arguments, expr.span, name, largest)

        return self.define(expr, frame, build)

    def _extreme_over(self, expr: Reduction, inner: Frame) -> tuple[str, Making]:
        grown = self.ev.expand(inner, expr.indexing, expr.span)
        counts = np.bincount(grown.parents(), minlength=inner.size)
        message = f"`{expr.op}` over an empty set"
        self.ev.refuse_where(counts == 0, "GSM3005", message, expr, inner, "no element")
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        arguments = self.arguments(expr.body, grown.frame)
        name, largest = shorten(expr.span.text), expr.op == "max"
        return expr.op, lambda results: definitions.MinMax(results, starts, arguments, expr.span, name, largest)

    # --- refusals ----------------------------------------------------------------------------------------------------

    def refusal(self, expr: TypedExpr, help: str | None = None) -> DiagnosticError:
        """That a term has no form in rows and definitions (GSM3010)."""
        what = "this term"
        if isinstance(expr, Arithmetic):
            what = f"`{expr.op}` of variables"
        elif isinstance(expr, Function):
            what = f"`{expr.name}` of variables"
        elif isinstance(expr, Reduction):
            what = f"`{expr.op}` over variables"
        return self.ev.failure(
            "GSM3010",
            f"no solver supports {what}",
            expr.span,
            "depends on variables",
            help=help
            or "write it with linear constraints and binary variables, or as a parameter if it needs only data",
        )
