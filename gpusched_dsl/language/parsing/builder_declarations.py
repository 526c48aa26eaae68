"""Parse trees of the statements of a model to nodes of the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lark import Tree
from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder_expressions import Child, Children, ExpressionBuilder, ParseTree
from gpusched_dsl.language.source import Source, Span


class DeclarationBuilder(ExpressionBuilder):
    """Builds the statements of models; subclasses add the statements of other blocks to `statement_builders`."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        super().__init__(source, diagnostics)
        self.statement_builders: dict[str, Callable[[Children, Span], tree.Statement]] = {
            "set_decl": self._set_decl,
            "overriding": self._overriding,
            "param_decl": self._param_decl,
            "let_decl": self._let_decl,
            "report": self._report,
            "var_decl": self._var_decl,
            "random_decl": self._random_decl,
            "interval_decl": self._interval_decl,
            "objective_of_terms": self._objective_of_terms,
            "objective_named": self._objective_named,
            "objective_short": self._objective_short,
            "constraint": self._constraint,
            "check": self._check,
            "option": self._option,
            "when": self._when,
            "drop": self._drop,
            "placement": self._placement,
            "decompose": self._decompose,
        }

    def body(self, body: Child) -> tuple[tree.Statement, ...]:
        assert isinstance(body, Tree)
        return self.statements_of(body.children)

    def statements_of(self, children: Iterable[Child]) -> tuple[tree.Statement, ...]:
        return tuple(
            self.statement_builders[c.data](c.children, self.span(c))
            for c in children
            if isinstance(c, Tree) and c.data in self.statement_builders
        )

    def doc(self, child: Child) -> str | None:
        return self.string(child.children[0]) if isinstance(child, Tree) else None

    def either_doc(self, first: Child, second: Child) -> str | None:
        """Return the documentation of a statement: after its name or at its end, once."""
        if first is not None and second is not None:
            self.report_repetition("documentation", first, second)
        return self.doc(first or second)

    def report_repetition(self, what: str, first: Child, second: Child) -> None:
        self.diagnostics.error(
            "GSM1023",
            f"{what} given twice",
            self.span(second),
            secondary=[Label(self.span(first), "first given here")],
            help="keep one of them",
        )

    # --- declarations -----------------------------------------------------------------------------------------------

    def _set_decl(self, children: Children, span: Span) -> tree.SetDecl:
        name, indexing, *rest = children
        parts = DeclarationParts(self, rest)
        identical = parts.one("identical", "`identical`")
        by = identical.children[0] if identical is not None else None
        return tree.SetDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            doc=parts.doc(),
            ordered=parts.one("ordered", "`ordered`") is not None,
            identical=identical is not None,
            identical_by=None if by is None else self.identifier(by),
            within=parts.expr("within", "`within`"),
            value=parts.expr("set_value", "a value"),
        )

    def _overriding(self, children: Children, span: Span) -> tree.Statement:
        """`override` before a declaration that another model may replace."""
        (declared,) = self.statements_of(children)
        assert isinstance(declared, tree.SetDecl | tree.ParamDecl | tree.LetDecl | tree.VarDecl)
        return structs.replace(declared, span=span, override=True)

    def _param_decl(self, children: Children, span: Span) -> tree.ParamDecl:
        name, indexing, *rest, value = children
        parts = DeclarationParts(self, rest)
        return tree.ParamDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            unit=parts.unit(),
            kind=parts.word("param_kind", "a kind") or "real",
            within=parts.expr("within", "`within`"),
            bounds=parts.bounds(),
            default=parts.expr("default", "a default"),
            value=self._value(value),
            doc=parts.doc(_doc_of(value)),
        )

    def _let_decl(self, children: Children, span: Span) -> tree.LetDecl:
        name, indexing, *rest, value = children
        parts = DeclarationParts(self, rest)
        expr = self._value(value)
        assert expr is not None
        return tree.LetDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            unit=parts.unit(),
            value=expr,
            doc=parts.doc(_doc_of(value)),
        )

    def _report(self, children: Children, span: Span) -> tree.ReportDecl:
        named = self._let_decl(children, span)
        return tree.ReportDecl(
            span=span, name=named.name, indexing=named.indexing, unit=named.unit, value=named.value, doc=named.doc
        )

    def _value(self, child: Child) -> tree.Expr | None:
        return self.expr(child.children[0]) if isinstance(child, Tree) else None

    def _var_decl(self, children: Children, span: Span) -> tree.VarDecl:
        name, indexing, *rest = children
        parts = DeclarationParts(self, rest)
        return tree.VarDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            unit=parts.unit(),
            kind=parts.word("var_kind", "a kind") or "real",
            semicontinuous=parts.one("semicontinuous", "`semicontinuous`") is not None,
            bounds=parts.bounds(),
            doc=parts.doc(),
        )

    def _random_decl(self, children: Children, span: Span) -> tree.RandomDecl:
        name, indexing, *rest, distribution = children
        parts = DeclarationParts(self, rest)
        return tree.RandomDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            unit=parts.unit(),
            distribution=self.call(distribution.children[0]) if isinstance(distribution, Tree) else None,
            doc=parts.doc(_doc_of(distribution)),
        )

    def _interval_decl(self, children: Children, span: Span) -> tree.LetDecl:
        name, indexing, *docs, start, length, presence = children
        first, last = self.span(start), self.span(length if presence is None else presence)
        value = tree.IntervalExpr(
            span=self.source.span(first.start, last.end),
            start=self.expr(start),
            length=self.expr(length),
            presence=self._value(presence),
        )
        return tree.LetDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            value=value,
            doc=DeclarationParts(self, docs).doc(),
        )

    def _objective_of_terms(self, children: Children, span: Span) -> tree.ObjectiveDecl:
        then, sense, name, *rest = children
        parts = DeclarationParts(self, rest)
        return tree.ObjectiveDecl(
            span=span,
            sense=str(sense),
            name=self.identifier(name),
            unit=parts.unit(),
            terms=tuple(self._term(t) for t in parts.all("term")),
            then=then is not None,
            doc=parts.doc(),
        )

    def _term(self, term: ParseTree) -> tree.ObjectiveTerm:
        override, name, doc, value, last_doc = term.children
        return tree.ObjectiveTerm(
            span=self.span(term),
            name=self.identifier(name),
            value=self.expr(value),
            override=override is not None,
            doc=self.either_doc(doc, last_doc),
        )

    def _objective_named(self, children: Children, span: Span) -> tree.ObjectiveDecl:
        then, sense, name, *rest, value, last_doc = children
        parts = DeclarationParts(self, rest)
        expr = self.expr(value)
        return tree.ObjectiveDecl(
            span=span,
            sense=str(sense),
            name=self.identifier(name),
            unit=parts.unit(),
            terms=(tree.ObjectiveTerm(span=expr.span, name=None, value=expr),),
            then=then is not None,
            doc=parts.doc(last_doc),
        )

    def _objective_short(self, children: Children, span: Span) -> tree.ObjectiveDecl:
        then, sense, value = children
        expr = self.expr(value)
        term = tree.ObjectiveTerm(span=expr.span, name=None, value=expr)
        return tree.ObjectiveDecl(span=span, sense=str(sense), terms=(term,), then=then is not None)

    def _constraint(self, children: Children, span: Span) -> tree.ConstraintDecl:
        override, name, indexing, doc, body, last_doc = children
        return tree.ConstraintDecl(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            body=self.expr(body),
            override=override is not None,
            doc=self.either_doc(doc, last_doc),
        )

    def _check(self, children: Children, span: Span) -> tree.CheckDecl:
        indexing, condition, message = children
        return tree.CheckDecl(
            span=span,
            indexing=self.optional_indexing(indexing),
            condition=self.expr(condition),
            message=self.doc(message),
        )

    def _option(self, children: Children, span: Span) -> tree.OptionDecl:
        name, doc, choices, default, start, last_doc = children
        assert isinstance(choices, Tree)
        return tree.OptionDecl(
            span=span,
            name=self.identifier(name),
            choices=tuple(self.identifier(c) for c in choices.children),
            default=self.identifier(default),
            start=None if start is None else self.identifier(start),
            doc=self.either_doc(doc, last_doc),
        )

    def _when(self, children: Children, span: Span) -> tree.When:
        option, op, choice, body, otherwise = children
        rest: tuple[tree.Statement, ...] = ()
        if isinstance(otherwise, Tree):
            nested = otherwise.data == "when"
            rest = self.statements_of([otherwise]) if nested else self.body(otherwise)
        return tree.When(
            span=span,
            option=self.identifier(option),
            op=str(op),
            choice=self.identifier(choice),
            body=self.body(body),
            otherwise=rest,
        )

    def _drop(self, children: Children, span: Span) -> tree.Drop:
        return tree.Drop(span=span, names=tuple(self.identifier(c) for c in children))

    def _placement(self, children: Children, span: Span) -> tree.PlacementDecl:
        variable, names, *items = children
        return tree.PlacementDecl(
            span=span,
            variable=self.identifier(variable),
            indices=self.names(names),
            items=tuple(self._placement_item(i) for i in items if isinstance(i, Tree)),
        )

    def names(self, child: Child) -> tuple[tree.Identifier, ...]:
        return tuple(self.identifier(c) for c in child.children) if isinstance(child, Tree) else ()

    def _placement_item(self, item: ParseTree) -> tree.PlacementItem:
        role, value, of, unit = item.children
        return tree.PlacementItem(
            span=self.span(item),
            role=self.identifier(role),
            value=self.expr(value),
            of=self.optional(of),
            unit=self.unit(unit.children[0]) if isinstance(unit, Tree) else None,
        )

    def _decompose(self, children: Children, span: Span) -> tree.Decompose:
        return tree.Decompose(span=span, root=self.identifier(children[0]))


class DeclarationParts:
    """The optional parts of a declaration, in any order; each may be given once."""

    def __init__(self, builder: DeclarationBuilder, children: Iterable[Child]) -> None:
        self._builder = builder
        self._parts = [c for c in children if isinstance(c, Tree)]

    def all(self, kind: str) -> list[ParseTree]:
        return [p for p in self._parts if p.data == kind]

    def one(self, kind: str, what: str) -> ParseTree | None:
        found = self.all(kind)
        for again in found[1:]:
            self._builder.report_repetition(what, found[0], again)
        return found[0] if found else None

    def doc(self, last: Child = None) -> str | None:
        """Return the documentation; `last` is one at the end of the statement."""
        return self._builder.either_doc(self.one("doc", "documentation"), last)

    def unit(self) -> tree.UnitNode | None:
        part = self.one("in_unit", "a unit")
        return None if part is None else self._builder.unit(part.children[0])

    def expr(self, kind: str, what: str) -> tree.Expr | None:
        part = self.one(kind, what)
        return None if part is None else self._builder.expr(part.children[0])

    def word(self, kind: str, what: str) -> str | None:
        part = self.one(kind, what)
        return None if part is None else str(part.children[0])

    def identifier(self, kind: str, what: str) -> tree.Identifier | None:
        part = self.one(kind, what)
        return None if part is None else self._builder.identifier(part.children[0])

    def bounds(self) -> tuple[tree.Bound, ...]:
        builder = self._builder
        return tuple(
            tree.Bound(span=builder.span(b), op=str(b.children[0]), value=builder.expr(b.children[1]))
            for b in self.all("bound")
        )


def _doc_of(part: Child) -> Child:
    """The documentation at the end of a value or distribution."""
    return part.children[1] if isinstance(part, Tree) else None
