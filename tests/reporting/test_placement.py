"""Placements of checked models: roles to columns, costs over time, slots joined for the eye."""

import pytest

import gpusched_dsl as gs
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain, rich_table
from gpusched_dsl.reporting.schedule import schedule, totals

SLOTTED = """
model Slots {
  set Jobs;
  set Nodes;
  set Hours ordered;
  param tariff[Hours] in $/h;
  param step in min default 15[min];
  param first[Jobs] integer;
  var run[Jobs, Nodes, Hours] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes, h in Hours] tariff[h] * step * run[j, n, h];
  constraint long[j in Jobs]: sum[n in Nodes, h in Hours where h >= first[j]] run[j, n, h] == 3;
  constraint one[n in Nodes, h in Hours]: sum[j in Jobs] run[j, n, h] <= 1;
  placement run[j, n, h] { job j; node n; slot h; lasts step; costs tariff[h] in $/h; }
}
scenario Night for Slots {
  Nodes = { n2 };
  table Jobs: first = b 4  a 0 ;
  table Hours: tariff[$/h] = 0 1  1 2  2 9  3 1  4 4  5 3  6 2  7 1 ;
}
"""

SEVERAL = """
model Several {
  set Jobs;
  set Nodes;
  param gpus[Nodes] integer;
  param memory[Nodes] in GB;
  param needs[Jobs] in GB;
  param kind[Nodes] symbol;
  var run[Jobs, Nodes] binary;
  maximize sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  placement run[j, n] {
    job j; node n; node_type kind[n];
    uses 2 of gpus[n]; uses needs[j] of memory[n];
    lasts 30[min]; costs 0.5[$];
  }
}
scenario S for Several {
  table Jobs: needs[MB] = j1 500 ;
  table Nodes: gpus memory[GB] kind = n1 4 16 "A100" ;
}
"""


@pytest.fixture(scope="module")
def night() -> gs.Result:
    return gs.loads(SLOTTED).solve(gap=0.0)


def test_costs_per_time_become_costs(night: gs.Result) -> None:
    placement = night.placement
    assert placement is not None
    assert placement.columns == ["job", "node", "slot", "lasts", "costs", "cost"]
    assert placement["slot"].dtype.is_integer()
    assert placement["cost"].to_list() == pytest.approx((placement["costs"] / 4).to_list())
    assert placement["cost"].sum() == pytest.approx(night.objective)
    assert night.placed is not None
    assert night.placed.units == {"lasts": "min", "costs": "$/h", "cost": "$"}
    assert totals(night.placed) == {"cost": pytest.approx(2.5)}


def test_slots_are_joined_into_ranges(night: gs.Result) -> None:
    assert night.placed is not None
    assert plain(schedule(night.placed)) == (
        "  node  job  slot     runs for [min]  cost [$]\n"
        "  ----  ---  -------  --------------  --------\n"
        "  n2    a    0..1, 3              45     1.000\n"
        "        b    5..7                 45     1.500\n"
    )


def test_several_capacities_have_names_of_their_own() -> None:
    result = gs.loads(SEVERAL).solve()
    assert result.placement is not None
    (row,) = result.placement.to_dicts()
    assert row == {
        "job": "j1", "node": "n1", "node_type": "A100", "uses_gpus": 2, "of_gpus": 4, "uses_memory": 0.5,
        "of_memory": 16.0, "lasts": 30.0, "costs": 0.5, "cost": 0.5,
    }  # fmt: skip
    assert result.to_dict()["placement"] == [row]


def test_an_empty_placement_is_a_table_without_rows() -> None:
    result = gs.loads(SEVERAL.replace("maximize", "minimize")).solve()
    assert result.placement is not None
    assert result.placement.height == 0
    assert result.placed is not None
    assert schedule(result.placed).rows == 0


def test_no_point_no_placement() -> None:
    result = gs.loads(SEVERAL.replace("<= 1;", ">= 2;")).solve()
    assert result.status == "infeasible"
    assert result.placement is None
    assert result.to_dict()["placement"] == []


def test_terminals_get_the_same_rows() -> None:
    from rich.console import Console

    grid = Grid(
        (GridColumn("job", ["[b]j1", "j2"]), GridColumn("cost", ["1.0", "12.5"], right=True)), frozenset({0, 1})
    )
    console = Console(width=60, color_system=None)
    with console.capture() as capture:
        console.print(rich_table(grid))
    words = [line.split() for line in capture.get().splitlines()]
    assert ["job", "cost"] in words
    assert ["[b]j1", "1.0"] in words
    assert plain(grid).splitlines()[-1] == "  j2     12.5"
