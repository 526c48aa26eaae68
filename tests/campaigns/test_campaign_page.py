"""Pages and figures of campaigns, from records with known numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from campaign_records import GRID, HOSTILE, gain_of, made
from page_reader import figures_of, seen

from gpusched_dsl.campaigns.campaign_figures import MOST_FIGURES, first_figures
from gpusched_dsl.campaigns.claims.section import claims_sections
from gpusched_dsl.campaigns.plan import CampaignPlan
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.campaigns.tasks import RunRecord
from gpusched_dsl.reporting.bootstrap import mean_interval
from gpusched_dsl.reporting.figures.bars import BarsFigure
from gpusched_dsl.reporting.figures.drawing.files import write_figures
from gpusched_dsl.reporting.figures.figure import Figure
from gpusched_dsl.reporting.figures.lines_figure import LinesFigure
from gpusched_dsl.reporting.grid import plain
from gpusched_dsl.reporting.pages.page import cell


def drawn(plan: CampaignPlan, records: dict[str, RunRecord]) -> Sequence[Figure]:
    return CampaignResults.of(plan, records).figures()[""]


def test_lines_over_a_numeric_factor(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    figures, count = first_figures(CampaignResults.of(plan, records))
    assert count == len(figures) == 4
    cells = [
        (name, scenario, unit) for name, unit in (("Gain", "$"), ("Used", "GB")) for scenario in ("Small", "Other")
    ]
    assert [figure.title for figure in figures] == [f"{n}: scenario {s} [{unit}]" for n, s, unit in cells]
    figure = figures[1]
    assert isinstance(figure, LinesFigure)
    assert (figure.factor, figure.unit) == ("space [GB]", "$")
    assert "means over 6 runs" in figure.note
    assert [line.label for line in figure.lines] == ["highs", "scip"]
    for line in figure.lines:
        assert line.x.tolist() == [5, 7, 9]
        extra = 0.5 if line.label == "scip" else 0.0
        assert line.mean == pytest.approx(100 - 2 * line.x + 0.35 + extra)
        draws = np.array([100 - 10 + 0.1 * s + (s % 2 if extra else 0) for s in range(1, 7)])
        assert (line.low[0], line.high[0]) == pytest.approx(tuple(mean_interval(draws) or ()))


def test_bars_of_words_and_figures_of_few_runs(tmp_path: Path) -> None:
    text = GRID.replace("{ 5[GB], 7[GB], 9[GB] }", "{ 5[GB], 7[GB] }").replace("1..6", "1..2")
    plan, records = made(tmp_path, text, gain_of)
    figures, _ = first_figures(CampaignResults.of(plan, records))
    assert [figure.title for figure in figures] == ["Gain [$]", "Used [GB]"]
    bars = figures[0]
    assert isinstance(bars, BarsFigure)
    assert bars.methods == [
        f"space {size} GB, scenario {scenario}: {method}"
        for size in (5, 7) for scenario in ("Small", "Other") for method in ("highs", "scip")
    ]  # fmt: skip
    assert bars.means == pytest.approx([-9.85, -9.35, 90.15, 90.65, -13.85, -13.35, 86.15, 86.65])
    assert "intervals need 6" in bars.note


def test_names_that_vary_together_are_one_axis(tmp_path: Path) -> None:
    text = GRID.replace(
        "vary space in { 5[GB], 7[GB], 9[GB] };", "vary (space, big) in { (5[GB], 1), (7[GB], 2), (9[GB], 3) };"
    )
    plan, records = made(tmp_path, text.replace("Small, Other", "Small"), gain_of)
    figures, _ = first_figures(CampaignResults.of(plan, records))
    assert [(figure.title, figure.kind) for figure in figures] == [("Gain [$]", "lines"), ("Used [GB]", "lines")]


def test_many_cells_have_the_first_figures(tmp_path: Path) -> None:
    values = ", ".join(f"w{number}" for number in range(20))
    text = GRID.replace("vary seed in 1..6;", f"vary word in {{ {values} }};")
    plan, records = made(tmp_path, text, gain_of)
    figures, count = first_figures(CampaignResults.of(plan, records))
    assert (len(figures), count) == (MOST_FIGURES, 80)
    assert f"the first {MOST_FIGURES} of 80" in seen(CampaignResults.of(plan, records).html_text())


def test_the_page_has_states_failures_and_differences(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, lambda run: None if run.label == "scip" and run.seed == 1 else gain_of(run))
    for planned in plan.runs:
        if planned.run.scenario == "Other" and planned.run.seed == 6:
            del records[planned.key]
    page = CampaignResults.of(plan, records).html_text()
    text = seen(page)
    assert "Sizes: Rooms & <b>sizes</b>" in text
    assert "<b>sizes" not in page
    assert "<img src=x" not in page
    assert f"6 runs failed: no {HOSTILE}" in text
    assert "72: 60 done, 6 failed, 6 missing" in text
    assert len(figures_of(page, "lines")) == 4
    rows = [row.split("\n") for row in text.split("Differences from highs at equal seeds")[1].split("scip")[1:]]
    cells = [[cell for cell in row if cell.strip()] for row in rows]
    # scip minus highs at seeds 2 to 6 of Small: 0, 1, 0, 1, 0; five seeds are too few.
    assert cells[0][:2] == ["0.4", f"fewer than {6} seeds"]


def test_differences_beyond_chance_are_said(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, lambda run: gain_of(run) + (3.0 if run.label == "scip" else 0.0))
    text = seen(CampaignResults.of(plan, records).html_text())
    part = text.split("Differences from highs at equal seeds")[1].split("scip")[1]
    number, interval, verdict = [cell for cell in part.split("\n") if cell.strip()][:3]
    assert (number, verdict) == ("3.5", "more")
    low, high = map(float, interval.split(" to "))
    assert 3.0 <= low < 3.5 < high <= 4.0


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    plan, _ = made(tmp_path, GRID, gain_of)
    assert first_figures(CampaignResults.of(plan, {})) == ([], 0)
    assert "72: 72 missing" in seen(CampaignResults.of(plan, {}).html_text())


def test_results_have_the_forms_of_all_tables_of_trials(tmp_path: Path) -> None:
    plan, records = made(tmp_path / "files", GRID, lambda run: None if run.seed == 1 else gain_of(run))
    results = CampaignResults.of(plan, records)
    assert str(results).splitlines() == [*plain(results.grid()).splitlines(), *results.footer()]
    assert str(results).splitlines()[-1].startswith("  12 runs failed: GSM4004 no ")
    shown = results._repr_html_()
    assert html.escape(HOSTILE) in shown
    assert "Gain: scenario Small" in shown
    results.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == results.export(tmp_path / "same.csv").read_bytes()
    assert [row.remark for row in results.rows if row.seed == 1] == [f"GSM4004 no {HOSTILE}"] * 12


@pytest.mark.slow
def test_figures_are_drawn(tmp_path: Path) -> None:
    plan, records = made(tmp_path / "files", GRID, gain_of)
    figures, _ = first_figures(CampaignResults.of(plan, records))
    files = write_figures({"": figures[:1]}, tmp_path / "figures")
    assert [file.name for file in files] == ["gain-1.svg", "gain-1.png"]
    svg = html.unescape(files[0].read_text(encoding="utf-8"))
    for word in ("Gain: scenario Small", "space [GB]", "highs", "scip"):
        assert word in svg
    bars, records = made(tmp_path / "more", GRID.replace("{ 5[GB], 7[GB], 9[GB] }", "{ 5[GB], 7[GB] }"), gain_of)
    assert len(write_figures({"": drawn(bars, records)}, tmp_path / "bars")) == 4


def test_runs_that_ended_early_are_not_compared(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, gain_of)
    for planned in plan.runs:
        run, record = planned.run, records[planned.key]
        if run.scenario == "Small" and run.label == "scip":
            short = {"metrics": {"gain": -1e6, "used": 0.0}, "status": "stuck"} if run.seed == 1 else {}
            records[planned.key] = msgspec.structs.replace(record, **short)
        elif run.scenario == "Other":
            records[planned.key] = msgspec.structs.replace(record, metrics={}, objective=None, status="infeasible")
    grid = CampaignResults.of(plan, records).grid()
    counts = {tuple(row[:3]): row[3] for row in zip(*(column.texts for column in grid.columns), strict=True)}
    assert (counts["5", "Small", "scip"], counts["5", "Other", "scip"]) == ("5 of 6", "6")
    text = seen(CampaignResults.of(plan, records).html_text())
    assert "-1000000" not in text.split("All runs")[0]
    part = text.split("Differences from highs at equal seeds")[1].split("scip")[1]
    assert [cell for cell in part.split("\n") if cell.strip()][:2] == ["0.4", "fewer than 6 seeds"]
    lines = CampaignResults.of(plan, records).footer()
    assert lines[0] == (
        "  3 runs with status `stuck`: jobs wait and no event follows, so the means are without them "
        "(Small with scip, space 5[GB], seed 1)"
    )
    assert lines[1].startswith("  36 runs with status `infeasible` (Other with highs,")
    assert all(line.split(" (")[0].strip() in text for line in lines)
    figures, _ = first_figures(CampaignResults.of(plan, records))
    assert all(line.mean.min() > -20 for figure in figures for line in figure.lines)  # type: ignore[attr-defined]


def test_a_factor_with_the_name_of_a_measure_is_not_shown_as_one(tmp_path: Path) -> None:
    text = GRID.replace("vary space", "vary used in { 0.5, 1.5 };  vary space").replace("  measure gain, used;\n", "")
    plan, records = made(tmp_path, text, gain_of)
    results = CampaignResults.of(plan, records)
    assert results.table["used"].unique().sort().to_list() == [0.5, 1.5]
    assert results.shown == ["objective", "gain"]


def test_small_numbers_keep_their_digits(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, lambda run: 1.23456789e-7)
    assert "1.23457e-07" in seen(CampaignResults.of(plan, records).html_text()).split("All runs")[1]
    assert [cell(value) for value in (0.1 + 0.2, -2.5e-8, 1e-16, 999.5)] == [
        "0.3",
        "-2.5e-08",
        "0",
        "999.5",
    ]


def test_repeats_of_a_seed_are_no_further_draws(tmp_path: Path) -> None:
    repeated = GRID.replace("vary seed in 1..6;", "vary seed in 1..3; vary replication in 1..3;")
    plan, records = made(tmp_path / "lines", repeated, gain_of)
    lines = drawn(plan, records)[0]
    assert isinstance(lines, LinesFigure)
    assert (lines.note, lines.lines[0].mean[0]) == ("means over 3 runs; intervals need 6", pytest.approx(-9.8))
    assert not np.isfinite(lines.lines[0].low).any()
    plan, records = made(tmp_path / "bars", repeated.replace("5[GB], 7[GB], 9[GB]", "5[GB], 7[GB]"), gain_of)
    assert drawn(plan, records)[0].note == "means over 3 seeds (dots); intervals need 6 seeds"
    once = GRID.replace("vary seed", "vary replication").replace("5[GB], 7[GB], 9[GB]", "5[GB], 7[GB]")
    plan, records = made(tmp_path / "once", once, gain_of)
    assert drawn(plan, records)[0].note.startswith("means over 6 runs (dots); lines are 95 %")


@pytest.mark.parametrize("name", ["runs", "done", "value", "metric", "role", "mean", "len"])
def test_any_name_of_a_factor(tmp_path: Path, name: str) -> None:
    plan, records = made(tmp_path, GRID.replace("space", name), lambda run: float(run.seed))
    assert CampaignResults.of(plan, records).grid().columns[0].header == f"{name} [GB]"
    page = CampaignResults.of(plan, records).html_text()
    assert len(figures_of(page, "lines")) == 4
    assert "Differences from highs at equal seeds" in seen(page)


def test_truth_values_are_written_as_they_are_selected(tmp_path: Path) -> None:
    text = GRID.replace("vary space", "vary relaxed in { true, false };  vary space")
    text = text.replace("with highs, scip (gap = 0)", "with highs (relax = relaxed)")
    plan, records = made(tmp_path, text, gain_of)
    shown = CampaignResults.of(plan, records).grid().columns[0]
    assert (shown.header, set(shown.texts)) == ("relaxed", {"true", "false"})
    page = seen(CampaignResults.of(plan, records).html_text())
    assert "true" in page
    assert "True" not in page
    for wanted in ("true", "True"):
        assert len(plan.only({"relaxed": [wanted]}).runs) == len(plan.runs) // 2
    (tmp_path / "campaign.claims.toml").write_text("""
title = "A paper"
setup = ""
[[claim]]
place = "Table 1"
claim = "Without integers it is as good."
campaign = "Sizes"
kind = "equal"
measure = "gain"
method = "highs"
factor = "relaxed"
value = true
against = [false]
within = 1
where = { scenario = "Small" }
""")
    (section,) = claims_sections(CampaignResults.of(plan, records))
    assert section.tables[0].rows[0][5] == "reproduced"
