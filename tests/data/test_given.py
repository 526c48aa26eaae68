"""From the text of a scenario to arrays: given, read and bound values, and reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set Jobs;
  set Types;
  set Slots ordered;
  set Late within Jobs;
  set Fits within Jobs cross Types;
  param gpus[Types] integer >= 1 <= 8 default 1;
  param time[Fits] in h > 0 default 1[h];
  param weight[Jobs] default 0;
  param period in h default 1[h];
  param horizon in h default 24[h];
  param limit integer default 3;
  param family[Types] symbol default "any";
  param best within Types default "v1";
  param favourite[Jobs] within Types default "v1";
  param tariff[Slots] default 0;
  check [j in Late]: weight[j] <= 100 "too heavy";
  var x >= 0;
  minimize total: x;
}
scenario Base for M {
  Jobs = { j1, j2, j3 };
  table Types: gpus = v1 4  v2 8 ;
  Slots = 0..3;
  Late = { j3, j1 };
  Fits = { (j1, v1), (j2, v2) };
}
"""


def build(text: str, folder: Path, scenario: str = "S") -> Instance:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + text, "test.gsm", found)
    checked = check_scenario(workspace, scenario, {}, found)
    assert list(found) == []
    assert checked is not None
    return build_instance(checked, folder=folder)


def values(instance: Instance, name: str) -> list[object]:
    return list(instance.store.params[name].values.tolist())


def refused(text: str, folder: Path, scenario: str = "S") -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        build(text, folder, scenario)
    return [(d.code, str(d.primary)) for d in caught.value.diagnostics]


def test_sets_and_defaults(tmp_path: Path) -> None:
    instance = build("", tmp_path, "Base")
    sets = {name: domain.label_columns() for name, domain in instance.store.sets.items()}
    assert sets == {
        "Jobs": [["j1", "j2", "j3"]],
        "Types": [["v1", "v2"]],
        "Slots": [[0, 1, 2, 3]],
        "Late": [["j3", "j1"]],
        "Fits": [["j1", "j2"], ["v1", "v2"]],
    }
    assert values(instance, "gpus") == [4, 8]
    assert values(instance, "time") == [1, 1]
    assert values(instance, "family") == ["any", "any"]
    assert values(instance, "favourite") == [0, 0, 0]


def test_expressions_read_each_other_in_any_order(tmp_path: Path) -> None:
    instance = build(
        "scenario S extends Base { limit = count(Jobs) + 1; horizon = 3 * period; period = 30[min]; weight = limit; }",
        tmp_path,
    )
    assert values(instance, "limit") == [4]
    assert values(instance, "horizon") == [1.5]
    assert values(instance, "weight") == [4, 4, 4]


def test_tables_files_and_patches_together(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("job,w\nj2,20\n")
    text = """
    scenario A extends Base {
      table Jobs: weight = j1 1  j3 . ;
      data "w.csv" { weight[job] = w; }
      best = v2;
      table Types: family = v1 k80  v2 "m 60" ;
    }
    scenario S extends A { weight[j3] = 7; table Jobs: favourite = j1 v2  j2 v1  j3 v2 ; }
    """
    instance = build(text, tmp_path)
    assert values(instance, "weight") == [1, 20, 7]
    assert values(instance, "best") == [1]
    assert values(instance, "family") == ["k80", "m 60"]
    assert values(instance, "favourite") == [1, 0, 1]
    assert list(instance.inputs) == ["w.csv"]


def test_sets_and_aggregates_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,type,minutes,slot\na,v1,60,0\nb,v2,30,1\na,v1,120,1\nc,v2,90,3\n")
    text = """
    scenario S extends Base {
      Late = {};
      data "a.csv" {
        Jobs = distinct(job); Fits = distinct(job, type);
        time[job, type] = mean(minutes[min]); weight[job] = count(type); tariff[slot] = max(minutes);
      }
    }
    """
    instance = build(text, tmp_path)
    assert instance.store.sets["Jobs"].label_columns() == [["a", "b", "c"]]
    assert values(instance, "time") == [1.5, 0.5, 1.5]
    assert values(instance, "weight") == [2, 1, 1]
    assert values(instance, "tariff") == [60, 120, 0, 90]


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("job,type,h\nj1,v1,-1\nj2,v2,two\nj9,v1,1\n")
    text = """scenario S extends Base {
      data "t.csv" { time[job, type] = h[h]; }
      data "missing.csv" { weight[job] = w; }
      table Types: gpus = v1 4.5  v2 9  v3 1 ;
      best = v7;
      limit = 3;
    }
    """
    codes = [code for code, _ in refused(text, tmp_path)]
    assert sorted(codes) == ["GSM2001", "GSM2103", "GSM2104", "GSM2108", "GSM2109", "GSM2109", "GSM2113"]


def test_bounds_and_checks_name_their_places(tmp_path: Path) -> None:
    text = """scenario S extends Base {
table Types: gpus = v1 4
  v2 9 ;
weight["j3"] = 500;
}"""
    at = MODEL.count("\n") + 1
    found = refused(text, tmp_path)
    assert found[0] == ("GSM2109", f"test.gsm:{at + 2}:6")
    assert found[1][0] == "GSM2201"


def test_data_paths_start_at_their_text_and_stay_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.csv").write_text("job,w\nj1,1\nj2,2\nj3,3\n")
    (tmp_path / "w.csv").write_text("job,w\nj1,1\nj2,2\nj3,3\n")
    ok = 'scenario S extends Base { data "sub/w.csv" { weight[job] = w; } }'
    assert values(build(ok, tmp_path), "weight") == [1, 2, 3]
    out = 'scenario S extends Base { data "../w.csv" { weight[job] = w; } }'
    assert refused(out, tmp_path / "sub")[0][0] == "GSM2002"


def test_nothing_given_is_told_at_the_declaration(tmp_path: Path) -> None:
    text = "model N { set A; param p[A]; param q; var x >= 0; minimize t: x; } scenario S for N { }"
    found = refused(text, tmp_path)
    assert [code for code, _ in found] == ["GSM2115", "GSM2115"]
