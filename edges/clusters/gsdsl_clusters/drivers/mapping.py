"""From an observed job to the values of the model's parameters, as the cluster file declares it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.language.checked import CheckedModel, Element, Logical, Numeric, TextType
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import UNITS, convertible, number_factor
from gpusched_dsl.online.loops.setup import clock_of
from gsdsl_clusters.drivers.protocol import Field, ObservedJob
from gsdsl_clusters.drivers.value_source import DATES, LISTS, SECONDS, NoValue, ValueSource, fields_of, number_of

UNFIT = "GSM5403"


@dataclass(frozen=True)
class JobMapping:
    """`derived` are fields computed from others; `sources` give parameters and sets, in the model's units.

    `start` is time 0 of the run, in seconds since 1970; `brought` are values that only the arrival line reads.
    """

    model: CheckedModel
    online: CheckedOnline
    derived: Mapping[str, ValueSource]
    sources: Mapping[str, ValueSource]
    start: float

    def values(self, job: ObservedJob) -> dict[str, Any]:
        """The values of an arrival. Raises NoValue for a job that lacks one."""
        placement = self.model.placement
        if job.nodes > 1 and placement is not None and not placement.has_gangs:
            raise NoValue(f"it needs {job.nodes} nodes, but a plan of `{self.model.name}` places a job on one")
        fields = fields_of(job)
        for name, source in self.derived.items():
            value = source.raw(fields)
            value = source.default if value is None else value
            if value is not None:
                fields[name] = value
        return {
            name: source.rows(job.lists) if source.field in LISTS else self._value(name, source, fields)
            for name, source in self.sources.items()
        }

    def _value(self, name: str, source: ValueSource, fields: Mapping[str, Field]) -> Any:
        if source.table is not None:
            return self._table_value(name, source, fields)
        raw = source.raw(fields)
        if raw is None:
            if source.default is None:
                raise NoValue(f"`{name}` has no value: `{source.field}` is {_shown(fields, source.field)}")
            return source.default
        if not self._is_number(name):
            return raw
        number = number_of(raw, f"`{source.field}`")
        return self._checked(name, self._in_unit(name, source, number, fields))

    def _table_value(self, name: str, source: ValueSource, fields: Mapping[str, Field]) -> Any:
        assert source.table is not None
        rows = source.table.of_job(fields)
        if name in self.model.sets:
            return [list(row) for row in rows]
        factor = self._factor(name, source)
        if source.times is not None:
            factor *= number_of(fields.get(source.times, ""), f"`{source.times}`")
        if factor != 1.0:
            rows = tuple([*row[:-1], factor * number_of(row[-1], f"`{name}`")] for row in rows)
        return [list(row) for row in rows] if source.table.index else rows[0][-1]

    def _in_unit(self, name: str, source: ValueSource, number: float, fields: Mapping[str, Field]) -> float:
        """A number in the unit of the parameter; dates are times since the start."""
        if source.field in DATES:
            return (number - self.start) * self._seconds(name)
        number *= self._factor(name, source)
        if source.times is not None:
            number *= number_of(fields.get(source.times, ""), f"`{source.times}`")
        if source.after is not None:
            number += (number_of(fields.get(source.after, ""), f"`{source.after}`") - self.start) * self._seconds(name)
        return number

    def _factor(self, name: str, source: ValueSource) -> float:
        unit = UNITS["s"] if source.unit is None and source.field in SECONDS else source.unit
        declared = self._unit(name)
        return 1.0 if unit is None or declared is None else number_factor(unit, declared)

    def _seconds(self, name: str) -> float:
        """One second in the unit of a parameter."""
        declared = self._unit(name)
        return 1.0 if declared is None else number_factor(UNITS["s"], declared)

    def _unit(self, name: str) -> Any:
        param = self.model.params.get(name)
        if param is None:
            return clock_of(self.online)
        return param.type.unit if isinstance(param.type, Numeric) else None

    def _is_number(self, name: str) -> bool:
        param = self.model.params.get(name)
        return name not in self.model.sets and (param is None or not isinstance(param.type, Element | TextType))

    def _is_logical(self, name: str) -> bool:
        param = self.model.params.get(name)
        return param is not None and isinstance(param.type, Logical)

    def _checked(self, name: str, number: float) -> float | int:
        if not math.isfinite(number):
            raise NoValue(f"`{name}` is {number}")
        param = self.model.params.get(name)
        is_integer = param is not None and isinstance(param.type, Numeric) and param.type.integer
        return int(number) if is_integer and number.is_integer() else number


def _shown(fields: Mapping[str, Field], name: str | None) -> str:
    value = fields.get(name or "")
    return "empty" if value in (None, "") else f"`{value}`"


def check_mapping(mapping: JobMapping, spans: Mapping[str, Span], section: Span, given: Collection[str]) -> None:
    """Compare a mapping with the model. Raises DiagnosticError (GSM5403).

    Every entry names a parameter or set of jobs that the data give, or a value that the arrival line reads. All
    parameters of jobs without a default and all sets of jobs have an entry, unless they are `given` by the scenario.
    Units must convert.
    """
    model, online, found = mapping.model, mapping.online, Diagnostics()
    wanted, needed = _of_jobs(model, online)
    for name, source in mapping.sources.items():
        if name not in wanted:
            help = did_you_mean(name, wanted) or f"jobs have {', '.join(f'`{n}`' for n in sorted(wanted))}"
            message = f"`{name}` is not a parameter or set of the jobs of `{model.name}` that data give"
            found.add(Diagnostic(UNFIT, message, spans[name], help=help))
            continue
        if source.field in LISTS and name not in model.sets:
            message = f"`{name}` is no set, but `{source.field}` is a list"
            help = "map it to a set, such as `set Allowed within Jobs cross Types`"
            found.add(Diagnostic(UNFIT, message, spans[name], help=help))
        declared = mapping._unit(name) if name not in model.sets else None
        is_time = declared is not None and convertible(declared, UNITS["h"])
        if (source.field in DATES or source.field in SECONDS or source.after is not None) and not is_time:
            message = f"`{name}` is in {declared or 'no unit'}, but the field is a time"
            found.add(Diagnostic(UNFIT, message, spans[name], help="map a field that is no time"))
        elif source.unit is not None and (declared is None or not convertible(source.unit, declared)):
            message = f"the unit {source.unit} does not convert to that of `{name}`, {declared or 'none'}"
            found.add(Diagnostic(UNFIT, message, spans[name], help="write a unit of the same dimension"))
        wrong = [value for value in source.stated if not _is_finite(value)]
        if wrong and mapping._is_number(name) and not mapping._is_logical(name):
            shown = str(wrong[0]).lower() if isinstance(wrong[0], bool) else wrong[0]
            message = f"`{name}` is a number, but `{shown}` is none"
            found.add(Diagnostic(UNFIT, message, spans[name], help="write a number in `value`, `values` and `default`"))
    for name in sorted(needed - set(mapping.sources) - set(given)):
        message = f"no value is declared for `{name}` of the jobs"
        found.add(Diagnostic(UNFIT, message, section, help=f'add `{name} = ...` to [jobs], such as `{name} = "gpus"`'))
    found.raise_if_errors()


def _is_finite(value: Field) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _of_jobs(model: CheckedModel, online: CheckedOnline) -> tuple[set[str], set[str]]:
    """The names that data give for jobs, and those of them that must be given."""
    root = online.jobs_root

    def is_job(kind: object) -> bool:
        return isinstance(kind, Element) and kind.root == root

    wanted, needed = set(online.brought), set(online.brought)
    for name, declared in model.sets.items():
        if name != root and declared.value is None and any(is_job(kind) for kind in declared.types):
            wanted.add(name)
            needed.add(name)
    for name, param in model.params.items():
        first = next((v.type for i in param.indexing.iterators for v in i.variables), None)
        if param.value is None and first is not None and is_job(first):
            wanted.add(name)
            if param.default is None:
                needed.add(name)
    return wanted, needed
