"""`slot(time, length)` as a key of a data file: numbers of slots, means over stretches and over points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from price_files import SAMPLES, SHARED

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import load_workspace

MODEL = """\
model M {{
  set Slots ordered;
  set Places;
  param x[Slots] in $/MWh default -1[$/MWh];
  param y[Places, Slots] in $/MWh default -1[$/MWh];
  param n[Slots] default 0;
  param w[0..3] in $/MWh default -1[$/MWh];
  var z binary;
  minimize cost: z;
}}
scenario S for M {{
  Slots = {slots};
  Places = {{ "a", "b" }};
  data "rows.csv"{form} {{ {item} }}
}}
"""


def values(
    folder: Path, rows: str, item: str, slots: str = "0..3", name: str = "x", form: str = ""
) -> list[float] | list[list[float]]:
    (folder / "rows.csv").write_text(rows, encoding="utf-8")
    (folder / "m.gsm").write_text(MODEL.format(item=item, slots=slots, form=form), encoding="utf-8")
    found = Diagnostics()
    workspace = load_workspace(folder / "m.gsm", found)
    scenario = check_scenario(workspace, "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    store = build_instance(scenario, folder=folder).store
    array = store.params[name].values
    return [round(value, 9) for value in (array if array.ndim == 1 else array.ravel()).tolist()]


def refused(folder: Path, rows: str, item: str, **more: str) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        values(folder, rows, item, **more)
    [found] = [d for d in caught.value.diagnostics if d.code != "GSM2017"]
    return found.code, found.message


MEAN = "x[slot(time, 15[min])] = mean(p[$/MWh]);"


def test_hourly_prices_fill_the_slots_of_their_hour(tmp_path: Path) -> None:
    rows = "time,p\n2018-06-01 00:00,10\n2018-06-01 01:00,20\n"
    assert values(tmp_path, rows, MEAN, "0..8") == [10] * 4 + [20] * 4 + [-1]


def test_shorter_rows_are_averaged(tmp_path: Path) -> None:
    rows = "time,p\n" + "".join(f"06/01/2018 00:{m:02}:00,{m}\n" for m in range(0, 60, 5))
    assert values(tmp_path, rows, MEAN) == [5, 20, 35, 50]


def test_rows_over_a_border_count_on_both_sides(tmp_path: Path) -> None:
    rows = "time,p\n" + "".join(f"2018-06-01 00:{m:02},{m}\n" for m in range(0, 60, 10))
    expected = [(10 * 0 + 5 * 10) / 15, (5 * 10 + 10 * 20) / 15, (10 * 30 + 5 * 40) / 15, (5 * 40 + 10 * 50) / 15]
    assert values(tmp_path, rows, MEAN) == pytest.approx(expected)


def test_points_in_time_have_a_plain_mean(tmp_path: Path) -> None:
    rows = "time,p\n00,1\n".replace("00,", "2018-06-01 00:00:00,")
    rows += "2018-06-01 00:00:07,2\n2018-06-01 00:14:59,6\n2018-06-01 00:47:03,8\n"
    assert values(tmp_path, rows, MEAN) == [3, -1, -1, 8]


def test_even_multiples_of_a_rare_distance_are_points(tmp_path: Path) -> None:
    """Most rows are 20 min apart, two of them 10: nothing says that a row stands for 10 min."""
    rows = "time,p\n" + "".join(f"{60 * m},{m}\n" for m in (0, 20, 40, 50, 70))
    assert values(tmp_path, rows, MEAN, "0..4") == [0, 20, 40, 50, 70]


def test_random_points_and_stretches(tmp_path: Path) -> None:
    """Against an account of each minute, with steps that divide slots, that do not, and none."""
    rng = np.random.default_rng(5)
    for step in (1, 4, 7, 15, 25, 60):
        kept = np.flatnonzero(rng.random(200 // step + 3) < 0.8)
        minutes = kept * step
        if not (np.diff(minutes) == step).sum() > len(minutes) / 2:
            continue
        prices = rng.integers(-50, 50, len(minutes))
        rows = "time,p\n" + "".join(f"{60 * m},{p}\n" for m, p in zip(minutes, prices, strict=True))
        per_minute = {m + k: p for m, p in zip(minutes.tolist(), prices.tolist(), strict=True) for k in range(step)}
        start = int(minutes[0])
        expected = []
        for slot in range(12):
            inside = [per_minute[m] for m in range(start + 15 * slot, start + 15 * slot + 15) if m in per_minute]
            expected.append(float(np.mean(inside)) if inside else -1.0)
        assert values(tmp_path, rows, MEAN, "0..11") == pytest.approx(expected), step


def test_other_aggregates_take_rows_as_they_stand(tmp_path: Path) -> None:
    rows = "time,p\n2018-06-01 00:00,10\n2018-06-01 00:05,30\n2018-06-01 00:20,5\n"
    for function, expected in (("sum", [40, 5]), ("max", [30, 5]), ("first", [10, 5]), ("last", [30, 5])):
        item = f"x[slot(time, 15[min])] = {function}(p[$/MWh]);"
        assert values(tmp_path, rows, item) == [*expected, -1, -1]
    assert values(tmp_path, rows, "n[slot(time, 15[min])] = count(p);", name="n") == [2, 1, 0, 0]
    assert values(tmp_path, rows, "x[slot(time, 5[min])] = p[$/MWh];", "0..4") == [10, 30, -1, -1, 5]
    assert refused(tmp_path, rows, "x[slot(time, 15[min])] = p[$/MWh];")[0] == "GSM2102"


def test_a_stated_start_and_a_file_that_is_longer_than_the_horizon(tmp_path: Path) -> None:
    rows = "time,p\n" + "".join(f"2018-06-01 {h:02}:00,{h}\n" for h in range(24))
    item = 'x[slot(time, 1[h], "2018-06-01 05:00")] = mean(p[$/MWh]);'
    assert values(tmp_path, rows, item) == [5, 6, 7, 8]
    assert values(tmp_path, rows, item.replace("05:00", "22:00")) == [22, 23, -1, -1]
    assert values(tmp_path, rows, item, "{ 2, 3 }") == [7, 8]
    assert values(tmp_path, rows, item.replace("x[", "w["), name="w") == [5, 6, 7, 8]
    zoned = rows.replace(":00,", ":00-04:00,")
    assert values(tmp_path, zoned, item.replace("05:00", "09:00Z")) == [5, 6, 7, 8]
    assert refused(tmp_path, rows, item.replace("05:00", "05:00Z"))[0] == "GSM2030"
    assert refused(tmp_path, rows, item.replace("2018-06-01 05:00", "soon"))[0] == "GSM2030"


def test_other_keys(tmp_path: Path) -> None:
    rows = "place,time,p\n" + "".join(
        f"{p},2018-06-01 {h:02}:00,{10 * k + h}\n" for k, p in enumerate("ab") for h in (0, 1)
    )
    item = "y[place, slot(time, 30[min])] = mean(p[$/MWh]);"
    assert values(tmp_path, rows, item, name="y") == [0, 0, 1, 1, 10, 10, 11, 11]
    wrong = rows + "c,2018-06-01 00:00,1\n"
    assert refused(tmp_path, wrong, item, name="y")[0] == "GSM2103"


def test_numbers_are_seconds(tmp_path: Path) -> None:
    rows = "time,p\n" + "".join(f"{1800 * k},{k}\n" for k in range(2, 6))
    assert values(tmp_path, rows, MEAN.replace("15", "30")) == [2, 3, 4, 5]
    assert values(tmp_path, rows, MEAN.replace("15[min]", "30[min], 0[h]")) == [-1, -1, 2, 3]
    assert refused(tmp_path, rows, MEAN.replace("15[min]", '30[min], "2018-06-01"'))[0] == "GSM2030"


def test_cells_that_are_no_times(tmp_path: Path) -> None:
    rows = "time,p\n2018-06-01 00:00,1\nnoon,2\n"
    code, message = refused(tmp_path, rows, MEAN)
    assert (code, "`noon`" in message) == ("GSM2030", True)
    mixed = "time,p\n2018-06-01 00:00,1\n2018-06-01 00:15Z,2\n"
    assert refused(tmp_path, mixed, MEAN)[0] == "GSM2030"
    empty = "time,p\n2018-06-01 00:00,1\n,2\n"
    assert refused(tmp_path, empty, MEAN)[0] == "GSM2107"
    long = "time,p\n0001-01-01 00:00,1\n9001-01-01 00:00,2\n"
    assert refused(tmp_path, long, MEAN.replace("15[min]", "1[s]"))[0] == "GSM2030"


def test_slots_of_a_price_format(tmp_path: Path) -> None:
    rows = (SAMPLES / "nyiso_june_2018.csv").read_text(encoding="utf-8")
    form = ' as nyiso (zone = "CENTRL", from = "2018-06-01", slots = 96)'
    by_time = values(tmp_path, rows, "x[slot(time, 15[min])] = mean(price[$/MWh]);", "0..95", form=form)
    assert by_time == values(tmp_path, rows, "x[slot] = price;", "0..95", form=form)
    assert by_time[:5] == [18.5892] * 4 + [18.0083]
    hourly = values(tmp_path, rows, "x[slot(time, 1[h])] = mean(price);", "0..23", form=form)
    assert hourly == by_time[::4]
    finer = values(tmp_path, rows, "x[slot(time, 5[min])] = mean(price);", "0..287", form=form)
    assert finer == np.repeat(by_time, 3).tolist()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the file of the tour is not here")
def test_the_scenario_of_the_tour(tmp_path: Path) -> None:
    import polars as pl

    zones = pl.read_csv(SHARED / "nyiso" / "rt_lbmp_hourly_2018-05-28_2018-07-08_all_zones.csv")
    june = zones.filter((pl.col("zone") == "CENTRL") & pl.col("hour_beginning_local").str.starts_with("2018-06"))
    june.select(time="hour_beginning_local", lbmp="lbmp_usd_per_mwh").write_csv(tmp_path / "nyiso_june2018.csv")
    tour = (Path(__file__).parents[1] / "tour" / "price_aware.gsm").read_text(encoding="utf-8")
    head, _, scenario = tour.partition("scenario Syracuse for PriceAware {")
    assert head
    text = "model PriceAware { set Slots ordered; param tariff[Slots] in $/MWh; var z binary; minimize cost: z; }\n"
    (tmp_path / "m.gsm").write_text(text + "scenario Syracuse for PriceAware {" + scenario, encoding="utf-8")
    found = Diagnostics()
    checked = check_scenario(load_workspace(tmp_path / "m.gsm", found), "Syracuse", {}, found)
    assert checked is not None
    store = build_instance(checked, folder=tmp_path).store
    assert store.params["tariff"].values[::4].tolist() == june["lbmp_usd_per_mwh"][:168].to_list()
