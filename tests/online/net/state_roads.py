"""One case of accumulated values by every road, each compared with the others and with the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from net_roads import (
    Told,
    against_simulator,
    compared,
    event_loop,
    journalled,
    lived,
    near,
    opened,
    parts_of,
    replayed,
)
from state_cases import StateCase
from state_simulator import Element, StateSimulation

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.ir.domains import decode

PLANS = 150  # after which a case is no use: its budget stops a job for ever
Seen = list[dict[str, dict[Element, float]]]  # by plan, accumulator and element


def check_state(case: StateCase, folder: Path | None = None) -> Told:
    """Drive a case by all roads; those by a journal only where there is a folder for one."""
    workspace = opened(case)
    loop = event_loop(workspace)
    loop.stop = lambda: len(loop.steps) > PLANS
    seen: Seen = []
    loop.examine = lambda instance, plan, number: seen.append(known(case, instance))
    run = loop.run()
    if run.ended == "interrupt":
        return Told([], False, len(run.steps), run.ended, run.total)
    fast = replayed(workspace)
    slow = StateSimulation(case).run()
    wrong = values_against(seen, slow)
    wrong += [] if fast is None else compared("replay", fast, run)
    wrong += against_simulator(run, slow) + parts_of(run)
    if folder is not None:
        wrong += journalled(workspace, run, folder, case.seed)
        wrong += lived(workspace, case, run, slow, folder)
    return Told(wrong, fast is not None, len(run.steps), run.ended, run.total)


def known(case: StateCase, instance: Instance) -> dict[str, dict[Element, float]]:
    """What a plan knows of each accumulator, by numbers of jobs and nodes."""
    found = {}
    for a in case.accumulators:
        param = instance.store.params[a.name]
        labels = decode(param.domain.components, param.domain.columns())
        elements = (tuple(place(a.index[at], label) for at, label in enumerate(row)) for row in labels)
        found[a.name] = dict(zip(elements, param.values.tolist(), strict=True))
    return found


def place(index: str, label: object) -> object:
    return int(str(label)[1:]) if index in "jn" else label


def values_against(seen: Seen, slow: StateSimulation) -> list[str]:
    """Where a plan knows other values than the simulator."""
    for number, (ours, (time, theirs)) in enumerate(zip(seen, slow.seen, strict=False)):
        for name, values in ours.items():
            for element, value in values.items():
                if not near(np.array(value), np.array(theirs[name].get(element, np.nan))):
                    return [f"plan {number} at {time}: {name}{element} is {value}, not {theirs[name].get(element)}"]
    return []
