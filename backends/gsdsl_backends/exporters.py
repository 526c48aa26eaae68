"""Formats in which problems are written: LP, MPS, JSON, scripts of Python, and those that other packages add.

A package adds a format by an entry point of the group `gpusched_dsl.exporters`: its name, and an `Exporter`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.entry_points import load_entry_points
from gsdsl_backends.export_names import BUILT_IN, GROUP, MATHEMATICS

SCRIPTS = ("python", "python-scip")


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format of problems: `gsdsl export --to NAME`, `model.export(path, to=NAME)`.

    `write` writes a problem to an unbuffered binary file. If the format is `linear`, it gets a problem with linear rows
    only: other terms are reformulated first, or the export is refused. `objectives` tells whether it keeps several
    objectives; otherwise users are warned.
    """

    name: str
    doc: str
    write: Callable[[Problem, BinaryIO], None]
    linear: bool = True
    objectives: bool = False


def exporter(name: str) -> Exporter | None:
    """Return the format of another package; None for the built-in ones. Raises KeyError for an unknown name."""
    return None if name in BUILT_IN else load_entry_points(GROUP, Exporter, (*BUILT_IN, *MATHEMATICS))[name]


def keeps_objectives(name: str) -> bool:
    """Whether a format keeps several objectives."""
    found = exporter(name)
    return name in ("json", *SCRIPTS) if found is None else found.objectives


def write_problem(problem: Problem, name: str, file: BinaryIO, head: Sequence[str] = ()) -> Problem:
    """Write a problem to an unbuffered file and return what was written: without terms that the format lacks.

    `head` has lines for the head of the file; JSON and formats of other packages have no place for them.
    Raises DiagnosticError if the format is linear and the problem cannot be reformulated, KeyError for an unknown name.
    """
    if name == "json":
        from gpusched_dsl.ir.json.codec import to_json

        text = memoryview(to_json(problem))
        while text:  # one write of an unbuffered file may take less than all
            text = text[file.write(text) :]
        return problem
    from gsdsl_backends.files.linearise import comments, linear

    found = exporter(name)
    if found is not None:
        written = linear(problem, name).problem if found.linear else problem
        found.write(written, file)
        return written
    if name in SCRIPTS:
        from gsdsl_backends.files.python_script.content import write_script

        return write_script(problem, name, file, head)
    from gsdsl_backends.files.lp_mps import write_lp, write_mps
    from gsdsl_backends.files.quadratic_costs import file_content

    content = file_content(problem, name)
    write = write_lp if name == "lp" else write_mps
    write(content.problem, file, comments=(*head, *comments(content.reformulated)), quadratic=content.quadratic)
    return content.problem
