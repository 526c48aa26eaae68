"""Write the pages that are made from the grammar and the code: `python docs/site/derive.py`."""

from __future__ import annotations

from pathlib import Path

import backend_table
import gallery
import language_reference
import options

DOCS = Path(__file__).parents[1]
PAGES = {
    "reference.md": language_reference.page,
    "options.md": options.page,
    "backends.md": backend_table.page,
    "gallery.md": gallery.page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
