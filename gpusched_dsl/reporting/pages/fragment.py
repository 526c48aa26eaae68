"""Results as HTML within another page, such as the output of a notebook: without scripts, figures as images.

Notebooks are shown by many programs: some run no script, some remove it. Each of them shows this HTML. Without
Matplotlib, a note is in place of the figures.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, is_installed, missing_extra
from gpusched_dsl.reporting.figures.drawing.files import draw, drawing_settings, encode_drawing
from gpusched_dsl.reporting.figures.figure import Figure
from gpusched_dsl.reporting.pages.page import PageNote, PageSection, environment
from gpusched_dsl.reporting.report import write

if TYPE_CHECKING:
    from gpusched_dsl.reporting.report import Report
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.reporting.trials import Trials

LARGEST_SVG: Final = 250_000  # bytes; longer drawings become pixels
DOTS_PER_INCH: Final = 110
SHARE: Final = 50  # sections are as short as those of a page with so many results
FIGURES: Final = 3
ROWS: Final = 40  # of a table


def result_fragment(result: Result) -> str:
    """Return the summary, figures and tables of a solve."""
    from gpusched_dsl.reporting.pages.solve_page import result_section

    return _section(result_section(result.backend, result, SHARE))


def run_fragment(result: RunResult) -> str:
    """Return the summary, figures and tables of a run."""
    from gpusched_dsl.reporting.pages.run_page import run_section

    return _section(run_section(result, SHARE))


def comparison_fragment(trials: Trials[Any]) -> str:
    """Return tables of methods, the lines below them, and bars."""
    return _render(
        title="", notes=(), summary=(), tables=(), grids=trials.grids(), footer=trials.footer(),
        figures=write(trials, "bars"),
    )  # fmt: skip


def text_fragment(report: Report) -> str:
    """Return the text of a report with its line breaks."""
    return environment().from_string('<pre style="line-height: 1.35">{{ text }}</pre>').render(text=str(report))


def _section(section: PageSection) -> str:
    return _render(
        title=section.title, notes=section.notes, summary=section.summary, tables=section.tables,
        grids=(), footer=(), figures=section.figures,
    )  # fmt: skip


def _render(figures: Sequence[Figure], notes: Sequence[PageNote], **parts: object) -> str:
    if figures and not is_installed("figures"):
        missing = missing_extra("figures", FIGURES_NEED)
        notes, figures = (*notes, PageNote(missing.code, missing.message, missing.help)), ()
    images = [(figure.title, data_uri(figure)) for figure in figures[:FIGURES]]
    left_out = len(figures) - len(images)
    template = environment().get_template("fragment.html.j2")
    return template.render(images=images, notes=notes, left_out=left_out, rows=ROWS, **parts)


def data_uri(figure: Figure) -> str:
    """Return a figure as a `data:` address: SVG, or PNG where that is shorter."""
    with drawing_settings():
        drawn = draw(figure)
        kind, content = "svg+xml", encode_drawing(drawn, "svg", figure.title)
        if len(content) > LARGEST_SVG:
            kind, content = "png", encode_drawing(drawn, "png", figure.title, DOTS_PER_INCH)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
