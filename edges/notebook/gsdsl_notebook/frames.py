"""The interactive page of a result in a frame of a notebook.

Outputs of cells have no scripts: a notebook would store 1.1 MB with each, and many programs remove them. So the page
is shown on request only, in a frame without access to the notebook.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusched_dsl.reporting.report import PagedReport

HEIGHT = 640  # pixels; the page in the frame scrolls


class PageFrame:
    """A complete page that a notebook shows in a frame, so that its style and scripts stay within it."""

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 1px solid #d1d9e0"
        # no `allow-same-origin`: the page cannot reach the notebook
        return f'<iframe sandbox="allow-scripts allow-downloads" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def page(report: PagedReport, height: int = HEIGHT) -> PageFrame:
    """Return the page of `to_html`, with charts that can be moved and zoomed, for the last line of a cell.

    It adds more than 1 MB to the notebook; the output of the result itself is small, and needs no scripts.
    """
    return PageFrame(report.html_text(), height)
