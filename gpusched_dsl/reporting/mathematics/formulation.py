"""A model as data for a document: notation by kind, numbered equations, effects of options."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TypeVar

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.flatten import FlatModel, flatten
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.tree_walk import nodes_in
from gpusched_dsl.reporting.mathematics.citations import Citation, split_citation
from gpusched_dsl.reporting.mathematics.expressions import COMPARE, NEW_LINE, SUM, Formulas
from gpusched_dsl.reporting.mathematics.symbols import symbol, unit


@dataclass(frozen=True, slots=True)
class Notation:
    """One declared name: its symbol with indices, their sets, its values and unit, its meaning, and its paper."""

    symbol: str
    over: str
    values: str
    unit: str
    meaning: str
    name: str
    cited: Citation | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Equation:
    """`latex` without its number; `over` are the indices of the equation; `source` is its text."""

    number: int
    name: str
    latex: str
    over: str
    meaning: str
    source: str
    unit: str = ""
    cited: Citation | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """The effect of one choice of an option: added equations, names of removed ones."""

    option: str
    choice: str
    equations: tuple[Equation, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Formulation:
    name: str
    meaning: str
    options: tuple[tuple[str, str, tuple[str, ...], str], ...]  # name, chosen, choices, meaning
    sets: tuple[Notation, ...]
    parameters: tuple[Notation, ...]
    randoms: tuple[Notation, ...]
    variables: tuple[Notation, ...]
    definitions: tuple[Equation, ...]
    objectives: tuple[Equation, ...]
    constraints: tuple[Equation, ...]
    variants: tuple[Variant, ...]


def formulation(workspace: Workspace, model: str, options: Mapping[str, str] | None = None) -> Formulation:
    """Return the formulation of a model with options (else the defaults); raise DiagnosticError for errors."""
    flat = _flat(workspace, model, options or {})
    base = FormulationWriter(flat)
    definitions, objectives, constraints = base.equations(1)
    base_equations = {(e.name, e.latex, e.over) for e in (*definitions, *objectives, *constraints)}
    last = len(base_equations)
    variants: list[Variant] = []
    for name, decl in flat.option_decls.items():
        for choice in (c.text for c in decl.choices if c.text != flat.options[name]):
            other = FormulationWriter(_flat(workspace, model, {**flat.options, name: choice}))
            other_equations = [e for group in other.equations(1) for e in group]
            found = {(e.name, e.latex, e.over) for e in other_equations}
            added = [e for e in other_equations if (e.name, e.latex, e.over) not in base_equations]
            numbered = tuple(_number(added, last + 1))
            last += len(numbered)
            removed = [e[0] for e in sorted(base_equations - found) if e[0] not in {f.name for f in added}]
            if numbered or removed:
                variants.append(Variant(name, choice, numbered, tuple(dict.fromkeys(removed))))
    return Formulation(
        name=flat.name,
        meaning=flat.doc or "",
        options=tuple(
            (n, flat.options[n], tuple(c.text for c in d.choices), d.doc or "") for n, d in flat.option_decls.items()
        ),
        sets=tuple(base.set_notation(s) for s in base.declarations(tree.SetDecl)),
        parameters=tuple(base.parameter(p) for p in base.declarations(tree.ParamDecl)),
        randoms=tuple(base.random(r) for r in base.declarations(tree.RandomDecl)),
        variables=tuple(base.variable(v) for v in base.declarations(tree.VarDecl)),
        definitions=definitions,
        objectives=objectives,
        constraints=constraints,
        variants=tuple(variants),
    )


def _flat(workspace: Workspace, model: str, options: Mapping[str, str]) -> FlatModel:
    found = Diagnostics()
    flat = flatten(workspace, model, options, found)
    found.raise_if_errors()
    assert flat is not None
    return flat


def _number(equations: Iterable[Equation], first: int) -> Iterator[Equation]:
    for number, equation in enumerate(equations, first):
        yield replace(equation, number=number)


_Kind = TypeVar("_Kind", bound=tree.Statement)
_BOUND = {">=": r"\geq", "<=": r"\leq", ">": ">", "<": "<", "==": "="}
_KIND = {"binary": r"\in \{0, 1\}", "integer": r"\in \mathbb{Z}", "real": r"\in \mathbb{R}"}


class FormulationWriter:
    """Writes the declarations of one flat model."""

    def __init__(self, flat: FlatModel) -> None:
        self.flat = flat
        self.formulas = Formulas({s.name.text for s in flat.statements if isinstance(s, tree.SetDecl)})
        self._letters = _letters(flat)

    def declarations(self, kind: type[_Kind]) -> list[_Kind]:
        return [s for s in self.flat.statements if isinstance(s, kind)]

    # --- notation ----------------------------------------------------------------------------------------------------

    def set_notation(self, decl: tree.SetDecl) -> Notation:
        values = "" if decl.within is None else rf"\subseteq {self.formulas.of(decl.within)}"
        if decl.value is not None:
            values = f"= {self.formulas.of(decl.value)}"
        words = [w for w, is_set in (("ordered", decl.ordered), ("interchangeable", decl.identical)) if is_set]
        doc, cited = split_citation(decl.doc or "")
        meaning = "; ".join(filter(None, [doc, ", ".join(words)]))
        text, over = self.head(decl.name.text, decl.indexing)
        return Notation(text, over, values, "", meaning, decl.name.text, cited, _file(decl.span))

    def parameter(self, decl: tree.ParamDecl) -> Notation:
        return self._notation(decl, self._values(decl.kind, decl.bounds, decl.within, decl.value, decl.default))

    def variable(self, decl: tree.VarDecl) -> Notation:
        values = self._values(decl.kind, decl.bounds)
        return self._notation(decl, rf"= 0 \text{{ or }} {values}" if decl.semicontinuous else values)

    def random(self, decl: tree.RandomDecl) -> Notation:
        return self._notation(decl, "" if decl.distribution is None else rf"\sim {self.formulas.of(decl.distribution)}")

    def _notation(self, decl: tree.ParamDecl | tree.VarDecl | tree.RandomDecl, values: str) -> Notation:
        text, over = self.head(decl.name.text, decl.indexing)
        meaning, cited = split_citation(decl.doc or "")
        return Notation(text, over, values, unit(decl.unit), meaning, decl.name.text, cited, _file(decl.span))

    def _values(
        self,
        kind: str,
        bounds: tuple[tree.Bound, ...],
        within: tree.Expr | None = None,
        value: tree.Expr | None = None,
        default: tree.Expr | None = None,
    ) -> str:
        if value is not None:
            return f"= {self.formulas.of(value)}"
        parts = [_KIND[kind]] if kind in ("binary", "integer") else []
        if within is not None:
            parts.append(rf"\in {self.formulas.of(within)}")
        parts += [f"{_BOUND[b.op]} {self.formulas.of(b.value, COMPARE)}" for b in bounds]
        text = r",\ ".join(parts) or ("" if kind == "symbol" else _KIND["real"])
        return text if default is None else rf"{text} \text{{ (default }} {self.formulas.of(default)}\text{{)}}"

    def head(self, name: str, indexing: tree.Indexing | None) -> tuple[str, str]:
        """Return a name with an index for each position, and the sets of the indices."""
        if indexing is None:
            return self.formulas.name(name), ""
        names: list[str] = []
        over: list[str] = []
        for index in indexing.indices:
            domain = self.formulas.of(index.domain)
            if index.names:  # components that select give no position
                fixed = [index.fixed_at(at) is not None or n.text in names for at, n in enumerate(index.names)]
                names += [n.text for n, selects in zip(index.names, fixed, strict=True) if not selects]
                letters = self.formulas.index_names(index)
            else:
                names += (own := self._default_letters(index.domain, names))
                letters = [symbol(n) for n in own]
            letters_text = ", ".join(letters)
            over.append(rf"{letters_text if len(letters) == 1 else f'({letters_text})'} \in {domain}")
        where = "" if indexing.where is None else rf" \,:\, {self.formulas.of(indexing.where)}"
        return self.formulas.with_subscripts(name, tuple(map(symbol, names))), r",\ ".join(over) + where

    def _default_letters(self, domain: tree.Expr, taken: list[str]) -> list[str]:
        """Return the letters that the model uses most for elements of a set."""
        text = domain.text if isinstance(domain, tree.Name) else ""
        letters = self._letters.get(text, (text[:1].lower() or "i",))
        return [letter if letter not in taken else f"{letter}'" for letter in letters]

    # --- equations ---------------------------------------------------------------------------------------------------

    def equations(self, first: int) -> tuple[tuple[Equation, ...], tuple[Equation, ...], tuple[Equation, ...]]:
        """Definitions, objectives and constraints, numbered through."""
        groups = (
            [self.definition(s) for s in self.declarations(tree.LetDecl)],
            [self.objective(s) for s in self.declarations(tree.ObjectiveDecl)],
            [self.constraint(s) for s in self.declarations(tree.ConstraintDecl)],
        )
        numbered: list[tuple[Equation, ...]] = []
        for group in groups:
            numbered.append(tuple(_number(group, first)))
            first += len(group)
        return numbered[0], numbered[1], numbered[2]

    def definition(self, decl: tree.LetDecl) -> Equation:
        head, over = self.head(decl.name.text, decl.indexing)
        latex = f"{head} = {self.formulas.of(decl.value)}"
        return _equation(decl.name.text, latex, over, decl.doc, decl.span, unit(decl.unit))

    def objective(self, decl: tree.ObjectiveDecl) -> Equation:
        sense = rf"\{decl.sense[:3]}"
        lines = []
        for at, term in enumerate(decl.terms):
            value = self.formulas.of(term.value, SUM)
            label = "" if term.name is None else rf" && \text{{({term.name.text.replace('_', ' ')})}}"
            lines.append((sense if at == 0 else "") + r" \quad & " + ("" if at == 0 else "+ ") + value + label)
        latex = rf"\begin{{aligned}} {NEW_LINE.join(lines)} \end{{aligned}}" if lines else ""
        name = decl.name.text if decl.name is not None else "objective"
        return _equation(name, latex, "", decl.doc, decl.span)

    def constraint(self, decl: tree.ConstraintDecl) -> Equation:
        over = "" if decl.indexing is None else self.formulas.iterators(decl.indexing)
        return _equation(decl.name.text, self.formulas.of(decl.body), over, decl.doc, decl.span)


def _equation(name: str, latex: str, over: str, doc: str | None, span: Span, unit: str = "") -> Equation:
    meaning, cited = split_citation(doc or "")
    return Equation(0, name, latex, over, meaning, _source(span), unit, cited, _file(span))


def _file(span: Span) -> str:
    """Return the name of the file that declares it."""
    return PurePath(span.source.name).name


def _source(span: Span) -> str:
    """Return the text of a statement, without common indentation."""
    first, _, rest = span.text.partition("\n")
    return first + ("\n" + textwrap.indent(textwrap.dedent(rest), "  ") if rest else "")


def _letters(flat: FlatModel) -> dict[str, tuple[str, ...]]:
    """Return for each set the index names that the model uses most for its elements."""
    uses: dict[str, Counter[tuple[str, ...]]] = {}
    for statement in flat.statements:
        for node in nodes_in(statement, tree.Index):
            if node.names and isinstance(node.domain, tree.Name):
                if node.fixed:
                    continue
                names = tuple(n.text for n in node.names)
                uses.setdefault(node.domain.text, Counter())[names] += 2
        for member in nodes_in(statement, tree.Binary):  # `(j, v, g) in Runnable` names them too
            if member.op == "in" and isinstance(member.left, tree.TupleExpr) and isinstance(member.right, tree.Name):
                items = [i.text for i in member.left.items if isinstance(i, tree.Name)]
                if len(items) == len(member.left.items):
                    uses.setdefault(member.right.text, Counter())[tuple(items)] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in uses.items()}
