"""The playground: its Python needs Lark and a replacement for msgspec only; its page works in Chromium offline.

The browser needs `make playground`, the extra `browser` and Chromium; skipped with the reason otherwise.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_playground
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "playground"
CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
PAGE = (ROOT / "docs" / "reference" / "playground.md").read_text(encoding="utf-8")
CALLS = """
import json, sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path]
sys.path.insert(0, sys.argv[1])
import examine
text = json.load(sys.stdin)
found = {name: getattr(examine, name)(text) for name in ("checked", "formatted", "explained")}
print(json.dumps({**found, "heavy": sorted({"numpy", "polars", "scipy", "jinja2"} & sys.modules.keys())}))
"""


@pytest.fixture(scope="module")
def front_end(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("front_end")
    for name, file in make_playground.front_end():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)
    return folder


def called(front_end: Path, text: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", "-c", CALLS, str(front_end)]
    done = subprocess.run(command, input=json.dumps(text), capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["heavy"] == []
    return result


@pytest.mark.slow
def test_the_front_end_needs_no_other_package(front_end: Path) -> None:
    example = make_playground.page_block("README.md", "## An example")
    good = called(front_end, example)
    assert json.loads(good["checked"]) == []
    assert good["formatted"] == example
    [model] = json.loads(good["explained"])["models"]
    assert [each["name"] for each in model["equations"]] == ["cost", "placed", "alone", "due"]
    wrong = example.replace("price[n] * work", "price[j] * work")
    [error] = json.loads(called(front_end, wrong)["checked"])
    assert error["code"] == "GSM1203"
    assert wrong[error["from"] : error["to"]] == "j"


def test_policies_of_the_library_are_explained(front_end: Path) -> None:
    text = 'import "gsdsl:capacity_planning/model.gsm";\n\n' + make_playground.page_block("README.md", "## Policies")
    found = called(front_end, text)
    assert json.loads(found["checked"]) == []
    [policy] = json.loads(found["explained"])["policies"]
    assert policy["name"] == "LeastSlack"
    assert any("deadline" in line for line in policy["lines"])


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """The page from a server of this machine; other hosts cannot be reached, and the page may not ask for them."""
    if not BUILT.is_dir():
        pytest.skip("`make playground` has not been run")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    for folder in ("_static", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "_static" / "playground").symlink_to(BUILT)
    markup = re.search(r"^<div.*?(?=^$)", PAGE, re.MULTILINE | re.DOTALL)
    assert markup is not None  # in a section, as Sphinx makes one of each heading
    section = f'<section id="playground"><h1>Playground</h1>{markup[0]}<p>The rest.</p></section>'
    (tmp_path / "docs" / "playground.html").write_text(f"<!doctype html>{section}", encoding="utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    asked: list[str] = []
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = browser.new_context()
        context.route(
            re.compile(r"^(?!" + re.escape(address) + ")http"),
            lambda route: (asked.append(route.request.url), route.abort()),
        )
        opened = context.new_page()
        opened.set_default_timeout(240_000)
        opened.goto(f"{address}docs/playground.html")
        yield opened
        browser.close()
    server.shutdown()
    assert asked == []


STATE = "document.querySelector('.state')?.textContent === "


@pytest.mark.slow
def test_in_chromium(page: Any) -> None:
    page.wait_for_function(STATE + "'no errors'")
    assert page.is_visible("h1")
    assert page.is_visible("text=The rest.")
    assert page.evaluate("getComputedStyle(document.querySelector('.editor textarea')).position") == "absolute"
    assert not page.is_visible(".note")
    page.click("text=Solve")
    page.wait_for_selector(".solution p")
    assert page.inner_text(".solution p") == "Optimal: 36.95"
    example = page.input_value("textarea")

    page.fill("textarea", example.replace("price[n] * work", "price[j] * work"))
    page.wait_for_function(STATE + "'1 error'")
    assert "GSM1203" in page.inner_text(".problems")
    assert page.inner_text(".paint .error") == "j"
    assert page.is_disabled("button:text('Solve')")
    assert page.is_visible(".note")

    page.fill("textarea", example.replace("  set Jobs;", "set   Jobs;"))
    page.wait_for_function(STATE + "'no errors'")
    before = page.evaluate("location.hash")
    page.click("text=Format")
    page.wait_for_function("text => document.querySelector('textarea').value === text", arg=example)
    assert page.locator(".explanation math").count() >= 4

    page.wait_for_function("before => location.hash !== before", arg=before)
    link = page.url
    assert "#model=" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_function("text => document.querySelector('textarea')?.value === text", arg=example)
