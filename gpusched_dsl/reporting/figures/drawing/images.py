"""Figures as images within a text, such as HTML."""

from __future__ import annotations

import base64
from typing import Final

from gpusched_dsl.reporting.figures.drawing.files import draw, drawing_settings, encode_drawing
from gpusched_dsl.reporting.figures.figure import Figure

LARGEST_SVG: Final = 250_000  # bytes; longer drawings become pixels
DOTS_PER_INCH: Final = 110


def data_uri(figure: Figure) -> str:
    """Return a figure as a `data:` address: SVG, or PNG where that is shorter."""
    with drawing_settings():
        drawn = draw(figure)
        kind, content = "svg+xml", encode_drawing(drawn, "svg", figure.title)
        if len(content) > LARGEST_SVG:
            kind, content = "png", encode_drawing(drawn, "png", figure.title, DOTS_PER_INCH)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
