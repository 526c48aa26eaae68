"""Complete models: those of the tour, inheritance and every choice of an option, without the graph library."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpusched_dsl.language.checking import check_model, check_workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text

TOUR = Path(__file__).parents[1] / "tour"


@pytest.mark.parametrize(
    ("file", "model", "warnings"),
    [
        ("capacity_planning.gsm", "CapacityPlanning", []),
        ("price_aware.gsm", "PriceAware", [("GSM1304", "latency[i]")]),
        ("speed_profile.gsm", "SpeedProfile", []),
    ],
)
def test_tour(file: str, model: str, warnings: list[tuple[str, str]]) -> None:
    diagnostics = Diagnostics()
    workspace = load_workspace(TOUR / file, diagnostics)
    checked = check_model(workspace, model, {}, diagnostics)
    assert checked is not None
    found = [(d.code, d.primary.text) for d in diagnostics if isinstance(d.primary, Span)]
    assert found == warnings
    assert len(diagnostics) == len(warnings)


def test_capacity_planning_in_detail() -> None:
    diagnostics = Diagnostics()
    checked = check_model(
        load_workspace(TOUR / "capacity_planning.gsm", diagnostics), "CapacityPlanning", {}, diagnostics
    )
    assert checked is not None
    assert list(checked.sets) == ["Jobs", "Nodes", "Types", "Configs"]
    assert list(checked.variables) == ["open", "hosts", "runs", "run", "tardiness", "postponed_tardiness"]
    assert [t.name for t in checked.objectives[0].terms] == ["lateness", "postponed", "idle", "rent"]
    assert len(checked.constraints) == 9
    assert len(checked.params["exec_time"].indexing.variables) == 3
    assert checked.sets["Nodes"].identical
    assert checked.placement is not None


def test_price_aware_has_its_class_parameter() -> None:
    diagnostics = Diagnostics()
    checked = check_model(load_workspace(TOUR / "price_aware.gsm", diagnostics), "PriceAware", {}, diagnostics)
    assert checked is not None
    assert checked.params["node_type"].kind == "symbol"
    assert len(checked.variables["train"].indexing.conditions) == 2


def test_speed_profile_has_its_random_quantity() -> None:
    diagnostics = Diagnostics()
    checked = check_model(load_workspace(TOUR / "speed_profile.gsm", diagnostics), "SpeedProfile", {}, diagnostics)
    assert checked is not None
    assert checked.randoms["length"].law is None
    assert checked.data_order[-1] == "length"


WITH_OPTIONS = """
model M {
  option a in { one, two, three } default one;
  option b in { left, right } default left;
  var x >= 0;
  minimize cost: x;
  when a == two { constraint c: x >= wrong; }
  when a == three { constraint c: x >= 1; } else { constraint d: x >= 2; }
  when b == right { constraint c: x >= faulty; }
}
model Unrelated { var y; constraint c: y >= mistaken; }
"""


def test_every_choice_is_checked_once() -> None:
    diagnostics = Diagnostics()
    check_workspace(workspace_from_text(WITH_OPTIONS, "m.gsm", diagnostics), diagnostics)
    found = [d.primary.text for d in diagnostics if isinstance(d.primary, Span)]
    assert found == ["wrong", "faulty", "mistaken"]


def test_choices_are_kept_in_the_checked_model() -> None:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(WITH_OPTIONS, "m.gsm", diagnostics)
    checked = check_model(workspace, "M", {"a": "three"}, diagnostics)
    assert checked is not None
    assert checked.options == {"a": "three", "b": "left"}
    assert list(checked.constraints) == ["c"]
    assert check_model(workspace, "M", {"a": "two"}, diagnostics) is None


def test_a_model_with_errors_gives_none_and_the_warnings_of_another_do_not_matter() -> None:
    diagnostics = Diagnostics()
    workspace = workspace_from_text("model A { param x = nope; } model B { param x = 1; }", "m.gsm", diagnostics)
    assert check_model(workspace, "A", {}, diagnostics) is None
    assert check_model(workspace, "B", {}, diagnostics) is not None
    assert check_model(workspace, "C", {}, diagnostics) is None


def test_overridden_constraints_are_checked_as_they_are_used() -> None:
    text = """
    model A { var x >= 0; constraint c: x >= nope; }
    model B extends A { override constraint c: x >= 1; }
    """
    diagnostics = Diagnostics()
    workspace = workspace_from_text(text, "m.gsm", diagnostics)
    assert check_model(workspace, "B", {}, diagnostics) is not None
    assert not len(diagnostics)


def test_an_empty_model() -> None:
    diagnostics = Diagnostics()
    checked = check_model(workspace_from_text("model A { }", "m.gsm", diagnostics), "A", {}, diagnostics)
    assert checked is not None
    assert (checked.sets, checked.objectives, checked.data_order) == ({}, (), ())


def test_checking_loads_no_heavy_library() -> None:
    code = f"""
import sys
from pathlib import Path
from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
found = Diagnostics()
check_workspace(load_workspace(Path({str(TOUR / "capacity_planning.gsm")!r}), found), found)
heavy = ["numpy", "polars", "networkx", "highspy", "pyscipopt", "cvxpy", "rich"]
print([name for name in heavy if name in sys.modules], len(found))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[] 0"


@pytest.mark.parametrize(
    "broken",
    [
        "param due[Jobs in h;",
        "var x[Jobs >= 0;",
        "set Jobs = {;",
        "let peak = * 2;",
        "constraint late[j in Jobs] x[j] >= 1;",
    ],
)
def test_uses_of_a_declaration_with_a_syntax_error_are_no_further_errors(broken: str) -> None:
    declared = ["set Jobs;", "param due[Jobs] in h;", "var x[Jobs] in h >= 0;", "let peak = max[j in Jobs] x[j];"]
    start = broken.split("[")[0].split("=")[0].strip()
    others = [d for d in declared if not d.startswith(start)]
    text = f"""model M {{
      {broken} {" ".join(others)}
      minimize cost in h: peak;
      constraint c[j in Jobs]: x[j] <= due[j];
    }}"""
    diagnostics = Diagnostics()
    workspace = workspace_from_text(text, "m.gsm", diagnostics)
    assert [d.code[:5] for d in diagnostics] == ["GSM10"]
    check_model(workspace, "M", {}, diagnostics)
    assert len(diagnostics) == 1


def test_names_of_a_choice_not_taken_are_unknown_all_the_same() -> None:
    text = """model M {
      option a in { one, two } default one; var x >= 0;
      when a == two { param extra; }
      constraint c: x >= extra;
    }"""
    diagnostics = Diagnostics()
    assert check_model(workspace_from_text(text, "m.gsm", diagnostics), "M", {}, diagnostics) is None
    assert [d.code for d in diagnostics] == ["GSM1101"]
