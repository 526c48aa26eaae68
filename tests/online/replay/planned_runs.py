"""A run planned again at every event by the policy, on the present jobs: the reference of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.replay.eligibility import ReplayFacts, replay_facts, replay_obstacles
from gpusched_dsl.online.replay.run import replay
from gpusched_dsl.online.replay.trace_reader import NamedTrace, read_trace
from gpusched_dsl.policies.decide import decide

NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Ready:
    """A policy on a scenario with the set `Jobs`, whose arrivals are the parameter `submitted`."""

    workspace: Workspace
    policy: CheckedPolicy
    store: ValueStore

    @property
    def submitted(self) -> np.ndarray:
        return np.asarray(self.store.params["submitted"].values, dtype=np.float64)


def ready(text: str, policy: str, scenario: str = "Run", folder: Path | None = None) -> Ready:
    """`folder` is where paths in the text start."""
    base = folder or Path.cwd()
    found = Diagnostics()
    workspace = workspace_from_text(text, "run.gsm", found, base)
    found.raise_if_errors()
    checked = check_scenario(workspace, scenario, {}, found)
    found.raise_if_errors()
    assert checked is not None
    made = check_policy(workspace, workspace.policies[policy], found, checked.model)
    found.raise_if_errors()
    assert made is not None
    return Ready(workspace, made, build_instance(checked, folder=base, roots=workspace.roots).store)


def block(given: Ready, name: str) -> CheckedOnline:
    found = Diagnostics()
    online = check_online(given.workspace, given.workspace.onlines[name], found)
    found.raise_if_errors()
    assert online is not None
    return online


def reasons(given: Ready, online: str) -> list[str]:
    return replay_obstacles(given.policy, replay_facts(block(given, online)))


def driven(given: Ready) -> ReplayFacts:
    return replay_facts(block(given, next(iter(given.workspace.onlines))))


def replayed(given: Ready) -> dict[int, tuple[float, float, tuple[int, ...]]]:
    """Of every job that starts, by code: start, end, and the codes of its element of the family."""
    readied: NamedTrace = read_trace(
        given.policy, given.store, MemoryLimits(), given.submitted, driven(given).fractions
    )
    found = replay(readied.trace)
    entries = readied.selected_elements(found.node, found.way)
    started = np.flatnonzero(found.node >= 0)
    columns = np.stack(entries, axis=1) if len(started) else np.zeros((0, len(entries)), dtype=np.int64)
    return {
        int(readied.jobs[j]): (float(found.start[j]), float(found.end[j]), tuple(int(c) for c in row))
        for j, row in zip(started, columns, strict=True)
    }


def planned(given: Ready) -> dict[int, tuple[float, float, tuple[int, ...]]]:
    """The same by one decision for every instant; the time of a job is in `exec_time`.

    The placement's family has the job as its first index, the node as its second; `exec_time` is indexed by the job
    alone, or by the family with the `type` of the node in its place.
    """
    limits, jobs = MemoryLimits(), given.store.sets["Jobs"]
    codes = jobs.columns()[0]
    come = {int(code): float(at) for code, at in zip(codes, given.submitted, strict=True)}
    times = given.store.params["exec_time"]
    variable = given.policy.model.placement.variable  # type: ignore[union-attr]
    here: list[int] = []
    runs: dict[int, tuple[float, tuple[int, ...]]] = {}  # planned end, element
    found: dict[int, tuple[float, float, tuple[int, ...]]] = {}
    while come or runs:
        now = min([*come.values(), *(end for end, _ in runs.values())])
        until = now + NEAR * max(1.0, abs(now))
        for job in [job for job, (end, _) in runs.items() if end <= until]:
            _, element = runs.pop(job)
            found[job] = (found[job][0], now, element)
            here.remove(job)
        new = [job for job, at in come.items() if at <= until]
        here = sorted(here + new)
        come = {job: at for job, at in come.items() if job not in new}
        some = TupleDomain((jobs.components[0],), (np.array(here, dtype=np.int64),))
        store = structs.replace(given.store, sets={**given.store.sets, "Jobs": some})
        width = len(given.policy.model.placement.indices)  # type: ignore[union-attr]
        rows = np.array([element for _, element in runs.values()], dtype=np.int64).reshape(-1, width)
        running = {variable: VariableValues(tuple(rows.T), np.ones(len(rows)))}
        plan = decide(given.policy, store, limits, running=running).values[variable]
        elements = [tuple(int(c) for c in row) for row in np.stack(plan.codes, axis=1)]
        assert {e for _, e in runs.values()} <= set(elements), "a running job was moved"
        for element in elements:
            job = element[0]
            if job in runs:
                continue
            which = element[:1]
            if times.domain.arity > 1:
                which = (element[0], int(given.store.params["type"].values[element[1]]), *element[2:])
            place = times.domain.locate([np.array([c]) for c in which])
            runs[job] = (now + float(times.values[place][0]), element)
            found[job] = (now, np.nan, element)
    return found
