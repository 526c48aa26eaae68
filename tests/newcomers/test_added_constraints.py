"""A constraint that nobody thought of is added to a shipped model, and every policy that fits obeys it.

The check of each constraint knows the drawn data and the elements of the plan alone. Only where a solver proves that
there is no plan, policies may end with one that is called broken; limits, which no plan needs to break, are obeyed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import shipped

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import check_solvable
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies.library import fitting_policies, policy_named

MODELS = Path(gs.__file__).resolve().parents[1] / "models"
Plan = list[tuple]  # elements of the placement's variable
Faults = Iterator[str]


@dataclass
class Added:
    """The text of a scenario of a shipped model, its tables, and what is added."""

    text: str
    base: str
    seed: int
    rows: str = ""
    data: str = ""
    faults: Callable[[Plan], Faults] = field(default=lambda _: iter(()))
    demands: bool = False  # the constraint may need a job that a policy does not run
    variable: str = "run"

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([17, self.seed])

    def table(self, name: str, column: int = 0) -> dict[str, str]:
        """A column of a table by the first one."""
        found = re.search(rf"table {name}:[^=]*=\n(.*?);", self.text, re.DOTALL)
        assert found is not None
        lines = [line.split() for line in found[1].strip().split("\n")]
        return {line[0]: line[column] for line in lines}

    def whole(self) -> str:
        head = f"for {self.base} "
        scenario = self.text.index("{", self.text.index(head, self.text.index("scenario ")))
        text = self.text[: scenario + 1] + "\n" + self.data + self.text[scenario + 1 :]
        text = text.replace(head, "for Mine ", 1)
        return f"{text}\nmodel Mine extends {self.base} {{ {self.rows} }}\n"


def replay(seed: int) -> Added:
    return Added(shipped.trace_replay(seed), "TraceReplay", seed)


def of_file(path: str, imported: str, name: str, base: str, seed: int) -> Added:
    """A shipped scenario, as it is."""
    text = (MODELS / path).read_text(encoding="utf-8")
    found = re.search(rf"^scenario {name} .*?^}}", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return Added(f'import "gsdsl:{imported}";\n{found[0]}\n', base, seed)


def sets(name: str, values: Mapping[str, object]) -> str:
    return " ".join(f'{name}["{key}"] = {value};' for key, value in values.items())


# --- constraints ------------------------------------------------------------------------------------------------------


def two_of_a_user_in_a_rack(seed: int) -> Added:
    one = replay(seed)
    owner = {job: f"u{one.rng.integers(2)}" for job in one.table("Jobs")}
    rack = {node: f"r{one.rng.integers(2)}" for node in one.table("Nodes")}
    one.data = "Users = { u0, u1 };  Racks = { r0, r1 };" + sets("owner", owner) + sets("rack", rack)
    one.rows = """set Users;  set Racks;  param owner[Jobs] within Users;  param rack[Nodes] within Racks;
      constraint two[u in Users, r in Racks]:
        sum[j in Jobs, n in Nodes where owner[j] == u and rack[n] == r] run[j, n] <= 2;"""

    def faults(plan: Plan) -> Faults:
        found = Counter((owner[job], rack[node]) for job, node in plan)
        yield from (str(pair) for pair, count in found.items() if count > 2)

    one.faults = faults
    return one


def as_many_on_both_sides(seed: int) -> Added:
    one = replay(seed)
    nodes = list(one.table("Nodes"))
    left = nodes[: len(nodes) // 2]
    one.data, one.demands = sets("left", dict.fromkeys(left, 1)), True
    one.rows = """param left[Nodes] binary default 0;
      constraint even: sum[j in Jobs, n in Nodes where left[n] == 1] run[j, n]
        == sum[j in Jobs, n in Nodes where left[n] == 0] run[j, n];"""

    def faults(plan: Plan) -> Faults:
        count = sum(node in left for _, node in plan)
        if 2 * count != len(plan):
            yield f"{count} of {len(plan)} jobs"

    one.faults = faults
    return one


def products_of_binaries(seed: int) -> Added:
    one = replay(seed)
    pairs = [pair for pair in combinations(one.table("Jobs"), 2) if one.rng.random() < 0.35]
    one.data = "Enemies = { " + ", ".join(f"({i}, {j})" for i, j in pairs) + " };"
    one.rows = """set Enemies within Jobs cross Jobs;
      constraint noisy[(i, j) in Enemies, n in Nodes]: run[i, n] * run[j, n] <= 0;"""

    def faults(plan: Plan) -> Faults:
        at = dict(plan)
        yield from (f"{i} and {j}" for i, j in pairs if i in at and at[i] == at.get(j))

    one.faults = faults
    return one


def both_or_none_apart(seed: int) -> Added:
    one = replay(seed)
    jobs = list(one.table("Jobs"))
    pairs = list(zip(jobs[::2], jobs[1::2], strict=False))[:3]
    one.data, one.demands = "Pairs = { " + ", ".join(f"({i}, {j})" for i, j in pairs) + " };", True
    one.rows = """set Pairs within Jobs cross Jobs;
      constraint both[(i, j) in Pairs]: sum[n in Nodes] run[i, n] == sum[n in Nodes] run[j, n];
      constraint apart[(i, j) in Pairs, n in Nodes]: run[i, n] + run[j, n] <= 1;"""

    def faults(plan: Plan) -> Faults:
        at = dict(plan)
        yield from (f"{i} and {j}" for i, j in pairs if (i in at) != (j in at) or (i in at and at[i] == at[j]))

    one.faults = faults
    return one


def a_node_empty_at_noon(seed: int) -> Added:
    one = replay(seed)
    now, closed = int(one.rng.integers(8, 13)), next(iter(one.table("Nodes")))
    hours = {job: float(value) for job, value in one.table("Jobs", 3).items()}
    one.data = f"clock = {now}[h];" + sets("closed", {closed: 1})
    one.rows = """param closed[Nodes] binary default 0;
      constraint noon[j in Jobs, n in Nodes where closed[n] == 1 and clock <= 12[h] and clock + time_left[j] > 12[h]]:
        run[j, n] == 0;"""

    def faults(plan: Plan) -> Faults:
        yield from (job for job, node in plan if node == closed and now <= 12 < now + hours[job])

    one.faults = faults
    return one


def balanced_loads(seed: int) -> Added:
    one = replay(seed)
    needs = {job: int(value) for job, value in one.table("Jobs", 2).items()}
    one.demands = True
    one.rows = """let used[n in Nodes] = sum[j in Jobs] needs[j] * run[j, n];
      constraint balance: max[n in Nodes] used[n] - min[n in Nodes] used[n] <= 1;"""

    def faults(plan: Plan) -> Faults:
        used = dict.fromkeys(one.table("Nodes"), 0)
        for job, node in plan:
            used[node] += needs[job]
        if max(used.values()) - min(used.values()) > 1:
            yield str(used)

    one.faults = faults
    return one


def an_odd_number_of_jobs(seed: int) -> Added:
    one = replay(seed)
    one.demands = True
    one.rows = "var half integer >= 0;  constraint odd: sum[j in Jobs, n in Nodes] run[j, n] == 2 * half + 1;"
    one.faults = lambda plan: iter([] if len(plan) % 2 else [f"{len(plan)} jobs"])
    return one


def none_or_two_on_a_node(seed: int) -> Added:
    one = replay(seed)
    one.demands = True
    one.rows = "constraint either[n in Nodes]: sum[j in Jobs] run[j, n] == 0 or sum[j in Jobs] run[j, n] >= 2;"
    one.faults = lambda plan: (node for node, count in Counter(node for _, node in plan).items() if count == 1)
    return one


def other_types_for_many_jobs(seed: int) -> Added:
    one = Added(shipped.capacity_planning(seed), "CapacityPlanning", seed)
    one.rows = """constraint many[t in Types]:
      sum[j in Jobs, n in Nodes, (v, g) in Configs where v == t] run[j, n, v, g]
      <= 1 + 2 * sum[n in Nodes, v in Types where v != t] hosts[n, v];"""

    def faults(plan: Plan) -> Faults:
        types = {node: type_ for _, node, type_, _ in plan}
        for type_, jobs in Counter(each[2] for each in plan).items():
            if jobs > 1 + 2 * sum(other != type_ for other in types.values()):
                yield f"{jobs} jobs on {type_}"

    one.faults, one.demands = faults, True  # a type that waits for a job on another
    return one


def few_open_nodes(seed: int) -> Added:
    one = Added(shipped.gpu_sharing(seed), "GpuSharing", seed)
    one.rows = """constraint few: sum[n in Nodes] open[n] <= 2;
      constraint divided: sum[n in Nodes] shared[n] <= 1;"""

    def faults(plan: Plan) -> Faults:
        if len({node for _, node, _, _ in plan}) > 2:
            yield "nodes"
        parts: dict[str, int] = defaultdict(int)
        for _, node, _, twentieths in plan:
            parts[node] += twentieths if twentieths < 20 else 0
        if sum(-(-part // 20) for part in parts.values()) > 1:
            yield f"divided GPUs: {dict(parts)}"

    one.faults = faults
    return one


def nodes_of_one_user_for_gangs(seed: int) -> Added:
    one = of_file("gangs/scenarios/two_racks.gsm", "gangs/model.gsm", "TwoRacks", "Gangs", seed)
    owner = {job: f"u{one.rng.integers(3)}" for job in one.table("Jobs")}
    one.data, one.variable = "Users = { u0, u1, u2 };" + sets("owner", owner), "worker"
    one.rows = """set Users;  param owner[Jobs] within Users;  var serves[Users, Nodes] binary;
      constraint two[u in Users, r in Racks]: sum[j in Jobs where owner[j] == u] in_rack[j, r] <= 2;
      constraint mine[j in Jobs, n in Nodes]: on[j, n] <= serves[owner[j], n];
      constraint own[n in Nodes]: sum[u in Users] serves[u, n] <= 1;"""

    def faults(plan: Plan) -> Faults:
        users, gangs = defaultdict(set), defaultdict(set)
        for job, node in plan:
            users[node].add(owner[job])
            gangs[owner[job], node[0]].add(job)
        yield from (str(pair) for pair in users.items() if len(pair[1]) > 1)
        yield from (str(pair) for pair in gangs.items() if len(pair[1]) > 2)

    one.faults = faults
    return one


def a_node_without_training_in_a_slot(seed: int) -> Added:
    one = of_file("price_aware/tests/policies.gsm", "price_aware/policies.gsm", "Baselines", "PriceAware", seed)
    node, slot, quiet = f"n{one.rng.integers(1, 4)}", int(one.rng.integers(1, 5)), int(one.rng.integers(5))
    one.data, one.variable = f'noon["{node}", {slot}] = 1;  quiet[{quiet}] = 1;', "train"
    one.demands = True  # all jobs must run
    one.rows = """param noon[Nodes, Slots] binary default 0;  param quiet[Slots] binary default 0;
      constraint at_noon[(b, k, h) in Runs where noon[k, h] == 1]: train[b, k, h] == 0;
      constraint one[q in Slots where quiet[q] == 1]: sum[(b, k, h) in Runs where h == q] train[b, k, h] <= 1;"""

    def faults(plan: Plan) -> Faults:
        yield from (str(each) for each in plan if each[1:] == (node, slot))
        if sum(each[2] == quiet for each in plan) > 1:
            yield "quiet slot"

    one.faults = faults
    return one


def two_jobs_of_a_tenant_in_a_rack(seed: int) -> Added:
    path = "defragmentation/scenarios/six_nodes.gsm"
    one = of_file(path, "defragmentation/policies.gsm", "SixNodes", "Defragmentation", seed)
    tenant, most = one.table("Jobs", 2), int(one.rng.integers(3, 5))
    one.data, one.demands = f"most = {most};", True
    one.rows = """param most;
      constraint few[t in Tenants, r in Racks]:
        sum[j in Jobs, n in Nodes where tenant[j] == t and rack[n] == r] run[j, n] <= most;
      constraint three[n in Nodes]: sum[j in Jobs] run[j, n] <= 3;"""

    def faults(plan: Plan) -> Faults:
        found = Counter((tenant[job], node[0]) for job, node in plan)
        yield from (str(pair) for pair in found.items() if pair[1] > most)
        yield from (str(pair) for pair in Counter(node for _, node in plan).items() if pair[1] > 3)

    one.faults = faults
    return one


ADDED = (
    two_of_a_user_in_a_rack, as_many_on_both_sides, products_of_binaries, both_or_none_apart, a_node_empty_at_noon,
    balanced_loads, an_odd_number_of_jobs, none_or_two_on_a_node, other_types_for_many_jobs, few_open_nodes,
    nodes_of_one_user_for_gangs, a_node_without_training_in_a_slot, two_jobs_of_a_tenant_in_a_rack,
)  # fmt: skip


def policies_of(text: str, scenario: str) -> list[str]:
    found = Diagnostics()
    workspace = workspace_from_text(text, "mine.gsm", found, MODELS)
    found.raise_if_errors()
    model = check_solvable(workspace, scenario)[0].model
    names = fitting_policies(workspace, model)
    return [name for name in names if policy_named(workspace, name, model).portfolio is None]  # they need a run


def elements_of(result: gs.Result, variable: str) -> Plan:
    return [row[:-1] for row in result[variable].rows() if row[-1] > 0.5]


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("added", ADDED)
def test_every_policy_obeys(added: Callable[[int], Added], seed: int) -> None:
    one = added(seed)
    text = one.whole()
    scenario = re.findall(r"scenario (\w+)", text)[0]
    model = gs.loads(text)
    names = policies_of(text, scenario)
    assert len(names) >= 3
    for name in names:
        result = model.solve(scenario, method=name)
        faults = list(one.faults(elements_of(result, one.variable)))
        if result.status != "broken":
            assert not faults, (name, faults)
        else:
            assert one.demands, name
            assert model.solve(scenario, method="highs").status == "infeasible", name
