"""What assistants read: pages of the documentation, sections of errors, shipped models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.pages import error_sections, headings, page_titles, read_page, section
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, library_files, library_folder
from gsdsl_assistants.limits import CallRefused

MOST_CHARACTERS = 20_000


def titles() -> dict[str, str]:
    """Return the titles of the pages by name."""
    return page_titles()


def page_text(page: str) -> str:
    """Return a page; raise CallRefused if there is none of this name."""
    name = page.removeprefix("docs/").removeprefix("reference/").removesuffix(".md")
    try:
        return read_page(name)
    except KeyError:
        raise CallRefused(f"there is no page `{page}`{_hint(name, page_titles())}") from None


def read(page: str, heading: str | None = None, start: int = 0) -> dict[str, Any]:
    """Return a part of a page or section, its headings, and where it continues."""
    text = page_text(page)
    if heading is not None:
        try:
            text = section(text, heading.lstrip("# "))
        except KeyError:
            raise CallRefused(f"`{page}` has no section `{heading}`{_hint(heading, headings(text))}") from None
    end = start + MOST_CHARACTERS
    if end < len(text):
        end = text.rfind("\n", start, end) + 1 or end
    found: dict[str, Any] = {"text": text[start:end], "headings": headings(text)}
    if end < len(text):
        found["next"] = end
    return found


def read_code(code: str) -> str:
    """Return the title and the section of a diagnostic code; raise CallRefused if it does not exist."""
    wanted = code.strip().upper()
    wanted = f"GSM{wanted}" if wanted.isdecimal() else wanted
    if wanted not in CODES:
        raise CallRefused(f"there is no code `{code}`{_hint(wanted, CODES)}")
    return f"# {wanted} {CODES[wanted]}\n\n{error_sections()[wanted]}\n"


def models() -> dict[str, str]:
    """Return the shipped files, without tests, with the comments of their first lines."""
    found = {}
    for file in library_files(LIBRARY_PREFIX):
        if "/tests/" not in file:
            first = (library_folder() / file).read_text(encoding="utf-8").partition("\n")[0]
            found[LIBRARY_PREFIX + file] = first.removeprefix("#").strip() if first.startswith("#") else ""
    return found


def read_model(name: str) -> str:
    """Return the text of a shipped file; raise CallRefused if the name means none, or several."""
    files = library_files(name)
    if len(files) == 1 and name.removeprefix(LIBRARY_PREFIX).strip("/"):
        return (library_folder() / files[0]).read_text(encoding="utf-8")
    if files:
        raise CallRefused(f"`{name}` may be {', '.join(LIBRARY_PREFIX + file for file in files[:5])}")
    raise CallRefused(f"there is no shipped model `{name}`{_hint(LIBRARY_PREFIX + name, models())}")


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    hint = did_you_mean(name, names)
    return f"; {hint}" if hint else f"; there are {', '.join(names[:60])}"
