"""Plans of policies before the judge: the model determines their cost, and violations are reported."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from found_codes import message_values

import gpusched_dsl as gs
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.workflows import broken_plan, solve_by_policy

MODELS = Path(gs.__file__).parents[1] / "models"

CAPACITY = """
import "gsdsl:capacity_planning/model.gsm";
scenario S for CapacityPlanning {{
  node_rule = {rule};
  Nodes = {{ {nodes} }};
  period = 1[h];
  table Types:  gpus  price[$/h]  family =
    A           1     0.6         "a"
    B           2     1.1         "a"
    C           2     1.7         "";
  table Jobs:  deadline[h]  weight[$/h]  submitted[h] =
{jobs};
  table Runnable:  exec_time[h] =
{times};
}}
"""


NOTHING = """
policy Nothing for CapacityPlanning {
  order j in Jobs where weight[j] > 100[$/h] by deadline[j];
  choose (v, g) in Configs where (j, v, g) in Runnable by g;
  place new_node, postpone;
}"""


def instance(rng: np.random.Generator, rule: str = "at_most", jobs: int = 4, nodes: int = 2) -> str:
    """A small random scenario."""
    names = [f"j{i}" for i in range(1, jobs + 1)]
    rows = [f"    {j}  {rng.uniform(-1, 6):.3f}  {rng.uniform(0.2, 2):.3f}  {i}" for i, j in enumerate(names)]
    times = []
    for j, (v, g) in product(names, [("A", 1), ("B", 1), ("B", 2), ("C", 1), ("C", 2)]):
        times.append(f"    {j}  {v}  {g}  {rng.uniform(1, 8) / g**0.8:.3f}")
    listed = ", ".join(f"n{i}" for i in range(1, nodes + 1))
    return CAPACITY.format(rule=rule, nodes=listed, jobs="\n".join(rows), times="\n".join(times))


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "policy", ["FIFO", "EDF", "PS", "Greedy", "RandomisedGreedy", "PublishedLocalSearch", "LocalSearch"]
)
def test_the_engine_and_the_model_agree_on_the_price(policy: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        model = gs.loads(instance(rng))
        best = model.solve(gap=0).objective
        found = model.solve(backend=policy, seed=3)
        if found.status == "broken":  # at_most asks that as many jobs run as nodes may be rented
            assert policy in ("FIFO", "EDF", "PS")
            continue
        assert found.status == "feasible"
        assert found.solved.statistics["price"] == pytest.approx(found.objective, rel=1e-9, abs=1e-9)
        assert best is not None
        assert found.objective is not None
        assert found.objective >= best - 1e-7 * max(1.0, best)


@pytest.mark.slow
def test_search_finds_the_optimum_of_small_instances() -> None:
    rng = np.random.default_rng(6)
    gaps = []
    for _ in range(12):
        model = gs.loads(instance(rng, jobs=5))
        best, found = model.solve(gap=0).objective, model.solve(backend="LocalSearch", seed=1).objective
        assert best is not None
        assert found is not None
        gaps.append((found - best) / max(1.0, found))
    assert np.mean(gaps) < 0.01
    assert np.count_nonzero(np.array(gaps) < 1e-6) >= 8


def test_the_bound_is_the_solvers() -> None:
    model = gs.loads(instance(np.random.default_rng(7)))
    best = model.solve(gap=0).objective
    found = model.solve(backend="Greedy", bound=True, gap=0)
    assert found.bound == pytest.approx(best)
    assert found.gap is not None
    assert found.status == "feasible"


def test_a_plan_that_breaks_the_model_is_no_solution() -> None:
    model = gs.loads(instance(np.random.default_rng(8)).replace("node_rule = at_most", "node_rule = force") + NOTHING)
    found = model.solve(backend="Nothing")
    assert found.status == "broken"
    assert not found.has_point
    assert [w.code for w in found.warnings] == ["GSM4015"]
    assert "enough_run" in found.warnings[0].notes[0]


CAP = """
model Cap {
  set Jobs;  set Nodes;
  param team integer default 8;
  var run[j in Jobs, n in Nodes] binary;
  var lamp[n in Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] 1[$] * (1 - run[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint light[j in Jobs, n in Nodes]: run[j, n] <= lamp[n];
  constraint capped: sum[j in Jobs, n in Nodes] 2 * run[j, n] >= team;
  placement run[j, n] { job j;  node n;  uses 2 of 4; }
}
scenario Three for Cap { Jobs = { a, b, c };  Nodes = { n1, n2 }; }
policy Dense for Cap { order j in Jobs by 1;  place best_fit, new_node, postpone; }
"""


def test_a_broken_plan_can_be_read() -> None:
    """What the plan states has values, what it leaves open has none, and nothing of it counts as a solution."""
    found = gs.loads(CAP).solve(backend="Dense")
    assert (found.status, found.has_point, found.objective) == ("broken", False, None)
    assert found["run"].rows() == [("a", "n1", 1.0), ("b", "n1", 1.0), ("c", "n2", 1.0)]
    assert found.placement is not None
    assert found.placement["job"].to_list() == ["a", "b", "c"]
    document = found.to_dict()
    assert [entry["index"] for entry in document["variables"]["run"]] == [["a", "n1"], ["b", "n1"], ["c", "n2"]]
    assert (document["has_point"], document["variables"]["lamp"]) == (False, [])
    with pytest.raises(DiagnosticError, match="GSM6010"):
        found.table("lamp")


def test_the_option_with_which_a_broken_plan_fits() -> None:
    """Nothing runs: a rule that every node that can be used must be does not allow that, the other rules do."""
    text = instance(np.random.default_rng(8), rule="force")
    found = gs.loads(text + NOTHING).solve(backend="Nothing")
    assert found.status == "broken"
    assert "the plan satisfies the model with `--set node_rule=paper`" in str(found.warnings[0].help)
    assert gs.loads(text + NOTHING).solve(backend="Nothing", settings={"node_rule": "paper"}).status == "feasible"
    # A constraint that no option touches: no option is named.
    must = "model Must extends CapacityPlanning { constraint some: sum[j in Jobs] runs[j] >= 1; }\nscenario S for Must"
    text = instance(np.random.default_rng(8), rule="paper").replace("scenario S for CapacityPlanning", must)
    found = gs.loads(text + NOTHING.replace("for CapacityPlanning", "for Must")).solve(backend="Nothing")
    assert found.status == "broken"
    assert "0 instead of 1 in `some`" in found.warnings[0].notes[0]
    assert found.warnings[0].help == "choose options of the model that fit the policy, or another policy"


def test_running_jobs_stay() -> None:
    model = gs.loads(instance(np.random.default_rng(9), jobs=3, nodes=3))
    first = model.solve(backend="FIFO")
    rows: Mapping[tuple[object, ...], float] = {tuple(r[:-1]): r[-1] for r in first["run"].rows()}
    again = model.solve(backend="EDF", warm_start={"run": rows})
    assert again["run"].rows() == first["run"].rows()


@pytest.mark.slow
def test_moves_leave_running_jobs_and_those_that_do_not_queue_alone() -> None:
    rng = np.random.default_rng(12)
    text = """
import "gsdsl:capacity_planning/policies.gsm";
policy Keeps for CapacityPlanning extends LocalSearch { keep running; }
policy Some for CapacityPlanning extends LocalSearch {
  order j in Jobs where j != "j1" by deadline[j];
}"""
    for _ in range(4):
        model = gs.loads(instance(rng, jobs=5) + text)
        first = model.solve(backend="FIFO")
        if first.status == "broken":
            continue
        before = set(first["run"].drop("value").rows())
        rows = dict.fromkeys(before, 1.0)
        again = set(model.solve(backend="Keeps", warm_start={"run": rows})["run"].drop("value").rows())
        assert before <= again
        some = model.solve(backend="Some")
        if some.has_point:
            assert "j1" not in some["run"]["j"].to_list()


def test_only_what_the_model_has_can_be_fixed() -> None:
    model = gs.loads(instance(np.random.default_rng(10)))
    built = model._build("S", {})
    codes = tuple(np.array([c]) for c in (0, 0, 0, 2))  # A has one GPU
    with pytest.raises(DiagnosticError) as caught:
        ground(built.scenario.model, built.instance.store, None, {"run": VariableValues(codes, np.ones(1))})
    assert [d.code for d in caught.value.diagnostics] == ["GSM4014"]


def test_rows_are_named_without_time_for_a_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    text = instance(np.random.default_rng(8)).replace("node_rule = at_most", "node_rule = force") + NOTHING
    monkeypatch.setattr(broken_plan, "WHY_SECONDS", 0.0)
    found = gs.loads(text).solve(backend="Nothing")
    [warning] = [w for w in found.warnings if w.code == "GSM4015"]
    assert message_values(warning.notes[0]) == ("enough_run",)
    assert message_values(warning.notes[1]) == ("j1", "j2", "j3", "j4")


def test_rows_of_a_large_problem_are_named_by_its_linear_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Greedy` puts the jobs on fewer nodes than could be in use; no propagation finds that, as it takes a matching."""
    monkeypatch.setattr(broken_plan, "LARGE", 0)
    monkeypatch.setattr(broken_plan, "OPTION_SECONDS", 0.0)
    source = (MODELS / "gpu_sharing" / "scenarios" / "synthetic.gsm").read_text(encoding="utf-8")
    text = source.replace("../online.gsm", "gsdsl:gpu_sharing/online.gsm")
    text = text.replace("(seed = 1)", "(seed = 1, nodes = 4, jobs = 16)").replace("sharing = off", "sharing = on")
    found = gs.loads(text).solve("TenNodes", method="Greedy")
    [warning] = [w for w in found.warnings if w.code == "GSM4015"]
    assert warning.notes[0].startswith("the smallest relaxation: there is a solution with `nodes_in_use` violated by ")


def test_of_many_rows_a_single_constraint_is_named_and_an_option_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_running` drops the same rows, but has other objectives."""
    monkeypatch.setattr(broken_plan, "MANY_ROWS", 0)
    monkeypatch.setattr(solve_by_policy, "MOST_NONZEROS", 0)
    monkeypatch.setattr(broken_plan, "ground", None)  # no other problem is needed
    source = (MODELS / "gpu_sharing" / "scenarios" / "synthetic.gsm").read_text(encoding="utf-8")
    text = source.replace("../online.gsm", "gsdsl:gpu_sharing/online.gsm")
    text = text.replace("(seed = 1)", "(seed = 1, nodes = 6, jobs = 8)").replace("sharing = off", "sharing = on")
    found = gs.loads(text).solve("TenNodes", method="Greedy")
    [warning] = [w for w in found.warnings if w.code == "GSM4015"]
    assert warning.notes[0].startswith("the smallest relaxation: there is a solution with `nodes_in_use` violated by ")
    assert "and" not in warning.notes[0]
    assert warning.help == "the plan satisfies the model with `--set node_rule=none`; or choose another policy"


@pytest.mark.parametrize("method", ["Greedy", "RandomisedGreedy", "FIFO"])
@pytest.mark.parametrize("rule", ["at_most", "force"])
def test_only_what_a_plan_leaves_open_is_solved(rule: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large problems are reduced to the rest that a plan leaves open: the result is the same, zeros included."""
    model = gs.loads(instance(np.random.default_rng(12)).replace("node_rule = at_most", f"node_rule = {rule}"))
    expected = model.solve(method=method, seed=1)
    monkeypatch.setattr(solve_by_policy, "MOST_NONZEROS", 0)
    found = model.solve(method=method, seed=1)
    assert found.status == expected.status
    assert found.solved.problem.columns < expected.solved.problem.columns
    assert found.to_dict()["size"] == expected.to_dict()["size"]
    if expected.has_point:
        assert found.objective == pytest.approx(expected.objective)
        for name in (family.name for family in expected.problem.variables):
            assert found[name].filter(pl.col("value") != 0).equals(expected[name].filter(pl.col("value") != 0))
            *labels, value = expected.table(name).rows()[0]
            assert found.value(name, *labels) == value


def test_a_chain_of_rows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that no node trains: its home is nowhere, and it must have one."""
    monkeypatch.setattr(broken_plan, "WHY_SECONDS", 0.0)
    nobody = """
    policy Nobody for PriceAware {
      order b in Batch by arrives[b];
      choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and b == "T2" and h >= arrives[b] by 1;
      occupies slots_needed[b, node_type[k]];
      place start_now;
    }"""
    text = 'import "gsdsl:price_aware/tests/cases.gsm"; import "gsdsl:price_aware/model.gsm";\n' + nobody
    found = gs.loads(text + "scenario S for PriceAware extends GapDearBoots { }").solve("S", backend="Nobody")
    [warning] = [w for w in found.warnings if w.code == "GSM4015"]
    assert "`placed[T1]`" in warning.notes[0]
    assert warning.notes[0].endswith("cannot be satisfied together")
    assert message_values(warning.notes[1]) == ("T1",)


def test_jobs_that_run_after_their_due_dates_are_named() -> None:
    """FIFO runs T3 in slot 2, and in the hard mode the model has no such element after its due date.

    All three jobs are due in slot 1, so no other order of the queue helps.
    """
    due = " ".join(f'due["{job}"] = 1;' for job in ("T1", "T2", "T3"))
    text = f'import "gsdsl:price_aware/tests/policies.gsm"; scenario Late extends Baselines {{ {due} }}'
    model = gs.loads(text)
    [warning] = [w for w in model.solve("Late", method="FIFO").warnings if w.code == "GSM4015"]
    assert warning.notes[-1].startswith("the plan runs `T3` where the model does not permit it: there is no `train[T3,")
    assert warning.notes[-1].endswith(",2]`")
    assert not any(note.startswith("the plan leaves out") for note in warning.notes)


def test_bounds_that_a_plan_contradicts_are_named() -> None:
    """FIFO gives the node that does not train all 700 requests a minute; it takes 450 within its latency bound."""
    text = """
    import "gsdsl:price_aware/tests/cases.gsm";
    import "gsdsl:price_aware/model.gsm";
    scenario S for PriceAware extends LatencyBound { rate["I1", "n2"] = 900[request/min]; }
    """
    found = gs.loads(text).solve("S", method="FIFO")
    assert found.status == "broken"
    [warning] = [w for w in found.warnings if w.code == "GSM4015"]
    assert "the plan contradicts the bounds of `share[I1,n2," in warning.notes[0]
    assert {"700", "450"} <= set(message_values(warning.notes[0]))
