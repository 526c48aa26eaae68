"""The broken files of this folder: the first lines of each state the expected diagnostics and the command.

    # run: solve --memory-limit 0.01                  the command line; `check` when there is none
    # expect: GSM1203 `n` on line 7                   the code and the underlined text
    # expect: GSM1101 `wieght` on line 5; help: did you mean `weight`?
    # expect: GSM1011 behind `set Jobs` on line 3     nothing is underlined: the place behind a text
    # expect: GSM1012 `when … }` on line 3            only the beginning and the end of the underlined text
    # expect: GSM1032 `Twin` on line 1 of parts/a.gsm
    # expect: GSM2104 in data/times.csv:3, column hours
    # expect: GSM6005 nowhere
    # expect: warning GSM1304 `x` on line 4

Nothing else may be found. Run as a program, this module prints such lines for the files it is given.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PARTS = ("data", "imported")

_HEADER = re.compile(r"# (?P<what>run|expect): (?P<text>.*)")
_EXPECTATION = re.compile(
    r"(?:(?P<severity>warning|note) )?(?P<code>GSM\d{4}) (?:"
    r"(?P<behind>behind )?`(?P<text>.*)` on line (?P<line>\d+)(?: of (?P<file>\S+))?"
    r"|in (?P<data>[^:;\s]+)(?::(?P<row>\d+))?(?:, column (?P<column>[^;]+))?"
    r"|(?P<nowhere>nowhere))"
    r"(?:; help: (?P<help>.*))?"
)


@dataclass(frozen=True)
class Place:
    """Where a finding points: a stretch of a text, a cell of a data file, or nowhere (no `file`)."""

    file: str | None = None  # `--set` for a text from the command line
    line: int | None = None
    text: str | None = None
    behind: bool = False
    column: str | None = None


@dataclass(frozen=True)
class Expected:
    code: str
    severity: str
    place: Place
    help: str | None = None


@dataclass(frozen=True)
class Broken:
    """One broken file; `name` is its path from this folder."""

    name: str
    command: tuple[str, ...]
    expected: tuple[Expected, ...]

    @property
    def codes(self) -> set[str]:
        return {e.code for e in self.expected}

    @property
    def arguments(self) -> list[str]:
        return [self.command[0], self.name, *self.command[1:]]


@dataclass(frozen=True)
class Found:
    """A finding as programs get it, with the text that it underlines."""

    code: str
    severity: str
    place: Place
    help: str | None
    data: dict[str, Any] = field(repr=False)

    def is_at(self, place: Place, name: str) -> bool:
        """Whether it is at the expected place; a file that is not named there is the broken one itself."""
        here = self.place
        if place.file is None and place.line is None:
            return here.file is None
        if here.file != (place.file or name) or here.line != place.line:
            return False
        if place.text is None:
            return here.column == place.column and here.text is None
        return _fits(here.text or "", place.text) if not place.behind else self._behind(place.text)

    def _behind(self, text: str) -> bool:
        line = source_lines(self.data["file"])[self.data["line"] - 1]
        return self.place.text == "" and line[: self.data["column"] - 1].endswith(text)


def _fits(actual: str, expected: str) -> bool:
    begin, ellipsis, end = expected.partition("…")
    if not ellipsis:
        return actual == expected
    return len(actual) >= len(begin) + len(end) and actual.startswith(begin) and actual.endswith(end)


def corpus() -> Iterator[Broken]:
    """Every broken file; the texts and data that some of them use are not themselves broken files."""
    for path in sorted(FOLDER.rglob("*.gsm")):
        if not set(path.relative_to(FOLDER).parts) & set(PARTS):
            yield read(path)


def read(path: Path, *, lines_needed: bool = True) -> Broken:
    """A broken file with what its first lines say; raises ValueError when they say nothing but must."""
    command, expected = ["check"], []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = _HEADER.fullmatch(line)
        if match is None:
            break
        if match["what"] == "run":
            command = match["text"].split()
        else:
            expected.append(_expectation(match["text"], path))
    if not expected and lines_needed:
        raise ValueError(f"{path}: no line `# expect: CODE ...` at its beginning")
    return Broken(path.relative_to(FOLDER).as_posix(), tuple(command), tuple(expected))


def _expectation(text: str, path: Path) -> Expected:
    match = _EXPECTATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{path}: cannot read the expectation: {text}")
    place = Place()
    folder = path.relative_to(FOLDER).parent
    if match["data"] is not None:
        row = int(match["row"]) if match["row"] else None
        place = Place((folder / match["data"]).as_posix(), row, column=match["column"])
    elif match["text"] is not None:
        file = match["file"] and (match["file"] if match["file"][0] == "-" else (folder / match["file"]).as_posix())
        place = Place(file, int(match["line"]), match["text"], match["behind"] is not None)
    return Expected(match["code"], match["severity"] or "error", place, match["help"])


def found(findings: str, arguments: Sequence[str] = (), *, with_text: bool = True) -> list[Found]:
    """The findings in a JSON document of a command with these arguments; paths start in the working folder.

    Without `with_text` the underlined text is left out: there may be none in a file that is no text.
    """
    given = {one: [other] for one, other in pairwise(arguments) if one.startswith("--")}
    return [_found(data, given, with_text) for data in json.loads(findings)]


def _found(data: dict[str, Any], given: dict[str, list[str]], with_text: bool) -> Found:
    place = Place(data["file"], data["line"], column=data["data_column"])
    if data["column"] is not None and with_text:
        place = Place(data["file"], data["line"], _underlined(data, given.get(data["file"])))
    return Found(data["code"], data["severity"], place, data["help"], data)


def source_lines(name: str) -> list[str]:
    return Path(name).read_text(encoding="utf-8").split("\n")


def _underlined(data: dict[str, Any], lines: list[str] | None) -> str:
    lines = (lines or source_lines(data["file"]))[data["line"] - 1 : data["end_line"]]
    lines[-1] = lines[-1][: data["end_column"] - 1]
    lines[0] = lines[0][data["column"] - 1 :]
    return "\n".join(lines)


# --- as a program ----------------------------------------------------------------------------------------------------


def header(broken: Broken, findings: list[Found]) -> str:
    """The first lines that would expect these findings."""
    lines = [] if broken.command == ("check",) else [f"# run: {' '.join(broken.command)}"]
    for each in findings:
        severity = "" if each.severity == "error" else f"{each.severity} "
        helped = f"; help: {each.help}" if each.help and each.help.startswith("did you mean") else ""
        lines.append(f"# expect: {severity}{each.code} {_words(each, broken, len(findings))}{helped}")
    return "\n".join(lines)


def _words(each: Found, broken: Broken, count: int) -> str:
    place = each.place
    if place.file is None:
        return "nowhere"
    own = place.file == broken.name
    folder = Path(broken.name).parent
    inside = not own and not place.file.startswith("-")
    name = Path(place.file).relative_to(folder).as_posix() if inside else place.file
    if place.text is None:
        row = "" if place.line is None else f":{place.line}"
        return f"in {name}{row}" + ("" if place.column is None else f", column {place.column}")
    assert place.line is not None
    # The header moves the text down by its own lines.
    body = [line for line in source_lines(broken.name) if not _HEADER.fullmatch(line)]
    shift = count + (broken.command != ("check",)) - (len(source_lines(broken.name)) - len(body)) if own else 0
    at = f"on line {place.line + shift}" + ("" if own else f" of {name}")
    if place.text == "":
        line = source_lines(place.file)[place.line - 1][: each.data["column"] - 1]
        return f"behind `{line.strip()[-20:]}` {at}"
    first, *more = place.text.split("\n")
    shown = place.text if not more and len(first) <= 60 else f"{first[:20]}…{place.text[-1:]}"
    return f"`{shown}` {at}"


def main() -> None:
    """Print the first lines for each file named on the command line."""
    for name in sys.argv[1:]:
        broken = read(FOLDER / name, lines_needed=False)
        print(name, header(broken, findings_of(broken)), sep="\n")


def findings_of(broken: Broken) -> list[Found]:
    """What the command line finds; the working folder must be this one."""
    import contextlib
    import io

    from gpusched_dsl.cli import main as gsdsl

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        gsdsl(["--diagnostics", "json", *broken.arguments])
    return found(out.getvalue() if broken.command[0] == "check" else err.getvalue(), broken.command)


if __name__ == "__main__":
    import os

    os.chdir(FOLDER)
    main()
