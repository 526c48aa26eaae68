"""A problem as readable text, which shows the result of a pass at a glance; `from_text` reads it."""

from __future__ import annotations

import re
from itertools import groupby

import msgspec
import numpy as np

from gpusched_dsl.ir.definitions import (
    Affines,
    Definition,
    IntegerQuotient,
    MinMax,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    QuadraticForm,
    Reified,
    Unary,
)
from gpusched_dsl.ir.json.laws import law_file
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Matrix, Problem


def as_text(problem: Problem, ranges: bool = False) -> str:
    """Objectives, rows (with conditions), definitions and columns, a line each, in the order of the problem.

    `ranges`: neighbouring columns of a family with the same bounds share a line, as in `x[1..3] binary`. Columns that
    are fixed at 0 and stand nowhere are left out: they were read as others.
    """
    names = [entry_name(problem.column_family(j), j) for j in range(problem.columns)]
    lines: list[str] = []
    for objective in problem.objectives:
        costs = objective.costs(problem.columns)
        used = np.flatnonzero(costs)
        lines.append(f"{objective.sense} {_sum(used, costs[used], objective.offset, names)}")
    lines += [f"  {_row(problem, i, names)}" for i in range(problem.rows)]
    if any(d.size for d in problem.definitions):
        lines.append("where")
        lines += [
            f"  {names[d.results[i]]} = {_entry(d, i, names)}" for d in problem.definitions for i in range(d.size)
        ]
    gone = (problem.lower == 0) & (problem.upper == 0) & ~_used(problem)
    lines.append("over")
    columns = [_column(problem, j, names) for j in range(problem.columns) if not gone[j]]
    lines += [f"  {column}" for column in (_in_ranges(columns) if ranges else columns)]
    return "\n".join(lines) + "\n"


def _in_ranges(columns: list[str]) -> list[str]:
    """Join the lines that differ only in a number as index, which grows by 1."""
    parts = [re.fullmatch(r"(.*[\[,])(\d+)(\].*)", column) for column in columns]
    keys = [(m[1], int(m[2]) - at, m[3]) if m else (columns[at],) for at, m in enumerate(parts)]
    lines = []
    for _, group in groupby(range(len(columns)), lambda at: keys[at]):
        first, *rest = group
        match, last = parts[first], parts[rest[-1]] if rest else None
        lines.append(f"{match[1]}{match[2]}..{last[2]}{match[3]}" if match and last else columns[first])
    return lines


def _used(problem: Problem) -> np.ndarray:
    used = np.zeros(problem.columns, dtype=bool)
    used[problem.matrix.columns] = True
    used[problem.conditions.columns] = True
    for objective in problem.objectives:
        for term in objective.terms:
            used[term.columns] = True
    for definition in problem.definitions:
        used[definition.results] = used[definition.arguments.matrix.columns] = True
    used[: sum(f.size for f in problem.variables)] = True
    return used


def _row(problem: Problem, i: int, names: list[str]) -> str:
    body = _affine(problem.matrix, i, 0.0, names)
    lower, upper = problem.row_lower[i], problem.row_upper[i]
    said = f"{entry_name(problem.row_family(i), i)}: {_between(lower, body, upper)}"
    at = np.flatnonzero(problem.conditions.rows == i)
    if len(at):
        column, value = problem.conditions.columns[at[0]], problem.conditions.values[at[0]]
        said += f" if {names[column]} = {int(value)}"
    return said


def _between(lower: float, body: str, upper: float) -> str:
    if lower == upper:
        return f"{body} = {_number(lower)}"
    below = "" if np.isneginf(lower) else f"{_number(lower)} <= "
    above = "" if np.isposinf(upper) else f" <= {_number(upper)}"
    return f"{below}{body}{above}" if below or above else f"{body} free"


def _column(problem: Problem, j: int, names: list[str]) -> str:
    lower, upper = problem.lower[j], problem.upper[j]
    if problem.integer[j] and (lower, upper) == (0.0, 1.0):
        return f"{names[j]} binary"
    return _between(lower, names[j], upper) + (" integer" if problem.integer[j] else "")


def _entry(d: Definition, i: int, names: list[str]) -> str:
    arguments = [_argument(d.arguments, k, names) for k in range(d.starts[i], d.starts[i + 1])]
    match d:
        case Product():
            return " * ".join(f"({a})" if " " in a else a for a in arguments)
        case MinMax():
            return f"{'max' if d.largest else 'min'}({', '.join(arguments)})"
        case Power():
            return f"({arguments[0]})^{_number(d.exponents[i])}"
        case Unary():
            return f"{d.function}({arguments[0]})"
        case Reified():
            return f"[{_between(d.lower[i], arguments[0], d.upper[i])}]"
        case IntegerQuotient():
            return f"({arguments[0]}) {'mod' if d.remainder else 'div'} {_number(d.divisors[i])}"
        case Piecewise():
            return f"curve[{_curve(d, i)}]({arguments[0]})"
        case QuadraticForm():
            terms = range(d.pairs.starts[i], d.pairs.starts[i + 1])
            pairs = [f"{_number(d.pairs.coefficients[k])} #{d.pairs.first[k]} #{d.pairs.second[k]}" for k in terms]
            return f"quadratic({', '.join(arguments)}) = {' + '.join(pairs)}"
        case PartialExpectation():
            law = msgspec.json.encode(law_file(d.laws[d.which[i]])).decode()
            return f"expected_min({arguments[0]}) with {law}"
    return f"{d.op}({', '.join(arguments)})"


def _curve(d: Piecewise, i: int) -> str:
    """The slope before, the kinks, the slope behind and the error, if there is one."""
    curves, which = d.curves, int(d.which[i])
    assert curves is not None
    part = slice(int(curves.starts[which]), int(curves.starts[which + 1]))
    kinks = [f"{_number(x)}, {_number(y)}" for x, y in zip(curves.x[part], curves.y[part], strict=True)]
    error = float(curves.errors[which])
    ends = _number(curves.slope_before[which]), _number(curves.slope_after[which])
    return " | ".join((ends[0], *kinks, ends[1], *((f"error {_number(error)}",) if error else ())))


def _argument(arguments: Affines, k: int, names: list[str]) -> str:
    return _affine(arguments.matrix, k, float(arguments.constants[k]), names)


def _affine(matrix: Matrix, i: int, constant: float, names: list[str]) -> str:
    part = slice(matrix.starts[i], matrix.starts[i + 1])
    return _sum(matrix.columns[part], matrix.values[part], constant, names)


def _sum(columns: np.ndarray, values: np.ndarray, constant: float, names: list[str]) -> str:
    terms = [(float(v), names[c]) for c, v in sorted(zip(columns.tolist(), values.tolist(), strict=True))]
    if constant or not terms:
        terms.append((constant, ""))
    said = ""
    for value, name in terms:
        size = _number(abs(value))
        amount = size if not name else name if size == "1" else f"{size} {name}"
        sign = "-" if value < 0 else "+"
        said += f" {sign} {amount}" if said else ("-" if value < 0 else "") + amount
    return said


def _number(value: float) -> str:
    return f"{value + 0.0:.12g}"  # no "-0"
