"""The body of a script for a large problem: its numbers as compressed arrays."""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.definitions import Affines, Definition, Power, Product, Unary
from gpusched_dsl.ir.domains import Universe
from gpusched_dsl.ir.problem import Family, Objective, Problem
from gsdsl_backends.files.lp_mps import QuadraticCosts
from gsdsl_backends.files.python_script.dialects import HIGHS, Dialect
from gsdsl_backends.files.python_script.listed import hessian_lines
from gsdsl_backends.files.python_script.names import describe, literal
from gsdsl_backends.files.python_script.stages import stage_lines

WIDTH: Final = 116
READERS: Final = '''\
def array(kind, text):
    """Numbers of a kind from their compressed bytes."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def texts(text):
    """A list of names from its compressed JSON."""
    return json.loads(zlib.decompress(base64.b64decode(text)))
'''
LOAD: Final = """\
lp = highspy.HighsLp()
lp.num_col_, lp.num_row_ = len(low), len(row_low)
lp.col_cost_, lp.col_lower_, lp.col_upper_, lp.offset_ = cost, low, high, OFFSET
lp.row_lower_, lp.row_upper_ = row_low, row_high
lp.sense_ = highspy.ObjSense.{sense}
lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = start, column, factor
lp.integrality_ = [INTEGER if integer else CONTINUOUS for integer in is_integer]
model.passModel(lp)
"""
ROWS: Final = """\
low, high = (
    [None if abs(bound) == np.inf else bound for bound in bounds.tolist()] for bounds in (low, high)
)
x = [
    model.addVar(vtype=INTEGER if integer else CONTINUOUS, lb=a, ub=b)
    for integer, a, b in zip(is_integer, low, high)
]


def sums(start, column, factor):
    \"\"\"The sum of each row of a matrix.\"\"\"
    ends = zip(start[:-1].tolist(), start[1:].tolist())
    column, factor = column.tolist(), factor.tolist()
    return [quicksum(factor[k] * x[column[k]] for k in range(a, b)) for a, b in ends]


applies = dict(zip(condition_row.tolist(), zip(condition_column.tolist(), condition_value.tolist())))
rows = zip(sums(start, column, factor), row_low.tolist(), row_high.tolist())
nothing = model.addVar(lb=0, ub=0)
for number, (row, a, b) in enumerate(rows):
    row = row + nothing  # rows without columns are expressions too
    if number in applies:
        binary, value = applies[number]
        if b < np.inf:
            model.addConsIndicator(row <= b, binvar=x[binary], activeone=bool(value))
        if a > -np.inf:
            model.addConsIndicator(-row <= -a, binvar=x[binary], activeone=bool(value))
    elif a == b:
        model.addCons(row == a)
    else:
        if b < np.inf:
            model.addCons(row <= b)
        if a > -np.inf:
            model.addCons(row >= a)
"""
TERMS: Final = {
    "product": """\
for result, a, b in zip(results.tolist(), first[:-1].tolist(), first[1:].tolist()):
    term = arguments[a]
    for argument in arguments[a + 1 : b]:
        term = term * argument
    model.addCons(x[result] == term)
""",
    "power": """\
for result, argument, power in zip(results.tolist(), arguments, exponents.tolist()):
    model.addCons(x[result] == argument ** (int(power) if power == int(power) else power))
""",
    "unary": """\
for result, argument in zip(results.tolist(), arguments):
    model.addCons(x[result] == {function}(argument))
""",
}


class ArrayScript:
    """Writes the arrays of one problem, and the lines that load them."""

    def __init__(self, problem: Problem, dialect: Dialect, quadratic: QuadraticCosts | None) -> None:
        self.problem, self.dialect, self.quadratic = problem, dialect, quadratic
        self.universes: dict[int, str] = {}

    def lines(self) -> Iterator[str]:
        problem = self.problem
        yield READERS
        yield "\n# --- names: family, its first column, and for each index its labels (or None) and their numbers"
        yield from self._families()
        yield "\n# --- variables"
        for family in problem.column_families:
            yield describe(family)
        yield f"low = {_array(problem.lower)}"
        yield f"high = {_array(problem.upper)}"
        yield f"is_integer = {_array(problem.integer.astype(np.int8))}"
        yield "\n# --- constraints: row_low <= sum of factor * x[column] <= row_high"
        for family in problem.constraints:
            yield describe(family)
        yield from self._matrix("", problem.matrix.starts, problem.matrix.columns, problem.matrix.values)
        yield f"row_low = {_array(problem.row_lower)}"
        yield f"row_high = {_array(problem.row_upper)}"
        several = len(problem.objectives) > 1
        first = problem.objectives[0] if problem.objectives else None
        if not several or self.dialect is HIGHS:  # HiGHS loads costs together with the rows
            yield "\n# --- objective"
            yield f"cost = {_array(np.zeros(problem.columns) if first is None else first.costs(problem.columns))}"
            yield f"OFFSET = {literal(0.0 if first is None else first.offset)}"
        sense = "minimize" if first is None else first.sense
        yield from self._highs(sense, several) if self.dialect is HIGHS else self._scip(sense, several)

    def _highs(self, sense: str, several: bool) -> Iterator[str]:
        yield "\n# --- solve"
        yield LOAD.format(sense=f"k{sense.capitalize()}").rstrip()
        if self.quadratic is not None:
            yield from hessian_lines(self.quadratic, self.problem.columns, lambda numbers: _array(np.array(numbers)))
        if several:
            pairs = [f"({_costs(self.problem, o)}, {literal(o.offset)})" for o in self.problem.objectives]
            yield from stage_lines(self.problem, HIGHS, pairs, arrays=True)
        else:
            yield "model.run()"
        yield "x = model.getSolution().col_value or [0.0] * lp.num_col_"

    def _scip(self, sense: str, several: bool) -> Iterator[str]:
        conditions = self.problem.conditions
        yield "\n# --- rows that apply only where a binary has a value"
        yield f"condition_row = {_array(conditions.rows)}"
        yield f"condition_column = {_array(conditions.columns)}"
        yield f"condition_value = {_array(conditions.values.astype(np.int8))}"
        yield "\n# --- load"
        yield ROWS.rstrip()
        for definition in self.problem.definitions:
            if definition.size:
                yield from self._terms(definition)
        yield "\n# --- solve"
        if several:
            sums = [
                f"quicksum(c * v for c, v in zip({_costs(self.problem, o)}.tolist(), x) if c) + {literal(o.offset)}"
                for o in self.problem.objectives
            ]
            yield from stage_lines(self.problem, self.dialect, sums, arrays=True)
            return
        yield f'model.setObjective(quicksum(c * v for c, v in zip(cost.tolist(), x) if c) + OFFSET, "{sense}")'
        yield "model.optimize()"

    def _terms(self, definition: Definition) -> Iterator[str]:
        yield f"\n# --- nonlinear terms: {definition.operation}"
        affines: Affines = definition.arguments
        yield f"results = {_array(definition.results)}"
        yield from self._matrix("argument_", affines.matrix.starts, affines.matrix.columns, affines.matrix.values)
        yield f"constant = {_array(affines.constants)}"
        yield "arguments = ["
        yield "    row + c for row, c in zip(sums(argument_start, argument_column, argument_factor), constant.tolist())"
        yield "]"
        function = ""
        match definition:
            case Product(starts=starts):
                yield f"first = {_array(starts)}"
            case Power(exponents=exponents):
                yield f"exponents = {_array(exponents)}"
            case Unary(function=name):
                function = "abs" if name == "abs" else f"scip.{name}"
        yield TERMS[definition.op].format(function=function).rstrip()

    def _matrix(self, before: str, starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> Iterator[str]:
        yield f"{before}start = {_array(starts)}"
        yield f"{before}column = {_array(columns)}"
        yield f"{before}factor = {_array(values)}"

    # --- names -------------------------------------------------------------------------------------------------------

    def _families(self) -> Iterator[str]:
        rows = []
        for family in self.problem.variables:
            for component in family.domain.components:
                if component is not None and id(component) not in self.universes:
                    name = f"labels_{len(self.universes) + 1}"
                    self.universes[id(component)] = name
                    yield f"{name} = {_texts(component)}  # {len(component.labels)} elements"
            rows.append(self._family(family))
        yield "names = ["
        yield from (f"    {row}," for row in rows)
        yield "]"

    def _family(self, family: Family) -> str:
        labels = [self.universes.get(id(c), "None") for c in family.domain.components]
        codes = [_array(column) for column in family.domain.columns()]
        pairs = "".join(f"({label}, {code}), " for label, code in zip(labels, codes, strict=True))
        return f"({literal(family.name)}, {family.first}, {family.size}, [{pairs.removesuffix(', ')}])"


FAMILIES: Final = """\
families = {}
for name, first, size, indices in names:
    keys = [codes.tolist() if labels is None else [labels[c] for c in codes] for labels, codes in indices]
    keys = [key[0] if len(key) == 1 else key for key in zip(*keys)] if keys else [()]
    families[name] = dict(zip(keys, x[first : first + size]))"""


def _costs(problem: Problem, objective: Objective) -> str:
    return _array(objective.costs(problem.columns))


def _array(values: NDArray[Any]) -> str:
    """Return an array as an expression, its bytes compressed."""
    kind = values.dtype.newbyteorder("<")
    text = _wrap_text(values.astype(kind).tobytes())
    return f'array("{kind.str}", """{text}""")'


def _texts(universe: Universe) -> str:
    return f'texts("""{_wrap_text(json.dumps(list(universe.labels)).encode())}""")'


def _wrap_text(content: bytes) -> str:
    text = base64.b64encode(zlib.compress(content)).decode("ascii")
    return text if len(text) <= WIDTH // 2 else "\n" + "\n".join(textwrap.wrap(text, WIDTH)) + "\n"
