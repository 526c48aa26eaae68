"""Assertions of these tests that could not fail: texts that nothing writes asserted absent, arguments never read."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.packages import package_folders

ROOT = Path(__file__).resolve().parents[1]
# What others write when something is wrong, and results that a wrong calculation would give.
FOREIGN = {"Exception ignored", "-1000000"}


@cache
def trees() -> dict[Path, ast.Module]:
    files = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path != Path(__file__)]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}


def sources() -> str:
    """All texts of the product, with literals over several lines as one."""
    kinds = {".py", ".gsm", ".md", ".html", ".js", ".css"}
    folders = (*package_folders().values(), ROOT / "models")
    files = [path for folder in folders for path in folder.rglob("*")]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files if path.suffix in kinds)
    return "\n".join(re.sub(r'"\s*\n\s*f?"', "", text) for text in texts)


def absences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of each `"..." not in ...`."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Constant(value=str(text)), ops=[ast.NotIn()]):
                yield node.lineno, text


def test_what_is_asserted_absent_is_written_somewhere() -> None:
    """A misspelled text is absent from everything; one that was reworded in the product is absent for ever."""
    found = {(path, line): text for path, tree in trees().items() for line, text in absences(tree)}
    assert len(found) > 100
    written = Counter(
        node.value
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    written.subtract(found.values())
    elsewhere = sources() + "\n".join(text for text, times in written.items() if times > 0)
    wrong = {place: text for place, text in found.items() if text not in elsewhere and text not in FOREIGN}
    assert wrong == {}


def unread(function: ast.FunctionDef) -> Iterator[str]:
    """The arguments of `parametrize` that a test does not read."""
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[ast.Constant(value=str(names)), *_]):
                yield from (name for name in re.split(r"\s*,\s*", names) if name not in read)
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[ast.Tuple(elts=elements), *_]):
                names = (element.value for element in elements if isinstance(element, ast.Constant))
                yield from (str(name) for name in names if name not in read)


def test_arguments_of_tests_are_read() -> None:
    """An expected text that is given and not compared is an assertion that was forgotten."""
    tests = {
        (path, node.name): list(unread(node))
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert len(tests) > 1000
    assert {place: names for place, names in tests.items() if names} == {}
