"""Parse trees of the statements of campaigns to nodes of the syntax tree."""

from __future__ import annotations

from lark import Tree

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder_expressions import Child, Children
from gpusched_dsl.language.parsing.builder_runs import RunBuilder
from gpusched_dsl.language.source import Source, Span


class CampaignBuilder(RunBuilder):
    """Builds the content of campaigns."""

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
