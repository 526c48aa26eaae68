"""The data of a run after an event: with the job of an arrival, or with changed values of parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.magnitudes import check_magnitudes
from gpusched_dsl.online.data.updates import with_jobs, with_values
from gpusched_dsl.online.live.labels import Label, refuse
from gpusched_dsl.online.live.messages import Arrival, ArrivingJob, Value

_MOST_INTEGER = 2**63
_INTEGER = re.compile(r"-?[0-9]{1,18}")


def base_with_jobs(base: Base, online: CheckedOnline, jobs: Sequence[Arrival | ArrivingJob]) -> Base:
    """Return the data with new jobs and their values. Raises DiagnosticError as data are checked."""
    model, root = base.model, online.jobs_root
    of_sets: dict[str, list[tuple[Any, ...]]] = {}
    of_params: dict[str, dict[tuple[Label, ...], Any]] = {}
    for one in jobs:
        for name, values in one.values.items():
            if name in online.brought:
                continue
            if name in model.sets:
                rows = values if isinstance(values, list) else [[values]]
                of_sets.setdefault(name, []).extend((one.job, *row) for row in rows)
            elif name in model.params:
                of_params.setdefault(name, {}).update(values_by_subscripts(name, values, (one.job,)))
            else:
                refuse(f"`{name}` is not a parameter of `{model.name}`", did_you_mean(name, model.params) or "")
    replaced = {root: pieces_of(model, root, [one.job for one in jobs])}
    for name, given in (of_sets | of_params).items():
        replaced[name] = pieces_of(model, name, given)
    extended, _ = with_jobs(base, root, replaced)
    check_magnitudes(extended, replaced)
    return extended


def base_with_values(base: Base, event: Value) -> Base:
    """Return the data with the values of an event. Raises DiagnosticError as data are checked."""
    params = base.store.params
    for name in event.values:
        if name not in params or base.model.params[name].value is not None:
            refuse(f"`{name}` is not a parameter that can change", did_you_mean(name, params) or "")
    changes = {name: values_by_subscripts(name, values, ()) for name, values in event.values.items()}
    changed = with_values(base, changes)
    check_magnitudes(changed, event.values)
    return changed


def values_by_subscripts(name: str, values: Any, prefix: tuple[Label, ...]) -> list[tuple[tuple[Label, ...], Any]]:
    """Return pairs of subscripts and value.

    `values` are one value, an object by subscripts joined with commas, or rows of subscripts and value.
    """
    if isinstance(values, Mapping):
        pairs = [((*prefix, *_split_subscripts(key)), value) for key, value in values.items()]
    elif isinstance(values, list):
        if not all(values):
            refuse(f"a row of `{name}` is empty", "a row has the subscripts and then the value")
        pairs = [((*prefix, *row[:-1]), row[-1]) for row in values]
    else:
        pairs = [(prefix, values)]
    for key, value in pairs:
        if isinstance(value, int) and abs(value) > _MOST_INTEGER:
            shown = ",".join(map(str, key))
            refuse(f"`{name}` of `{shown}` is an integer of {value.bit_length()} bits", "the largest number is 1e+15")
    return pairs


def _split_subscripts(key: str) -> tuple[Label, ...]:
    return tuple(int(k) if _INTEGER.fullmatch(k.strip()) else k.strip() for k in key.split(","))
