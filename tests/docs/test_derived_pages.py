"""The pages that are made from the grammar and the code are in step with both; every page is in the navigation."""

from __future__ import annotations

import re
from pathlib import Path

import gallery
import grammar_facts
import navigation
import pytest
from derive import PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_made_pages_are_up_to_date(name: str) -> None:
    """After a failure: `make docs`."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


def test_words_have_their_places() -> None:
    places = grammar_facts.places_of_words()
    assert places["lookahead"] == ("policy", "online")
    assert places["minimize"] == ("model",)
    assert places["sum"] == ("expressions",)
    assert all(places.values())


def test_operators_follow_the_binding_of_expressions() -> None:
    levels = list(grammar_facts.operator_levels().values())
    strength = {word: level for level, words in enumerate(levels) for word in words}
    assert strength["=>"] < strength["or"] < strength["and"] < strength["<="] < strength["*"] < strength["^"]
    assert levels[-2:] == [("+", "-"), ("^",)]


def test_every_page_is_in_the_navigation() -> None:
    shown = [page for pages in navigation.sections().values() for page in pages]
    assert len(shown) == len(set(shown))
    assert {Path(page).name for page in shown if page.startswith("docs/") and page.count("/") == 1} == {
        page.stem for page in DOCS.glob("*.md")
    }


def test_every_exhibit_has_its_picture_and_formulas() -> None:
    names = {item.name for item in gallery.EXHIBITS}
    assert {picture.stem for picture in gallery.PICTURES.iterdir()} == names
    assert sum(picture.stat().st_size for picture in gallery.PICTURES.iterdir()) < 700_000
    with pytest.raises(LookupError):
        gallery.formula("**other**\n\n```math\nx\n```\n", "total")


def test_links_to_files_are_right() -> None:
    """On the pages that the site has in addition to those of other tests."""
    for page in (*(DOCS / name for name in ("tutorial.md", "coming_from.md", *PAGES)), DOCS / "site" / "index.md"):
        folder = ROOT if page.name == "index.md" else DOCS
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (folder / link).exists(), f"{page.name}: {link}"
