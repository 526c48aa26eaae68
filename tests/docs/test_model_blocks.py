"""Every block of `gsm` on every page is correct text: a whole file is checked, statements are read in their block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import navigation
import pytest

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *navigation.pages()]
ERRORS = "errors"  # its blocks are wrong by intention: test_errors_page.py
WRONG = "coming_from 2"  # too
# What stands around the statements of a page in a file.
AROUND = ("model M", "scenario S for M", "policy P for M", "online O for M")


def blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page.stem != ERRORS:
            text = page.read_text(encoding="utf-8")
            for number, found in enumerate(re.finditer(r"^```gsm\n(.*?)^```$", text, re.MULTILINE | re.DOTALL), 1):
                yield f"{page.stem} {number}", found[1]


BLOCKS = dict(blocks())


def read(text: str) -> tuple[Workspace, list[str]]:
    """The text, and its syntax errors; a missing import is none."""
    found = Diagnostics()
    workspace = workspace_from_text(text, "page.gsm", found, base=ROOT)
    return workspace, [d.message for d in found if d.code.startswith("GSM10") and "cannot read" not in d.message]


def is_readable(text: str) -> bool:
    """Whether it is a file, or the statements of a block."""
    return any(read(each)[1] == [] for each in (text, *(f"{head} {{\n{text}\n}}" for head in AROUND)))


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_read(name: str) -> None:
    text = BLOCKS[name].replace(": ...;", ": x;")  # what the page leaves out
    readable = is_readable(text) or all(is_readable(part) for part in text.split("\n\n"))
    assert readable != (name == WRONG)


# Complete only with a package of the page, or with the model that the text before names.
ELSEWHERE = ("policies_in_detail 6", "running 2")
COMPLETE = [
    name
    for name, text in BLOCKS.items()
    if name not in (WRONG, *ELSEWHERE)
    and all(word.startswith("gsdsl:") for word in re.findall(r'^import "(.*?)"', text, re.MULTILINE))
    and re.match(r"(#.*\n)*(model|import)\b", text)
]


@pytest.mark.parametrize("name", COMPLETE)
def test_files_are_sound(name: str) -> None:
    """Names, types and units of models and blocks; the tests of pages run them with their data."""
    workspace, errors = read(BLOCKS[name])
    found = Diagnostics()
    check_workspace(workspace, found)
    check_blocks(workspace, found)
    assert errors + [d.message for d in found] == []


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 40
    assert len(COMPLETE) >= 20
