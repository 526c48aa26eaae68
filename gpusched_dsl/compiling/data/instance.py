"""A scenario's data as arrays: every set and parameter of a model, given or derived, in the order of dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from gpusched_dsl.compiling.data.derived import report_computed, report_elements
from gpusched_dsl.compiling.data.distributions import laws_of
from gpusched_dsl.compiling.data.reuse import Inputs, ReusedValues
from gpusched_dsl.compiling.data.slicing import KnownValues, LawSlice, ParamSlice, Ready, put
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.data.binding import (
    BoundParam,
    ColumnChunk,
    DataChunk,
    FileReader,
    ParamOrigin,
    ValueChunk,
    bind_param,
    bind_root_set,
    bind_set,
    label_chunk,
    literal_chunk,
    read_given,
    report_failed_check,
    report_out_of_range,
)
from gpusched_dsl.data.samples import files_of
from gpusched_dsl.data.sources.files import FileLimits as FileLimits
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.domains import Domain, IntervalDomain, Scalar, Universe
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    Element,
    LiteralSet,
    Numeric,
    StringLiteral,
    TextType,
    TypedExpr,
    TypedLaw,
    TypedSet,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.assignments import (
    Assignment,
    ExpressionAssignment,
    FileAssignment,
    LawAssignment,
    TableAssignment,
)
from gpusched_dsl.language.scenarios.scenario import CheckedScenario

T = TypeVar("T")

# A label with its row is a few objects: as much as that many numbers.
_LABEL_NUMBERS = 12


@dataclass(eq=False)
class Instance:
    """The values of a scenario, and what they were made of, for the next one."""

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
        """What formats of data files left out."""
        return tuple(self.reader.notes)


class Unavailable(Exception):
    """Something needs a value that could not be made; the reason has been reported already."""


class _Known(dict[str, T]):
    def __missing__(self, name: str) -> T:
        raise Unavailable(name)


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
) -> Instance:
    """Read, bind, derive and check all data of a scenario.

    `folder` is where data paths of texts that are no file start; `roots` are the folders that the paths of a text may
    not leave, where that is not its own (`Workspace.roots`); `replaced` stands for what the scenario gives (values
    set from Python); `reader` is that of an earlier instance of the scenario, with the files it has read, and `earlier`
    that instance: of its values those are taken over whose inputs did not change (`reuse.py`). What is `ready` is taken
    as it is, whatever the scenario gives (`slicing.py`).
    Raises DiagnosticError with everything found: GSM20xx of files, GSM21xx of keys and values, GSM22xx of checks,
    GSM30xx of derivations.
    """
    diagnostics = Diagnostics()
    reader = reader or FileReader(folder, files or FileLimits(), roots or {})
    reader.expect(g for givens in scenario.given.values() for g in givens)
    for random in scenario.model.randoms.values():
        law = _law(scenario, random)
        if law is not None:
            reader.expect(files_of(random, law))
    ready = ready or {}
    given: dict[str, Sequence[object]] = {**(replaced or {}), **{name: (value,) for name, value in ready.items()}}
    made_of = Inputs(scenario, reader, given)
    before = (None, None) if earlier is None else (earlier.made_of, earlier.store)
    kept = ReusedValues(made_of, *before)
    builder = _Builder(scenario, reader, limits or MemoryLimits(), dict(replaced or {}), diagnostics, kept, ready)
    with np.errstate(all="ignore"):  # what is not finite is reported with its place
        builder.run()
    if diagnostics.has_errors:
        diagnostics.extend(reader.notes)  # a key may be unknown because its row was left out
    diagnostics.raise_if_errors()
    return Instance(scenario, builder.plain_store(), reader, made_of, frozenset(kept.names))


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
    ) -> None:
        self.kept = kept
        self.ready = ready
        self.scenario = scenario
        self.model: CheckedModel = scenario.model
        self.reader = reader
        self.replaced = replaced
        self.diagnostics = diagnostics
        self.store = ValueStore(universes=_Known(), sets=_Known(), params=_Known(), randoms=_Known())
        self.ev = Evaluator(self.model, self.store, limits)

    def run(self) -> None:
        for name in self.model.data_order:
            checkpoint()
            if not self.kept.takes(name, self.store):
                self._guarded(name)
        for check in self.model.checks:
            checkpoint()
            if self.kept.holds(check):
                continue  # it held before
            try:
                domain = self.ev.index_domain(check.indexing, check.span)
                holds = self.ev.mask(check.condition, self.ev.domain_frame(check.indexing, domain))
                report_failed_check(check, domain.components, domain.columns(), holds, self.diagnostics)
            except DiagnosticError as error:
                self.diagnostics.extend(error.diagnostics)
            except Unavailable:
                continue

    def plain_store(self) -> ValueStore:
        store = self.store
        return ValueStore(dict(store.universes), dict(store.sets), dict(store.params), dict(store.randoms))

    def _guarded(self, name: str) -> None:
        """Make one set, parameter or random; a failure leaves it out, and what needs it is passed over in silence."""
        try:
            if name in self.ready:
                self._ready(name, self.ready[name])
            elif name in self.model.sets:
                self._set(self.model.sets[name])
            elif name in self.model.randoms:
                self._random(self.model.randoms[name])
            else:
                self._param(self.model.params[name])
        except DiagnosticError as error:
            self.diagnostics.extend(error.diagnostics)
        except Unavailable:
            return

    def _ready(self, name: str, ready: Ready) -> None:
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
            self._hold_to_bounds(declared, domain, self.ev.domain_frame(declared.indexing, domain), values, None)
        self.store.params[name] = Param(domain, values)

    # --- sets --------------------------------------------------------------------------------------------------------

    def _set(self, declared: CheckedSet) -> None:
        if declared.root == declared.name:
            universe = self._universe(declared)
            if universe is not None:
                self.store.universes[declared.name] = universe
                self.store.sets[declared.name] = IntervalDomain(0, len(universe.labels) - 1, 1, universe)
            return
        within = None if declared.within is None else self.ev.domain(declared.within)
        domain: Domain | None
        formula = declared.value or self._formula(declared)
        if formula is not None:
            domain = self.ev.domain(formula)
            if within is not None and not report_elements(declared, formula, domain, within, self.diagnostics):
                raise Unavailable(declared.name)
        else:
            components = tuple(map(self.store.component, declared.types))
            domain = bind_set(declared, components, self._label_chunks(declared), self.diagnostics, within)
        if domain is not None:
            self.store.sets[declared.name] = domain

    def _universe(self, declared: CheckedSet) -> Universe | None:
        if declared.value is not None:  # a root with its elements in the model text
            assert isinstance(declared.value, LiteralSet)
            chunk = literal_chunk(declared.value, declared.span)
            assert chunk is not None
            return bind_root_set(declared, [chunk], self.diagnostics)
        return bind_root_set(declared, self._label_chunks(declared), self.diagnostics)

    def _formula(self, declared: CheckedSet) -> TypedSet | None:
        """What a scenario computes the set from, None where it lists labels or other values stand for it."""
        for given in self._given(declared.name) if declared.name not in self.replaced else ():
            if isinstance(given, ExpressionAssignment) and isinstance(given.value, TypedSet):
                if isinstance(given.value, LiteralSet) and literal_chunk(given.value, given.span) is not None:
                    continue
                return given.value
        return None

    def _label_chunks(self, declared: CheckedSet) -> list[ColumnChunk]:
        chunks: list[ColumnChunk] = [p for p in self.replaced.get(declared.name, ()) if isinstance(p, ColumnChunk)]
        if chunks:
            return chunks
        for given in self._given(declared.name):
            chunk: ColumnChunk | None
            if isinstance(given, ExpressionAssignment):
                assert isinstance(given.value, TypedSet)
                literal = literal_chunk(given.value, given.span) if isinstance(given.value, LiteralSet) else None
                chunk = literal or self._evaluated_labels(given.value, given)
            else:
                assert isinstance(given, TableAssignment | FileAssignment)
                chunk = read_given(given, self.reader, self.diagnostics)
            if chunk is None:
                raise Unavailable(declared.name)
            chunks.append(chunk)
        return chunks

    def _evaluated_labels(self, expr: TypedSet, given: Assignment) -> ColumnChunk:
        domain = self.ev.domain(expr)
        self.ev.budget.frame(domain.size, _LABEL_NUMBERS, expr.span, f"set `{given.target}`")
        rows: list[tuple[Scalar, ...]] = list(zip(*domain.label_columns(), strict=True))
        return label_chunk(rows, domain.arity, given.span)

    # --- parameters --------------------------------------------------------------------------------------------------

    def _param(self, declared: CheckedParam) -> None:
        domain = self.ev.index_domain(declared.indexing, declared.span)
        self.ev.budget.frame(domain.size, 1 + domain.arity, declared.span, f"parameter `{declared.name}`")
        frame = self.ev.domain_frame(declared.indexing, domain)
        within = None if declared.within is None else self.ev.domain(declared.within)
        if declared.value is not None:
            values: Values | None = self._evaluated(declared, declared.value, frame)
            origin = None
        else:
            default = None if declared.default is None else self._evaluated(declared, declared.default, frame)

            def judge(read: BoundParam) -> None:
                self._hold_to_bounds(declared, domain, frame, read.values, read.origin)

            bound = bind_param(declared, domain, self._pieces(declared), default, self.diagnostics, within, judge)
            if bound is None:
                raise Unavailable(declared.name)
            values, origin = bound.values, bound.origin
        assert values is not None
        if declared.value is not None and isinstance(declared.type, Numeric):
            what = f"parameter `{declared.name}` has no finite value"
            self.ev.refuse_where(~np.isfinite(values), "GSM3004", what, declared.value, frame, "not finite")
        formula = declared.value or declared.default
        if formula is not None and not report_computed(declared, formula, domain, values, within, self.diagnostics):
            raise Unavailable(declared.name)
        if origin is None:
            self._hold_to_bounds(declared, domain, frame, values, None)
        self.store.params[declared.name] = Param(domain, values)

    def _hold_to_bounds(
        self, declared: CheckedParam, domain: Domain, frame: Frame, values: Values, origin: ParamOrigin | None
    ) -> None:
        for limit in declared.bounds:
            report_out_of_range(
                declared, domain, values, self.ev.numbers(limit.value, frame), limit, origin, self.diagnostics
            )

    def _evaluated(self, declared: CheckedParam, expr: TypedExpr, frame: Frame) -> Values:
        if isinstance(declared.type, Element):
            values: Values = self.ev.codes(expr, frame)
        elif isinstance(declared.type, TextType):
            values = self.ev.values(expr, frame)
        else:
            values = self.ev.numbers(expr, frame)
        return np.broadcast_to(values, (frame.size,))

    def _pieces(self, declared: CheckedParam) -> list[DataChunk]:
        if declared.name in self.replaced:
            return list(self.replaced[declared.name])
        chunks: list[DataChunk] = []
        for given in self._given(declared.name):
            if isinstance(given, ExpressionAssignment):
                assert isinstance(given.value, TypedExpr)
                labels = tuple(self._label(s) for s in given.subscripts) if given.subscripts else None
                chunks.append(ValueChunk(self._value(declared, given.value), given.span, labels, given.level))
                continue
            assert isinstance(given, TableAssignment | FileAssignment)
            chunk = read_given(given, self.reader, self.diagnostics)
            if chunk is None:
                raise Unavailable(declared.name)
            chunks.append(chunk)
        return chunks

    def _value(self, declared: CheckedParam, expr: TypedExpr) -> float | str:
        """A single value as `bind_param` takes it: a number, an element's label, or a text."""
        if isinstance(declared.type, TextType):
            return str(self.ev.values(expr, EMPTY_FRAME).reshape(-1)[0])
        if isinstance(declared.type, Element):
            return self._label(expr)
        return self.ev.number(expr)

    def _label(self, expr: TypedExpr) -> Scalar:
        if isinstance(expr, StringLiteral):
            return expr.text
        if isinstance(expr.type, Element):
            return self.store.universes[expr.type.root].labels[int(self.ev.codes(expr, EMPTY_FRAME).reshape(-1)[0])]
        return int(self.ev.number(expr))

    def _given(self, name: str) -> tuple[Assignment, ...]:
        return self.scenario.given.get(name, ())

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
        laws = laws_of(declared, law, self.ev, self.reader, self.diagnostics)
        if laws is not None:
            self.store.randoms[declared.name] = laws


def _law(scenario: CheckedScenario, random: CheckedRandom) -> TypedLaw | None:
    """The law of a random: that of the model, else what the scenario gives last."""
    given = [g.law for g in scenario.given.get(random.name, ()) if isinstance(g, LawAssignment)]
    return random.law or (given[-1] if given else None)
