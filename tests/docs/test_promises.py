"""The tests that docs/reference/promises.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (.*) \| ([^|]*) \|$", (ROOT / "docs/reference/promises.md").read_text("utf-8"), re.MULTILINE)


def test_every_promise_names_tests_that_exist() -> None:
    """A name stands for a file, in any folder, for a function, or for the first words of several."""
    folders = (ROOT / "tests", *(ROOT / "edges").glob("*/tests"))
    found = (path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts)
    files = [str(path.relative_to(ROOT)) for path in found]
    sources = [(ROOT / name).read_text(encoding="utf-8") for name in files if name.endswith(".py")]
    functions = {
        name for text in sources for name in re.findall(r"^ *(?:async )?def (test_\w+)|^(test_\w+) =", text, re.M)
    }
    names = {part for pair in functions for part in pair if part} | {Path(name).stem for name in files}
    wrong = []
    for promise, tests in ROWS:
        paths = [path for path in re.findall(r"[\w/]+\.py", tests) if not path.startswith("benchmarks")]
        wrong += [(promise, path) for path in paths if Path(path).stem not in names]
        called = re.findall(r"\btest_\w+(?!\w|\.py)", tests)
        wrong += [(promise, word) for word in called if not any(name.startswith(word) for name in names)]
    assert wrong == []
    assert len(ROWS) > 450
