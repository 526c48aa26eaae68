"""A decision of an external program, read from its line and verified against the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.data.sources.json_keys import RepeatedKey, repeated_key
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import Entry
from gpusched_dsl.policies.cluster import Cluster, numbers
from gpusched_dsl.policies.workload import NONE

CODE = "GSM7012"
SHOWN = 200  # characters of a line that is no decision


class _Answer(msgspec.Struct):
    """The fields of a decision record that are read; other records are skipped."""

    kind: str
    entries: dict[str, list[Entry]] = {}


_decoder = msgspec.json.Decoder(_Answer)


def entries_of(line: bytes, variable: str, where: str) -> list[Entry] | None:
    """Return the entries of a decision line for the variable of the placement; None for a record of another kind.

    Raises DiagnosticError (GSM7012) for a line that is no record, and for other variables. `where` names the decision.
    """
    try:
        answer = _decoder.decode(line)
        key = repeated_key(line)
        if key is not None:
            raise RepeatedKey(key)
    except (msgspec.MsgspecError, UnicodeDecodeError, RepeatedKey) as failure:
        shown = line[:SHOWN].decode("utf-8", "replace")
        message = f"{where} is no decision record: {failure}"
        help = f'write {{"kind": "decision", "entries": {{"{variable}": [...]}}}} on a line of its own'
        raise DiagnosticError([Diagnostic(CODE, message, help=help, notes=(f"the line: {shown}",))]) from None
    if answer.kind != "decision":
        return None
    for name in answer.entries:
        if name != variable:
            _refuse(f"{where} has values of `{name}`", f"decide only `{variable}`, the variable of the placement")
    return answer.entries.get(variable, [])


def values_of(entries: Sequence[Entry], cluster: Cluster, store: ValueStore, where: str) -> VariableValues:
    """Return the entries as values of the placement's variable.

    Raises DiagnosticError (GSM7012) for a job that is not present, an unknown node or way to run, a job that runs
    twice, and a node whose jobs need more than it has. Other rows of the model are verified as those of policies are.
    """
    chosen = [entry for entry in entries if entry.value != 0]
    for entry in chosen:
        _check_form(entry, cluster, where)
    columns = [_codes(at, [entry.index[at] for entry in chosen], cluster, store, where) for at in _positions(cluster)]
    job, node, way = _locate_entries(columns, chosen, cluster, where)
    _check_once(job, chosen, cluster, where)
    _check_capacity(node, way, chosen, cluster, where)
    order = np.argsort(job, kind="stable")
    return VariableValues(tuple(column[order] for column in columns), np.ones(len(order)))


def _positions(cluster: Cluster) -> range:
    return range(len(cluster.placement.indices))


def _check_form(entry: Entry, cluster: Cluster, where: str) -> None:
    wanted = len(cluster.placement.indices)
    if len(entry.index) != wanted:
        named = ", ".join(f"`{index.name}`" for index in cluster.placement.indices)
        _refuse(f"{where} has the index {_shown(entry.index)}, of {len(entry.index)} labels", f"give {named}")
    if entry.value != 1:
        _refuse(f"{where} gives {_shown(entry.index)} the value {entry.value:g}", "1: the job runs there; else omit it")


def _codes(at: int, labels: Sequence[str | int], cluster: Cluster, store: ValueStore, where: str) -> Ints:
    component = store.component(cluster.placement.indices[at].type)
    if component is None:
        unusable = next((label for label in labels if not isinstance(label, int)), None)
        if unusable is not None:
            _refuse(f"{where} has `{unusable}` in place of a number", "copy the index of a way of the `job` line")
        return np.array(labels, dtype=np.int64)
    codes = [component.code_of.get(label, NONE) for label in labels]
    missing = next((label for label, code in zip(labels, codes, strict=True) if code == NONE), None)
    if missing is not None:
        _refuse_label(at, missing, cluster, component.labels, where)
    return np.array(codes, dtype=np.int64)


def _refuse_label(at: int, missing: str | int, cluster: Cluster, known: Sequence[str | int], where: str) -> NoReturn:
    if at == cluster.job_at:
        help = "decide only on jobs between their `arrival` and their `completion`"
        _refuse(f"{where} runs `{missing}`, but no job of this name is present now", help)
    near = did_you_mean(str(missing), map(str, known))
    what = "node" if at == cluster.node_at else f"`{cluster.placement.indices[at].name}`"
    _refuse(f"{where} names an unknown or unavailable {what}, `{missing}`", near or "copy the names of earlier lines")


def _locate_entries(
    columns: Sequence[Ints], chosen: Sequence[Entry], cluster: Cluster, where: str
) -> tuple[Ints, Ints, Ints]:
    """Return job, node and way of each entry, by their numbers in the cluster."""
    job, node = numbers(cluster.jobs, columns[cluster.job_at]), numbers(cluster.nodes, columns[cluster.node_at])
    if cluster.type_at is None:
        kind = cluster.work.node_kind[np.maximum(node, 0)]
    else:
        kind = numbers(cluster.kinds, columns[cluster.type_at])
    way = cluster.way_of(job, kind, [columns[at] for at in cluster.rest_at])
    wrong = np.flatnonzero((job < 0) | (node < 0) | (kind < 0) | (way < 0))
    if len(wrong):
        index = chosen[int(wrong[0])].index
        _refuse(f"{where} has {_shown(index)}, which is no way to run this job", "copy a way of its `job` line")
    return job, node, way


def _check_once(job: Ints, chosen: Sequence[Entry], cluster: Cluster, where: str) -> None:
    for number, count in Counter(job.tolist()).items():
        if count > 1:
            label = next(e.index[cluster.job_at] for e, j in zip(chosen, job.tolist(), strict=True) if j == number)
            _refuse(f"{where} runs `{label}` {count} times", "choose one node and one way for each job")


def _check_capacity(node: Ints, way: Ints, chosen: Sequence[Entry], cluster: Cluster, where: str) -> None:
    work = cluster.work
    kind = work.kind[way]
    for number in np.unique(node).tolist():
        here = np.flatnonzero(node == number)
        label = chosen[int(here[0])].index[cluster.node_at]
        if len(np.unique(kind[here])) > 1:
            _refuse(f"{where} gives the node `{label}` several types", "all jobs of a node have one type")
        used, units = int(work.size[way[here]].sum()), int(work.units[kind[here[0]]])
        if used > units:
            message = f"{where} uses {used / work.parts:g} GPUs of the node `{label}`, which has {units / work.parts:g}"
            _refuse(message, "let other jobs wait, or place them elsewhere")
        if (work.needs[way[here]].sum(axis=0) > work.room[kind[here[0]]] * (1 + ROUNDING)).any():
            _refuse(f"{where} exceeds another capacity of the node `{label}`, such as memory", "place jobs elsewhere")
    if cluster.type_at is not None:
        opened = np.bincount(kind[np.unique(node, return_index=True)[1]], minlength=len(work.stock))
        if (opened > work.stock).any():
            _refuse(f"{where} opens more nodes of a type than its `stock`", "count the nodes in use by type")


def _shown(index: Sequence[Any]) -> str:
    return "[" + ", ".join(map(str, index)) + "]"


def _refuse(message: str, help: str) -> NoReturn:
    raise DiagnosticError([Diagnostic(CODE, message, help=help)])
