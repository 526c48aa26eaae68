"""Scenarios for comparisons: read from where they lie and through imports, solved and planned alike."""

from pathlib import Path

import pytest

import gpusched_dsl as gs

SCENARIOS = Path(__file__).resolve().parents[2] / "models" / "capacity_planning" / "scenarios"
GAVEL = SCENARIOS / "gavel_at_most.gsm"
DETERMINISTIC = ["FIFO", "EDF", "PS", "Greedy", "GreedyFirstFit"]


def test_it_reads_data_beside_its_folder_but_not_outside_the_library(tmp_path: Path) -> None:
    assert gs.load(GAVEL).solve(backend="Greedy").status == "feasible"
    (tmp_path / "scenarios").mkdir()
    copy = tmp_path / "scenarios" / "own.gsm"
    text = GAVEL.read_text(encoding="utf-8").replace('import "', 'import "gsdsl:capacity_planning/scenarios/')
    copy.write_text(text, encoding="utf-8")
    (tmp_path / "data" / "gavel").mkdir(parents=True)
    (tmp_path / "data" / "gavel" / "vm_types.csv").write_text("vm_type,gpu_model\n")
    with pytest.raises(gs.DiagnosticError) as error:  # a folder of one's own is no library
        gs.load(copy).solve(backend="Greedy")
    assert {d.code for d in error.value.diagnostics} == {"GSM2002"}


def test_it_can_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "own.gsm"
    path.write_text(
        'import "gsdsl:capacity_planning/scenarios/gavel_at_most.gsm";\n'
        "scenario Own extends GavelAtMost { period = 12[h]; }\n"
    )
    assert gs.load(path).solve("Own", backend="Greedy").status == "feasible"


def test_plans_and_optimum_of_forty_jobs() -> None:
    """The optimum is that of gavel_at_most.gsm, where all ten nodes are rented anyway."""
    with gs.load(GAVEL) as model:
        found = model.compare(["highs", *DETERMINISTIC], gap=0.0)
        assert found["highs"].status == "optimal"
        assert found["highs"].objective == pytest.approx(872.67506, abs=1e-5)
        for row in found.rows:
            assert row.result is not None
            result = row.result
            assert result.objective is not None
            assert result.objective >= 872.67506 - 1e-4
            assert result.placement is not None
            # Rent and jobs by another road than the objective: from the placement's own table.
            assert result.placement["cost"].sum() == pytest.approx(result.terms["rent"])
            assert result["hosts"].height <= 10
            assert result.placement.height >= 10
        # A node for each job against packed nodes: what heuristics differ by is how many jobs run.
        jobs = {
            row.method: row.result.placement.height
            for row in found.rows
            if row.result and row.result.placement is not None
        }
        assert jobs["FIFO"] == 10
        assert jobs["Greedy"] >= 30


def test_two_hundred_jobs_are_planned_without_building_the_whole_problem() -> None:
    """Both solvers agree on the optimum; a plan is judged in a problem as small as the plan."""
    with gs.load(SCENARIOS / "synthetic_20x200.gsm") as model:
        plan = model.solve(backend="Greedy", bound=True, gap=1e-6)
        assert plan.status == "feasible"
        assert plan.bound == pytest.approx(2743.1752, abs=0.01)
        assert plan.objective is not None
        assert plan.objective >= plan.bound
        assert plan.problem.columns < 1_000  # of 56,000
        assert plan.solved.size is not None
        assert plan.solved.size.columns > 50_000
