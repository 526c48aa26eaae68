"""The body of a script for a small problem: a line for each row, with the names of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition, Power, Product, Unary
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.ir.problem import Family, Objective, Problem
from gsdsl_backends.files.lp_mps import QuadraticCosts
from gsdsl_backends.files.python_script.dialects import HIGHS, Dialect
from gsdsl_backends.files.python_script.names import describe, entry_names, literal, python_names
from gsdsl_backends.files.python_script.stages import stage_lines

WIDTH = 110


class ListedScript:
    """Writes the variables, rows, terms and the objective of one problem."""

    def __init__(self, problem: Problem, dialect: Dialect, quadratic: QuadraticCosts | None) -> None:
        self.problem, self.dialect, self.quadratic = problem, dialect, quadratic
        families = problem.column_families
        self.names = python_names(families)
        keys = [decode(family.domain.components, family.domain.columns()) for family in families]
        self.keys = keys
        self.columns = [
            entry for name, own in zip(self.names, keys, strict=True) for entry in entry_names(name, own)
        ]  # fmt: skip

    def lines(self) -> Iterator[str]:
        yield "# --- variables"
        for number, family in enumerate(self.problem.column_families):
            yield ""
            yield describe(family)
            yield from self._family(number, family)
        yield "\n# --- constraints"
        for family in self.problem.constraints:
            yield ""
            yield describe(family)
            yield from self._rows(family)
        for definition in self.problem.definitions:
            if definition.size:
                yield "\n# nonlinear terms"
                yield from self._terms(definition)
        yield "\n# --- objective"
        yield from self._objective()
        declared = zip(self.problem.variables, self.names, strict=False)  # the auxiliary ones are last
        entries = [f"{literal(f.name)}: {n if f.domain.components else f'{{(): {n}}}'}" for f, n in declared]
        yield ""
        yield from _wrap_list("families = {", entries, "}")

    # --- variables ---------------------------------------------------------------------------------------------------

    def _family(self, number: int, family: Family) -> Iterator[str]:
        name, keys = self.names[number], self.keys[number]
        low, high = self.problem.lower[family.slice], self.problem.upper[family.slice]
        kinds = [self.dialect.kinds[int(i)] for i in self.problem.integer[family.slice]]
        label = literal(family.name)
        if not family.domain.components:
            yield f"{name} = {self._variable(self._bound(low[0]), self._bound(high[0]), kinds[0], label)}"
            return
        made = {(self._bound(a), self._bound(b), kind) for a, b, kind in zip(low, high, kinds, strict=True)}
        texts = [literal(k[0]) if len(k) == 1 else f"({', '.join(map(literal, k))})" for k in keys]
        entry_name = f'f"{name}[{{key}}]"'
        if len(made) == 1:
            (only,) = made
            yield f"{name} = {{"
            yield f"    key: {self._variable(*only, entry_name)}"
            yield from _wrap_list("    for key in [", texts, "]")
        else:
            own = [
                f"{text}: ({self._bound(a)}, {self._bound(b)}, {kind})"
                for text, a, b, kind in zip(texts, low, high, kinds, strict=True)
            ]
            yield f"{name} = {{"
            yield f"    key: {self._variable('low', 'high', 'kind', entry_name)}"
            yield from _wrap_list("    for key, (low, high, kind) in {", own, "}.items()")
        yield "}"

    def _variable(self, low: str, high: str, kind: str, name: str) -> str:
        return self.dialect.variable.format(low=low, high=high, kind=kind, name=name)

    def _bound(self, value: float) -> str:
        if np.isfinite(value):
            return literal(float(value))
        if self.dialect.infinity == "None":
            return "None"
        return self.dialect.infinity if value > 0 else f"-{self.dialect.infinity}"

    # --- rows --------------------------------------------------------------------------------------------------------

    def _rows(self, family: Family) -> Iterator[str]:
        problem, matrix = self.problem, self.problem.matrix
        conditions = problem.conditions
        place = {int(row): at for at, row in enumerate(conditions.rows)}
        labels = decode(family.domain.components, family.domain.columns())
        for row in range(family.first, family.stop):
            inside = slice(int(matrix.starts[row]), int(matrix.starts[row + 1]))
            columns, values = matrix.columns[inside], matrix.values[inside]
            low, high = float(problem.row_lower[row]), float(problem.row_upper[row])
            own = labels[row - family.first]
            label = literal(f"{family.name}[{', '.join(map(str, own))}]" if own else family.name)
            if row in place:
                at = place[row]
                yield from self._conditional(columns, values, low, high, at)
            elif not len(columns):
                yield from self._empty(low, high, label)
            else:
                text = self._row_text(self._sum(columns, values), low, high)
                if text:
                    yield self.dialect.row.format(row=text, name=f"name={label}")

    def _row_text(self, text: str, low: float, high: float) -> str:
        """The sum with its sides; "" if it has none."""
        if low == high:
            return f"{text} == {literal(low)}"
        if np.isfinite(low) and np.isfinite(high):
            return self.dialect.between.format(low=literal(low), row=text, high=literal(high))
        if np.isfinite(low):
            return f"{text} >= {literal(low)}"
        return f"{text} <= {literal(high)}" if np.isfinite(high) else ""

    def _empty(self, low: float, high: float, label: str) -> Iterator[str]:
        """Lines of a row without columns, which holds or makes the problem infeasible."""
        if self.dialect is HIGHS:
            yield f"model.addRow({self._bound(low)}, {self._bound(high)}, 0, [], [])  # {label}"
        elif low > 0 or high < 0:
            yield f'model.addCons(model.addVar("nothing", lb=0, ub=0) == 1, name={label})'

    def _conditional(self, columns: Int32s, values: Floats, low: float, high: float, at: int) -> Iterator[str]:
        """Lines of a row that applies where a binary has a value."""
        conditions = self.problem.conditions
        binary, value = self.columns[int(conditions.columns[at])], bool(conditions.values[at])
        for sign, side in ((1.0, high), (-1.0, -low)):
            if np.isfinite(side):
                text = self._sum(columns, sign * values)
                yield f"model.addConsIndicator({text} <= {literal(side)}, binvar={binary}, activeone={value})"

    def _sum(self, columns: Int32s, values: Floats, constant: float = 0.0) -> str:
        parts: list[str] = []
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            factor = "" if abs(value) == 1 and (value > 0 or parts) else f"{literal(abs(value) if parts else value)} * "
            sign = ("" if not parts else "- " if value < 0 else "+ ")  # fmt: skip
            parts.append(f"{sign}{factor}{self.columns[column]}")
        if constant or not parts:
            sign = "" if not parts else "- " if constant < 0 else "+ "
            parts.append(f"{sign}{literal(abs(constant) if parts else constant)}")
        text = " ".join(parts)
        return text if len(text) <= WIDTH else "(\n    " + "\n    ".join(_fill_lines(parts)) + "\n)"

    # --- nonlinear terms ---------------------------------------------------------------------------------------------

    def _terms(self, definition: Definition) -> Iterator[str]:
        arguments = list(self._arguments(definition.arguments))
        for entry, result in enumerate(definition.results.tolist()):
            yield f"model.addCons({self.columns[result]} == {_term(definition, arguments, entry)})"

    def _arguments(self, affines: Affines) -> Iterator[str]:
        starts = affines.matrix.starts.tolist()
        for number, (a, b) in enumerate(pairwise(starts)):
            constant = float(affines.constants[number])
            text = self._sum(affines.matrix.columns[a:b], affines.matrix.values[a:b], constant)
            yield text if affines.single[number] >= 0 else f"({text})"

    # --- objective ---------------------------------------------------------------------------------------------------

    def _objective(self) -> Iterator[str]:
        sense, text, used = "minimize", "0", np.zeros(0, dtype=np.int32)
        if len(self.problem.objectives) > 1:
            texts = [self._stage(objective) for objective in self.problem.objectives]
            yield from stage_lines(self.problem, self.dialect, texts, arrays=False)
            return
        if self.problem.objectives:
            text, used = self._costs(self.problem.objectives[0])
            sense = self.problem.objectives[0].sense
        if self.quadratic is not None:
            yield from hessian_lines(self.quadratic, self.problem.columns, "np.array({})".format)
        if self.dialect is HIGHS and not len(used):  # it has no word for a constant
            yield f"model.changeObjectiveOffset({text})"
            text = ""
        yield self.dialect.solve.format(sense=sense, objective=text)

    def _stage(self, objective: Objective) -> str:
        """Return one of several objectives as an expression."""
        text, used = self._costs(objective)
        return f"model.expr({text})" if self.dialect is HIGHS and not len(used) else text

    def _costs(self, objective: Objective) -> tuple[str, Int32s]:
        """Return an objective as text, and its columns."""
        costs = objective.costs(self.problem.columns)
        used = np.flatnonzero(costs).astype(np.int32)
        return self._sum(used, costs[used], objective.offset), used


def hessian_lines(quadratic: QuadraticCosts, columns: int, array: Callable[[list[float]], str]) -> Iterator[str]:
    """Yield the lines that give HiGHS quadratic costs; `array` writes numbers as an array."""
    starts = np.searchsorted(quadratic.first, np.arange(columns + 1))
    yield "# quadratic costs x' Q x / 2: the lower triangle of Q, by columns"
    yield "hessian = highspy.HighsHessian()"
    yield f"hessian.dim_, hessian.format_ = {columns}, highspy.HessianFormat.kTriangular"
    yield f"hessian.start_ = {array(starts.tolist())}"
    yield f"hessian.index_ = {array(quadratic.second.tolist())}"
    yield f"hessian.value_ = {array(quadratic.values.tolist())}"
    yield "model.passHessian(hessian)"


def _term(definition: Definition, arguments: Sequence[str], entry: int) -> str:
    """Return the function of one entry as SCIP's package writes it."""
    match definition:
        case Product(starts=starts):
            return " * ".join(arguments[int(starts[entry]) : int(starts[entry + 1])])
        case Power(exponents=exponents):
            return f"{arguments[entry]} ** {literal(float(exponents[entry]))}"
        case Unary(function="abs"):
            return f"abs({arguments[entry]})"
        case Unary(function=function):
            return f"scip.{function}({arguments[entry]})"
    raise AssertionError(definition.op)  # the target of the script does not accept it


def _wrap_list(head: str, items: Sequence[str], end: str) -> Iterator[str]:
    """Yield a list in one line, or over several lines."""
    line = f"{head}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        yield line
        return
    yield head
    yield from (f"        {line}" for line in _fill_lines([f"{item}," for item in items]))
    yield f"    {end}"


def _fill_lines(parts: Sequence[str]) -> Iterator[str]:
    """Yield lines of whole parts."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 1 > WIDTH - 10:
            yield line
            line = ""
        line = f"{line} {part}" if line else part
    if line:
        yield line
