"""Combines a model, the models that it extends and the choices of its options into one list of declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.extends import MODEL, chain_of
from gpusched_dsl.language.checking.inheritance import Merger, report_duplicate
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.similar_names import listed
from gpusched_dsl.language.source import Span


class FlatModel(Struct, frozen=True):
    """A model as if written in one piece: no `extends`, `override`, `drop`, `option` or `when` is left.

    Statements of the extended model come first; an overriding statement has the position of the overridden one.
    `names` maps every declared name to the place that declares it.
    """

    name: str
    span: Span
    statements: tuple[tree.Statement, ...]
    options: dict[str, str]
    option_decls: dict[str, tree.OptionDecl]
    names: dict[str, Span]
    doc: str | None = None

    @property
    def start_options(self) -> dict[str, str]:
        """The options that have another choice than `start from`, with the latter."""
        starts = {name: decl.start.text for name, decl in self.option_decls.items() if decl.start is not None}
        return {name: choice for name, choice in starts.items() if self.options[name] != choice}

    @property
    def option_choices(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(c.text for c in decl.choices) for name, decl in self.option_decls.items()}


def flatten(
    workspace: Workspace,
    model_name: str,
    options: Mapping[str, str],
    diagnostics: Diagnostics,
    option_spans: Mapping[str, Span] | None = None,
) -> FlatModel | None:
    """Return the declarations of a model under some choices; other options have their default.

    `option_spans` are the places of the choices, for diagnostics. Returns None if the model or one that it extends is
    unknown, or if models extend each other circularly; all other errors are reported and the rest of the model is
    kept.
    """
    chain = _chain(workspace, model_name, diagnostics)
    if chain is None:
        return None
    model = chain[-1]
    decls = _options(chain, diagnostics)
    choices = _choices_of(model, decls, options, option_spans or {}, diagnostics)
    merger = Merger(diagnostics)
    for name, decl in decls.items():
        merger.names[name] = decl.name.span
    for layer in chain:
        merger.add_layer(list(_expand(layer.statements, decls, choices, diagnostics)))
    statements = tuple(s for s in merger.statements if s is not None)
    return FlatModel(model.name.text, model.name.span, statements, choices, decls, merger.names, model.doc)


def declared_options(workspace: Workspace, model_name: str) -> dict[str, tree.OptionDecl]:
    """Return the options of a model and of those that it extends; none if it is unknown."""
    chain = _chain(workspace, model_name, Diagnostics())
    return {} if chain is None else _options(chain, Diagnostics())


def _chain(workspace: Workspace, name: str, diagnostics: Diagnostics) -> list[tree.ModelBlock] | None:
    """Return the model after those that it extends, the root first."""
    models = workspace.models
    model = models.get(name)
    if model is None:
        diagnostics.error("GSM1107", f"unknown model `{name}`", help=did_you_mean(name, models))
        return None
    return chain_of(workspace, models, model, MODEL, diagnostics)


# --- options ---------------------------------------------------------------------------------------------------------


def _options(chain: list[tree.ModelBlock], diagnostics: Diagnostics) -> dict[str, tree.OptionDecl]:
    decls: dict[str, tree.OptionDecl] = {}
    for model in chain:
        for statement in model.statements:
            if not isinstance(statement, tree.OptionDecl):
                continue
            first = decls.get(statement.name.text)
            if first is not None:
                report_duplicate(statement.name, first.name.span, diagnostics)
                continue
            decls[statement.name.text] = statement
            _check_option(statement, diagnostics)
    return decls


def _check_option(decl: tree.OptionDecl, diagnostics: Diagnostics) -> None:
    seen: dict[str, Span] = {}
    for choice in decl.choices:
        if choice.text in seen:
            diagnostics.error(
                "GSM1406",
                f"choice `{choice.text}` of option `{decl.name.text}` is repeated",
                choice.span,
                "again",
                secondary=[Label(seen[choice.text], "first here")],
                help="remove one of them",
            )
        seen.setdefault(choice.text, choice.span)
    for what, named in (("default", decl.default), ("start", decl.start)):
        if named is not None and named.text not in seen:
            diagnostics.error(
                "GSM1405",
                f"the {what} `{named.text}` is not a choice of option `{decl.name.text}`",
                named.span,
                "not among the choices",
                help=did_you_mean(named.text, seen) or f"choose one of {listed(seen)}",
            )


def _choices_of(
    model: tree.ModelBlock,
    decls: Mapping[str, tree.OptionDecl],
    requested: Mapping[str, str],
    spans: Mapping[str, Span],
    diagnostics: Diagnostics,
) -> dict[str, str]:
    chosen = {name: decl.default.text for name, decl in decls.items()}
    for name, choice in requested.items():
        decl = decls.get(name)
        if decl is None:
            none = f"`{model.name.text}` has no options"
            diagnostics.error(
                "GSM1404",
                f"model `{model.name.text}` has no option `{name}`",
                spans.get(name),
                "no such option" if name in spans else "",
                help=did_you_mean(name, decls) or (f"its options are {listed(decls)}" if decls else none),
            )
        elif choice not in (choices := [c.text for c in decl.choices]):
            diagnostics.error(
                "GSM1405",
                f"option `{name}` has no choice `{choice}`",
                spans.get(name),
                "no such choice" if name in spans else "",
                secondary=[Label(decl.name.span, f"`{name}` is declared here")],
                help=did_you_mean(choice, choices) or f"choose one of {listed(choices)}",
            )
        else:
            chosen[name] = choice
    return chosen


def _expand(
    statements: Iterable[tree.Statement],
    decls: Mapping[str, tree.OptionDecl],
    chosen: Mapping[str, str],
    diagnostics: Diagnostics,
    inside: tree.When | None = None,
) -> Iterator[tree.Statement]:
    """Return the effective statements under the choices."""
    for statement in statements:
        if isinstance(statement, tree.When):
            for branch in _branch(statement, decls, chosen, diagnostics):
                yield from _expand(branch, decls, chosen, diagnostics, statement)
        elif isinstance(statement, tree.OptionDecl):
            if inside is not None:
                diagnostics.error(
                    "GSM1406",
                    f"option `{statement.name.text}` is declared inside a `when`",
                    statement.name.span,
                    "an option cannot depend on another option",
                    secondary=[Label(inside.option.span, "this `when`")],
                    help="declare it outside of `when`",
                )
        else:
            yield statement


def _branch(
    when: tree.When, decls: Mapping[str, tree.OptionDecl], chosen: Mapping[str, str], diagnostics: Diagnostics
) -> Iterator[tuple[tree.Statement, ...]]:
    decl = decls.get(when.option.text)
    if decl is None:
        diagnostics.error(
            "GSM1404",
            f"unknown option `{when.option.text}`",
            when.option.span,
            "no such option",
            help=did_you_mean(when.option.text, decls) or "declare it: `option name in { a, b } default a;`",
        )
        return
    choices = [c.text for c in decl.choices]
    if when.choice.text not in choices:
        diagnostics.error(
            "GSM1405",
            f"option `{when.option.text}` has no choice `{when.choice.text}`",
            when.choice.span,
            "no such choice",
            secondary=[Label(decl.name.span, f"`{when.option.text}` is declared here")],
            help=did_you_mean(when.choice.text, choices) or f"choose one of {listed(choices)}",
        )
        return
    holds = (chosen[when.option.text] == when.choice.text) == (when.op == "==")
    yield when.body if holds else when.otherwise
