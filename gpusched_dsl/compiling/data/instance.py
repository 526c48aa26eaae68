"""A scenario's data as arrays: every set and parameter of a model, given or derived, in the order of dependencies."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.data.given_data import GivenData, Unavailable, label_chunks
from gpusched_dsl.compiling.data.reuse import Inputs, ReusedValues
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.data.chunks import DataChunk, label_chunk, literal_chunk
from gpusched_dsl.data.params import ANY_VALUE, BoundParam, bind_param
from gpusched_dsl.data.ranges import report_failed_check, report_out_of_range
from gpusched_dsl.data.sets import bind_root_set, bind_set
from gpusched_dsl.data.sources.files import FileLimits as FileLimits
from gpusched_dsl.data.sources.reader import FileReader
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.deadline import StoppedEarly, checkpoint
from gpusched_dsl.ir.domains import Domain, IntervalDomain
from gpusched_dsl.ir.one_process import refuse_fork
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    ComprehensionSet,
    Element,
    LiteralSet,
    Numeric,
    TextType,
    TypedExpr,
    TypedLaw,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.assignments import LawAssignment
from gpusched_dsl.language.scenarios.calendars import holiday
from gpusched_dsl.language.scenarios.scenario import CheckedScenario

if TYPE_CHECKING:
    from gpusched_dsl.compiling.data.slicing import KeptRows, Ready


T = TypeVar("T")


class Instance(Struct, eq=False):
    """The values of a scenario, and their inputs for reuse by the next instance."""

    scenario: CheckedScenario
    store: ValueStore
    reader: FileReader
    made_of: Inputs
    kept: frozenset[str] = frozenset()  # what was taken over from an earlier instance

    @property
    def inputs(self) -> dict[str, str]:
        """The SHA-256 of every data file read, by the name the author wrote."""
        return self.reader.hashes

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """Return warnings about data, and the rows that formats of data files skipped."""
        return tuple(self.reader.notes)


class _Known(dict[str, T]):
    """What a builder has made; it is asked for the rest, and raises Unavailable where that is missing.

    The reference is weak: without cycles the arrays of a plan are freed as soon as it is replaced.
    """

    def __init__(self, builder: _Builder) -> None:
        super().__init__()
        self._builder = weakref.ref(builder)

    def __missing__(self, name: str) -> T:
        builder = self._builder()
        assert builder is not None, "instances refer to it while something waits"
        builder.make_waiting(name)
        return self[name]


def build_instance(
    scenario: CheckedScenario,
    *,
    folder: Path,
    limits: MemoryLimits | None = None,
    files: FileLimits | None = None,
    roots: Mapping[Path, Path | None] | None = None,
    replaced: Mapping[str, Sequence[DataChunk]] | None = None,
    reader: FileReader | None = None,
    earlier: Instance | None = None,
    ready: Mapping[str, Ready] | None = None,
    fulfilled: Container[int] = (),
    kept_rows: KeptRows | None = None,
    on_demand: bool = False,
) -> Instance:
    """Read, bind, derive and check all data of a scenario.

    `folder` is where data paths of texts that are no file start; `roots` are the folders that the paths of a text may
    not leave, where that is not its own (`Workspace.roots`); `replaced` stands for what the scenario gives (values
    set from Python); `reader` is that of an earlier instance of the scenario, with the files it has read, and `earlier`
    that instance: of its values those are taken over whose inputs did not change (`reuse.py`). What is `ready` is taken
    as it is, whatever the scenario gives (`slicing.py`). `fulfilled` are the positions of checks of the model that are
    known to hold; `kept_rows` has values of derived parameters that are known to be sound. `on_demand`: what is derived
    without a bound is made when it is first read.
    Raises DiagnosticError with everything found: GSM20xx of files, GSM21xx of keys and values, GSM22xx of checks,
    GSM30xx of derivations. GSM6025 in a fork of a process that has read data before.
    """
    refuse_fork()
    diagnostics = Diagnostics()
    reader = reader or FileReader(folder, files or FileLimits(), roots or {})
    stated = scenario.calendar
    reader.calendar = None if stated is None or not stated.stated else stated.calendar
    reader.expect(g for givens in scenario.assignments.values() for g in givens)
    for random in scenario.model.randoms.values():
        law = _law(scenario, random)
        if law is not None:
            from gpusched_dsl.data.samples import files_of

            reader.expect(files_of(random, law))
    ready = ready or {}
    given: dict[str, Sequence[object]] = {**(replaced or {}), **{name: (value,) for name, value in ready.items()}}
    made_of = Inputs(scenario, reader, given)
    before = (None, None) if earlier is None else (earlier.made_of, earlier.store)
    kept = ReusedValues(made_of, *before)
    builder = _Builder(
        scenario,
        reader,
        limits or MemoryLimits(),
        dict(replaced or {}),
        diagnostics,
        kept,
        ready,
        fulfilled,
        kept_rows,
        on_demand,
    )
    with np.errstate(all="ignore"):  # what is not finite is reported with its place
        builder.run()
    if diagnostics.has_errors:
        diagnostics.extend(reader.notes)  # a key may be unknown because its row was left out
    diagnostics.raise_if_errors()
    reader.notes.extend(diagnostics)
    return Instance(scenario, builder.finished_store(), reader, made_of, frozenset(kept.names))


class _Builder:
    def __init__(
        self,
        scenario: CheckedScenario,
        reader: FileReader,
        limits: MemoryLimits,
        replaced: dict[str, Sequence[DataChunk]],
        diagnostics: Diagnostics,
        kept: ReusedValues,
        ready: Mapping[str, Ready],
        fulfilled: Container[int],
        kept_rows: KeptRows | None,
        on_demand: bool,
    ) -> None:
        self.kept = kept
        self.fulfilled = fulfilled
        self.kept_rows = kept_rows
        self.ready = ready
        self.scenario = scenario
        self.model: CheckedModel = scenario.model
        self.reader = reader
        self.replaced = replaced
        self.diagnostics = diagnostics
        self.on_demand = on_demand
        self.waiting: set[str] = set()
        self.recursive: dict[str, Values | None] = {}  # computed with another parameter, None with an error
        self.finished: tuple[weakref.ref[Any], ...] = ()  # weak, as they hold the builder
        self.store = ValueStore(_Known(self), _Known(self), _Known(self), _Known(self))
        self.ev = Evaluator(self.model, self.store, limits)
        self.given = GivenData(self.ev, scenario, reader, replaced, diagnostics)

    def run(self) -> None:
        self.kept.take_over(self.model.data_order, self.store)
        with self._collect_errors():
            self._calendar()
        for name in self.model.data_order:
            checkpoint()
            if name in self.store.sets or name in self.store.params or name in self.store.randoms:
                continue  # taken over, or read by something else
            if self.on_demand and self._can_wait(name):
                self.waiting.add(name)
                continue
            with self._collect_errors():
                self._maker(name)()
        for number, check in enumerate(self.model.checks):
            checkpoint()
            if number in self.fulfilled or self.kept.is_unchanged(check):
                continue  # it held before
            with self._collect_errors():
                domain = self.ev.index_domain(check.indexing, check.span)
                holds = self.ev.mask(check.condition, self.ev.domain_frame(check.indexing, domain))
                report_failed_check(check, domain.components, domain.columns(), holds, self.diagnostics)

    def _calendar(self) -> None:
        """Make the calendar of the scenario, and before it the set of its holidays."""
        stated = self.scenario.calendar
        if stated is None:
            return
        name, calendar = stated.holiday_set, stated.calendar
        if name:
            if name not in self.store.sets:
                self._maker(name)()
            labels = self.store.universes[name].labels
            days = [holiday(str(label), stated.span, self.diagnostics) for label in labels]
            calendar = replace(calendar, holidays=calendar.holidays | {day for day in days if day is not None})
        self.store.calendar = calendar

    def _maker(self, name: str) -> Callable[[], None]:
        if name in self.ready:
            return partial(self._ready, name, self.ready[name])
        if name in self.model.sets:
            return partial(self._set, self.model.sets[name])
        if name in self.model.randoms:
            return partial(self._random, self.model.randoms[name])
        return partial(self._param, self.model.params[name])

    def _can_wait(self, name: str) -> bool:
        """Whether something is derived, and nothing but its own evaluation could find an error in it."""
        if name in self.ready or name in self.replaced or name in self.scenario.assignments:
            return False
        if self.kept_rows is not None and name in self.kept_rows.names:
            return self.kept_rows.may_wait(name) and not self.model.params[name].bounds
        derived = self.model.sets.get(name) or self.model.params.get(name)
        if derived is None or derived.value is None or derived.within is not None:
            return False
        return isinstance(derived, CheckedSet) or not (derived.bounds or derived.kind == "binary")

    def make_waiting(self, name: str) -> None:
        """Raises Unavailable where something does not wait or cannot be made, DiagnosticError where it is wrong."""
        if name not in self.waiting:
            raise Unavailable(name)
        self.waiting.discard(name)
        try:
            with np.errstate(all="ignore"):
                self._maker(name)()
        except (StoppedEarly, KeyboardInterrupt):  # of this reader; the next one may have more time
            self.waiting.add(name)
            raise

    def finished_store(self) -> ValueStore:
        """Return what has been made, with the rest on demand."""
        made = self.store
        calendar = made.calendar
        if not self.waiting:
            randoms = dict(made.randoms)
            return ValueStore(dict(made.universes), dict(made.sets), dict(made.params), randoms, calendar=calendar)
        self.kept = ReusedValues(self.kept.now)  # later readers are no earlier instances
        later = {name: partial(self._later, name) for name in self.waiting}
        sets = {name: make for name, make in later.items() if name in self.model.sets}
        params = {name: make for name, make in later.items() if name in self.model.params}
        from gpusched_dsl.compiling.evaluation.on_demand import OnDemand

        on_demand = OnDemand(dict(made.sets), sets), OnDemand(dict(made.params), params)
        self.finished = (weakref.ref(on_demand[0]), weakref.ref(on_demand[1]))
        return ValueStore(dict(made.universes), *on_demand, dict(made.randoms), calendar=calendar)

    def _later(self, name: str) -> Any:
        """Make what waited, for a reader of the finished instance. Raises DiagnosticError as the build does."""
        both: tuple[dict[str, Any], dict[str, Any]] = (self.store.sets, self.store.params)
        with self._collect_errors():
            value = both[name in self.model.params][name]
            for reference, made in zip(self.finished, both, strict=True):
                if (finished := reference()) is not None:
                    finished.update(made)  # what was made for it too
            return value
        self.diagnostics.raise_if_errors()
        raise Unavailable(name)

    @contextmanager
    def _collect_errors(self) -> Iterator[None]:
        """Continue with the next declaration after an error; skip declarations that need a missing value."""
        try:
            yield
        except DiagnosticError as error:
            self.diagnostics.extend(error.diagnostics)
        except Unavailable:
            return

    def _ready(self, name: str, ready: Ready) -> None:
        from gpusched_dsl.compiling.data.slicing import KnownValues, LawSlice, ParamSlice, put

        if put(name, ready, self.store):
            return
        if isinstance(ready, LawSlice):
            random = self.model.randoms[name]
            self.store.randoms[name] = ready.laws(self.ev.index_domain(random.indexing, random.span))
            return
        assert isinstance(ready, ParamSlice | KnownValues)
        declared = self.model.params[name]
        domain = self.ev.index_domain(declared.indexing, declared.span)
        values = ready.values(domain)
        if isinstance(ready, KnownValues):  # what was given has been held to its bounds before
            frame = self.ev.domain_frame(declared.indexing, domain)
            for bound in declared.bounds:
                limits = self.ev.numbers(bound.value, frame)
                report_out_of_range(declared, domain, values, limits, bound, None, self.diagnostics)
        self.store.params[name] = Param(domain, values)

    # --- sets --------------------------------------------------------------------------------------------------------

    def _set(self, declared: CheckedSet) -> None:
        if declared.root == declared.name:
            if isinstance(declared.value, LiteralSet):  # the model lists its elements
                chunks: list[DataChunk | None] = [literal_chunk(declared.value, declared.span)]
            else:
                chunks = [*self.given.chunks(declared)]
            universe = bind_root_set(declared, label_chunks(chunks), self.diagnostics)
            if universe is not None:
                self.store.universes[declared.name] = universe
                self.store.sets[declared.name] = IntervalDomain(0, len(universe.labels) - 1, 1, universe)
            return
        if declared.is_indexed:
            self._indexed_set(declared)
            return
        within = None if declared.within is None else self.ev.domain(declared.within)
        domain: Domain | None
        formula = declared.value or self.given.formula(declared)
        if formula is not None:
            domain = self.ev.domain(formula)
            from gpusched_dsl.compiling.data.derived import report_elements

            if within is not None and not report_elements(declared, formula, domain, within, self.diagnostics):
                raise Unavailable(declared.name)
        else:
            components = tuple(map(self.store.component, declared.types))
            domain = bind_set(declared, components, label_chunks(self.given.chunks(declared)), self.diagnostics, within)
        if domain is not None:
            self.store.sets[declared.name] = domain

    def _indexed_set(self, declared: CheckedSet) -> None:
        from gpusched_dsl.compiling.data.indexed_sets import EnclosingSet, with_single_indices

        within = None
        if declared.within is not None:
            assert isinstance(declared.within, ComprehensionSet)
            within = EnclosingSet(self.ev, declared.within)
        formula = declared.value or self.given.formula(declared)
        components = tuple(map(self.store.component, declared.types))
        domain: Domain | None
        patches = self.given.patches(declared)
        if formula is not None:
            domain = self.ev.domain(formula)
            from gpusched_dsl.compiling.data.derived import report_elements

            if within is not None and not report_elements(declared, formula, domain, within, self.diagnostics):
                raise Unavailable(declared.name)
        else:
            chunks = label_chunks(self.given.chunks(declared))
            if not chunks and patches:
                chunks = [label_chunk([], len(components), declared.span)]
            domain = bind_set(declared, components, chunks, self.diagnostics, within)
        if domain is not None and patches:
            domain = with_single_indices(self.ev, declared, domain, patches, within, self.diagnostics)
        if domain is not None:
            self.store.sets[declared.name] = domain

    # --- parameters --------------------------------------------------------------------------------------------------

    def _param(self, declared: CheckedParam) -> None:
        domain = self.ev.index_domain(declared.indexing, declared.span)
        self.ev.budget.frame(domain.size, 1 + domain.arity, declared.span, f"parameter `{declared.name}`")
        memory = self.kept_rows if self.kept_rows is not None and declared.name in self.kept_rows.names else None
        if memory is not None and (known := memory.values(declared.name, domain)) is not None:
            self.store.params[declared.name] = Param(domain, known)
            return
        frame = self.ev.domain_frame(declared.indexing, domain)
        within = None if declared.within is None else self.ev.domain(declared.within)
        formula = declared.value or declared.default
        computed: Values | None = None
        if formula is not None:
            evaluate: Callable[[TypedExpr, Frame], Values] = self.ev.numbers
            if isinstance(declared.type, Element | TextType):
                evaluate = self.ev.codes if isinstance(declared.type, Element) else self.ev.values
            if declared.recursive:
                computed = self._recursive(declared)
            else:
                computed = np.broadcast_to(evaluate(formula, frame), (frame.size,))
        if declared.value is None:
            bound = bind_param(
                declared, domain, self.given.chunks(declared, domain), computed, self.diagnostics, within
            )
        else:
            assert computed is not None
            bound = BoundParam(computed)
            if isinstance(declared.type, Numeric):
                what = f"parameter `{declared.name}` has no finite value"
                wrong = ~np.isfinite(computed)
                self.ev.refuse_where(wrong, "GSM3004", what, declared.value, frame, "not finite")
        # Bounds are checked after a finding too, so that faults in some values do not hide those in others.
        for limit in declared.bounds:
            limits = self.ev.numbers(limit.value, frame)
            report_out_of_range(declared, domain, bound.values, limits, limit, bound.origin, self.diagnostics)
        if not bound.sound:
            raise Unavailable(declared.name)
        if formula is not None and declared.kind not in ANY_VALUE:
            from gpusched_dsl.compiling.data.derived import report_computed

            sound = report_computed(declared, formula, domain, bound.values, within, self.diagnostics)
            if not sound:
                raise Unavailable(declared.name)
        self.store.params[declared.name] = Param(domain, bound.values)
        if memory is not None:
            memory.keep(declared.name, domain, bound.values)

    def _recursive(self, declared: CheckedParam) -> Values:
        """The values of a recursive parameter; those that are evaluated together with it are kept for their turn."""
        name = declared.name
        if name in self.recursive and self.recursive[name] is None:
            raise Unavailable(name)  # the circle has an error, which is reported
        if name not in self.recursive:
            try:
                from gpusched_dsl.compiling.evaluation.recursion import recursive_values

                self.recursive.update(recursive_values(self.ev, [self.model.params[m] for m in declared.circle]))
            except DiagnosticError:
                self.recursive.update(dict.fromkeys(declared.circle))
                raise
        values = self.recursive.pop(name)
        assert values is not None
        return values

    # --- randoms -----------------------------------------------------------------------------------------------------

    def _random(self, declared: CheckedRandom) -> None:
        law = _law(self.scenario, declared)
        if law is None:
            self.diagnostics.error(
                "GSM3105",
                f"no distribution is given for random `{declared.name}`",
                declared.span,
                "declared here",
                help=f"give it in the scenario: `{declared.name} ~ exponential(mean = ...);`",
            )
            return
        from gpusched_dsl.compiling.data.distributions import laws_of

        laws = laws_of(declared, law, self.ev, self.reader, self.diagnostics)
        if laws is not None:
            self.store.randoms[declared.name] = laws


def _law(scenario: CheckedScenario, random: CheckedRandom) -> TypedLaw | None:
    """Return the distribution of a random quantity: that of the model, else the last one of the scenario."""
    given = [g.law for g in scenario.assignments.get(random.name, ()) if isinstance(g, LawAssignment)]
    return random.law or (given[-1] if given else None)
