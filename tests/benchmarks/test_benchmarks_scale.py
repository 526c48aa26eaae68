"""The cases of scale: every one can run, and the table and the chart agree with the samples."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.measure import ROOT, Measured, Sample
from benchmarks.registry import Arm, Case, Target
from benchmarks.report import judged
from benchmarks.scale import by_gsdsl, cases
from benchmarks.scale.__main__ import keep, load_kept
from benchmarks.scale.chart import draw
from benchmarks.scale.data import main as instances
from benchmarks.scale.growth import Growth, points
from benchmarks.scale.table import HEADER, scale_table
from benchmarks.sharing.data import main as sharing_instances
from benchmarks.sharing.data import node_types
from benchmarks.sharing.data import write as write_sharing
from gpusched_dsl import load

SVG = "{http://www.w3.org/2000/svg}"


def sample(cpu: float, **told: float) -> Sample:
    """Half of the time in building; wall seconds are twice those of the CPU."""
    cpu_phases = {"import": 9.0, "text": cpu / 4, "build": cpu / 4, "solve": cpu / 2}
    return Sample({phase: 2 * seconds for phase, seconds in cpu_phases.items()}, cpu_phases, 100.0, told)


def case(*targets: Target, arms: tuple[str, ...] = ("one",)) -> Case:
    return Case("small", "a small case", (), tuple(Arm(name, "none") for name in arms), arms[0], targets=targets)


@pytest.mark.parametrize("group", [registry.CASES, cases.CASES], ids=["all", "scale"])
def test_cases_refer_to_what_there_is(group: tuple[Case, ...]) -> None:
    assert len({one.name for one in group}) == len(group)
    for one in group:
        arms = {arm.name for arm in one.arms}
        assert len(arms) == len(one.arms)
        assert one.reference in arms
        for target in one.targets:
            assert target.arm in arms
            assert (target.against is None) == (target.limit is not None)
            assert target.against is None or target.against in arms
        for module in [arm.module for arm in one.arms] + list(one.prepare[:1]):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module


def test_every_large_plan_has_a_target_for_its_gap_and_its_time() -> None:
    for one in cases.CASES:
        if one.name in ("growth", "capacity_whole", "resolve"):
            continue
        for arm in one.arms:
            figures = {target.figure: target.limit for target in one.targets if target.arm == arm.name}
            assert {"gap", "CPU"} <= figures.keys(), (one.name, arm.name)
            assert f"gap={figures['gap']:g}" in arm.arguments


@pytest.mark.parametrize(
    ("figure", "limit", "met", "value"),
    [
        ("CPU", 4.0, True, 4.0),
        ("CPU", 3.9, False, 4.0),
        ("seconds", 7.9, False, 8.0),
        ("gap", 0.01, True, 0.01),
        ("gap", 0.009, False, 0.01),
        ("peak_mb", 99.0, False, 100.0),
    ],
)
def test_targets_are_judged_without_imports(figure: str, limit: float, met: bool, value: float) -> None:
    measured = [Measured(Arm("one", "none"), [sample(4.0, gap=0.01)])]
    found, reached = judged(Target("one", figure, limit=limit), measured)
    assert found is met
    assert reached == pytest.approx(value)


def test_a_run_without_a_plan_misses_every_gap() -> None:
    measured = [Measured(Arm("one", "none"), [sample(4.0, bound=1.0)])]
    assert judged(Target("one", "gap", limit=1e9), measured) == (False, float("inf"))


def test_what_was_not_run_is_neither_reached_nor_missed() -> None:
    text, missed = scale_table([(case(Target("one", "gap", limit=0.1)), [Measured(Arm("one", "none"))], "1")])
    assert missed == 0
    assert "10 %: not measured" in text


def test_table_shows_the_run_of_least_cpu_and_counts_targets_missed() -> None:
    runs = [sample(6.0, objective=20.0, bound=19.0, gap=0.05), sample(4.0, objective=20.0, bound=19.5, gap=0.025)]
    targets = (Target("one", "gap", limit=0.03), Target("one", "CPU", limit=1.0), Target("one", "peak_mb", limit=200))
    text, missed = scale_table([(case(*targets), [Measured(Arm("one", "none"), runs)], "2.5")])
    assert missed == 1
    title, row = text.splitlines()[2:4]
    assert title == "small: a small case"
    told = "3 %: reached, 2.5; 1 s: MISSED, 4; 200 MB: reached, 100"
    assert row.endswith(told)
    expected = ["one", "4.00", "2.00", "4.00", "2.00", "20.00", "19.50", "2.50", "100", "2", "2.5"]
    assert row.removesuffix(told).split() == expected
    assert len(expected) + 1 == len(HEADER)


def test_ratios_to_another_arm_are_told() -> None:
    measured = [Measured(Arm("one", "none"), [sample(1.0)]), Measured(Arm("two", "none"), [sample(4.0)])]
    target = Target("one", "CPU solve", against="two", factor=0.2)
    text, missed = scale_table([(case(target, arms=("one", "two")), measured, "")])
    assert missed == 1
    assert "0.2 x two: MISSED, 0.25" in text


def test_figures_are_kept(tmp_path: Path) -> None:
    one = case(arms=("one", "two"))
    measured = [Measured(one.arms[0], [sample(4.0, gap=0.01)]), Measured(one.arms[1], skipped="not installed")]
    keep(one, measured, tmp_path)
    about = json.loads((tmp_path / "small.json").read_text())
    assert about["machine"]["cores"]
    kept = load_kept(one, tmp_path)
    assert kept is not None
    assert kept[0] == measured
    assert load_kept(replace(one, name="other"), tmp_path) is None
    grown = replace(one, arms=(*one.arms, Arm("three", "none")))
    again = load_kept(grown, tmp_path)
    assert again is not None
    assert again[0][2] == Measured(Arm("three", "none"), [], "not measured")


def growing(nodes: int, what: str, *samples: Sample) -> Measured:
    return Measured(Arm(f"{nodes} nodes, {what}", "none"), list(samples))


def test_growth_leaves_out_what_was_refused() -> None:
    whole = "all elements grounded"
    growth = points([
        growing(10, "plan", sample(4.0)), growing(10, whole, sample(2.0)),
        growing(400, "plan", sample(40.0), sample(50.0)), growing(400, whole, sample(0.1, refused=1.0)),
    ])  # fmt: skip
    assert growth == Growth(
        [(10.0, 2.0), (400.0, 20.0)], [(10.0, 2.0), (400.0, 20.0)], [(10.0, 100.0), (400.0, 100.0)],
        [(10.0, 1.0)], [(10.0, 100.0)],
    )  # fmt: skip


def test_cases_of_growth_have_arms_that_the_chart_reads() -> None:
    case = next(one for one in cases.CASES if one.name == "growth")
    growth = points([Measured(arm, [sample(1.0)]) for arm in case.arms])
    for line in (growth.build, growth.solve, growth.memory, growth.whole_build, growth.whole_memory):
        assert [nodes for nodes, _ in line] == list(cases.GROWTH)


def test_chart_has_a_point_for_every_figure_on_logarithmic_axes() -> None:
    line = [(10.0, 0.1), (100.0, 1.0), (1000.0, 10.0)]
    root = ElementTree.fromstring(draw(Growth(line, line, line, line[:1], line[:1])))
    assert len(root.findall(f"{SVG}circle")) == 3 * 3 + 2
    dots = [c for c in root.findall(f"{SVG}circle") if c.get("class") == "blue-dot"][:3]
    across, down = ([float(dot.get(axis, "nan")) for dot in dots] for axis in ("cx", "cy"))
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)
    assert down[0] - down[1] == pytest.approx(down[1] - down[2], abs=0.2)
    assert down[0] > down[1]
    assert across[0] < across[1]
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")


def test_labels_of_lines_that_meet_do_not_cover_one_another() -> None:
    line = [(10.0, 1.0), (20.0, 2.0)]
    root = ElementTree.fromstring(draw(Growth(line, line, line, line, line)))
    own = [t for t in root.findall(f"{SVG}text") if t.text in ("build", "solve", "ground all elements")][:3]
    assert [t.text for t in own] == ["build", "solve", "ground all elements"]
    heights = sorted(float(t.get("y", "nan")) for t in own)
    assert heights[1] - heights[0] >= 14
    assert heights[2] - heights[1] >= 14


def test_chart_without_figures_is_empty() -> None:
    root = ElementTree.fromstring(draw(Growth([], [], [], [], [])))
    assert not root.findall(f"{SVG}circle")


@pytest.mark.slow
def test_capacity_with_and_without_aggregation_is_the_same_problem(tmp_path: Path) -> None:
    """Of two bounds and two plans, each proved by its own solve, no bound may be above any plan."""
    instances(tmp_path, "2x1")
    plan, whole, ground, refused = (
        by_gsdsl.run(tmp_path, lambda _: None, what, "2x1/synthetic.gsm", "Synthetic", option)
        for what, option in (
            ("plan", "gap=1e-4"), ("plan without passes", "limit=2"), ("ground", "memory=1"), ("ground", "memory=1e-4"),
        )
    )  # fmt: skip
    assert plan["optimal"] == 1
    assert plan["gap"] <= 1e-4
    assert plan["bound"] <= whole["objective"] * (1 + 1e-6)
    assert whole["bound"] <= plan["objective"] * (1 + 1e-6)
    assert plan["columns"] == whole["columns"] == whole["solved_columns"] == ground["columns"]
    assert plan["solved_columns"] != plan["columns"]
    assert refused == {"refused": 1}


def test_sharing_instances_of_any_size_have_the_shipped_mix_of_nodes(tmp_path: Path) -> None:
    write_sharing(tmp_path, 20, 3, 1)
    rows = (tmp_path / "nodes.csv").read_text().split()[1:]
    assert [sum(row.endswith(f",{gpu}") for row in rows) for gpu in ("K80", "M60", "A100")] == [8, 6, 6]
    problem = load(tmp_path / "sharing.gsm").ground()
    sizes = {family.name: family.size for family in problem.variables}
    assert sizes["open"] == 20
    assert sizes["used"] == 20 * 8
    assert sizes["meets_job"] == 3


def test_shipped_sharing_instance_comes_from_the_same_generator(tmp_path: Path) -> None:
    write_sharing(tmp_path, 10, 20, 1)
    shipped = ROOT / "models" / "gpu_sharing" / "data" / "cluster_10x20"
    for name in ("jobs", "times", "shares", "epochs"):
        made = (tmp_path / f"instance_{name}.csv").read_bytes()
        assert made == (shipped / f"10x20_seed1_{name}.csv").read_bytes()
    assert (tmp_path / "gpus.csv").read_bytes() == (shipped / "gpus.csv").read_bytes()


def test_sharing_needs_nodes_by_tens() -> None:
    with pytest.raises(ValueError, match="25 nodes"):
        node_types(25)


def test_a_line_that_ends_early_is_labelled_above_its_end() -> None:
    line = [(10.0, 1.0), (20.0, 2.0), (40.0, 4.0)]
    root = ElementTree.fromstring(draw(Growth(line, [(x, 3 * y) for x, y in line], line, line[:2], [])))
    (label,) = [t for t in root.findall(f"{SVG}text") if t.text == "ground all elements"]
    end = [c for c in root.findall(f"{SVG}circle") if c.get("class") == "grey-dot"][-1]
    assert label.get("text-anchor") == "end"
    assert float(label.get("x", "nan")) < float(end.get("cx", "nan"))
    assert float(label.get("y", "nan")) < float(end.get("cy", "nan"))


def test_a_case_without_phases_of_its_own_for_building_shows_the_rest_only() -> None:
    whole = Sample({"import": 9.0, "solve again": 4.0}, {"import": 9.0, "solve again": 2.0}, 50.0, {})
    built = Sample({"text": 1.0, "build": 3.0}, {"text": 1.0, "build": 2.0}, 50.0, {})
    measured = [Measured(Arm("one", "none"), [whole]), Measured(Arm("two", "none"), [built])]
    rows = scale_table([(case(arms=("one", "two")), measured, "1")])[0].splitlines()[3:]
    assert rows[0].split()[:5] == ["one", "-", "-", "4.00", "2.00"]
    assert rows[1].split()[:5] == ["two", "4.00", "3.00", "-", "-"]


def test_data_of_every_arm_lie_where_the_case_has_them_written(tmp_path: Path) -> None:
    """The files are written by the commands of the cases, at the smallest size that they allow."""
    for one in cases.CASES:
        if one.prepare[0] not in ("benchmarks.scale.data", "benchmarks.sharing.data"):
            continue
        if one.name == "sharing_20x60":
            sharing_instances(tmp_path / one.name, 10, 1, *map(int, one.prepare[3:]))
        elif one.name == "capacity_40":
            instances(tmp_path / one.name, *one.prepare[1:])
        else:
            assert {arm.arguments[1] for arm in one.arms} == {f"{name}/synthetic.gsm" for name in one.prepare[1:]}
            continue
        for arm in one.arms:
            assert (tmp_path / one.name / arm.arguments[1]).is_file()
