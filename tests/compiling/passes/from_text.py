"""Reads a problem from the text that `as_text` writes.

A family has the line that declares it as its place in a source, and so has a definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
import numpy as np
from drafts import Affine, Draft, Row

from gpusched_dsl.ir.definitions import (
    Cumulative,
    Curves,
    Definition,
    Distinct,
    IntegerQuotient,
    MinMax,
    NoOverlap,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
)
from gpusched_dsl.ir.json.laws import LawFile, law_of
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.source import Source, Span

SIDES = re.compile(r"(?:(?P<low>[-\d.e+]+|-inf) <= )?(?P<body>.*?)(?: (?P<sign><=|=) (?P<high>\S+)| (?P<free>free))?")
FUNCTIONS: dict[str, tuple[type[Definition], dict[str, Any]]] = {
    "max": (MinMax, {"largest": True}),
    "min": (MinMax, {"largest": False}),
    "distinct": (Distinct, {}),
    "no_overlap": (NoOverlap, {}),
    "cumulative": (Cumulative, {}),
    **{name: (Unary, {"function": name}) for name in ("abs", "exp", "log")},
}


class _Line(NamedTuple):
    """`family[index]` and the text behind it."""

    name: str
    text: str
    span: Span

    @property
    def family(self) -> str:
        return self.name.split("[")[0]


class _Term(NamedTuple):
    """A definition: its kind, what all entries of a block share, its arguments, and its own numbers."""

    kind: type[Definition]
    shared: dict[str, Any]
    arguments: list[Affine]
    own: dict[str, Any]


def from_text(text: str, name: str = "case") -> Problem:
    """The problem; families are numbered from 1, results stand behind declared columns."""
    source = Source(name, text)
    parts: dict[str, list[tuple[str, Span]]] = {"": [], "where": [], "over": []}
    part, at = "", 0
    for line in text.splitlines(keepends=True):
        if line.strip() in parts:
            part = line.strip()
        else:
            parts[part].append((line.strip(), Span(source, at, at + len(line.rstrip()))))
        at += len(line)
    goals = [(said, span) for said, span in parts[""] if said.startswith(("minimize ", "maximize "))]
    terms = [_Line(*said.split(" = ", 1), span) for said, span in parts["where"]]
    rows = [_Line(*said.split(": ", 1), span) for said, span in parts[""] if (said, span) not in goals]
    declared = [line for said, span in parts["over"] for line in _column_lines(said, span)]
    draft = Draft()
    numbers = _add_columns(draft, declared, {line.name for line in terms})
    _add_terms(draft, terms, numbers)
    for line in declared:
        low, _, high = _sides(line.text, {})
        column = numbers[line.name]
        draft.lower[column], draft.upper[column] = low, high
        draft.integer[column] = line.text.endswith(("binary", "integer"))
    _add_rows(draft, rows, numbers)
    for goal, span in goals:
        sense, costs = goal.split(" ", 1)
        draft.minimize(_affine(costs, numbers), sense)
        draft.objectives[-1] = msgspec.structs.replace(draft.objectives[-1], span=span)
    return _with_places(draft.problem(), [*rows, *declared], terms)


# --- columns ---------------------------------------------------------------------------------------------------------


def _column_lines(said: str, span: Span) -> list[_Line]:
    """A line for each column of one line, its text with `_` for the column."""
    found = re.search(r"([^\s\[]+)(?:\[(\d+)(?:\.\.(\d+))?\])", said)
    if found is None:
        (name,) = (word for word in said.split() if re.match(r"[a-zA-Z_]", word) and word not in KINDS)
        return [_Line(name, said.replace(name, "_", 1), span)]
    family, first, last = found.groups()
    text = said.replace(found[0], "_", 1)
    return [_Line(f"{family}[{k}]", text, span) for k in range(int(first), int(last or first) + 1)]


KINDS = {"binary", "integer", "free"}


def _add_columns(draft: Draft, declared: Sequence[_Line], results: set[str]) -> dict[str, int]:
    """The numbers of the declared columns, and of the results that the terms will get."""
    plain = [line for line in declared if line.name not in results]
    for family, lines in groupby(plain, lambda line: line.family):
        draft.columns(family, len(list(lines)))
    ordered = [*plain, *(line for line in declared if line.name in results)]
    return {line.name: number for number, line in enumerate(ordered)}


def _with_places(problem: Problem, lines: Sequence[_Line], terms: Sequence[_Line]) -> Problem:
    spans = {line.family: line.span for line in [*reversed(lines), *reversed(terms)]}

    def placed(families: Sequence[Family]) -> tuple[Family, ...]:
        return tuple(msgspec.structs.replace(family, span=spans[family.name]) for family in families)

    return replace(
        problem,
        variables=placed(problem.variables),
        auxiliary=placed(problem.auxiliary),
        constraints=placed(problem.constraints),
        definitions=tuple(replace(d, span=spans[d.name]) for d in problem.definitions),
    )


# --- rows ------------------------------------------------------------------------------------------------------------


def _add_rows(draft: Draft, rows: Sequence[_Line], numbers: dict[str, int]) -> None:
    for family, lines in groupby(rows, lambda line: line.family):
        entries, conditions = [], []
        for line in lines:
            said, _, condition = line.text.partition(" if ")
            entries.append(_sides(said, numbers))
            conditions.append(condition.split(" = ") if condition else None)
        for row, condition in zip(draft.rows(family, entries), conditions, strict=True):
            if condition:
                draft.conditions.append((row, numbers[condition[0]], condition[1] == "1"))


def _sides(said: str, numbers: dict[str, int]) -> Row:
    if said == "_ binary":
        return 0.0, 0, 1.0
    found = SIDES.fullmatch(said.removesuffix(" integer"))
    assert found is not None, said
    high = np.inf if found["high"] is None else float(found["high"])
    low = high if found["sign"] == "=" else -np.inf if found["low"] is None else float(found["low"])
    return low, 0 if found["body"] == "_" else _affine(found["body"], numbers), high


def _affine(said: str, numbers: dict[str, int]) -> Affine:
    """A sum such as `-x[1] + 2 y[3] - 4`."""
    found: dict[int | None, float] = {}
    for sign, amount, name in re.findall(
        r"(^-|^|[-+] )([\d.]+(?:e[-+]?\d+)?|(?=[a-zA-Z_]))(?: ?([a-zA-Z_]\S*))?", said
    ):
        column = numbers[name] if name else None
        found[column] = (-1.0 if "-" in sign else 1.0) * (float(amount) if amount else 1.0)
    return found


# --- terms -----------------------------------------------------------------------------------------------------------


def _add_terms(draft: Draft, lines: Sequence[_Line], numbers: dict[str, int]) -> None:
    read = [(line.family, _term(line.text, numbers)) for line in lines]
    for (family, kind, shared), entries in groupby(read, lambda e: (e[0], e[1].kind, e[1].shared)):
        terms = [term for _, term in entries]
        own: dict[str, Any] = {key: [term.own[key] for term in terms] for key in terms[0].own}
        if kind is PartialExpectation:
            own = {"which": np.arange(len(terms)), "laws": tuple(own["laws"])}
        elif kind is Piecewise:
            own = {"which": np.arange(len(terms)), "curves": _curves(own["curves"])}
        own = {key: np.array(values) if isinstance(values, list) else values for key, values in own.items()}
        draft.define(family, kind, [term.arguments for term in terms], **shared, **own)


def _term(said: str, numbers: dict[str, int]) -> _Term:
    def some(text: str) -> list[Affine]:
        return [_affine(argument, numbers) for argument in text.split(", ")]

    if said.startswith("["):
        low, body, high = _sides(said[1:-1], numbers)
        return _Term(Reified, {}, [body], {"lower": low, "upper": high})
    if found := re.fullmatch(r"\((.*)\)\^(\S+)", said):
        return _Term(Power, {}, some(found[1]), {"exponents": float(found[2])})
    if found := re.fullmatch(r"\((.*)\) (mod|div) (\S+)", said):
        return _Term(IntegerQuotient, {"remainder": found[2] == "mod"}, some(found[1]), {"divisors": float(found[3])})
    if found := re.fullmatch(r"curve\[(.*)\]\((.*)\)", said):
        return _Term(Piecewise, {}, some(found[2]), {"curves": found[1].split(" | ")})
    if found := re.fullmatch(r"expected_min\((.*)\) with (.*)", said):
        law = law_of(msgspec.json.decode(found[2], type=LawFile), said)
        return _Term(PartialExpectation, {}, some(found[1]), {"laws": law})
    if (found := re.fullmatch(r"(\w+)\((.*)\)", said)) and found[1] in FUNCTIONS:
        return _Term(*FUNCTIONS[found[1]], some(found[2]), {})
    return _Term(Product, {}, [_affine(factor.strip("()"), numbers) for factor in said.split(" * ")], {})


def _curves(said: Sequence[Sequence[str]]) -> Curves:
    kinks = [[tuple(map(float, kink.split(", "))) for kink in curve if ", " in kink] for curve in said]
    points = np.array([point for curve in kinks for point in curve])
    errors = [float(curve[-1].removeprefix("error ")) if "error" in curve[-1] else 0.0 for curve in said]
    ends = [[float(end) for end in curve if ", " not in end and "error" not in end] for curve in said]
    starts = np.concatenate(([0], np.cumsum([len(curve) for curve in kinks]))).astype(np.int64)
    before, after = np.array(ends).T
    return Curves(starts, points[:, 0], points[:, 1], before, after, np.array(errors))
