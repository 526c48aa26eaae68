"""Build the documentation site: `python docs/site/build.py [FOLDER]`, by default `build/site`.

The pages are those of the repository, in the same folders, so their links work in both. Nothing is downloaded. Every
warning of Sphinx, such as a broken link or a page outside the navigation, is an error.

Sphinx rather than MkDocs: it reports broken links as errors, and its search needs no server.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from navigation import WRITTEN
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
START = ROOT / "docs" / "index.md"
PLAYGROUND = ROOT / "build" / "playground"  # by `make playground`
FILES = ("docs/images/**/*.svg", "docs/images/**/*.png", "docs/schema/*.json", "LICENSE")


def collect(target: Path) -> None:
    """Copy the pages, and the files that they show or link, to a folder with the layout of the repository."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in (*WRITTEN, *FILES):
        for found in ROOT.glob(pattern):
            if HERE not in found.parents and found != START:
                copy = target / found.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, copy)
    (target / "index.md").write_text(start_page(), encoding="utf-8")


def start_page() -> str:
    """docs/index.md with the links of the folder above: it is the start of the site."""
    text = START.read_text(encoding="utf-8")
    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", lambda link: f"]({_above(link[1])})", text)


def _above(link: str) -> str:
    return link.removeprefix("../") if link.startswith("../") else f"docs/{link}"


def build(site: Path) -> int:
    """Build the site in a folder; return the exit code of Sphinx."""
    source = site.parent / f"{site.name}-source"
    collect(source)
    shutil.rmtree(site, ignore_errors=True)
    if PLAYGROUND.is_dir():
        shutil.copytree(PLAYGROUND, site / "_static" / "playground")
    arguments = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE)]
    return sphinx([*arguments, "-d", str(site.parent / f"{site.name}-cache"), str(source), str(site)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()))
