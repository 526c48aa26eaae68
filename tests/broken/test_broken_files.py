"""Every broken file gives exactly the findings that its first lines state, by the command line, as text and as JSON.

The edits that findings propose are made, and mend what they were proposed for.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from corpus import FOLDER, PARTS, Broken, Found, corpus, found, source_lines

from gpusched_dsl.cli import main

BROKEN = list(corpus())
A_FEW = ("1011_missing_semicolon", "1203_job_where", "1304_reciprocal", "2013_ragged", "3001_huge_set", "6006_two")


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are told from the working folder; colours and debugging are off."""
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("GSDSL_DEBUG", raising=False)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: b.name)
def test_findings_as_json(
    broken: Broken, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = main(["--diagnostics", "json", *broken.arguments])
    captured = capsys.readouterr()
    assert code == exit_code(broken)
    document = findings_document(broken, captured.out, captured.err)
    findings = found(document, broken.command)
    compare(broken, findings)
    if any(f.data["edits"] for f in findings):
        edited_files_are_mended(broken, findings, tmp_path, monkeypatch, capsys)


def edited_files_are_mended(
    broken: Broken,
    findings: list[Found],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The edits that findings propose, made in a copy: these findings are gone, and no syntax error is new."""
    own = Path(broken.name).parent
    shutil.copytree(FOLDER / own, folder / own)
    monkeypatch.chdir(folder)
    edits = [edit for f in findings for edit in f.data["edits"]]
    for name in {edit["file"] for edit in edits if not edit["file"].startswith("-")}:
        assert Path(name).is_file(), f"an edit of `{name}`, which is no file of the author"
        make_edits(folder / name, [edit for edit in edits if edit["file"] == name])
    main(["--diagnostics", "json", *broken.arguments])
    captured = capsys.readouterr()
    after = json.loads(findings_document(broken, captured.out, captured.err) or "[]")
    left = {(f["code"], f["message"]) for f in after}
    for finding in findings:
        if any(not edit["file"].startswith("-") for edit in finding.data["edits"]):
            assert (finding.code, finding.data["message"]) not in left
    syntax = {f["code"] for f in after if f["code"] < "GSM1100"}
    assert syntax <= {f.code for f in findings}


def make_edits(path: Path, edits: list[dict[str, Any]]) -> None:
    """Replace from the last place to the first one; an edit inside another one is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text = "\n".join(lines)
    spans = sorted(
        {
            (starts[e["line"] - 1] + e["column"] - 1, starts[e["end_line"] - 1] + e["end_column"] - 1, e["text"])
            for e in edits
        },
        reverse=True,
    )
    for start, end, put in spans:
        text = text[:start] + put + text[end:]
    path.write_text(text, encoding="utf-8")


def exit_code(broken: Broken) -> int:
    for code, exit_code in (("GSM3301", 3), ("GSM3302", 4)):  # a problem without a solution or an end is no bad input
        if code in broken.codes:
            return exit_code
    return 1 if any(e.severity == "error" for e in broken.expected) else 0


def findings_document(broken: Broken, out: str, err: str) -> str:
    """`check` has no other output than its findings; the others tell theirs on standard error."""
    return out if broken.command[0] == "check" else err


def compare(broken: Broken, findings: list[Found]) -> None:
    told = [f"{f.severity} {f.code} {f.place}" for f in findings]
    assert [(f.severity, f.code) for f in findings] == [(e.severity, e.code) for e in broken.expected], told
    for expected, finding in zip(broken.expected, findings, strict=True):
        assert finding.is_at(expected.place, broken.name), f"{expected.place} expected, {finding.place} found"
        if expected.help is not None:
            assert finding.help is not None
            assert expected.help in finding.help


@pytest.mark.quick(120)
@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: b.name)
def test_findings_as_text(broken: Broken, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(broken.arguments) == exit_code(broken)
    captured = capsys.readouterr()
    text = captured.out + captured.err
    check_words(text)
    for expected in broken.expected:
        assert f"{expected.severity}[{expected.code}]: " in text
        place = expected.place
        name = place.file or broken.name
        if place.line is not None:
            assert re.search(rf"--> {re.escape(name)}:{place.line}(:\d+|, column |$)", text, re.MULTILINE), text
        if place.text is not None and not name.startswith("-"):
            assert_underlined(text, name, place.line or 0)


def check_words(text: str) -> None:
    """Nothing of Python's, and nothing of gsdsl's own making."""
    for word in ("Traceback", "GSM9999", 'File "', "Error:", "Warning:", "object at 0x", "None"):
        assert word not in text


def assert_underlined(text: str, name: str, line: int) -> None:
    """The source line is shown under its number, and marks stand below it."""
    lines = text.splitlines()
    source = source_lines(name)[line - 1].rstrip()
    shown = [i for i, each in enumerate(lines) if re.match(rf"\s*{line} \| ", each + " ")]
    assert shown, f"line {line} is not shown"
    short = len(source) <= 100
    assert not short or any(lines[i].split(" | ", 1)[-1].rstrip() == source for i in shown)
    assert any("^" in each for i in shown for each in lines[i + 1 : i + 4])


# --- what holds for all of them ---------------------------------------------------------------------------------------


def test_there_are_enough() -> None:
    assert len(BROKEN) >= 200


def test_names_tell_the_code() -> None:
    for broken in BROKEN:
        folder, name = broken.name.split("/")
        assert f"GSM{name[:4]}" in broken.codes, broken.name
        assert re.fullmatch(r"\d{4}_[a-z0-9_]+\.gsm", name), broken.name
        assert re.fullmatch(r"\d\dxx", folder), broken.name


def test_parts_are_used() -> None:
    """Every text or data file that is no broken file itself is read by one."""
    texts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.gsm"))
    parts = [p for p in FOLDER.rglob("*") if p.is_file() and set(p.relative_to(FOLDER).parts) & set(PARTS)]
    assert parts
    for part in parts:
        assert f"{part.parent.name}/{part.name}" in texts, part


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", A_FEW)
def test_in_a_process_of_its_own(name: str) -> None:
    """The same from outside: exit code, output and error stream of the installed command."""
    broken = next(b for b in BROKEN if name in b.name)
    command = [sys.executable, "-m", "gpusched_dsl", "--diagnostics", "json", *broken.arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=FOLDER)
    assert done.returncode == exit_code(broken)
    compare(broken, found(findings_document(broken, done.stdout, done.stderr), broken.command))
    check_words(done.stdout + done.stderr)
