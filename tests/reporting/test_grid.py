"""Tables fit a terminal: headings and long texts wrap, optional columns go, keys and numbers stay whole."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import fit_line
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.reporting.grid import BAD, GOOD, Grid, GridColumn, rich_table

METHODS = ("RandomisedGreedy", "PublishedLocalSearch")
GRID = Grid(
    (
        GridColumn("method", METHODS, marks=(GOOD, BAD)),
        GridColumn("mean completion [h]", ("1.234", "56.782"), right=True, optional=3),
        GridColumn("total [$]  ", ("123.45 *", "200.22 !"), right=True),
        GridColumn("time per plan [s]", ("0.00123", "0.00023"), right=True, optional=7),
        GridColumn("remark", ("", "violates `capacity` and other constraints of the model"), wraps=True),
    )
)


def shown(width: int, *, color: bool = False) -> tuple[str, tuple[str, ...]]:
    fitting, left_out = GRID.fit(width)
    console = Console(width=width, file=StringIO(), force_terminal=True, color_system="standard" if color else None)
    console.print(rich_table(fitting, width))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue(), left_out


@pytest.mark.parametrize(
    ("width", "gone"),
    [(200, ()), (80, ()), (68, ("time per plan [s]",)), (56, ("time per plan [s]", "mean completion [h]"))],
)
def test_optional_columns_go_first_and_keys_stay_whole(width: int, gone: tuple[str, ...]) -> None:
    text, left_out = shown(width)
    assert left_out == gone
    assert max(map(len, text.splitlines())) <= width
    assert all(any(line.startswith(method) for line in text.splitlines()) for method in METHODS)
    assert "123.45 *" in text
    assert all(word in text for word in ("violates", "`capacity`", "constraints"))


def test_a_key_that_is_too_wide_is_not_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Output, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", "30")
    left_out = show_grid(GRID, Output())
    assert left_out == ("time per plan [s]", "mean completion [h]")
    assert all(method in capsys.readouterr().out for method in METHODS[:1])


def test_best_and_broken_rows_have_colours() -> None:
    text, _ = shown(80, color=True)
    assert "\x1b[1;32mRandomisedGreedy" in text
    assert "\x1b[31mPublishedLocalSearch" in text
    assert "\x1b[31m" not in shown(80)[0]


def test_lines_of_progress_fit() -> None:
    line = "FIFO   1 h   0 done, 3 present   1 plan, 0.0162 per second   1 min 2 s   about 9 s left"
    assert fit_line(line, 100) == line
    assert fit_line(line, 70) == "FIFO   1 h   0 done, 3 present   1 plan   1 min 2 s   about 9 s left"
    assert fit_line(line, 20) == "FIFO   1 h   0 done…"


def test_the_first_rows_keep_their_marks() -> None:
    assert GRID.head(1).columns[0] == GridColumn("method", METHODS[:1], marks=(GOOD,))
