"""Parameters that read themselves at other indices: `early[s] = if ord(s) == 1 then 0 else early[s - 1] + d[s - 1]`.

First the entries that each entry reads are listed, from the subscripts alone, then entries are evaluated in levels: all
entries at once that read only entries of earlier levels. So each entry is evaluated once, and a cycle is found before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.store import Param
from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.domains import Domain, Packing
from gpusched_dsl.language.checked import (
    CheckedParam,
    Fallback,
    IfThenElse,
    Logic,
    Numeric,
    ParamRef,
    Reduction,
    TextType,
    TypedExpr,
)
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

SHOWN = 8  # entries of a cycle in a message


def recursive_values(
    ev: Evaluator, declared: CheckedParam, domain: Domain, frame: Frame, evaluate: Callable[[TypedExpr, Frame], Values]
) -> Values:
    """The values of a recursive parameter on its domain; raises DiagnosticError (GSM3018) for a cycle."""
    assert declared.value is not None
    readers, read = _Reads(ev, declared.name, domain).of(declared.value, frame)
    kind: type = object if isinstance(declared.type, TextType) else np.int64
    values: Values = np.zeros(domain.size, dtype=np.float64 if isinstance(declared.type, Numeric) else kind)
    ev.store.params[declared.name] = Param(domain, values)
    try:
        for level in _levels(ev, declared, domain, readers, read):
            checkpoint()
            part = frame.take(level)
            values[level] = np.broadcast_to(evaluate(declared.value, part), (part.size,))
    finally:
        del ev.store.params[declared.name]
    return values


def _levels(ev: Evaluator, declared: CheckedParam, domain: Domain, readers: Codes, read: Codes) -> list[Codes]:
    """The entries in levels: each reads only entries of earlier ones."""
    size = domain.size
    order = np.argsort(read, kind="stable")
    readers, missing = readers[order], np.bincount(readers, minlength=size)
    counts = np.bincount(read, minlength=size)
    starts = np.cumsum(counts) - counts
    levels: list[Codes] = []
    ready = np.flatnonzero(missing == 0)
    done = 0
    while len(ready):
        checkpoint()
        levels.append(ready)
        done += len(ready)
        number = counts[ready]
        waiting, fewer = np.unique(readers[np.repeat(starts[ready], number) + ranges(number)], return_counts=True)
        missing[waiting] -= fewer
        ready = waiting[missing[waiting] == 0]
    if done < size:
        raise _cycle(ev, declared, domain, readers, read[order], missing)
    return levels


def _cycle(
    ev: Evaluator, declared: CheckedParam, domain: Domain, readers: Codes, read: Codes, missing: Codes
) -> DiagnosticError:
    """The error that shows entries which read each other."""
    inside = (missing[readers] > 0) & (missing[read] > 0)
    one, first = np.unique(readers[inside], return_index=True)
    next_of = dict(zip(one.tolist(), read[inside][first].tolist(), strict=True))
    path = [int(np.flatnonzero(missing > 0)[0])]
    while path.count(path[-1]) < 2:
        path.append(next_of[path[-1]])
    path = path[path.index(path[-1]) :]
    names = [f"{declared.name}[{', '.join(map(str, domain.tuple_at(place)))}]" for place in path]
    if len(names) > SHOWN:
        names = [*names[: SHOWN - 2], "...", *names[-1:]]
    assert declared.value is not None
    itself = next(p for p in walk(declared.value) if isinstance(p, ParamRef) and p.name == declared.name)
    found = Diagnostic(
        "GSM3018",
        f"`{names[0]}` depends on itself",
        itself.span,
        "reads a value that needs this one",
        notes=("the cycle is " + " -> ".join(f"`{name}`" if name != "..." else name for name in names),),
        help="correct the data, or end the recursion with a condition",
    )
    return DiagnosticError([found])


class _Reads(Struct, eq=False):
    """Lists which entries of a parameter the entries of a frame read."""

    ev: Evaluator
    name: str
    domain: Domain
    readers: list[Codes] = field(default_factory=list)
    read: list[Codes] = field(default_factory=list)

    def of(self, value: TypedExpr, frame: Frame) -> tuple[Codes, Codes]:
        """Pairs of entries, each once: one that reads, and one that is read."""
        self._collect(value, frame, np.arange(frame.size, dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        pairs = np.concatenate([none, *self.readers]), np.concatenate([none, *self.read])
        if not len(pairs[0]):
            return pairs
        _, first = np.unique(Packing.of(pairs).keys(pairs), return_index=True)
        return pairs[0][first], pairs[1][first]

    def _mentions(self, part: Part) -> bool:
        return any(isinstance(p, ParamRef) and p.name == self.name for p in walk(part))

    def _collect(self, part: Part, frame: Frame, entry: Codes) -> None:
        """Add what a part reads in every row; `entry` is the entry that a row belongs to."""
        if not frame.size or not self._mentions(part):
            return
        match part:
            case ParamRef(name=self.name):
                self._reference(part, frame, entry)
            case Fallback(reference=ParamRef(name=self.name) as reference, fallback=fallback):
                outside = np.flatnonzero(self._reference(reference, frame, entry) < 0)
                self._collect(fallback, frame.take(outside), entry[outside])
            case IfThenElse(condition=condition, then=then, otherwise=otherwise) if not self._mentions(condition):
                chosen = self.ev.mask(condition, frame)
                for rows, branch in ((np.flatnonzero(chosen), then), (np.flatnonzero(~chosen), otherwise)):
                    self._collect(branch, frame.take(rows), entry[rows])
            case Logic(op="and" | "or" | "=>" as op, operands=operands):
                rows = np.arange(frame.size, dtype=np.int64)
                for number, operand in enumerate(operands):
                    inner = frame.take(rows)
                    self._collect(operand, inner, entry[rows])
                    if not self._mentions(operand):
                        goes_on = self.ev.mask(operand, inner) == (op == "and" or (op == "=>" and not number))
                        rows = rows[goes_on]
            case Reduction():
                grown = self.ev.expand(frame, part.indexing, part.span)
                self._collect(part.body, grown.frame, entry[grown.parents()])
            case _:
                for child in children(part):
                    self._collect(child, frame, entry)

    def _reference(self, expr: ParamRef, frame: Frame, entry: Codes) -> Codes:
        place = np.broadcast_to(self.ev.place(self.domain, expr.subscripts, frame), (frame.size,))
        inside = np.flatnonzero(place >= 0)
        self.readers.append(entry[inside])
        self.read.append(place[inside])
        return place
