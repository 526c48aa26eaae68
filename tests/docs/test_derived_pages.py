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
from gpusched_dsl.language.pages import section

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_made_pages_are_up_to_date(name: str) -> None:
    """After a failure: `make docs`."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


@pytest.mark.parametrize("name", PAGES)
def test_headings_of_made_pages_end_before_the_text(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", PAGES[name](), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in re.findall(r"^#+ .*$", text, re.MULTILINE) if "](" in line or len(line) > 100] == []


def test_options_of_one_action_name_it() -> None:
    """`gsdsl campaign show --all` is refused, so the page says where `--all` belongs."""
    page = section(PAGES["reference/options.md"](), "`gsdsl campaign`")
    meaning = dict(re.findall(r"^\| `(--[\w-]+)`[^|]* \| (\w+:)", page, re.MULTILINE))
    with_run = dict.fromkeys(("--workers", "--engine", "--memory", "--retry", "--dry-run"), "run:")
    shown, exported = (
        dict.fromkeys(("--json", "--html", "--figures"), "show:"),
        {"--out": "export:", "--all": "export:"},
    )
    assert meaning == with_run | shown | exported


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
    shown = [page for pages in navigation.SECTIONS.values() for page in pages]
    assert len(shown) == len(set(shown))
    written = {str(page.relative_to(ROOT).with_suffix("")) for page in navigation.pages()} - {"docs/index"}
    assert {page for page in shown if page.startswith("docs/")} == {*written, "docs/models/README"}


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
    """Of every page, as the site's build checks them too, which needs more packages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")]
    pages += (ROOT / "models").rglob("*.md")
    wrong = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\((?!https?:|mailto:)([^)#:]+)(?:#[^)]*)?\)", without_blocks(page))
        if not (page.parent / link).exists()
    ]
    assert wrong == []
    inside = {path.resolve() for pattern in navigation.WRITTEN for path in ROOT.glob(pattern)}
    for page in (page for page in pages if page.resolve() in inside):
        for link in re.findall(r"\]\((?!https?:)([^)#:]+\.md)", without_blocks(page)):
            if (page.parent / link).resolve() not in inside:
                wrong.append(f"{page.relative_to(ROOT)}: {link} is no page of the site")
    assert wrong == []


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"`|\]\([^)]*\)|\[", "", heading).strip().lower()).replace(" ", "-")


def test_links_to_sections_are_right() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")]
    pages += (ROOT / "models").rglob("*.md")
    wrong = []
    for page in pages:
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#:]*)#([^)]*)\)", without_blocks(page)):
            target = page.parent / name if name else page
            text = target.read_text(encoding="utf-8")
            if anchor not in {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}:
                wrong.append(f"{page.relative_to(ROOT)}: {name}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("person", ["An operator's path", "A researcher's path", "An embedder's path"])
def test_a_path_has_six_pages(person: str) -> None:
    text = section((DOCS / "index.md").read_text(encoding="utf-8"), person)
    assert len(re.findall(r"^\d\. \[", text, re.MULTILINE)) == 6


def test_there_are_14_guides_of_at_most_250_lines() -> None:
    lengths = {name: len((ROOT / f"{name}.md").read_text(encoding="utf-8").splitlines()) for name in navigation.GUIDES}
    assert len(lengths) == 14
    assert {name: length for name, length in lengths.items() if length > 250} == {}


def test_the_index_lists_every_page() -> None:
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert {str(page.relative_to(DOCS)) for page in navigation.pages()} - {"index.md"} <= listed


def test_the_glossary_has_25_words() -> None:
    words = (DOCS / "glossary.md").read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", words, re.MULTILINE)
    assert len(rows) - 2 == 25
    assert len(set(rows)) == len(rows)
