"""A problem as a script of Python on the solver's own package, which runs without gsdsl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from gpusched_dsl.backends.files.python_script.arrays import FAMILIES, ArrayScript
from gpusched_dsl.backends.files.python_script.dialects import DIALECTS, HIGHS, Dialect
from gpusched_dsl.backends.files.python_script.listed import ListedScript
from gpusched_dsl.backends.files.python_script.names import comment
from gpusched_dsl.backends.files.quadratic_costs import QuadraticCosts
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.version import __version__

LISTED: Final = 4000  # columns, rows, entries and arguments of terms; larger problems are written as arrays
REPORT: Final = """
print("status", status)
if has_solution:
    print("objective", objective)
    for name, variables in families.items():
        for key, variable in variables.items():
            value = {value}
            if abs(value) > 1e-9:
                print(name, *(key if isinstance(key, tuple) else (key,)), "=", value)
"""


def write_python(
    problem: Problem, form: str, file: BinaryIO, comments: Sequence[str] = (), quadratic: QuadraticCosts | None = None
) -> None:
    """Write a script for HiGHS (`form` is `python`) or SCIP (`python-scip`), in UTF-8.

    It has a line for each row of a small problem, and compressed arrays of a large one. Of several objectives it solves
    the first.
    """
    text = memoryview("".join(f"{line}\n" for line in _lines(problem, DIALECTS[form], comments, quadratic)).encode())
    while text:  # one write of an unbuffered file may take less than all
        text = text[file.write(text) :]


def _lines(
    problem: Problem, dialect: Dialect, comments: Sequence[str], quadratic: QuadraticCosts | None
) -> Iterator[str]:
    size = problem.size
    yield comment(f"{problem.name}: a problem for {dialect.solver}, written by gsdsl {__version__}")
    rows = count_text(size.rows, "row")
    yield comment(f"{size.columns} columns ({size.integer} integer), {rows}, {size.nonzeros} entries")
    for objective in problem.objectives[:1]:
        unit = f" [{objective.unit}]" if objective.unit and objective.unit != "1" else ""
        yield comment(f"{objective.sense} {objective.name or 'the objective'}{unit}")
    others = [objective.name or f"objective {n}" for n, objective in enumerate(problem.objectives[1:], start=2)]
    if others:
        yield comment(f"left out: {', '.join(others)}, of lower priority")
    for text in comments:
        yield comment(text)
    yield comment(f"To run it: pip install {dialect.packages} numpy")
    yield ""
    is_small = _entries(problem) <= LISTED
    if not is_small:
        yield "import base64\nimport json\nimport zlib\n"
    yield dialect.start
    if is_small:
        yield from ListedScript(problem, dialect, quadratic).lines()
    else:
        yield from ArrayScript(problem, dialect, quadratic).lines()
    yield "\n# --- result"
    yield dialect.report.rstrip()
    if not is_small:
        yield FAMILIES
    yield REPORT.format(value=_value(dialect, is_small)).rstrip()


def _value(dialect: Dialect, is_small: bool) -> str:
    if dialect is HIGHS and not is_small:
        return "variable"  # the arrays have its values
    return dialect.value.format(variable="variable")


def _entries(problem: Problem) -> int:
    terms = sum(definition.arguments.matrix.nonzeros for definition in problem.definitions)
    return problem.columns + problem.rows + problem.matrix.nonzeros + terms
