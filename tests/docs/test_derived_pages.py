"""The pages that are made from the grammar and the code are in step with both; every page is in the navigation."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import gallery
import grammar_facts
import navigation
import polars as pl
import pytest
from derive import PAGES

from gpusched_dsl.cli import main

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


def test_the_exhibit_of_a_cluster_shows_its_rules(tmp_path: Path) -> None:
    (item,) = (item for item in gallery.EXHIBITS if item.name == "cluster")
    assert main([*shlex.split(item.command)[1:], "--csv", str(tmp_path), "-q"]) == 0
    rows = pl.read_csv(tmp_path / "schedule.csv")
    (alone,), (gang,) = (rows.filter(pl.col("job") == name)["start"].unique() for name in ("resnet", "gpt_large"))
    assert alone == rows.filter(pl.col("job") == "gpt_large")["end"].max() == gang + 6
    maintained = rows.filter(pl.col("node").is_in(["a4", "b4"]))
    assert maintained["node"].n_unique() == 2
    assert not ((maintained["start"] < 6) & (maintained["end"] > 4)).any()  # from 12:00 to 14:00
    assert (rows.group_by("job").agg(pl.col("node").n_unique())["node"] == 2).sum() == 5


def test_links_to_files_are_right() -> None:
    """On the pages that the site has in addition to those of other tests."""
    for page in (*(DOCS / name for name in ("tutorial.md", "coming_from.md", *PAGES)), DOCS / "site" / "index.md"):
        folder = ROOT if page.name == "index.md" else DOCS
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (folder / link).exists(), f"{page.name}: {link}"
