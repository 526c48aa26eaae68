"""Every guarantee of online_in_detail.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TEXT = (TESTS.parent / "docs" / "reference" / "online_in_detail.md").read_text(encoding="utf-8")
TABLE = [line for line in TEXT[TEXT.index("## What is guaranteed") :].split("\n## ")[0].splitlines() if "| `" in line]
NAMED = sorted({name for line in TABLE for name in re.findall(r"`([\w/]+\.py|\w+/\w+/|test_\w+)`", line)})


def test_the_table_is_there() -> None:
    assert len(TABLE) > 10
    assert all(re.search(r"`(test_\w+|[\w/]+\.py|\w+/\w+/)`", line) for line in TABLE)


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_exists(name: str) -> None:
    if name.startswith("test_") and not name.endswith(".py"):
        sources = (path.read_text(encoding="utf-8") for path in (TESTS / "online").rglob("test_*.py"))
        assert any(f"def {name}(" in source for source in sources)
    else:
        assert (TESTS / name).exists()
