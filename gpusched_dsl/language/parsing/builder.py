"""Parse trees of blocks to nodes of the syntax tree, with the statements of campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lark import Token, Tree

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder_declarations import DeclarationParts
from gpusched_dsl.language.parsing.builder_expressions import Child, Children, ParseTree
from gpusched_dsl.language.parsing.builder_runs import RunBuilder
from gpusched_dsl.language.parsing.lexing import MAX_NESTING
from gpusched_dsl.language.source import Source, Span


def build_file(
    source: Source,
    blocks: Iterable[ParseTree],
    diagnostics: Diagnostics,
    lost: Iterable[Token] = (),
    damaged: Iterable[Token] = (),
) -> tree.File:
    """The syntax tree of a text from the parse trees of its blocks."""
    builder = BlockBuilder(source, diagnostics)
    built = tuple(b for block in blocks if (b := builder.block(block)) is not None)
    names = tuple(builder.identifier(name) for name in (*lost, *builder.too_deep))
    return tree.File(source, built, names, tuple(builder.identifier(name) for name in damaged))


def _deepest(block: ParseTree) -> tuple[int, ParseTree]:
    """How deep a parse tree is, and a node as deep as is still allowed. Without recursion: a chain can be very long."""
    deepest, place = 0, block
    pending: list[tuple[ParseTree, int]] = [(block, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        if depth == MAX_NESTING:
            place = node
        pending.extend((c, depth + 1) for c in node.children if isinstance(c, Tree))
    return deepest, place


class BlockBuilder(RunBuilder):
    """Builds the blocks of one source, and the content of campaigns."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        super().__init__(source, diagnostics)
        self.statement_builders |= {
            "vary": self._vary,
            "exclude": self._exclude,
            "generator_options": self._generator_options,
            "data_path": self._data_path,
            "solve_grid": self._solve_grid,
            "run_grid": self._run_grid,
            "measure": self._measure,
        }
        self.too_deep: list[Token] = []
        self._blocks: dict[str, Callable[[ParseTree], tree.TopLevelBlock]] = {
            "import": self._import,
            "model": self._model,
            "scenario": self._scenario,
            "test": self._test,
            "policy": self._policy,
            "online": self._online,
            "campaign": self._campaign,
        }

    # --- blocks -----------------------------------------------------------------------------------------------------

    def block(self, block: ParseTree) -> tree.TopLevelBlock | None:
        """Return the node of a block; None for one with an unreadable head."""
        build = self._blocks.get(block.data)
        if build is None or str(block.children[0]) == "":
            return None
        deepest, place = _deepest(block)
        if deepest > MAX_NESTING:
            self.diagnostics.error(
                "GSM1004",
                f"this is nested more than {MAX_NESTING} levels deep",
                self.span(place),
                help="long chains of operators count too: name parts with `let`, or sum over a set",
            )
            self.too_deep += [name for name in block.children[:1] if isinstance(name, Token)]
            return None
        return build(block)

    def _import(self, block: ParseTree) -> tree.Import:
        token = block.children[0]
        path = tree.Text(span=self.span(token), value=self.string(token))
        return tree.Import(span=self.span(block), path=path)

    def _model(self, block: ParseTree) -> tree.ModelBlock:
        head = DeclarationParts(self, block.children[1:-1])
        return tree.ModelBlock(
            span=self.span(block),
            name=self.identifier(block.children[0]),
            statements=self.body(block.children[-1]),
            extends=head.identifier("extends", "`extends`"),
            doc=head.doc(),
        )

    def _scenario(self, block: ParseTree) -> tree.Scenario:
        head = DeclarationParts(self, block.children[1:])
        return tree.Scenario(
            span=self.span(block),
            name=self.identifier(block.children[0]),
            statements=self.statements_of(block.children[1:]),
            model=head.identifier("of_model", "`for`"),
            extends=head.identifier("extends", "`extends`"),
            doc=head.doc(),
        )

    def _test(self, block: ParseTree) -> tree.Test:
        name, doc, *statements = block.children
        return tree.Test(
            span=self.span(block),
            name=self.identifier(name),
            statements=self.statements_of(statements),
            doc=self.doc(doc),
        )

    def _policy(self, block: ParseTree) -> tree.Policy:
        head = DeclarationParts(self, block.children[1:])
        return tree.Policy(
            span=self.span(block),
            name=self.identifier(block.children[0]),
            statements=self.statements_of(block.children[1:]),
            model=head.identifier("of_model", "`for`"),
            extends=head.identifier("extends", "`extends`"),
            doc=head.doc(),
        )

    def _online(self, block: ParseTree) -> tree.Online:
        head = DeclarationParts(self, block.children[1:])
        name = self.identifier(block.children[0])
        model, extends = head.identifier("of_model", "`for`"), head.identifier("extends", "`extends`")
        if model is None and extends is None:
            self.diagnostics.error(
                "GSM1023",
                f"online block `{name.text}` does not name a model",
                name.span,
                help="write `for` and its model",
            )
            model = tree.Identifier(span=name.span, text="_")
        return tree.Online(
            span=self.span(block),
            name=name,
            statements=self.statements_of(block.children[1:]),
            model=model,
            extends=extends,
            doc=head.doc(),
        )

    def _campaign(self, block: ParseTree) -> tree.Campaign:
        head = DeclarationParts(self, block.children[1:])
        return tree.Campaign(
            span=self.span(block),
            name=self.identifier(block.children[0]),
            statements=self.statements_of(block.children[1:]),
            model=head.identifier("of_model", "`for`"),
            doc=head.doc(),
        )

    # --- statements of campaigns ------------------------------------------------------------------------------------

    def _vary(self, children: Children, span: Span) -> tree.Vary:
        return tree.Vary(span=span, index=self.index(children[0]))

    def _exclude(self, children: Children, span: Span) -> tree.Exclude:
        return tree.Exclude(span=span, condition=self.expr(children[0]))

    def _generator_options(self, children: Children, span: Span) -> tree.GeneratorOptions:
        generator, options = children
        return tree.GeneratorOptions(span=span, generator=self.identifier(generator), options=self._settings(options))

    def _data_path(self, children: Children, span: Span) -> tree.DataPath:
        path, value = children
        return tree.DataPath(
            span=span, path=tree.Text(span=self.span(path), value=self.string(path)), value=self.expr(value)
        )

    def _solve_grid(self, children: Children, span: Span) -> tree.GridRuns:
        scenarios, methods = children
        return tree.GridRuns(
            span=span, verb="solve", scenarios=self.names(scenarios), methods=self._grid_methods(methods)
        )

    def _run_grid(self, children: Children, span: Span) -> tree.GridRuns:
        scenarios, online, methods = children
        return tree.GridRuns(
            span=span,
            verb="run",
            scenarios=self.names(scenarios),
            online=None if online is None else self.identifier(online),
            methods=self._grid_methods(methods),
        )

    def _grid_methods(self, methods: Child) -> tuple[tree.GridMethod, ...]:
        return tuple(self._grid_method(m) for m in methods.children) if isinstance(methods, Tree) else ()

    def _grid_method(self, method: Child) -> tree.GridMethod:
        assert isinstance(method, Tree)
        name, settings, alias = method.children
        return tree.GridMethod(
            span=self.span(method),
            name=self.identifier(name),
            settings=self._settings(settings),
            alias=None if alias is None else self.identifier(alias),
        )

    def _measure(self, children: Children, span: Span) -> tree.Measure:
        return tree.Measure(span=span, names=tuple(self.identifier(name) for name in children))
