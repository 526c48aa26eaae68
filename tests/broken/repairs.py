"""Measures how many broken files and statements the fixes of their diagnostics mend, without anything else.

`python tests/broken/repairs.py` checks each file of the corpus and each statement of `test_fixes.py`, makes all
proposed edits, checks again, and so on until no edit is left. It writes `repairs.csv` and the tables of
docs/reference/assistants.md.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from corpus import FOLDER, Broken, corpus

from gpusched_dsl.language.pages import read_page
from gsdsl_assistants.repair import repair

ROOT = FOLDER.parents[1]
TABLE = FOLDER / "repairs.csv"
PAGE = ROOT / "docs" / "reference" / "assistants.md"
BEGIN, END = "<!-- repairs: begin -->\n", "<!-- repairs: end -->\n"
STATEMENTS = "statements: "


@dataclass(frozen=True)
class Outcome:
    """`name` is a file or a statement of `group`; `proposed`: it got an edit; `mended`: no error is left after edits.

    A statement is mended if it also has the stated meaning.
    """

    group: str
    name: str
    proposed: bool
    mended: bool


def outcome_of(broken: Broken) -> Outcome | None:
    """The outcome for a file in a copy of its folder; None for one without errors."""
    own = Path(broken.name).parent
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        shutil.copytree(FOLDER / own, own)
        before = find(broken)
        if not any(f["severity"] == "error" for f in before):
            return None
        done = repair(Path(), lambda: find(broken))
        return Outcome(own.name, broken.name, any(f["edits"] for f in before), done.is_mended)


def find(broken: Broken) -> list[dict[str, Any]]:
    """The diagnostics of the command line in the working folder."""
    from gpusched_dsl.cli import main as gsdsl

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        gsdsl(["--diagnostics", "json", *broken.arguments])
    found: list[dict[str, Any]] = json.loads((out if broken.command[0] == "check" else err).getvalue() or "[]")
    return found


def outcomes_of_statements() -> Iterator[Outcome]:
    """The outcomes for the statements of other languages whose meaning is stated, and for those with advice only."""
    from test_fixes import ADVICE, MEANT, MODEL, findings, mended

    from gpusched_dsl.language.formatting.formatter import format_text

    for language, cases in MEANT.items():
        for written, meant in cases.items():
            _, before = findings(written)
            text, left = mended(written)
            same = not any(d.severity == "error" for d in left)
            same = same and format_text(text) == format_text(MODEL.format(statement=meant))
            yield Outcome(STATEMENTS + language, written, any(d.edits for d in before), same)
    for written in ADVICE:
        _, before = findings(written)
        yield Outcome(STATEMENTS + "meaning not certain", written, any(d.edits for d in before), False)


def measure() -> list[Outcome]:
    """The outcomes for all files and statements."""
    of_files = [outcome for broken in corpus() if (outcome := outcome_of(broken)) is not None]
    return [*of_files, *outcomes_of_statements()]


def read() -> list[Outcome]:
    """The outcomes of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Outcome(r["group"], r["name"], r["proposed"] == "1", r["mended"] == "1") for r in csv.DictReader(file)]


def write(outcomes: Iterable[Outcome]) -> None:
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(f.name for f in fields(Outcome))
        writer.writerows((*astuple(o)[:2], int(o.proposed), int(o.mended)) for o in outcomes)


def render(outcomes: list[Outcome]) -> str:
    """The tables of the page."""
    files = [o for o in outcomes if not o.group.startswith(STATEMENTS)]
    statements = [o for o in outcomes if o.group.startswith(STATEMENTS)]
    titles = dict(re.findall(r"^# (\d\dxx) (.+)$", read_page("errors"), re.MULTILINE))
    groups = {key: f"{key} {titles[key]}" for key in dict.fromkeys(o.group for o in files)}
    languages = {key: key.removeprefix(STATEMENTS) for key in dict.fromkeys(o.group for o in statements)}
    return "\n".join([
        f"Of {len(files)} broken files, {count(files, 'proposed')} get an edit, and the edits alone mend "
        f"{count(files, 'mended')}, which is {share(files)} of those with an edit.",
        "",
        *table("files by code", files, groups),
        "",
        f"Of {len(statements)} statements of other languages and typical slips, {count(statements, 'proposed')} get "
        f"an edit, and {count(statements, 'mended')} of these then have the intended meaning ({share(statements)}).",
        "",
        *table("statements by language", statements, languages),
        "",
    ])  # fmt: skip


def table(title: str, outcomes: list[Outcome], groups: dict[str, str]) -> Iterator[str]:
    yield f"| {title} | number | with an edit | mended |"
    yield "| --- | --- | --- | --- |"
    for key, name in groups.items():
        own = [o for o in outcomes if o.group == key]
        yield f"| {name} | {len(own)} | {count(own, 'proposed')} | {count(own, 'mended')} |"
    yield f"| all | {len(outcomes)} | {count(outcomes, 'proposed')} | {count(outcomes, 'mended')} |"


def count(outcomes: list[Outcome], what: str) -> int:
    return sum(getattr(o, what) for o in outcomes)


def share(outcomes: list[Outcome]) -> str:
    return f"{count(outcomes, 'mended') / max(1, count(outcomes, 'proposed')):.0%}".replace("%", " %")


def page_with(text: str, tables: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the tables")
    return before + begin + tables + end + after


def main() -> None:
    os.environ["NO_COLOR"] = "1"
    outcomes = measure()
    write(outcomes)
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), render(outcomes)), encoding="utf-8")
    print(f"wrote {TABLE.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
