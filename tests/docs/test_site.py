"""The documentation site: built without warnings, complete without other hosts, and shown well by Chromium.

Needs the extra `docs`, for its screens also Chromium and the extra `browser`; skipped with the reason otherwise.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import navigation
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
SHOWN = (
    "index",
    "docs/tutorial",
    "docs/reference/declarations",
    "docs/coming_from",
    "docs/reference/gallery",
    "docs/reference/errors",
    "docs/models/price_aware/model",
    "models/README",
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "myst_parser", "furo", "math_core"):
        pytest.importorskip(package, reason="the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("built") / "site"
    script = ROOT / "docs" / "site" / "build.py"
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    loading = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\bsrc=\"https?:|<link(?![^>]*canonical)[^>]*href=\"https?:"
        r"|url\([\"']?https?:|@import [\"']https?:"
    )
    found = [
        f"{page.relative_to(site)}: {match[0]}"
        for pattern in ("*.html", "*.css")
        for page in site.rglob(pattern)
        for match in loading.finditer(page.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_page_is_there_and_formulas_are_drawn(site: Path) -> None:
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert {str(page.relative_to(ROOT).with_suffix("")) for page in navigation.pages()} - {"docs/index"} <= pages
    model = (site / "docs" / "models" / "capacity_planning" / "model.html").read_text(encoding="utf-8")
    assert model.count("<math") > 50
    assert "$`" not in model
    assert '<span class="number">(1)</span>' in model
    assert 'class="highlight-gsm' in model


def test_a_broken_link_stops_the_build(site: Path, tmp_path: Path) -> None:
    from sphinx.cmd.build import main as sphinx

    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# Start\n\n[nowhere](docs/nothing.md)\n", encoding="utf-8")
    settings = ["-D", "html_theme=basic", "-D", "extensions=myst_parser,mathml", "-D", "html_css_files="]
    assert sphinx(["-q", "-W", "-c", str(ROOT / "docs" / "site"), *settings, str(source), str(tmp_path / "out")]) != 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()


@pytest.mark.parametrize("width", [1300, 400])
def test_screens(site: Path, browser: Any, width: int) -> None:
    complaints: list[str] = []
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
    )
    for name in SHOWN:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        broken = "[...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)"
        assert page.evaluate(broken) == [], name
    assert complaints == []


def test_search_finds_pages_without_a_server(site: Path, browser: Any) -> None:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto((site / "search.html").as_uri() + "?q=lookahead")
    page.wait_for_function("/found \\d+ pages/.test(document.getElementById('search-results').innerText)")
    assert set(failures) <= {"Failed to fetch"}  # the text around the words, which needs a server
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.textContent)")
    assert any("Looking ahead" in title or "Planning over time" in title for title in found)
