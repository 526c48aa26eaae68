"""Figures as files: each one as SVG and as PNG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.data.sources.writing import make_folder, output_path, write_bytes
from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, require_extra
from gpusched_dsl.reporting.figures.bars import BarsFigure
from gpusched_dsl.reporting.figures.curves_figure import CurvesFigure
from gpusched_dsl.reporting.figures.drawing.fonts import font_families
from gpusched_dsl.reporting.figures.drawing.style import DOTS_PER_INCH, SETTINGS, label
from gpusched_dsl.reporting.figures.figure import Figure, file_names
from gpusched_dsl.reporting.figures.heat_map import HeatMap
from gpusched_dsl.reporting.figures.lines_figure import LinesFigure
from gpusched_dsl.reporting.figures.schedule_figure import ScheduleFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FORMATS = ("svg", "png")


def write_figures(figures: Mapping[str, Sequence[Figure]], folder: str | Path) -> list[Path]:
    """Write figures into a folder, created if necessary, and return the files.

    The names of several groups precede those of their files: `EDF-schedule-1.svg`. Raises DiagnosticError (GSM6008,
    GSM6023).
    """
    require_extra("figures", FIGURES_NEED)  # before a folder is made
    place = output_path(folder)
    make_folder(place)
    files = []
    with drawing_settings():
        for group, own in figures.items():
            head = re.sub(r"[^A-Za-z0-9_.]+", "-", group) + "-" if len(figures) > 1 else ""
            for figure, name in zip(own, file_names(own), strict=True):
                drawn = draw(figure)
                for kind in FORMATS:
                    files.append(place / f"{head}{name}.{kind}")
                    write_bytes(files[-1], encode_drawing(drawn, kind, figure.title))
    return files


@contextmanager
def drawing_settings() -> Iterator[None]:
    """Draw with our settings of Matplotlib. Raises DiagnosticError (GSM6023) without it."""
    require_extra("figures", FIGURES_NEED)
    import matplotlib

    settings = {**SETTINGS, "font.family": list(font_families())}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # no installed font has it: a box is drawn
        yield


def draw(figure: Figure) -> Drawing:
    """Return a figure as Matplotlib draws it."""
    from gpusched_dsl.reporting.figures.drawing.bars import draw_bars
    from gpusched_dsl.reporting.figures.drawing.curves import draw_curves
    from gpusched_dsl.reporting.figures.drawing.heat_map import draw_heat_map
    from gpusched_dsl.reporting.figures.drawing.lines import draw_lines
    from gpusched_dsl.reporting.figures.drawing.schedule import draw_schedule

    drawers: dict[type[Figure], Callable[..., Drawing]] = {
        ScheduleFigure: draw_schedule, CurvesFigure: draw_curves, HeatMap: draw_heat_map, BarsFigure: draw_bars,
        LinesFigure: draw_lines,
    }  # fmt: skip
    drawn = drawers[type(figure)](figure)
    note = f"\n{label(figure.note, 120)}" if figure.note else ""
    drawn.suptitle(f"{label(figure.title, 100)}{note}", fontsize=10)
    return drawn


def encode_drawing(drawn: Drawing, kind: str, title: str, dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """Return the content of a file of a kind, `svg` or `png`."""
    buffer = io.BytesIO()
    metadata = {"Title": label(title, 100), **({"Date": None} if kind == "svg" else {})}
    drawn.savefig(buffer, format=kind, dpi=dots_per_inch, metadata=metadata)
    return buffer.getvalue()
