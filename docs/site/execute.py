"""Execute the blocks of a page in an empty folder, and compare or write what it shows.

    python docs/site/execute.py PAGE [--write]

- A block after a line that ends in a path as code and a colon, such as "`jobs.csv`:", is the content of this file.
- A block `console` has commands after `$ `, each followed by what it prints. A line `...` stands for any lines.
- A block `python` is executed in the folder; all such blocks of a page share their names.

With `--write` the printed lines are replaced by those of this version, except after a command with a line `...`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpusched_dsl.cli import main

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+)`[^`\n]*:\n\n\Z")
# Times of the machine, which no two executions have in common.
_TIMED = re.compile(r"^(build|solve|plans|time) |^  (PASS|FAIL) |(passed|failed) in [0-9.]+ s$|proved in [0-9.]+ s")
_TIME = re.compile(r"\b[0-9.]+ s\b")
_LAST_NUMBER = re.compile(r" +[0-9.]+$")


@dataclass(frozen=True)
class Printed:
    """A command of a page: where what it prints stands in the text, what stands there, and what it printed."""

    command: str
    start: int
    end: int
    shown: str
    printed: str

    @property
    def agrees(self) -> bool:
        """Whether the page shows what was printed, apart from times and left out lines."""
        parts = re.split(r"^\.\.\.$", masked(self.shown), flags=re.MULTILINE)
        pattern = "(?s:.*)".join(re.escape(part.strip("\n")) for part in parts)
        return re.fullmatch(r"\n*" + pattern + r"\n*", masked(self.printed)) is not None


def masked(text: str) -> str:
    """Text without times and trailing spaces; a last column in seconds is a time."""
    lines, timed = [], False
    for line in text.strip("\n").splitlines():
        timed = line.endswith("[s]") or (timed and bool(line.strip()))
        shown = _TIME.sub("s", line.rstrip()) if _TIMED.search(line) else line.rstrip()
        lines.append(_LAST_NUMBER.sub("", shown) if timed else shown)
    return "\n".join(lines)


def execute(text: str, folder: Path, without: str = "") -> Iterator[Printed]:
    """Execute the blocks of a page in order, in an existing folder; without those in Python that import a package."""
    names: dict[str, object] = {"__name__": "page"}
    with contextlib.chdir(folder):
        for block in _BLOCK.finditer(text):
            language, body = block[1], block[2]
            file = _FILE.search(text[: block.start()])
            if file and language not in ("console", ""):
                Path(file[1]).parent.mkdir(parents=True, exist_ok=True)
                Path(file[1]).write_text(body, encoding="utf-8")
            elif language == "python" and not (without and f"import {without}" in body):
                exec(compile(body, "page", "exec"), names)
            elif language == "console":
                yield from _commands(body, block.start(2))


def _commands(body: str, offset: int) -> Iterator[Printed]:
    """Run the commands of a block; a command may continue after a backslash at the end of a line."""
    pattern = r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ ).*\n)*)"
    for found in re.finditer(pattern, body, re.MULTILINE):
        start, end = (offset + place for place in found.span(2))
        yield Printed(found[1], start, end, found[2], _run(found[1].replace("\\\n", " ")))


def _run(command: str) -> str:
    """What a command prints: standard output, then standard error. Those of other programs are run by a shell."""
    if not command.startswith("gsdsl "):
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main(shlex.split(command)[1:])
    return out.getvalue() + err.getvalue()


def written(text: str, results: list[Printed]) -> str:
    """The page with what was printed."""
    for result in reversed(results):
        if "\n...\n" not in "\n" + result.shown:
            lines = "".join(line.rstrip() + "\n" for line in result.printed.strip("\n").splitlines())
            text = text[: result.start] + lines + text[result.end :]
    return text


if __name__ == "__main__":
    page = Path(sys.argv[1])
    os.environ["COLUMNS"] = "120"
    content = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        done = list(execute(content, Path(temporary)))
    if "--write" in sys.argv:
        page.write_text(written(content, done), encoding="utf-8")
    else:
        wrong = [result for result in done if not result.agrees]
        for result in wrong:
            print(f"$ {result.command}\n{result.printed}")
        sys.exit(bool(wrong))
