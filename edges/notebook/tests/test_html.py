"""What notebooks show of models, results, runs, comparisons and diagnostics."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from notebook_texts import ASSIGN, HOSTILE, THREE

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.html import render_html
from gpusched_dsl.reporting.pages import fragment
from gsdsl_notebook import page

EMPTY = {"br", "img", "meta", "progress"}


class Reader(HTMLParser):
    """The tags and texts of HTML; fails if tags are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.images: list[str] = []
        self.feed(html)
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs)["src"] or "")
        if tag not in EMPTY:
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    found = Reader(html)
    assert "script" not in found.tags
    assert "http" not in html.replace("http://www.w3.org/1998/Math/MathML", "")
    return found


def test_a_model_is_mathematics() -> None:
    found = read(gs.loads(ASSIGN)._repr_html_())
    assert found.tags.count("math") > 8
    assert "munder" in found.tags
    assert HOSTILE in found.text  # the description, and the label in `kept`
    assert "Today" in found.text
    assert "\\" not in found.text


def test_a_file_of_scenarios_shows_their_model() -> None:
    found = read(gs.load("gsdsl:capacity_planning/scenarios/three_jobs.gsm")._repr_html_())
    assert found.text.strip().startswith("CapacityPlanning")
    assert "ThreeJobs" in found.text


def test_a_model_with_errors_shows_them() -> None:
    assert "GSM" in read(gs.loads("model M extends Other { }")._repr_html_()).text


def test_a_result_and_a_comparison() -> None:
    model = gs.loads(ASSIGN)
    result = model.solve()
    found = read(result._repr_html_())
    assert "optimal" in found.text
    assert HOSTILE in found.text
    assert {"details", "table", "img"} <= set(found.tags)
    kind, _, content = found.images[0].partition(";base64,")
    assert kind == "data:image/svg+xml"
    drawn = ElementTree.fromstring(base64.b64decode(content))
    assert HOSTILE in "".join(drawn.itertext())
    assert drawn.find(".//{*}script") is None
    compared = read(model.compare(["highs", "scip"])._repr_html_())
    assert "scip" in compared.text
    assert "cost [$]" in compared.text
    assert page(result)._repr_html_().count("<iframe") == 1
    assert HOSTILE not in page(result)._repr_html_()


def test_an_infeasible_result() -> None:
    found = read(gs.loads(ASSIGN.replace("<= 2;", "<= 1;")).solve()._repr_html_())
    assert "infeasible" in found.text


def test_a_large_figure_becomes_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragment, "LARGEST_SVG", 1000)
    figure = gs.loads(ASSIGN).solve().figures()[0]
    content = fragment.data_uri(figure).removeprefix("data:image/png;base64,")
    assert base64.b64decode(content).startswith(b"\x89PNG")


@pytest.mark.slow
def test_runs_and_answers() -> None:
    model = gs.loads(THREE)
    result = model.run("Three", online="EveryEvent", method="Greedy")
    found = read(result._repr_html_())
    assert found.images
    assert "finished" in found.text
    assert HOSTILE in found.text
    several = read(model.run("Three", online="EveryEvent", method=["FIFO", "Greedy"])._repr_html_())
    assert "FIFO" in several.text
    seeds = read(model.run("Three", online="EveryEvent", method=["FIFO", "Greedy"], seeds=[1, 2])._repr_html_())
    assert "FIFO" in seeds.text
    why = model.why("J1", 1, "Three", online="EveryEvent", method="Greedy")
    assert "J1 at 1 h" in read(why._repr_html_()).text
    assert str(why) == "\n".join(why.lines())


def test_diagnostics_are_underlined() -> None:
    with pytest.raises(gs.DiagnosticError) as caught:
        gs.loads(ASSIGN.replace("price[n] *", "price[j] *")).check()
    found = read(render_html(caught.value.diagnostics))
    assert found.text.strip() == str(caught.value).strip()
    assert "color: #cf222e" in render_html(caught.value.diagnostics)
    assert render_html([]) == ""
    assert re.sub("\x1b\\[[0-9;]*m", "", "\n".join(caught.value._render_traceback_())) == str(caught.value).strip()
