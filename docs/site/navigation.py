"""The navigation of the site: its sections, their pages in order, and the titles shown beside the pages."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Sections of the start page; other pages of docs/ follow the guides.
GUIDES = "How-to guides"
SECTIONS: dict[str, list[str]] = {
    "Learn": [
        "docs/installing",
        "docs/tutorial",
        "docs/playground",
        "docs/coming_from",
        "docs/paper_words",
        "docs/recipes",
        "docs/gallery",
        "docs/glossary",
    ],
    GUIDES: [
        "docs/data_formats",
        "docs/policies",
        "docs/online",
        "docs/state",
        "docs/dates",
        "docs/lookahead",
        "docs/running",
        "docs/reports",
        "docs/explaining",
        "docs/campaigns",
        "docs/statistics",
        "docs/profiles",
        "docs/generators",
        "docs/price_data",
        "docs/live",
        "docs/inspect",
        "docs/estimates",
        "docs/slurm",
        "docs/slurm_prices",
        "docs/kubernetes",
        "docs/serve",
        "docs/editors",
        "docs/notebook",
        "docs/flexibility",
        "docs/assistants",
    ],
    "Reference": [
        "docs/language",
        "docs/reference",
        "docs/options",
        "docs/cli",
        "docs/slurm_reference",
        "docs/python",
        "docs/solving",
        "docs/backends",
        "docs/result",
        "docs/errors",
        "docs/stability",
    ],
    "Models": ["models/README", "docs/models/README"],
    "Results": ["docs/performance", "docs/leaderboard", "docs/reproduction", "docs/fidelity"],
    "Internals": [
        "docs/design",
        "docs/decisions",
        "docs/testing",
        "docs/limits",
        "CONTRIBUTING",
        "SECURITY",
        "docs/releasing",
        "CHANGELOG",
    ],
}
# Titles shown beside the pages, if not their own.
TITLES = {
    "docs/tutorial": "Tutorial",
    "docs/coming_from": "Coming from AMPL, Pyomo, ...",
    "docs/solving": "Solving",
    "docs/design": "Design",
    "docs/testing": "Tests",
    "models/README": "The library",
    "docs/models/README": "As mathematics",
}
# Pages below other pages, by the folder that they come from.
FOLDERS = {"docs/models/README": "docs/models/*/*", "models/README": "models/*/**"}


def sections() -> dict[str, list[str]]:
    """All sections with their pages; pages of docs/ in no section are guides. docs/index.md is the start page."""
    named = {"docs/index", *(page for pages in SECTIONS.values() for page in pages)}
    others = sorted(f"docs/{path.stem}" for path in ROOT.glob("docs/*.md") if f"docs/{path.stem}" not in named)
    return {caption: [*pages, *(others if caption == GUIDES else ())] for caption, pages in SECTIONS.items()}


def toctrees(page: str) -> str:
    """The lists of pages below a page, as Markdown to append to it."""
    if page == "index":
        return "".join(_toctree(caption, pages) for caption, pages in sections().items())
    return _toctree("", [FOLDERS[page]], glob=True) if page in FOLDERS else ""


def _toctree(caption: str, pages: list[str], glob: bool = False) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else []), *([":glob:"] if glob else [])]
    names = (f"{TITLES[page]} </{page}>" if page in TITLES else f"/{page}" for page in pages)
    return "\n\n```{toctree}\n" + "\n".join(options) + "\n\n" + "\n".join(names) + "\n```\n"
