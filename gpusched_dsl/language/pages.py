"""The pages of the documentation, which are shipped with the package."""

from __future__ import annotations

import re
from pathlib import Path

from gpusched_dsl.language.data_folders import data_folder

PAGES = "docs"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_HEADING = re.compile(r"^(#{2,6}) (.+)$")


def page_titles() -> dict[str, str]:
    """Return the title of every page by its name, such as `language`, in alphabetical order."""
    found = {name: _TITLE.search(page.read_text(encoding="utf-8")) for name, page in sorted(_pages().items())}
    return {name: match[1] if match else name for name, match in found.items()}


def read_page(name: str) -> str:
    """Return the Markdown text of a page; raise KeyError if there is none of this name."""
    return _pages()[name].read_text(encoding="utf-8")


def headings(text: str) -> list[str]:
    """Return the headings of a page below its title, without those in blocks of code."""
    return [heading for _, _, heading in _heading_lines(text)]


def section(text: str, heading: str) -> str:
    """Return the section of a page with its subsections; raise KeyError if there is no such heading."""
    found = _heading_lines(text)
    for at, (line, depth, title) in enumerate(found):
        if title.casefold() == heading.casefold():
            end = next((other for other, d, _ in found[at + 1 :] if d <= depth), None)
            return "\n".join(text.split("\n")[line:end]).strip() + "\n"
    raise KeyError(heading)


def error_sections() -> dict[str, str]:
    """Return the Markdown text of every section of the page of errors, by its code."""
    parts = re.split(r"^## (GSM\d{4}) .+$", read_page("errors"), flags=re.MULTILINE)
    texts = (re.split(r"^# ", text, flags=re.MULTILINE)[0].strip() for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))


def _heading_lines(text: str) -> list[tuple[int, int, str]]:
    """Return the number, the depth and the text of every line that is a heading."""
    found, in_code = [], False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and (match := _HEADING.match(line)):
            found.append((number, len(match[1]), match[2].strip()))
    return found


def _pages() -> dict[str, Path]:
    """Return the pages by name: guides, and those of the folder `reference`. No two have one name."""
    folder = data_folder(PAGES)
    return {page.stem: page for page in (*folder.glob("*.md"), *folder.glob("reference/*.md"))}
