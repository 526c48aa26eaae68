"""Cases of passes: a problem as text, and what each pass makes of it.

A file of `cases/` holds the cases of one pass. A case is a difference: lines with ` ` and `-` are the problem before,
lines with ` ` and `+` the problem after. To add a case, write the problem before, and run

    python tests/compiling/passes/pass_cases.py

which writes all that follows from it: lines with `+` and `-`, the notes, the rows that others replace, the refusal, and
the other passes that change the problem (`others`, with `!` those that refuse it).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from as_text import as_text
from from_text import from_text
from pass_laws import EVERY_PASS, Sample, apply_checked, assert_reformulated

from gpusched_dsl.compiling.passes.steps import INTEGERS, Pass, PassResult, Target
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

FOLDER = Path(__file__).parent / "cases"
BY_FILE = {one.name.replace(" ", "_"): one for one in EVERY_PASS}


@dataclass(frozen=True)
class Case:
    """`head` are its lines before the problem, `expected` all lines from there on."""

    file: str
    title: str
    head: tuple[str, ...]
    expected: str

    @property
    def one(self) -> Pass:
        return BY_FILE[self.file]

    @property
    def before(self) -> str:
        lines = self.expected.splitlines()
        return "\n".join(line[2:] for line in lines if line[:2] in ("  ", "- ")) + "\n"

    @property
    def target(self) -> Target:
        """As `accepts: ...` says; `convex` among the operations restricts them."""
        accepted = [w for line in self.head if line.startswith("accepts: ") for w in line[9:].split(", ")] or [INTEGERS]
        return Target("test", frozenset(accepted) - {"convex", ""}, convex="convex" in accepted)

    @property
    def acts(self) -> bool:
        return any(line.startswith(("+ ", "- ")) for line in self.expected.splitlines())


def cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.txt")) for case in _read(path)]


def _read(path: Path) -> Iterator[Case]:
    for block in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, *lines = block.rstrip().splitlines()
        head = [line for line in lines if line.startswith(("# ", "accepts: "))]
        yield Case(path.stem, title, tuple(head), "\n".join(lines[len(head) :]) + "\n")


def actual(case: Case) -> str:
    """The lines from the problem on, with all laws checked for each pass that changes it."""
    sample = Sample(from_text(case.before, case.title))
    before = as_text(sample.problem, ranges=True)
    assert_reformulated(sample, case.target)
    steps = {one.name: _step(one, sample, case.target) for one in EVERY_PASS}
    mine = steps.pop(case.one.name)
    others = [name + "!" * isinstance(step, DiagnosticError) for name, step in steps.items() if step is not None]
    lines = [f"others: {', '.join(others)}"] if others else []
    if isinstance(mine, DiagnosticError):
        lines = [f"refused: {d.code} {d.message}" for d in mine.diagnostics] + lines
    after = before
    if isinstance(mine, PassResult):
        after, lines = as_text(mine.problem, ranges=True), [*_words(sample.problem, mine), *lines]
    difference = [line for line in ndiff(before.splitlines(), after.splitlines()) if not line.startswith("?")]
    return "\n".join([*difference, *lines]) + "\n"


def _step(one: Pass, sample: Sample, target: Target) -> PassResult | DiagnosticError | None:
    try:
        return apply_checked(one, sample, target)
    except DiagnosticError as refusal:
        return refusal


def _words(problem: Problem, step: PassResult) -> Iterator[str]:
    """The notes, and the rows that another row replaces or none."""
    for note in step.notes:
        sizes = "".join(f", {n:+} {what}" for n, what in ((note.rows, "rows"), (note.columns, "columns")) if n)
        big_m = f", big M {note.big_m[0]:g} .. {note.big_m[1]:g}" if note.big_m else ""
        yield f"note: {note.term}: {note.effect} ({note.entries}{sizes}{big_m})"
    if step.rows is None:
        return
    for i, number in enumerate(step.rows.tolist()):
        old = entry_name(problem.row_family(i), i)
        new = "nothing" if number < 0 else entry_name(step.problem.row_family(number), number)
        if old != new:
            yield f"row: {old} -> {new}"


def text_of(found: list[Case], texts: list[str]) -> str:
    """The text of a file."""
    return "\n".join("\n".join((f"=== {c.title}", *c.head, text)) for c, text in zip(found, texts, strict=True))


def main() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        found = list(_read(path))
        path.write_text(text_of(found, [actual(case) for case in found]), encoding="utf-8")


if __name__ == "__main__":
    main()
