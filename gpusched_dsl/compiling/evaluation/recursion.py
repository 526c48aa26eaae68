"""Parameters that read themselves at other indices: `early[s] = if ord(s) == 1 then 0 else early[s - 1] + d[s - 1]`.

Several parameters that read each other, as `a[t]` reads `b[t - 1]` and `b[t]` reads `a[t]`, are evaluated together.

First the entries that each entry reads are listed, from the subscripts alone, then entries are evaluated in levels: all
entries at once that read only entries of earlier levels. So each entry is evaluated once, and a cycle is found before.
The entries of all parameters of a circle are numbered one parameter after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
    Element,
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


def recursive_values(ev: Evaluator, circle: Sequence[CheckedParam]) -> dict[str, Values]:
    """The values on their domains of the parameters that need each other, or of one that needs itself.

    Raises DiagnosticError (GSM3018) for a cycle of entries.
    """
    members: dict[str, _Member] = {}
    first = 0
    for declared in circle:
        members[declared.name] = member = _Member.of(ev, declared, first)
        first += member.domain.size
    readers, read = _Reads(ev, members).all()
    taken = {name: known for name in members if (known := ev.store.params.get(name)) is not None}
    ev.store.params.update({name: Param(member.domain, member.values) for name, member in members.items()})
    try:
        for level in _levels(members, readers, read, first):
            checkpoint()
            for member in members.values():
                member.evaluate(level)
    finally:
        for name in members:
            del ev.store.params[name]
        ev.store.params.update(taken)
    return {name: member.values for name, member in members.items()}


class _Member(Struct, frozen=True, eq=False):
    """A parameter of a circle; `first` is the number of its first entry among those of the circle."""

    declared: CheckedParam
    formula: TypedExpr
    domain: Domain
    frame: Frame
    first: int
    values: Values
    evaluator: Callable[[TypedExpr, Frame], Values]

    @classmethod
    def of(cls, ev: Evaluator, declared: CheckedParam, first: int) -> _Member:
        """Raises DiagnosticError if its domain exceeds the memory budget."""
        assert declared.value is not None
        domain = ev.index_domain(declared.indexing, declared.span)
        ev.budget.frame(domain.size, 1 + domain.arity, declared.span, f"parameter `{declared.name}`")
        kind: type = object if isinstance(declared.type, TextType) else np.int64
        values: Values = np.zeros(domain.size, dtype=np.float64 if isinstance(declared.type, Numeric) else kind)
        evaluator: Callable[[TypedExpr, Frame], Values] = ev.numbers
        if isinstance(declared.type, Element | TextType):
            evaluator = ev.codes if isinstance(declared.type, Element) else ev.values
        frame = ev.domain_frame(declared.indexing, domain)
        return cls(declared, declared.value, domain, frame, first, values, evaluator)

    def own(self, entries: Codes) -> Codes:
        """The entries of this parameter among increasing ones of the circle, numbered from 0."""
        start, end = np.searchsorted(entries, [self.first, self.first + self.domain.size])
        return entries[start:end] - self.first

    def evaluate(self, entries: Codes) -> None:
        """Compute the own values among entries of the circle."""
        own = self.own(entries)
        if len(own):
            part = self.frame.take(own)
            self.values[own] = np.broadcast_to(self.evaluator(self.formula, part), (part.size,))


def _levels(members: Mapping[str, _Member], readers: Codes, read: Codes, size: int) -> list[Codes]:
    """The entries in levels, each sorted: it reads only entries of earlier ones."""
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
        raise _cycle(members, readers, read[order], missing)
    return levels


def _cycle(members: Mapping[str, _Member], readers: Codes, read: Codes, missing: Codes) -> DiagnosticError:
    """The error that shows entries which read each other."""
    inside = (missing[readers] > 0) & (missing[read] > 0)
    one, first = np.unique(readers[inside], return_index=True)
    next_of = dict(zip(one.tolist(), read[inside][first].tolist(), strict=True))
    path = [int(np.flatnonzero(missing > 0)[0])]
    while path.count(path[-1]) < 2:
        path.append(next_of[path[-1]])
    path = path[path.index(path[-1]) :]
    of = [next(m for m in members.values() if place < m.first + m.domain.size) for place in path]
    names = [
        f"{member.declared.name}[{', '.join(map(str, member.domain.tuple_at(place - member.first)))}]"
        for member, place in zip(of, path, strict=True)
    ]
    reader, needed = of[0], of[1].declared.name
    if len(names) > SHOWN:
        names = [*names[: SHOWN - 2], "...", *names[-1:]]
    itself = next(p for p in walk(reader.formula) if isinstance(p, ParamRef) and p.name == needed)
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
    """Lists which entries of a circle its entries read."""

    ev: Evaluator
    members: Mapping[str, _Member]
    readers: list[Codes] = field(default_factory=list)
    read: list[Codes] = field(default_factory=list)

    def all(self) -> tuple[Codes, Codes]:
        """Pairs of entries, each once: one that reads, and one that is read."""
        for member in self.members.values():
            frame = member.frame
            self._collect(member.formula, frame, member.first + np.arange(frame.size, dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        pairs = np.concatenate([none, *self.readers]), np.concatenate([none, *self.read])
        if not len(pairs[0]):
            return pairs
        _, first = np.unique(Packing.of(pairs).keys(pairs), return_index=True)
        return pairs[0][first], pairs[1][first]

    def _mentions(self, part: Part) -> bool:
        return any(isinstance(p, ParamRef) and p.name in self.members for p in walk(part))

    def _collect(self, part: Part, frame: Frame, entry: Codes) -> None:
        """Add what a part reads in every row; `entry` is the entry that a row belongs to."""
        if not frame.size or not self._mentions(part):
            return
        match part:
            case ParamRef(name=name) if name in self.members:
                self._reference(part, frame, entry)
            case Fallback(reference=ParamRef(name=name) as reference, fallback=fallback) if name in self.members:
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
        member = self.members[expr.name]
        place = np.broadcast_to(self.ev.place(member.domain, expr.subscripts, frame), (frame.size,))
        inside = np.flatnonzero(place >= 0)
        self.readers.append(entry[inside])
        self.read.append(member.first + place[inside])
        return place
