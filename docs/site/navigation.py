"""The navigation of the site: its sections, their pages in order, and the titles shown beside the pages."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Sections of the start page. A guide has at most 250 lines; what is longer, or made, is looked up in docs/reference.
GUIDES = [
    "docs/installing",
    "docs/tutorial",
    "docs/coming_from",
    "docs/recipes",
    "docs/policies",
    "docs/online",
    "docs/campaigns",
    "docs/explaining",
    "docs/inspect",
    "docs/slurm",
    "docs/kubernetes",
    "docs/live",
    "docs/serve",
    "docs/python",
]
SECTIONS: dict[str, list[str]] = {
    "Guides": GUIDES,
    "Words": ["docs/glossary", "docs/reference/paper_words"],
    "Language and commands": [
        "docs/reference/language",
        "docs/reference/declarations",
        "docs/reference/options",
        "docs/reference/cli",
        "docs/reference/errors",
    ],
    "Data": [
        "docs/reference/data_formats",
        "docs/reference/profiles",
        "docs/reference/generators",
        "docs/reference/price_data",
    ],
    "Policies": ["docs/reference/policies_in_detail"],
    "Solving and results": [
        "docs/reference/solving",
        "docs/reference/backends",
        "docs/reference/result",
        "docs/reference/reports",
        "docs/reference/statistics",
    ],
    "Over time": [
        "docs/reference/online_in_detail",
        "docs/reference/running",
        "docs/reference/state",
        "docs/reference/dates",
        "docs/reference/lookahead",
        "docs/reference/estimates",
        "docs/reference/flexibility",
    ],
    "Clusters": [
        "docs/reference/slurm_reference",
        "docs/reference/slurm_prices",
        "docs/reference/kubernetes_in_detail",
    ],
    "Tools": [
        "docs/reference/playground",
        "docs/reference/editors",
        "docs/reference/notebook",
        "docs/reference/assistants",
        "docs/reference/python_in_detail",
        "docs/reference/stability",
    ],
    "Models": ["docs/reference/gallery", "models/README", "docs/models/README"],
    "Results": [
        "docs/reference/performance",
        "docs/reference/leaderboard",
        "docs/reference/complete_runs",
        "docs/reference/reproduction",
        "docs/reference/fidelity",
    ],
    "Internals": [
        "docs/design",
        "docs/reference/inside",
        "docs/decisions",
        "docs/testing",
        "docs/reference/promises",
        "docs/limits",
        "CONTRIBUTING",
        "docs/reference/checklists",
        "SECURITY",
        "docs/releasing",
        "CHANGELOG",
    ],
}
# The files of the pages.
WRITTEN = ("docs/**/*.md", "models/**/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Titles shown beside the pages, if not their own.
TITLES = {
    "docs/tutorial": "Tutorial",
    "docs/coming_from": "Coming from AMPL, Pyomo, ...",
    "docs/reference/solving": "Solving",
    "docs/design": "Design",
    "docs/reference/inside": "Inside",
    "docs/testing": "Tests",
    "models/README": "The library",
    "docs/models/README": "As mathematics",
}
# Pages below other pages, by the folder that they come from.
FOLDERS = {"docs/models/README": "docs/models/*/*", "models/README": "models/*/**"}


def pages() -> list[Path]:
    """The pages of docs/ that are written or made for readers, without models as mathematics."""
    return sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/reference/*.md")])


def toctrees(page: str) -> str:
    """The lists of pages below a page, as Markdown to append to it."""
    if page == "index":
        return "".join(_toctree(caption, pages) for caption, pages in SECTIONS.items())
    return _toctree("", [FOLDERS[page]], glob=True) if page in FOLDERS else ""


def _toctree(caption: str, pages: list[str], glob: bool = False) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else []), *([":glob:"] if glob else [])]
    names = (f"{TITLES[page]} </{page}>" if page in TITLES else f"/{page}" for page in pages)
    return "\n\n```{toctree}\n" + "\n".join(options) + "\n\n" + "\n".join(names) + "\n```\n"
