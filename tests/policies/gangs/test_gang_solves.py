"""Single solves with gangs: the shipped model against enumeration, tables, why jobs wait, warm starts, refusals."""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from found_codes import message_values, raises_code
from gang_clusters import Gang, Node, Racks
from json_schemas import complaints, published

import gpusched_dsl as gs

TWO_RACKS = Path(gs.__file__).parents[1] / "models" / "gangs" / "scenarios" / "two_racks.gsm"
NODES = [Node(0, 2, 99.0, 1.0), Node(0, 2, 99.0, 1.0), Node(1, 4, 99.0, 1.0)]


def loaded(folder: Path, text: str) -> gs.Model:
    path = folder / "gangs.gsm"
    path.write_text(text)
    return gs.load(path)


def text_of(gpus: list[int], rack: list[int], jobs: list[tuple[int, float, float, float]]) -> str:
    """A scenario of the shipped model: jobs by workers, length, deadline and weight."""
    nodes = "  ".join(f"n{n} r{r} {g}" for n, (r, g) in enumerate(zip(rack, gpus, strict=True)))
    rows = "  ".join(f"j{j} {w} {length} {due} {weight}" for j, (w, length, due, weight) in enumerate(jobs))
    racks = ", ".join(f"r{r}" for r in sorted(set(rack)))
    return f"""import "gsdsl:gangs/model.gsm";
    scenario S for Gangs {{
      Racks = {{ {racks} }};  price = 1[$/h];
      table Nodes: rack gpus = {nodes};
      table Jobs: workers length[h] deadline[h] weight[$/h] = {rows};
    }}"""


def cheapest(gpus: list[int], rack: list[int], jobs: list[tuple[int, float, float, float]]) -> float:
    """The optimum of the shipped model, by enumeration of the workers of each job on each node."""
    best = np.inf
    choices = [
        [None, *(c for c in product(*(range(g + 1) for g in gpus)) if sum(c) == workers)] for workers, *_ in jobs
    ]
    for plan in product(*choices):
        used = np.sum([c for c in plan if c is not None], axis=0) if any(plan) else np.zeros(len(gpus))
        if (used > gpus).any():
            continue
        cost = 0.0
        for (workers, length, due, weight), counts in zip(jobs, plan, strict=True):
            nodes = [] if counts is None else [n for n, c in enumerate(counts) if c]
            factor = 1.5 if len({rack[n] for n in nodes}) > 1 else 1.1 if len(nodes) > 1 else 1.0
            cost += weight * max(0.0, factor * length - due) + workers * length * (factor - 1)
            cost += weight * length if counts is None else 0.0
        best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 30))])
def test_the_optimum_of_the_shipped_model(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    gpus, rack = rng.integers(1, 4, 4).tolist(), rng.integers(0, 2, 4).tolist()
    jobs = [
        (int(rng.integers(1, 7)), *np.round(rng.uniform(0.5, 4, 3), 1).tolist()) for _ in range(3)
    ]  # fmt: skip
    result = loaded(tmp_path, text_of(gpus, rack, jobs)).solve(gap=0.0)
    assert result.objective == pytest.approx(cheapest(gpus, rack, jobs), abs=1e-6)


def test_the_table_has_a_row_for_each_node(tmp_path: Path) -> None:
    jobs = [Gang(3, 1.0, 2.0, 0.0, 1.0), Gang(4, 1.0, 1.0, 0.0, 99.0)]
    result = loaded(tmp_path, Racks(NODES, jobs).text()).solve(backend="FIFO")
    assert result.placement is not None
    rows = result.placement.to_dicts()
    found = [(r["job"], r["node"], r["rack"], r["workers"], r["uses_gpus"], r["lasts"], r["late"]) for r in rows]
    assert sorted(found) == [
        ("j0", "n2", "r1", 3, 3.0, 2.0, 1.0),
        ("j1", "n0", "r0", 2, 2, 1.2, 0.0),
        ("j1", "n1", "r0", 2, 2, 1.2, 0.0),
    ]
    assert sorted(r["cost"] for r in rows) == pytest.approx([2.4, 2.4, 6.0])


def test_why_gangs_wait(tmp_path: Path) -> None:
    jobs = [
        Gang(5, 1.0, 2.0, 0.0, 99.0),
        Gang(4, 1.0, 1.0, 0.0, 99.0),
        Gang(3, 1.0, 1.0, 0.0, 99.0),
        Gang(9, 1.0, 1.0, 0.0, 99.0),
    ]
    result = loaded(tmp_path, Racks(NODES, jobs).text()).solve(backend="FIFO", reasons=True)
    assert result.waiting is not None
    reasons = {row["job"]: (row["reason"], row["text"]) for row in result.waiting.to_dicts()}
    assert reasons["j1"] == ("no room", "no room: needs 4 workers at once, there is room for 3")
    assert reasons["j3"] == ("too large", "too large: needs 9 workers at once, the empty cluster has room for 8")
    assert reasons["j2"][0] == "cost"
    assert "the queue stops at `j1`, which waits by the rule `wait`" in reasons["j2"][1]


def test_why_at_a_time_of_a_run() -> None:
    model = gs.load(TWO_RACKS)

    def why(job: str, **settings: str) -> str:
        found = model.why(job, 2.0, online="EveryEvent", method="FIFO", settings=settings or None)
        return "\n".join(found.lines())

    speech = why("speech")
    assert "FIFO: position 5 of 9 in the queue, by `arrived[j]` 0.5 h\nstate at its turn: a4 2 free\n" in speech
    assert "it waits: no room for its 6 workers at once" in speech
    assert "it waits: the queue stops at `speech`, which waits by the rule `wait`" in why("tuning_1")
    # `bert` could only leave its rack if another job did.
    bert = why("bert", moving="yes")
    assert "runs: worker[bert,a2] = 4, worker[bert,a3] = 4" in bert
    assert bert.count("  worker[bert,b1] and equal ones on other nodes: not possible") == 1


def test_a_warm_start_keeps_whole_gangs(tmp_path: Path) -> None:
    jobs = [Gang(3, 1.0, 2.0, 0.0, 99.0), Gang(4, 1.0, 1.0, 0.0, 99.0)]
    model = loaded(tmp_path, Racks(NODES, jobs).text())
    spread = {"worker": {("j0", "n0"): 2.0, ("j0", "n2"): 1.0}}
    kept = model.solve(backend="Packed", warm_start=spread)
    assert kept.value("worker", "j0", "n2") == 1.0
    part = {"worker": {("j0", "n0"): 2.0}}
    anew = model.solve(backend="Packed", warm_start=part)
    assert anew.value("worker", "j0", "n2") == 3.0


def test_workers_with_parts_of_gpus_are_refused(tmp_path: Path) -> None:
    text = Racks(NODES, [Gang(2, 1.0, 2.0, 0.0, 99.0)]).text().replace("uses 1 of", "uses 0.5 of")
    with raises_code("GSM3020", at="0.5"):
        loaded(tmp_path, text).solve(backend="FIFO")


@pytest.mark.quick(1)
@pytest.mark.parametrize("factor", ["0.9", "1 / 0"])
def test_factors_below_one_are_refused(factor: str, tmp_path: Path) -> None:
    text = Racks(NODES, [Gang(2, 1.0, 2.0, 0.0, 99.0)]).text().replace("across_nodes 1.2", f"across_nodes {factor}")
    with pytest.raises(gs.DiagnosticError, match=r"GSM3020|GSM3003"):
        loaded(tmp_path, text).solve(backend="FIFO")


def test_a_part_of_a_gang_is_warned_of(tmp_path: Path) -> None:
    text = Racks(NODES, [Gang(5, 1.0, 2.0, 0.0, 99.0)]).text()
    text = text.replace("== need[j] * runs[j];", ">= 3 * runs[j];").replace("maximize running:", "maximize running: -")
    text = text.replace("sum[j in Jobs] need[j] * runs[j];", "sum[j in Jobs, n in Nodes] worker[j, n];")
    text = text.replace("constraint room", "constraint some[j in Jobs]: runs[j] == 1;  constraint room")
    result = loaded(tmp_path, text).solve()
    assert [(d.code, d.severity.value) for d in result.diagnostics] == [("GSM7011", "warning")]
    assert {"3", "5", "j0"} <= set(message_values(result.diagnostics[0].message))
    whole = loaded(tmp_path, Racks(NODES, [Gang(5, 1.0, 2.0, 0.0, 99.0)]).text()).solve()
    assert whole.diagnostics == ()


def test_json_keeps_to_its_schema(tmp_path: Path) -> None:
    result = gs.load(TWO_RACKS).solve(backend="FIFO", reasons=True)
    result.to_json(tmp_path / "result.json")
    document = json.loads((tmp_path / "result.json").read_text())
    assert list(complaints(document, published("result.schema.json"))) == []
    assert {row["job"] for row in document["placement"]} == {"resnet", "bert", "gpt_small", "vision"}


def test_the_time_of_a_plan_is_that_of_the_policy() -> None:
    began = time.perf_counter()
    solved = gs.load(TWO_RACKS).solve(method="FIFO").solved
    assert 0 <= solved.solve_seconds <= time.perf_counter() - began


@pytest.mark.parametrize("keys", ["toll[n]", "length[j], toll[n]"])
def test_a_gang_gets_the_types_that_the_keys_put_first(keys: str, tmp_path: Path) -> None:
    """Nodes differ in their toll only, and those with a small one are on two racks."""
    text = text_of([2, 2, 2], [0, 0, 1], [(4, 1.0, 9.0, 1.0)]).replace(
        "scenario S for Gangs {",
        f"""model Tolls extends Gangs {{ param toll[Nodes]; }}
        policy Cheap for Tolls {{ order j in Jobs by length[j];  choose by {keys};  place fewest_racks, postpone; }}
        scenario S for Tolls {{ toll = [3, 1, 1];""",
    )
    result = loaded(tmp_path, text).solve("S", backend="Cheap")
    assert sorted(result.placement["node"]) == ["n1", "n2"]


@pytest.mark.parametrize("seed", range(6))
def test_a_gang_too_large_for_each_type_of_node_gets_several(seed: int, tmp_path: Path) -> None:
    """`MaxMin` places gangs on nodes of one size; one that fits only on several sizes runs as well."""
    rng = np.random.default_rng(seed)
    gpus = rng.integers(1, 4, size=4).tolist()
    sums = [size * gpus.count(size) for size in set(gpus)]
    workers = sum(gpus) - seed // 2 if seed % 2 else int(rng.integers(1, sum(gpus) + 1))
    model = loaded(tmp_path, text_of(gpus, [0, 0, 1, 1], [(workers, 2.0, 1.0, 50.0)]))
    placed = model.solve(backend="MaxMin").placement
    assert placed is not None
    on = {gpus[int(row["node"][1:])] for row in placed.to_dicts()}
    assert sum(row["workers"] for row in placed.to_dicts()) == workers
    assert (len(on) == 1) == (workers <= max(sums))
