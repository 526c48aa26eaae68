"""docs/reference/fidelity.md names every policy of the families that follow papers, and its links and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "fidelity.md").read_text(encoding="utf-8")
SECTIONS = {"capacity_planning": "Capacity planning", "gpu_sharing": "GPU sharing", "allocation": "Queues of GPUs"}


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


@pytest.mark.parametrize("family", SECTIONS)
def test_every_policy_has_its_place(family: str) -> None:
    text = (ROOT / "models" / family / "policies.gsm").read_text(encoding="utf-8")
    names = re.findall(r"^policy (\w+)", text, re.MULTILINE)
    assert len(names) >= 10
    shown = set(re.findall(r"`(\w+)`", section(SECTIONS[family])))
    assert [name for name in names if name not in shown] == []


def test_files_and_links_exist() -> None:
    for path in re.findall(r"`((?:models|tests)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    for page, place in re.findall(r"\]\(([\w./]+\.md)(?:#([\w-]+))?\)", PAGE):
        text = (ROOT / "docs" / "reference" / page).resolve().read_text(encoding="utf-8")
        places = {
            re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)
        }
        assert not place or place in places, place
