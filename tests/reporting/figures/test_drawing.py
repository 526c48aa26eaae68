"""Figures as files: every kind as SVG and PNG, complete documents, with any names."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.figures.bars import comparison_bars
from gpusched_dsl.reporting.figures.curves_figure import Curve, CurvesFigure
from gpusched_dsl.reporting.figures.drawing import files, fonts
from gpusched_dsl.reporting.figures.drawing.files import write_figures
from gpusched_dsl.reporting.figures.figure import Figure, time_axis
from gpusched_dsl.reporting.figures.heat_map import utilisation
from gpusched_dsl.reporting.figures.price_curves import PriceCurve
from gpusched_dsl.reporting.figures.schedule_figure import ScheduledJobs, ScheduleFigure, Stays

NAMES = ["</script><img src=x onerror=alert(1)>", "$x_1$ & _", "_hidden\x01\n", "作业 ☃", "a" * 200]


def every_kind() -> list[Figure]:
    axis = time_axis(0.0, 5.0, "slot", slots=True)
    count = len(NAMES)
    numbers = np.arange(count)
    start = numbers.astype(np.float64) / 2
    stays = Stays(numbers, numbers, start, start + 2.5, np.ones(count), np.full(count, -1), numbers % 2 == 0)
    nan = np.full(count, np.nan)
    price = PriceCurve(NAMES[1], NAMES[0], "$/h", np.arange(6.0), np.array([1.0, 3.0, 2.0, 2.0, 5.0, 5.0]))
    capacity = np.full(count, 2.0)
    jobs = ScheduledJobs(NAMES, nan, np.where(numbers % 2 == 0, start + 1, np.nan), start + 2.5)
    rows = [(name, None, "cost", float(at)) for at, name in enumerate(NAMES)]
    table = pl.DataFrame(rows, schema=["method", "seed", "metric", "value"], orient="row")
    curves = [Curve(name, np.arange(6.0), np.arange(6.0) + at) for at, name in enumerate(NAMES)]
    return [
        ScheduleFigure(
            title=NAMES[0], axis=axis, stays=stays, jobs=jobs, nodes=NAMES, capacity=capacity, prices=[price]
        ),
        utilisation(stays, NAMES, capacity, axis),
        CurvesFigure(title="Cost so far [$]", axis=axis, unit="$", curves=curves, stacked=True),
        CurvesFigure(title="Jobs waiting", note=NAMES[1], axis=axis, unit="jobs", curves=curves),
        *comparison_bars(table),
    ]


def test_every_kind_as_svg_and_png(tmp_path: Path) -> None:
    files = write_figures({"": every_kind()}, tmp_path / "new" / "folder")
    assert len(files) == 2 * 5
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
            continue
        root = ElementTree.fromstring(content)  # well-formed, whatever the names
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not [e for e in root.iter() if e.tag.endswith("script")]
        linked = [e.get("{http://www.w3.org/1999/xlink}href", "#") for e in root.iter()]
        assert all(link.startswith(("#", "data:")) for link in linked)
    schedule = files[0].read_text(encoding="utf-8")
    texts = [e.text for e in ElementTree.fromstring(schedule).iter("{http://www.w3.org/2000/svg}text")]
    assert "$x_1$ & _" in texts  # no formula
    assert "late: after its due date" in texts


def test_groups_precede_names(tmp_path: Path) -> None:
    figure = every_kind()[3]
    files = write_figures({"A b/1": [figure], "comparison": [figure]}, tmp_path)
    assert [file.name for file in files if file.suffix == ".svg"] == [
        "A-b-1-jobs-waiting-1.svg", "comparison-jobs-waiting-1.svg",
    ]  # fmt: skip
    again = write_figures({"A b/1": [figure], "comparison": [figure]}, tmp_path / "again")
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError, match="cannot write"):
        write_figures({"": [figure]}, tmp_path / "file")


@pytest.mark.parametrize("family", ["STIXGeneral", "no such font"])
def test_characters_of_other_fonts(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch is not in the usual font, but in one that Matplotlib brings along."""
    monkeypatch.setattr(fonts, "FALLBACKS", (("another font", family),))
    monkeypatch.setattr(files, "font_families", fonts.font_families.__wrapped__)
    figure = comparison_bars(
        pl.DataFrame(
            {"method": ["\u231a", "b"], "seed": [None, None], "metric": ["cost", "cost"], "value": [1.0, 2.0]},
            schema_overrides={"seed": pl.Int64},
        )
    )[0]
    with files.drawing_settings(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files.encode_drawing(files.draw(figure), "png", "title")
    missing = [str(each.message) for each in caught if "Glyph" in str(each.message)]
    assert bool(missing) == (family == "no such font")
