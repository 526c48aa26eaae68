"""Write the pages that are made from the grammar and the code: `python docs/site/derive.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from unittest.mock import patch

import backend_table
import gallery
import language_reference
import options

DOCS = Path(__file__).parents[1]


def without_extensions(page: Callable[[], str]) -> Callable[[], str]:
    """The page that is made where no package extends gsdsl: pages describe what the package itself has."""
    installed = metadata.entry_points

    def own(*, group: str) -> metadata.EntryPoints:
        return metadata.EntryPoints(()) if group.startswith("gpusched_dsl.") else installed(group=group)

    @functools.wraps(page)
    def made() -> str:
        with patch.object(metadata, "entry_points", own):
            return page()

    return made


PAGES = {
    "reference/declarations.md": without_extensions(language_reference.page),
    "reference/options.md": without_extensions(options.page),
    "reference/backends.md": without_extensions(backend_table.page),
    "reference/gallery.md": without_extensions(gallery.page),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
