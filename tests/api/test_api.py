"""The Python interface on a small problem: a choice of jobs that fit, with a waiting time."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs
from gsdsl_backends.protocol import SolverProgress

TEXT = """\
model Pack {
  option rule in { loose, tight } default loose;
  set Items;
  set Pairs within Items cross Items;
  set Sizes = 1..2;
  param worth[Items] in $ >= 0;
  param size[Items] in GB > 0;
  param bonus[Pairs] in $ default 0[$];
  param room in GB >= 0;
  param density[i in Items] in $/GB = worth[i] / size[i];
  var take[i in Items] integer >= 0 <= 9;
  var both[Pairs] binary;
  var wait in h >= 0;
  let used in GB = sum[i in Items] size[i] * take[i];
  let value[i in Items] in $ = worth[i] * take[i];
  maximize gain in $ {
    sold: sum[i in Items] value[i];
    extra: sum[(i, k) in Pairs] bonus[i, k] * both[i, k];
    waiting: -2[$/h] * wait;
  }
  constraint fits: used <= room;
  constraint paired[(i, k) in Pairs]: 2 * both[i, k] <= take[i] + take[k];
  when rule == tight { constraint few: sum[i in Items] take[i] <= 1; }
}
scenario Small for Pack {
  table Items: worth[$] size[GB] =
    a 3 2
    b 5 3;
  Pairs = { ("a", "b") };
  room = 7[GB];
}
scenario Roomy extends Small { room = 12[GB]; }
"""


@pytest.fixture
def model() -> Iterator[gs.Model]:
    with gs.loads(TEXT) as model:
        yield model


def codes(error: pytest.ExceptionInfo[gs.DiagnosticError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


def test_solve_gives_values_in_the_authors_names(model: gs.Model) -> None:
    result = model.solve("Small", gap=0.0)
    assert result.status == "optimal"
    assert result.status is gs.Status.OPTIMAL
    assert result.objective == pytest.approx(11.0)
    assert result.bound == pytest.approx(11.0)
    assert result.terms == pytest.approx({"sold": 11.0, "extra": 0.0, "waiting": 0.0})
    assert result["take"].rows() == [("a", 2.0), ("b", 1.0)]
    assert result["take"].columns == ["i", "value"]
    assert result["wait"].rows() == []
    assert result.table("wait").rows() == [(0.0,)]
    assert result["used"].rows() == [(7.0,)]
    assert result["value"].rows() == [("a", 6.0), ("b", 5.0)]
    assert result["density"].rows() == [("a", 1.5), ("b", pytest.approx(5 / 3))]
    assert result.table("both").columns == ["Pairs_1", "Pairs_2", "value"]
    assert result.value("take", "b") == 1.0
    assert result.placement is None
    assert result.build_seconds > 0
    assert set(result.versions) >= {"gsdsl", "python", "HiGHS"}


def test_backends_and_scenarios(model: gs.Model) -> None:
    assert model.scenarios == ("Small", "Roomy")
    assert model.models == ("Pack",)
    for backend in ("highs", "scip"):
        assert model.solve("Roomy", backend).objective == pytest.approx(20.0)
    with pytest.raises(gs.DiagnosticError) as error:
        model.solve()
    assert codes(error) == ["GSM6006"]
    with pytest.raises(gs.DiagnosticError) as error:
        model.solve("Smal")
    assert codes(error) == ["GSM6007"]
    with pytest.raises(gs.DiagnosticError) as error:
        model.solve("Small", "hihgs")
    assert codes(error) == ["GSM4001"]


def test_settings_choose_options_and_scalars(model: gs.Model) -> None:
    result = model.solve("Small", settings={"rule": "tight", "room": "3000[MB]"})
    assert result.objective == pytest.approx(5.0)
    assert result.to_dict()["options"] == {"rule": "tight"}
    assert result.to_dict()["settings"] == {"rule": "tight", "room": "3000[MB]"}


def test_ground_and_compile_give_the_problem(model: gs.Model) -> None:
    problem = model.ground("Roomy")
    assert isinstance(problem, gs.Problem)
    assert problem.constraint("fits")[0].size == 1
    same = gs.compile(TEXT, "Roomy")
    assert same.row_upper.tolist() == problem.row_upper.tolist()


def test_values_change_in_place(model: gs.Model) -> None:
    first = model.solve("Small", gap=0.0, without=("all",))  # tightening writes other rows for another room
    model.set("room", 12.0)
    model.set("bonus", {("a", "b"): 4.0})
    second = model.resolve()
    assert second.rebuilt is None
    assert second.solved.loading == "in_place"
    assert second.objective == pytest.approx(24.0)
    assert second.terms["extra"] == pytest.approx(4.0)
    assert first.objective == pytest.approx(11.0)
    assert second.value("density", "a") == pytest.approx(1.5)


def test_derived_values_follow(model: gs.Model) -> None:
    model.solve("Small")
    model.set("worth", {"a": 6.0, "b": 5.0})
    assert model.resolve().value("density", "a") == pytest.approx(3.0)


@pytest.mark.parametrize("by_name", [True, False])
def test_tables_as_values(model: gs.Model, by_name: bool) -> None:
    model.solve("Small")
    columns = {"value": [1.0, 9.0], "i": ["a", "b"]} if by_name else {"item": ["a", "b"], "dollars": [1.0, 9.0]}
    # `worth[Items]` names no index, so columns count from the left; with `value` present it is the values
    model.set("worth", pl.DataFrame(columns))
    assert model.resolve().terms["sold"] == pytest.approx(18.0)


def test_tables_of_pandas(model: gs.Model) -> None:
    pandas = pytest.importorskip("pandas")
    model.solve("Small")
    model.set("worth", pandas.DataFrame({"item": ["a", "b"], "value": [1.0, 9.0]}))
    assert model.resolve().terms["sold"] == pytest.approx(18.0)
    model.set("worth", pandas.Series({"a": 3.0, "b": 0.0}))
    assert model.resolve().terms["sold"] == pytest.approx(9.0)


def test_an_element_arrives(model: gs.Model) -> None:
    model.solve("Small")
    model.set("Items", ["a", "b", "c"])
    model.set("worth", {"a": 3, "b": 5, "c": 50})
    model.set("size", {"a": 2, "b": 3, "c": 7})
    result = model.resolve()
    assert result.objective == pytest.approx(50.0)
    assert result.rebuilt is None
    assert result.solved.loading == "carried"


def test_what_cannot_be_changed_is_built_anew_and_says_why(model: gs.Model) -> None:
    model.solve("Small", "scip")
    model.set("room", 12.0)
    result = model.resolve()
    assert result.objective == pytest.approx(20.0)
    assert result.rebuilt == "the backend `scip` cannot change a loaded problem"


def test_a_computed_set_can_be_given_instead() -> None:
    text = """
    model M { set Items; set Good within Items; param w[Items] >= 0; var x[Good] binary;
      maximize g: sum[i in Good] w[i] * x[i]; }
    scenario S for M { table Items: w = a 1 b 2 c 3; Good = { i : i in Items where w[i] >= 2 }; }
    """
    model = gs.loads(text)
    assert model.solve().objective == pytest.approx(5.0)
    model.set("Good", ["a"])
    assert model.resolve().objective == pytest.approx(1.0)
    model.set("Good", [])
    assert model.resolve().objective == pytest.approx(0.0)


def test_a_backend_that_cannot_update_says_so(model: gs.Model) -> None:
    model.solve("Small", "scip")
    model.set("room", 12.0)
    result = model.resolve()
    assert result.objective == pytest.approx(20.0)
    assert result.rebuilt == "the backend `scip` cannot change a loaded problem"


def test_values_hold_until_they_are_taken_back(model: gs.Model) -> None:
    model.solve("Small")
    model.set("worth", 1.0)  # one number for every key
    assert model.solve("Small").objective == pytest.approx(3.0)
    assert model.solve("Roomy").objective == pytest.approx(6.0)
    model.reset()
    assert model.solve("Small").objective == pytest.approx(11.0)


def test_a_closed_model_can_still_resolve(model: gs.Model) -> None:
    model.solve("Small")
    model.close()
    result = model.resolve()
    assert result.objective == pytest.approx(11.0)
    assert "no loaded problem" in (result.rebuilt or "")


@pytest.mark.quick(11)
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("wroth", 1.0, "GSM6012"),
        ("take", 1.0, "GSM6012"),
        ("used", 1.0, "GSM6012"),
        ("rule", "tight", "GSM6012"),
        ("density", 1.0, "GSM6012"),
        ("Sizes", [1], "GSM6012"),
        ("room", "wide", "GSM6012"),
        ("room", None, "GSM6012"),
        ("room", [1.0], "GSM6012"),
        ("worth", {("a", "b"): 1.0}, "GSM6012"),
        ("worth", pl.DataFrame({"a": ["a"], "b": ["b"], "value": [1.0]}), "GSM6012"),
        ("Items", "abc", "GSM6012"),
        ("Items", [("a", "b")], "GSM6012"),
    ],
)
def test_what_cannot_be_set(model: gs.Model, name: str, value: object, code: str) -> None:
    model.solve("Small")
    with pytest.raises(gs.DiagnosticError) as error:
        model.set(name, value)
    assert codes(error) == [code]
    assert model.resolve().objective == pytest.approx(11.0)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("worth", {"a": 1.0}, "GSM2101"),
        ("worth", {"a": 1.0, "b": 2.0, "c": 3.0}, "GSM2103"),
        ("worth", {"a": 1.0, "b": float("nan")}, "GSM2105"),
        ("worth", {"a": 1.0, "b": float("inf")}, "GSM2106"),
        ("worth", {"a": 1.0, "b": "x"}, "GSM2104"),
        ("worth", {"a": 1.0, "b": -2.0}, "GSM2109"),
        ("worth", pl.DataFrame({"item": ["a", "a", "b"], "value": [1.0, 2.0, 3.0]}), "GSM2102"),
        ("bonus", {("b", "a"): 1.0}, "GSM2103"),
        ("room", float("nan"), "GSM2105"),
        ("Items", ["a", "b", "a"], "GSM2110"),
        ("Items", ["a", 1], "GSM2111"),
    ],
)
def test_values_are_checked_like_data(model: gs.Model, name: str, value: object, code: str) -> None:
    model.solve("Small")
    model.set(name, value)
    with pytest.raises(gs.DiagnosticError) as error:
        model.resolve()
    assert code in codes(error)
    assert f'set("{name}"' in str(error.value)
    model.reset(name)
    assert model.resolve().objective == pytest.approx(11.0)


def test_resolve_before_a_solve_solves() -> None:
    with gs.loads(TEXT.replace("scenario Roomy extends Small { room = 12[GB]; }", "")) as model:
        model.set("room", 12.0)
        first = model.resolve(gap=0.0, time_limit=30)
        assert first.objective == model.solve("Small", gap=0.0).objective
        assert first.rebuilt is None
        model.set("room", 7.0)
        assert model.resolve().objective == pytest.approx(11.0)


def test_resolve_before_a_solve_needs_a_single_scenario(model: gs.Model) -> None:
    with pytest.raises(gs.UsageError) as error:
        model.resolve()
    assert codes(error) == ["GSM6006"]


def test_warm_starts_of_all_kinds(model: gs.Model, tmp_path: Path) -> None:
    first = model.solve("Small")
    first.to_json(tmp_path / "first.json")
    values = {"take": {"a": 2, "b": 1}, "wait": 0.0}
    for start in (first, tmp_path / "first.json", values, {"take": first["take"]}):
        result = model.solve("Small", warm_start=start)
        assert result.objective == pytest.approx(11.0)
        assert result.warnings == ()
    result = model.solve("Small", warm_start={"tak": 1})
    assert [w.code for w in result.warnings] == ["GSM6009"]
    with pytest.raises(gs.DiagnosticError):
        model.solve("Small", warm_start={"take": {"a": "many"}})


def test_a_monitor_hears_and_stops(model: gs.Model) -> None:
    class Stop:
        stop_requested = True

        def progress(self, progress: SolverProgress) -> None:
            assert progress.seconds >= 0

    result = model.solve("Small", monitor=Stop())
    assert result.status in ("optimal", "limit")  # a small problem may be done before it is asked


def test_infeasible_is_a_result() -> None:
    text = TEXT.replace("used <= room", "used >= 1000[GB]")
    result = gs.loads(text).solve("Small")
    assert result.status == "infeasible"
    assert result.objective is None
    with pytest.raises(gs.DiagnosticError):
        result["take"]
    assert result["worth"].height == 2


def test_several_objectives_in_order() -> None:
    text = """
    model M { set S = 1..3; var x[S] binary; var y >= 0 <= 5;
      minimize few: sum[s in S] x[s];
      then maximize second { wide: y; high: 2 * x[1]; }
      constraint one: sum[s in S] x[s] >= 1; }
    scenario N for M { }
    """
    result = gs.loads(text).solve()
    assert [o.value for o in result.objectives] == pytest.approx([1.0, 7.0])
    assert result.terms == pytest.approx({"few": 1.0, "wide": 5.0, "high": 2.0})
    assert result.objective == pytest.approx(1.0)


def test_errors_come_together_and_print_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "bad.gsm"
    path.write_text(TEXT.replace("worth[i] / size[i]", "wroth[i] / size[i]").replace("wait in h", "wait in hh"))
    with pytest.raises(gs.DiagnosticError) as error:
        gs.load(path).solve("Small")
    assert set(codes(error)) == {"GSM1101", "GSM1301"}
    assert f"{path}:10:" in str(error.value)
    with pytest.raises(gs.DiagnosticError) as error:
        gs.load(tmp_path / "none.gsm")
    assert codes(error) == ["GSM1001"]


def test_data_are_relative_to_the_text(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,dollars,gb\na,3,2\nb,5,3\n")
    data = 'data "items.csv" { Items = item; worth[item] = dollars[$]; size[item] = gb[GB]; }'
    head, _, rest = TEXT.partition("  table Items")
    text = head + data + rest[rest.index(";") + 1 :]
    result = gs.loads(text, "inline.gsm", base=tmp_path).solve("Small")
    assert result.objective == pytest.approx(11.0)
    assert set(result.inputs_sha256) == {"inline.gsm", "items.csv"}
    (tmp_path / "model.gsm").write_text(text)
    assert gs.load(tmp_path / "model.gsm").solve("Small").objective == pytest.approx(11.0)


def test_memory_is_limited() -> None:
    model = "model M { set S = 1..10000; var x[S, S] binary; minimize sum[i in S, j in S] x[i, j]; }"
    with pytest.raises(gs.DiagnosticError) as error:
        gs.loads(f"{model} scenario N for M {{ }}", memory=1 << 20).solve()
    assert codes(error) == ["GSM3001"]


def test_public_names_are_all_there() -> None:
    for name in gs.__all__:
        assert getattr(gs, name) is not None
    assert set(gs.__all__) <= set(dir(gs))
    with pytest.raises(AttributeError):
        gs.nothing  # noqa: B018
