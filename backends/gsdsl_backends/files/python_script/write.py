"""A problem as a script of Python on the solver's own package, which runs without gsdsl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.version import __version__
from gsdsl_backends.files.lp_mps import QuadraticCosts
from gsdsl_backends.files.python_script.arrays import FAMILIES, ArrayScript
from gsdsl_backends.files.python_script.dialects import DIALECTS, HIGHS, Dialect
from gsdsl_backends.files.python_script.listed import ListedScript
from gsdsl_backends.files.python_script.names import comment
from gsdsl_backends.files.python_script.stages import objective_names

LISTED: Final = 4000  # columns, rows, entries and arguments of terms; larger problems are written as arrays
REPORT: Final = """
print("status", status)
if has_solution:
{objective}
    for name, variables in families.items():
        for key, variable in variables.items():
            value = {value}
            if abs(value) > 1e-9:
                print(name, *(key if isinstance(key, tuple) else (key,)), "=", value)
"""
OBJECTIVE: Final = '    print("objective", objective)'
OBJECTIVES: Final = """\
    for name, value in objectives.items():
        print("objective", name, value)"""


def write_python(
    problem: Problem, form: str, file: BinaryIO, comments: Sequence[str] = (), quadratic: QuadraticCosts | None = None
) -> None:
    """Write a script for HiGHS (`form` is `python`) or SCIP (`python-scip`), in UTF-8.

    It has a line for each row of a small problem, and compressed arrays of a large one. Several objectives are solved
    in order of priority.
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
    names = objective_names(problem) if len(problem.objectives) > 1 else ["the objective"]
    for number, (objective, name) in enumerate(zip(problem.objectives, names, strict=False)):
        unit = f" [{objective.unit}]" if objective.unit and objective.unit != "1" else ""
        yield comment(f"{'then ' if number else ''}{objective.sense} {objective.name or name}{unit}")
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
    if len(problem.objectives) < 2:  # else the loop over the objectives has it
        yield dialect.report.rstrip()
    if not is_small:
        yield FAMILIES
    shown = OBJECTIVES if len(problem.objectives) > 1 else OBJECTIVE
    yield REPORT.format(objective=shown, value=_value(dialect, is_small)).rstrip()


def _value(dialect: Dialect, is_small: bool) -> str:
    if dialect is HIGHS and not is_small:
        return "variable"  # the arrays have its values
    return dialect.value.format(variable="variable")


def _entries(problem: Problem) -> int:
    terms = sum(definition.arguments.matrix.nonzeros for definition in problem.definitions)
    return problem.columns + problem.rows + problem.matrix.nonzeros + terms
