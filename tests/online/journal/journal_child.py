"""A run in a separate process that appends steps until it is killed, and reports each once it is durable.

    journal_child.py PATH STEPS

Prints the number of each step; with STEPS = 0 it goes on until it is killed.
"""

from __future__ import annotations

import os
import random
import sys

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.records import External, JournalStep

HEADER = {"inputs_sha256": {"model.gsm": "ab" * 32}, "options": {"gap": 0.01}, "seed": 7, "method": "highs"}


def step_number(seq: int) -> JournalStep:
    """A step that is told by its number alone: small ones stored plain, large ones compressed."""
    draw = random.Random(seq)
    entries = [{"index": [f"job{draw.randrange(999)}", "V100"], "value": draw.random()} for _ in range(seq % 4 * 20)]
    decision = {"entries": {"run": entries}, "method": "highs", "seconds": draw.random()}
    return JournalStep(seq, seq / 3, [{"kind": "arrival", "job": f"jäö{seq}"}], decision)


def event_number(seq: int) -> External:
    return External(f"e{seq}", seq / 3, {"kind": "arrival", "job": f"j{seq}"}, seq)


def record(journal: Journal, seq: int) -> None:
    """An event before every third step, then the step."""
    if seq % 3 == 0 and journal.find_external(f"e{seq}") is None:
        journal.accept([event_number(seq)])
    journal.append(step_number(seq))


def child(path: str, steps: int) -> None:
    with Journal.open(path, HEADER) as journal:
        os.write(1, f"open {len(journal)}\n".encode())
        while not steps or len(journal) < steps:
            record(journal, len(journal) + 1)
            os.write(1, f"{len(journal)}\n".encode())


if __name__ == "__main__":
    try:
        child(sys.argv[1], int(sys.argv[2]))
    except DiagnosticError as refused:
        print(refused.diagnostics[0].code, *refused.diagnostics[0].notes, sep="\n", flush=True)
        sys.exit(1)
