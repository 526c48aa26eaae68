"""What a script states: the problem as far as the package of its solver has words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, Final

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Target
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.files.linearise import comments
from gsdsl_backends.files.python_script.write import write_python
from gsdsl_backends.files.quadratic_costs import file_content

SCIP_TERMS: Final = frozenset({INTEGERS, INDICATOR, "product", "power", "exp", "log", "abs"})


def write_script(problem: Problem, form: str, file: BinaryIO, head: Sequence[str] = ()) -> Problem:
    """Write a script for HiGHS (`python`) or SCIP (`python-scip`), and return what was written.

    `head` has lines for the head of the file. HiGHS gets linear rows, and a convex quadratic objective if there are no
    integers; SCIP also nonlinear terms and rows under a condition. Raises DiagnosticError (GSM32..) for terms that
    cannot be reformulated.
    """
    if form == "python-scip":
        reformulated = reformulate(problem, Target(form, SCIP_TERMS))
        write_python(reformulated.problem, form, file, (*head, *comments(reformulated)))
        return reformulated.problem
    content = file_content(problem, form)
    write_python(content.problem, form, file, (*head, *comments(content.reformulated)), content.quadratic)
    return content.problem
