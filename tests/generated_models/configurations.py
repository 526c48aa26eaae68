"""Methods to solve a generated model, and checks of the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from algebras import Unsupported
from enumerated_optimum import Reference, declared_columns, faults, objective_ranges, reference
from judged_refusals import REFUSALS, false_claim
from model_changes import SAME, changed_values, with_other_data
from model_text import text_of
from model_tree import Key, Model
from model_values import Column

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.names import AGGREGATION, EVERY
from gpusched_dsl.compiling.passes.pipeline import TIGHTENINGS
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.result import Result

TOLERANCE = 2e-6
SWITCHES = (AGGREGATION, *(t.name for t in TIGHTENINGS))

# Defects that are known and not mended yet: the kind of the outcome and a part of its detail.
KNOWN: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Configuration:
    """One way to solve. `start` is "", `point`, `partial` or `wrong`; `seed` decides what is random in it."""

    backend: str = "highs"
    without: tuple[str, ...] = ()
    decompose: str = "auto"
    heuristic: str = "auto"
    start: str = ""
    changes: tuple[str, ...] = ()  # names of SAME
    resolve: bool = False
    seed: int = 0

    def __str__(self) -> str:
        parts = [self.backend, *(f"without {w}" for w in self.without)]
        parts += [f"decompose {self.decompose}"] * (self.decompose != "auto")
        parts += [f"heuristic {self.heuristic}"] * (self.heuristic != "auto")
        parts += [f"from a {self.start} start"] * bool(self.start) + list(self.changes)
        return ", ".join([*parts, *["solved again with other data"] * self.resolve])


@dataclass(frozen=True)
class Outcome:
    """`right`, `refused` (with a code) or what is wrong."""

    kind: str
    detail: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.kind not in ("right", "refused", "known", "not enumerated")


BACKENDS = ("highs", "highs", "scip", "cvxpy")


def random_configuration(model: Model, random: Random, backends: tuple[str, ...] = BACKENDS) -> Configuration:
    backend = random.choice(backends)
    without = random.choice(((), (EVERY,), (AGGREGATION,), *(tuple(random.sample(SWITCHES, k)) for k in (1, 2))))
    return Configuration(
        backend, without, random.choice(("auto", "on", "off")) if model.decompose else "auto",
        random.choice(("auto", "auto", "on", "off")), random.choice(("", "", "", "point", "partial", "wrong")),
        tuple(random.sample(list(SAME), random.choice((0, 0, 1, 2)))), random.random() < 0.2, random.randrange(1 << 30),
    )  # fmt: skip


def all_configurations(backends: tuple[str, ...] = ("highs", "scip", "cvxpy")) -> Iterator[Configuration]:
    """Every switch by itself with every backend, each start, decomposition, the heuristic, changes and re-solving."""
    for backend in backends:
        plain = Configuration(backend)
        yield plain
        yield replace(plain, without=(EVERY,))
        yield replace(plain, decompose="on")
        yield replace(plain, heuristic="on")
        for start in ("point", "partial", "wrong"):
            yield replace(plain, start=start)
        yield replace(plain, resolve=True)
        yield replace(plain, resolve=True, without=(AGGREGATION,))
    for switch in SWITCHES:
        yield Configuration(without=(switch,))
    for change in SAME:
        yield Configuration(changes=(change,))
        yield Configuration(changes=(change,), without=(AGGREGATION,))


def outcome(model: Model, right: Reference, configuration: Configuration, time_limit: float = 30.0) -> Outcome:
    """Solve a model with a known optimum in one way; `right` is its reference.

    What cannot be decomposed is solved as it is then: only the option is refused.
    Raises Unsupported where the changed data of a re-solve cannot be enumerated.
    """
    random, given = Random(configuration.seed), model
    for name in configuration.changes:
        model = SAME[name](model, random)
    options: dict[str, Any] = {
        "gap": 0.0, "time_limit": time_limit, "without": configuration.without, "decompose": configuration.decompose,
        "heuristic": configuration.heuristic,
    }  # fmt: skip
    try:
        with gs.loads(text_of(model)) as text:
            start = _start(text, model, configuration.start, random)
            result = text.solve("S", configuration.backend, warm_start=start, **options)
            found = judged(model, right, result)
            if found.is_wrong or not configuration.resolve:
                return found
            before, model = model, with_other_data(model, random)
            for name, value in changed_values(before, model).items():
                text.set(name, value)
            again = judged(model, reference(model), text.resolve())
            return replace(again, detail=f"solved again: {again.detail}") if again.is_wrong else again
    except DiagnosticError as error:
        if {d.code for d in error.diagnostics} == {"GSM4013"} and configuration.decompose == "on":
            return outcome(given, right, replace(configuration, decompose="auto"), time_limit)
        return _known(_refused(model, error, configuration))
    except Unsupported:
        raise
    except Exception as error:
        return _known(Outcome(f"{type(error).__name__}", repr(error)))


def _known(found: Outcome) -> Outcome:
    for kind, detail in KNOWN:
        if kind == found.kind and detail in found.detail:
            return Outcome("known", f"{found.kind}: {found.detail}")
    return found


def _refused(model: Model, error: DiagnosticError, configuration: Configuration) -> Outcome:
    """`refused` where each diagnostic is a refusal and what it claims is so."""
    for found in error.diagnostics:
        if found.code not in REFUSALS:
            return Outcome(found.code, str(error))
        wrong = false_claim(model, configuration.backend, configuration.decompose, found.code, found.message)
        if wrong:
            return Outcome(f"refused wrongly {found.code}", f"{wrong}: {error}")
    return Outcome("refused", str(error))


def _start(text: gs.Model, model: Model, kind: str, random: Random) -> Any:
    if not kind:
        return None
    given: dict[str, dict[Any, float]] = {}
    if kind == "wrong":
        for (name, key), _ in declared_columns(model):
            given.setdefault(name, {})[_key(key)] = float(random.randint(-1, 4))
        return given
    first = text.solve("S", "highs", gap=0.0, without=[EVERY])
    if not first.has_point or kind == "point":
        return first if first.has_point else None
    for column, value in point_of(model, first).items():
        if random.random() < 0.6:
            given.setdefault(column[0], {})[_key(column[1])] = value
    return given


def _key(key: Key) -> Any:
    return key[0] if len(key) == 1 else key


def point_of(model: Model, result: Result) -> dict[Column, float]:
    point: dict[Column, float] = {}
    for variable in model.variables:
        for row in result.table(variable.name).rows():
            point[variable.name, tuple(row[:-1])] = row[-1]
    return point


def judged(model: Model, right: Reference, result: Result) -> Outcome:
    """A result against the reference; its point against the model."""
    if result.status != right.status:
        return Outcome(f"{result.status} instead of {right.status}")
    if right.status != "optimal":
        return Outcome("right")
    point = point_of(model, result)
    broken = faults(model, point, TOLERANCE)
    if broken:
        return Outcome("point", "; ".join(broken))
    ranges = objective_ranges(model, point, TOLERANCE)
    stages = zip(result.objectives, right.objectives, right.best, right.lost, ranges, strict=True)
    for one, value, best, lost, (low, high) in stages:
        slack = 1e-5 * max(1.0, abs(float(value)))
        worst = value + lost if one.sense == "minimize" else value - lost
        first, *_, last = sorted((float(value), float(best), float(worst)))
        assert one.value is not None
        if not first - slack <= one.value <= last + slack:
            return Outcome("objective", f"{one.name}: {one.value} instead of {float(value)} to {float(best)}")
        if not low - slack <= one.value <= high + slack:
            return Outcome("objective at the point", f"{one.name}: {one.value} instead of {low} to {high}")
        if one.bound is not None and not first - slack <= one.bound <= last + slack:
            worse = one.bound > float(value) if one.sense == "minimize" else one.bound < float(value)
            if worse:
                return Outcome("bound", f"{one.name}: {one.bound}, the optimum is {float(value)}")
    return Outcome("right")
