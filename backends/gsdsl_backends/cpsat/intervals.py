"""Conditions on intervals and products of integers in the words of CP-SAT: interval variables, `no_overlap` and so on.

Start, length, demand and capacity are affine expressions of columns. CP-SAT takes those of one variable at most; others
become variables of their own, and so do the ends of intervals whose length is decided. Conditions that must hold come
here; a pass reformulates those whose truth is decided, and products of other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.passes.steps import INTEGER_PRODUCT
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Cumulative, IntervalDefinition, NoOverlap, Product
from gpusched_dsl.ir.divisors import common_divisors
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.cpsat.integer_form import HELP, LARGEST

# The operations that CP-SAT takes as they are, named as in `Target`.
NATIVE = frozenset({NoOverlap.op, Cumulative.op, INTEGER_PRODUCT})

Linear = tuple[tuple[int, ...], tuple[int, ...], int]  # variables, coefficients and a constant


@dataclass(eq=False)
class IntervalText:
    """Variables and constraints of a model as text, behind `columns` variables and `constraints` constraints.

    `low`, `high`: the integers that the variables of columns can be.
    """

    steps: Floats
    low: Codes
    high: Codes
    columns: int
    constraints: int
    ranges: list[tuple[int, int]] = field(default_factory=list)  # of the variables that are not columns
    variables: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def add_definitions(self, problem: Problem) -> None:
        """Add all definitions; raises DiagnosticError (GSM4003, GSM4006)."""
        for definition in problem.definitions:
            if isinstance(definition, Product):
                add_products(self, definition)
            else:
                assert isinstance(definition, IntervalDefinition)  # the target takes no others
                self._add(problem, definition)

    def _add(self, problem: Problem, definition: IntervalDefinition) -> None:
        cumulative = isinstance(definition, Cumulative)
        arguments, first = definition.arguments, definition.intervals
        loads = np.zeros(arguments.count, dtype=np.bool_)
        truths = loads.copy()
        truths[first + 2] = True
        if isinstance(definition, Cumulative):
            loads[first + 3] = loads[definition.capacities] = True
        times = Integers.of(problem, self, definition, ~loads & ~truths)
        amounts = Integers.of(problem, self, definition, loads) if cumulative else times
        exact = Integers.plain(arguments, truths)
        ends = np.cumsum(definition.interval_counts).tolist()
        begin = 0
        for entry, end in enumerate(ends):
            numbers, demands = [], []
            for at in first[begin:end].tolist():
                literal = self._literal(exact.linear(at + 2))
                if literal is None:
                    continue
                numbers.append(self._interval(times.linear(at), times.linear(at + 1), literal))
                if cumulative:
                    demands.append(self._usable(self.single(amounts.linear(at + 3)), literal))
            begin = end
            if not cumulative:
                self.constrain(f"no_overlap{{intervals:{numbers}}}")
                continue
            assert isinstance(definition, Cumulative)
            capacity = self.single(amounts.linear(int(definition.capacities[entry])))
            self._nonnegative(capacity)
            rows = "".join(f" demands{text_of_linear(d)}" for d in demands)
            self.constrain(f"cumulative{{capacity{text_of_linear(capacity)} intervals:{numbers}{rows}}}")

    def _interval(self, start: Linear, length: Linear, literal: str) -> int:
        """Add an interval, and return the number of its constraint."""
        start, length = self.single(start), self._usable(self.single(length), literal)
        if not length[0]:
            end = (start[0], start[1], start[2] + length[2])
        elif not start[0]:
            end = (length[0], length[1], start[2] + length[2])
        else:
            end = self._variable(_plus(start, length))
        return self.constrain(
            f"interval{{start{text_of_linear(start)} size{text_of_linear(length)} end{text_of_linear(end)}}}", literal
        )

    def _literal(self, truth: Linear) -> str | None:
        """The enforcement of a truth value; empty where it is always true, None where it never is."""
        variables, coefficients, constant = truth
        if not variables:
            return "" if constant >= 1 else None
        if len(variables) > 1 or (coefficients[0], constant) not in ((1, 0), (-1, 1)):
            (variable,), _, _ = self._variable(truth, truth_value=True)
            return f"enforcement_literal:{variable} "
        return f"enforcement_literal:{variables[0] if constant == 0 else -variables[0] - 1} "

    def _usable(self, amount: Linear, literal: str) -> Linear:
        """A length or demand of a present interval, which CP-SAT wants as an expression that is never negative."""
        low, high = self._range(amount)
        if low >= 0:
            return amount
        number = self._add_variable(0, max(high, 0))
        self._equate(amount, number, literal)
        return (number,), (1,), 0

    def _nonnegative(self, value: Linear) -> None:
        if self._range(value)[0] < 0:
            variables, coefficients, constant = value
            inside = f"vars:{list(variables)} coeffs:{list(coefficients)} domain:[{-constant}, {2**63 - 1}]"
            self.constrain(f"linear{{{inside}}}")

    def single(self, value: Linear) -> Linear:
        """The value as an expression of at most one variable."""
        return value if len(value[0]) <= 1 else self._variable(value)

    def _variable(self, value: Linear, truth_value: bool = False) -> Linear:
        """A variable that equals a value."""
        number = self._add_variable(*((0, 1) if truth_value else self._range(value)))
        self._equate(value, number, "")
        return (number,), (1,), 0

    def _add_variable(self, low: int, high: int) -> int:
        self.ranges.append((low, high))
        self.variables.append(f"variables{{domain:[{low}, {high}]}}")
        return self.columns + len(self.variables) - 1

    def _equate(self, value: Linear, number: int, literal: str) -> None:
        variables, coefficients, constant = value
        inside = f"vars:{[*variables, number]} coeffs:{[*coefficients, -1]} domain:[{-constant}, {-constant}]"
        self.constrain(f"linear{{{inside}}}", literal)

    def _range(self, value: Linear) -> tuple[int, int]:
        low = high = value[2]
        for variable, coefficient in zip(value[0], value[1], strict=True):
            ends = (
                (int(self.low[variable]), int(self.high[variable]))
                if variable < self.columns
                else self.ranges[variable - self.columns]
            )
            products = (coefficient * ends[0], coefficient * ends[1])
            low, high = low + min(products), high + max(products)
        return low, high

    def constrain(self, inside: str, literal: str = "") -> int:
        self.lines.append(f"constraints{{{literal}{inside}}}")
        self.constraints += 1
        return self.constraints - 1


def add_products(text: IntervalText, definition: Product) -> None:
    """Products of integers, which are constraints of CP-SAT."""
    factors = Integers.plain(definition.arguments, np.ones(definition.arguments.count, dtype=np.bool_))
    starts = definition.starts.tolist()
    for result, begin, end in zip(definition.results.tolist(), starts[:-1], starts[1:], strict=True):
        factor = "".join(f" exprs{text_of_linear(text.single(factors.linear(at)))}" for at in range(begin, end))
        text.constrain(f"int_prod{{target{text_of_linear(((result,), (1,), 0))}{factor}}}")


def text_of_linear(value: Linear) -> str:
    variables, coefficients, constant = value
    return f"{{vars:{list(variables)} coeffs:{list(coefficients)} offset:{constant}}}"


def _plus(one: Linear, other: Linear) -> Linear:
    total = dict(zip(one[0], one[1], strict=True))
    for variable, coefficient in zip(other[0], other[1], strict=True):
        total[variable] = total.get(variable, 0) + coefficient
    kept = {v: c for v, c in total.items() if c}
    return tuple(kept), tuple(kept.values()), one[2] + other[2]


@dataclass(frozen=True, eq=False)
class Integers:
    """Affine expressions with integer coefficients; those of one entry are in one unit."""

    starts: list[int]
    columns: list[int]
    values: list[int]
    constants: list[int]

    def linear(self, argument: int) -> Linear:
        begin, end = self.starts[argument], self.starts[argument + 1]
        return tuple(self.columns[begin:end]), tuple(self.values[begin:end]), self.constants[argument]

    @staticmethod
    def plain(arguments: Affines, chosen: Bools) -> Integers:
        """Truth values and factors of integer products: their numbers are integers, their columns have steps of 1."""
        return Integers._made(arguments.matrix.starts, arguments.matrix.columns, arguments.matrix.values,
                               np.where(chosen, arguments.constants, 0.0))  # fmt: skip

    @staticmethod
    def of(problem: Problem, text: IntervalText, definition: IntervalDefinition, chosen: Bools) -> Integers:
        """The chosen arguments in a unit of their entry."""
        arguments, entry = definition.arguments, definition.entry_of
        matrix = arguments.matrix
        coefficients = matrix.values * text.steps[matrix.columns]
        mine = chosen[matrix.row_of]
        of = np.concatenate((entry[matrix.row_of[mine]], entry[chosen], np.arange(definition.size)))
        sizes = np.concatenate((coefficients[mine], arguments.constants[chosen], np.zeros(definition.size)))
        order = np.argsort(of, kind="stable")
        begins = np.flatnonzero(np.diff(of[order], prepend=-1))
        units = common_divisors(np.abs(sizes)[order], begins)
        if (units == 0).any():
            raise DiagnosticError([_no_unit(problem, definition)])
        unit = np.where(np.isinf(units), 1.0, units)[entry]
        scaled = np.where(mine, coefficients / unit[matrix.row_of], 0.0)
        constants = np.where(chosen, arguments.constants / unit, 0.0)
        largest = max(np.abs(scaled).max(initial=0.0), np.abs(constants).max(initial=0.0))
        if largest > np.sqrt(LARGEST):
            raise DiagnosticError([_too_large(problem, definition, largest)])
        return Integers._made(matrix.starts, matrix.columns, scaled, constants)

    @staticmethod
    def _made(starts: Codes, columns: Int32s, values: Floats, constants: Floats) -> Integers:
        numbers = (np.rint(v).astype(np.int64).tolist() for v in (values, constants))
        return Integers(starts.tolist(), columns.tolist(), *numbers)


def _too_large(problem: Problem, definition: IntervalDefinition, largest: float) -> Diagnostic:
    return Diagnostic(
        "GSM4006",
        f"CP-SAT cannot represent `{definition.name}` in integers of 64 bits",
        definition.span,
        notes=(
            f"its largest number is {largest:.3g} times the common unit of all, at most {np.sqrt(LARGEST):.3g} fit",
        ),
        help=HELP,
    )


def _no_unit(problem: Problem, definition: IntervalDefinition) -> Diagnostic:
    return Diagnostic(
        "GSM4003",
        f"`cpsat` solves integer problems, and the numbers of `{definition.name}` have no common unit",
        definition.span,
        notes=("times of one machine must be multiples of one number, and so must demands and their capacity",),
        help=HELP,
    )
