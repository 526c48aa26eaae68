"""Changes that could start a waiting job earlier (of its data, of other jobs, of nodes), applied to a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.checked import Numeric, ParamRef
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.text.numbers import short, with_unit
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import with_values
from gpusched_dsl.online.data.variations import with_copies, with_rows
from gpusched_dsl.online.live.labels import refuse
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.simulation.realisation import realisation_of
from gpusched_dsl.online.simulation.world import DONE, GONE, RUNNING, WAITING

MOST_OF_A_KIND = 6
ABOVE = 1.01  # a weight above another one, as a factor
Values = Mapping[str, Any]
NO_JOBS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StartChange:
    """A change for a waiting job.

    `kind` is `values`, `weight`, `way`, `hold`, `halt`, `node` or `recovery`; `detail` states it for programs, `text`
    for readers. `data` returns the changed data. Jobs in `held` (codes) leave their nodes and the queue until the job
    has started, nodes in `recovered` are up, and `places` nodes are new.
    """

    kind: str
    text: str
    detail: Mapping[str, Any]
    data: Callable[[Base], Base] | None = None
    held: Ints = field(default_factory=NO_JOBS.copy)
    recovered: Ints = field(default_factory=NO_JOBS.copy)
    places: int = 0


def have_ended(loop: EventLoop, jobs: Ints | None) -> bool:
    """Whether all of these jobs have ended; never without jobs."""
    return jobs is not None and bool((loop.world.status[jobs] >= DONE).all())


class ChangedRun:
    """A simulated run with a change in effect from now on, and a new plan at once.

    Raises DiagnosticError where the model does not allow the change, and as planning does.
    """

    def __init__(self, loop: EventLoop, change: StartChange, code: int, base: Base | None) -> None:
        """`base` are the changed data, None without a change of data."""
        self.loop, self.code = loop, code
        self._held = change.held
        self._arrival: Floats = np.zeros(0)
        world = loop.world
        if base is not None:
            loop.use_data(base)
            real = realisation_of(loop.online, base, loop.config.seed, loop.setup.slot_length)
            world.work[code] = real.work[code]
            if not isinstance(loop.online.ends, str):
                world.ends[code] = real.ends[code]
        if change.places:
            world.add_places(change.places, change.places if loop.setup.kinds_root == loop.places_root else 0)
        if len(change.recovered):
            loop.nodes.recover(loop.places_root, change.recovered)
        if len(self._held):
            self._hold()
        loop.decide(("change",))

    def finish(self, jobs: Ints | None = None) -> str:
        """Continue until the run is over, or until these jobs have ended; return why it is over, else ""."""
        loop, over = self.loop, ""
        while True:
            if len(self._held) and (over or loop.world.status[self.code] in (RUNNING, DONE, GONE)):
                if over in ("interrupt", "events"):
                    return over
                loop.world.release(self._held, self._arrival)
                self._held, over = NO_JOBS, ""
                loop.decide(("release",))
            if over or (not len(self._held) and have_ended(loop, jobs)):
                return over
            over = loop.step()

    def _hold(self) -> None:
        loop, world = self.loop, self.loop.world
        running = self._held[world.status[self._held] == RUNNING]
        if len(running):
            if world.halt_cost[running].any():
                world.ledger.add_jobs("halt", running, world.halt_cost[running])
            world.halt(running)
            loop.handle_departures()
        self._arrival = world.hold(self._held)


def candidates(
    loop: SimulationLoop, code: int, ahead: Ints, wanted: Sequence[Values], most: int = MOST_OF_A_KIND
) -> list[StartChange]:
    """Return the changes for a waiting job, at most `most` of each kind. Raises DiagnosticError for unknown parameters.

    `ahead` are the codes of waiting jobs that may start before it, those that matter most first; `wanted` are values
    of its parameters that the user proposes.
    """
    found = [_values_change(loop, code, values) for values in wanted]
    of_job, of_others = (_weights(loop, code), _ways(loop, code)), (_halts(loop), _holds(loop, code, ahead))
    for changes in (*of_job, *of_others, _nodes(loop), _recoveries(loop)):
        found += islice(changes, most)
    return found


def _label(base: Base, root: str, code: int) -> str | int:
    label: str | int = base.labels(root, np.array([code]))[0]
    return label


# --- the data of the job ---------------------------------------------------------------------------------------------


def _values_change(loop: SimulationLoop, code: int, values: Values) -> StartChange:
    label = _label(loop.base, loop.jobs_root, code)
    changes, params = {}, loop.base.store.params
    for name, given in values.items():
        if name not in params or loop.base.model.params[name].value is not None:
            refuse(f"`{name}` is not a parameter that can change", did_you_mean(name, params) or "")
        by_key = given.items() if isinstance(given, Mapping) else (((), given),)
        changes[name] = [((label, *(key if isinstance(key, tuple) else (key,))), value) for key, value in by_key]
    shown = ", ".join(f"{name} {value}" for name, value in values.items())
    return StartChange("values", shown, dict(values), partial(with_values, changes=changes))


def _weights(loop: SimulationLoop, code: int) -> Iterator[StartChange]:
    """A double weight, and one above those of all other present jobs."""
    stated = loop.placement.value("weight")
    if not isinstance(stated, ParamRef) or loop.base.model.params[stated.name].value is not None:
        return
    name, param = stated.name, loop.base.store.params[stated.name]
    components = param.domain.components
    if len(components) != 1 or components[0] is None or components[0].name != loop.jobs_root:
        return
    present = loop.world.present()
    weights = np.asarray(param.values, dtype=np.float64)
    own, others = float(weights[code]), weights[present[present != code]]
    label = _label(loop.base, loop.jobs_root, code)
    kind = loop.base.model.params[name].type
    unit = str(kind.unit) if isinstance(kind, Numeric) else ""
    largest = float(others.max(initial=0.0))
    for weight in dict.fromkeys((2 * own, ABOVE * largest)):
        if weight <= own:
            continue
        text = f"{name} {with_unit(short(weight), '' if unit == '1' else unit)}"
        pairs: dict[str, list[tuple[tuple[str | int, ...], float | str]]] = {name: [((label,), weight)]}
        yield StartChange("weight", text, {name: weight}, partial(with_values, changes=pairs))


def _ways(loop: SimulationLoop, code: int) -> Iterator[StartChange]:
    """One element alone of a given set that states how jobs may run, such as node types or numbers of GPUs."""
    base = loop.base
    for name in sorted(base.input_names & base.store.sets.keys()):
        domain = base.store.sets[name]
        roots = [None if c is None else c.name for c in domain.components]
        if len(roots) < 2 or roots.count(loop.jobs_root) != 1 or loop.places_root in roots:
            continue
        columns, at = domain.columns(), roots.index(loop.jobs_root)
        own = columns[at] == code
        rows = np.flatnonzero(own)
        if len(rows) < 2:
            continue
        others = [i for i in range(len(roots)) if i != at]
        for row in rows[np.lexsort([columns[i][rows] for i in others[:-1]] + [columns[others[-1]][rows]])]:
            labels = [_value(domain.components[i], int(columns[i][row])) for i in others]
            kept = ~own
            kept[row] = True
            text = f"only {', '.join(map(str, labels))}"
            yield StartChange("way", text, {name: labels}, partial(_with_first_rows, name=name, kept=kept))


def _with_first_rows(base: Base, name: str, kept: Bools) -> Base:
    """Return the base without some of the first rows of a set; rows of elements that were added later stay."""
    more = base.store.sets[name].size - len(kept)
    return with_rows(base, name, np.concatenate((kept, np.ones(more, dtype=np.bool_))))


def _value(component: Any, code: int) -> str | int:
    return code if component is None else component.labels[code]


# --- other jobs ------------------------------------------------------------------------------------------------------


def _halts(loop: SimulationLoop) -> Iterator[StartChange]:
    """Each running job, those with the most GPUs first."""
    world = loop.world
    running = world.running[world.status[world.running] == RUNNING]
    for code in running[np.argsort(-world.uses[running], kind="stable")].tolist():
        label = _label(loop.base, loop.jobs_root, code)
        yield StartChange("halt", f"halt {label} until it starts", {"job": label}, held=np.array([code]))


def _holds(loop: SimulationLoop, code: int, ahead: Ints) -> Iterator[StartChange]:
    """All other waiting jobs together, and each that may start earlier."""
    waiting = np.flatnonzero(loop.world.status == WAITING)
    others = waiting[waiting != code]
    if len(others) > 1:
        labels = loop.base.labels(loop.jobs_root, others)
        yield StartChange("hold", "hold all other waiting jobs until it starts", {"jobs": labels}, held=others)
    for other in ahead.tolist():
        label = _label(loop.base, loop.jobs_root, other)
        yield StartChange("hold", f"hold {label} until it starts", {"jobs": [label]}, held=np.array([other]))


# --- the nodes -------------------------------------------------------------------------------------------------------


def _nodes(loop: SimulationLoop) -> Iterator[StartChange]:
    """One more node like each that differs from the others in a given parameter."""
    root, base = loop.places_root, loop.base
    if not root:
        return
    count = len(base.store.universes[root].labels)
    rows: list[tuple[Any, ...]] = [() for _ in range(count)]
    for name in sorted(base.input_names & base.store.params.keys()):
        param = base.store.params[name]
        components = param.domain.components
        if (
            len(components) == 1
            and components[0] is not None
            and components[0].name == root
            and param.domain.size == count
        ):
            rows = [(*row, value) for row, value in zip(rows, param.values.tolist(), strict=True)]
    for code in sorted({row: at for at, row in reversed(list(enumerate(rows)))}.values()):
        label = _label(base, root, code)
        yield StartChange(
            "node", f"one more node like {label}", {"like": label},
            partial(with_copies, root=root, codes=np.array([code])), places=1,
        )  # fmt: skip


def _recoveries(loop: SimulationLoop) -> Iterator[StartChange]:
    """Each node that is down."""
    for code in loop.nodes.down.get(loop.places_root, np.zeros(0, dtype=np.int64)).tolist():
        label = _label(loop.base, loop.places_root, code)
        yield StartChange("recovery", f"node {label} is up again", {"node": label}, recovered=np.array([code]))
