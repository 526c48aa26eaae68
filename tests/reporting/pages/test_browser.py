"""Pages in headless Chromium: they draw everything, load nothing, answer to keys, and are accessible; also large ones.

Needs Chromium (Debian: `apt-get install chromium`) and the extra `browser`; skipped with the reason otherwise.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from campaign_records import GRID, gain_of, made

import gpusched_dsl as gs
from gpusched_dsl.campaigns.campaign_figures import campaign_figures
from gpusched_dsl.campaigns.campaign_page import campaign_section
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.cli.starters import starter_files
from gpusched_dsl.reporting.pages.page import PageSection, render
from gpusched_dsl.reporting.runs.result import RunResult

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror='window.attacked=1'><script>window.attacked=1</script>"
JOBS = f"""
import "gsdsl:capacity_planning/online.gsm";
scenario Three for CapacityPlanning {{
  Nodes = {{ n1 }};
  Jobs = {{ J1, J2, "{HOSTILE}" }};
  Types = {{ A, B }};
  period = 1[h];
  table Types: gpus price[$/h] family =  A 1 0.5 k  B 2 1 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = J1 0 6 1  J2 1 3.4 2  "{HOSTILE}" 1 9 4;
  Runnable = {{ (j, v, g) : j in Jobs, (v, g) in Configs }};
  exec_time["J1","A",1] = 4[h]; exec_time["J1","B",1] = 4[h]; exec_time["J1","B",2] = 2.4[h];
  exec_time["J2","A",1] = 2[h]; exec_time["J2","B",1] = 2[h]; exec_time["J2","B",2] = 1.2[h];
  exec_time["{HOSTILE}","A",1] = 1[h]; exec_time["{HOSTILE}","B",1] = 1[h]; exec_time["{HOSTILE}","B",2] = 0.6[h];
}}
"""
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
MEGABYTE = 1e6


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


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open a file with all its charts; fail at the end if it wrote to the console or asked for anything else."""
    complaints: list[str] = []
    contexts = []

    def open_page(file: Path, colours: str = "light") -> Any:
        context = browser.new_context(viewport={"width": 1250, "height": 1000}, color_scheme=colours)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url == file.as_uri() else complaints.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition in JavaScript. `wait_for_function` evaluates it in the page, whose policy forbids that."""
    end = time.monotonic() + 120
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def draw_all(page: Any) -> None:
    for figure in page.query_selector_all("figure"):
        figure.scroll_into_view_if_needed()
    wait_until(page, "[...document.querySelectorAll('figure')].every(figure => figure.dataset.drawn)")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods, late jobs, and names that would be markup."""
    found = gs.loads(JOBS).run(online="EveryEvent", method=["FIFO", "Greedy"])
    file = tmp_path_factory.mktemp("compared") / "page.html"
    found.to_html(file)
    return file


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with prices."""
    folder = tmp_path_factory.mktemp("windows")
    for name, text in starter_files("windows", "windows").items():
        (folder / name).write_text(text, encoding="utf-8")
    found = gs.load(folder / "windows.gsm").run(method="highs")
    found.to_html(folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines over a factor and bars by word, with failed runs, and text that would be markup."""
    folder = tmp_path_factory.mktemp("campaign")
    plan, records = made(folder, GRID, lambda run: None if run.seed == 1 else gain_of(run))
    words = GRID.replace("{ 5[GB], 7[GB], 9[GB] }", "{ 5[GB], 7[GB] }")
    bars = campaign_figures(CampaignResults.of(*made(folder, words, gain_of)))
    more = PageSection("Bars", [("words", "none")], figures=bars)
    file = folder / "page.html"
    section = campaign_section(CampaignResults.of(plan, records))
    file.write_text(render("Rooms & <b>sizes</b>", [section, more]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 jobs on 100 nodes for two weeks."""
    jobs, nodes = 10_000, 100
    rng = np.random.default_rng(5)
    columns = (
        np.sort(rng.uniform(0, 336, jobs)),
        rng.choice([1, 2, 4, 8], jobs, p=[0.5, 0.2, 0.2, 0.1]),
        np.minimum(rng.exponential(9, jobs) + 0.05, 80),
    )
    rows = " ".join(f"job{i} {a:.4f} {k} {b:.4f}" for i, (a, k, b) in enumerate(zip(*columns, strict=True)))
    sizes = " ".join(f'gpus["n{k}"] = 8;' for k in range(nodes))
    result = gs.loads(
        f'import "gsdsl:trace_replay/tests/queues.gsm";\nscenario Pool for TraceReplay {{\n'
        f"Nodes = {{ {', '.join(f'n{k}' for k in range(nodes))} }}; {sizes}\n"
        f"table Jobs: submitted[h] needs exec_time[h] = {rows};\n}}"
    ).run(method="FIFO")
    assert isinstance(result, RunResult)
    file = tmp_path_factory.mktemp("large") / "page.html"
    result.to_html(file)
    return file


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", ["compared", "windows", "campaign"])
def test_pages_are_accessible(name: str, colours: str, opened: Open, request: pytest.FixtureRequest) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="the extra `browser` is not installed")
    page = opened(request.getfixturevalue(name), colours)
    draw_all(page)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)  # by the protocol: the policy of the page allows no other script
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    told = [(v["id"], [node["html"][:200] for node in v["nodes"]][:3]) for v in found["violations"]]
    assert told == []
    assert len(found["passes"]) > 10


def test_names_stay_texts(compared: Path, opened: Open) -> None:
    page = opened(compared)
    draw_all(page)
    page.fill("input[type=search] >> nth=0", "script")
    said = page.inner_text("[role=status] >> nth=0")
    assert HOSTILE in said
    assert page.query_selector("img") is None
    for at in range(3):  # tooltips, too
        page.evaluate(
            "at => echarts.getInstanceByDom(document.querySelector('.schedule')).dispatchAction("
            "{type: 'showTip', seriesId: 'bars', seriesIndex: 2, dataIndex: at})", at,
        )  # fmt: skip
        page.wait_for_timeout(100)
    assert page.evaluate("window.attacked") is None
    assert page.query_selector("img") is None


def test_lines_of_a_campaign(campaign: Path, opened: Open) -> None:
    page = opened(campaign)
    draw_all(page)
    assert page.query_selector("img") is None
    assert page.inner_text("h2 >> nth=1") == "Bars"
    chart = "echarts.getInstanceByDom(document.querySelector('.lines'))"
    names = page.evaluate(f"{chart}.getOption().series.map(series => series.name)")
    assert names == ["highs", "highs", "scip", "scip"]
    page.evaluate(f"{chart}.dispatchAction({{type: 'showTip', seriesIndex: 0, dataIndex: 1}})")
    page.wait_for_timeout(100)
    assert "space [GB]: 7" in page.inner_text(".tip >> nth=0")
    with page.expect_download() as saved:
        page.click("text=Save SVG >> nth=0")
    assert saved.value.suggested_filename.startswith("gain-1")


def test_keys_search_rows_and_tables(compared: Path, opened: Open) -> None:
    page = opened(compared)
    draw_all(page)
    zoom = (
        "() => { const z = echarts.getInstanceByDom(document.querySelectorAll('.curves')[0]).getOption().dataZoom[0];"
        " return [z.startValue, z.endValue]; }"
    )
    whole = page.evaluate(zoom)
    page.focus(".schedule >> nth=0")
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    page.focus(".curves >> nth=0")
    wait_until(page, f"({zoom})()[1] - ({zoom})()[0] < {0.6 * (whole[1] - whole[0])}")  # all charts follow
    page.keyboard.press("0")
    wait_until(page, f"({zoom})()[1] - ({zoom})()[0] > {0.99 * (whole[1] - whole[0])}")
    page.click("text=By job >> nth=0")
    assert page.get_attribute("text=By job >> nth=0", "aria-pressed") == "true"
    rows = page.evaluate("echarts.getInstanceByDom(document.querySelector('.schedule')).getOption().yAxis[0].data")
    assert len(rows) == 3
    page.fill("input[type=search] >> nth=0", "j2")
    assert page.inner_text("[role=status] >> nth=0").startswith("1 of 1 job: J2: ends at 5.2 h")
    page.fill("input[type=search] >> nth=0", "nobody")
    assert page.inner_text("[role=status] >> nth=0") == "no such job"
    jobs = page.query_selector("summary:text-is('Jobs') >> xpath=..")
    jobs.evaluate("one => { one.open = true; }")
    heading = next(head for head in jobs.query_selector_all("th") if head.inner_text().startswith("start"))
    for order, sign in (("ascending", 1), ("descending", -1)):
        heading.focus()
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == order
        column = [float(cell.inner_text()) for cell in jobs.query_selector_all("tbody tr td:nth-child(4)")]
        assert column == sorted(column, reverse=sign < 0)


def test_every_chart_can_be_saved(windows: Path, opened: Open) -> None:
    page = opened(windows)
    draw_all(page)
    boxes = page.query_selector_all(".drawing")
    assert len(boxes) >= 5
    for box in boxes:
        text = box.evaluate("box => report.saving.svg(box)")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        picture = box.evaluate("box => report.saving.png(report.chartBase.of(box).chart)")
        assert picture.startswith("data:image/png;base64,")
    with page.expect_download() as download:
        page.click("text=Save SVG >> nth=0")
    assert download.value.suggested_filename == "schedule-1.svg"


def test_ten_thousand_jobs(large: Path, opened: Open) -> None:
    """Times are of the page's thread, so that other programs of the machine do not count."""
    assert large.stat().st_size < 10 * MEGABYTE
    page = opened(large)
    page.wait_for_selector("figure[data-drawn]")
    protocol = page.context.new_cdp_session(page)
    protocol.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = protocol.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    page.reload()
    page.wait_for_selector("figure[data-drawn]")
    page.wait_for_timeout(1000)
    draw_all(page)
    assert seconds() < 3.0
    page.focus(".schedule")
    for keys, most in ((["+"] * 5, 0.2), (["ArrowRight"] * 20, 0.1), (["ArrowDown"] * 8, 0.1)):
        before = seconds()
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(100)
        assert (seconds() - before) / len(keys) < most, keys[0]
    shapes = "echarts.getInstanceByDom(document.querySelector('.schedule')).getOption().series[2].data.length"
    assert 0 < page.evaluate(shapes) <= 3500
    page.click("text=By job")
    page.fill("input[type=search]", "JOB5000")
    assert page.inner_text("[role=status]").startswith("1 of 1 job: job5000: ends at ")
    rows = (
        "echarts.getInstanceByDom(document.querySelector('.schedule')).getOption().dataZoom.find(z => z.id === 'rows')"
    )
    shown = page.evaluate(f"(() => {{ const z = {rows}; return [z.startValue, z.endValue]; }})()")
    assert shown[0] <= 5000 <= shown[1]
    page.click("summary:text-is('Jobs')")
    table = page.query_selector("summary:text-is('Jobs') >> xpath=..")
    table.query_selector(".filter").fill("job5000")
    assert [row.query_selector("td").inner_text() for row in table.query_selector_all("tbody tr")] == ["job5000"]
