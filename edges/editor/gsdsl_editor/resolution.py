"""From a name at a place to what it refers to: declarations of models and of other blocks, across files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace
from gsdsl_editor.fragments import start_in_file
from gsdsl_editor.occurrences import NameRole, Occurrence


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of a name: its identifier, its statement (or block), and the block around it."""

    name: tree.Identifier
    node: tree.Node
    block: tree.TopLevelBlock

    @property
    def kind(self) -> str:
        """The keyword of the declaration, or what else it is."""
        return _KINDS.get(type(self.node), "name")


_KINDS: dict[type[tree.Node], str] = {
    tree.SetDecl: "set",
    tree.ParamDecl: "param",
    tree.LetDecl: "let",
    tree.ReportDecl: "report",
    tree.VarDecl: "var",
    tree.RandomDecl: "random",
    tree.ConstraintDecl: "constraint",
    tree.ObjectiveDecl: "objective",
    tree.ObjectiveTerm: "term",
    tree.OptionDecl: "option",
    tree.PolicyStage: "stage",
    tree.Vary: "factor",
    tree.ModelBlock: "model",
    tree.Scenario: "scenario",
    tree.Test: "test",
    tree.Policy: "policy",
    tree.Online: "online",
    tree.Campaign: "campaign",
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name refers to. Equal for all places of one thing in all files: `place` is that of its first block.

    `kind` is "declared", "choice", "index", or the kind of a block.
    """

    kind: str
    name: str
    place: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A symbol with its declarations, the first one first."""

    symbol: Symbol
    declarations: tuple[Declaration, ...]


class Resolver:
    """Resolves the names in one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._declared: dict[int, dict[str, list[Declaration]]] = {}
        self._blocks: Mapping[NameRole, Mapping[str, tree.TopLevelBlock]] = {
            NameRole.MODEL: workspace.models,
            NameRole.SCENARIO: workspace.scenarios,
            NameRole.TEST: workspace.tests,
            NameRole.POLICY: workspace.policies,
            NameRole.ONLINE: workspace.onlines,
            NameRole.CAMPAIGN: workspace.campaigns,
        }

    def resolve(self, occurrence: Occurrence, block: tree.TopLevelBlock | None) -> Resolved | None:
        """What a name in a block refers to; None for unknown names, and for words that the language defines."""
        match occurrence.role:
            case NameRole.INDEX if occurrence.binder is not None and block is not None:
                binder = occurrence.binder
                symbol = Symbol("index", binder.text, place_of(binder.span), str(id(binder)))
                return Resolved(symbol, (Declaration(binder, binder, block),))
            case NameRole.DECLARED:
                found = self._declared_name(occurrence, block)
                return found or self._choice(occurrence, block)
            case NameRole.CHOICE:
                return self._choice(occurrence, block)
            case NameRole.METHOD:
                return self._block(NameRole.POLICY, occurrence.text)
            case role if role in self._blocks:
                return self._block(role, occurrence.text)
            case _:
                return None

    def model_of(self, block: tree.TopLevelBlock | None, at: int | None = None) -> tree.ModelBlock | None:
        """The model whose names are known in a block; in a test it is that of the last `solve` before an offset."""
        if isinstance(block, tree.ModelBlock):
            return block
        if isinstance(block, tree.Test):
            solves = [s for s in block.statements if isinstance(s, tree.Solve)]
            before = [s for s in solves if at is None or start_in_file(s.span) <= at]
            solved = before[-1].scenario.text if before else ""
            return self.model_of(self.workspace.scenarios.get(solved)) or self.workspace.models.get(solved)
        if isinstance(block, tree.Campaign) and block.model is None:
            runs = next((s for s in block.statements if isinstance(s, tree.GridRuns)), None)
            return None if runs is None else self.model_of(self.workspace.scenarios.get(runs.scenarios[0].text))
        for each in self._chain(block):
            named = getattr(each, "model", None)
            if named is not None:
                return self.workspace.models.get(named.text)
        return None

    def names_of_model(self, model: tree.ModelBlock) -> dict[str, list[Declaration]]:
        """All names of a model with their declarations, those of the models that it extends first."""
        found: dict[str, list[Declaration]] = {}
        for each in reversed(list(self._chain(model))):
            for name, declarations in self._declarations(each).items():
                found.setdefault(name, []).extend(declarations)
        return found

    def own_names(self, block: tree.TopLevelBlock | None) -> dict[str, list[Declaration]]:
        """The names that a policy or a campaign declares, with those of the blocks that it extends."""
        found: dict[str, list[Declaration]] = {}
        if isinstance(block, tree.Policy | tree.Campaign):
            for each in reversed(list(self._chain(block))):
                for name, declarations in self._declarations(each).items():
                    found.setdefault(name, []).extend(declarations)
        return found

    # --- parts -------------------------------------------------------------------------------------------------------

    def _declared_name(self, occurrence: Occurrence, block: tree.TopLevelBlock | None) -> Resolved | None:
        name = occurrence.text
        own = self.own_names(block).get(name)
        if own is not None:
            return Resolved(_symbol("declared", name, own[0]), tuple(own))
        model = self.model_of(block, start_in_file(occurrence.span))
        found = None if model is None else self.names_of_model(model).get(name)
        return None if found is None else Resolved(_symbol("declared", name, found[0]), tuple(found))

    def _choice(self, occurrence: Occurrence, block: tree.TopLevelBlock | None) -> Resolved | None:
        """A choice of an option; a bare name in a scenario or test may be one too."""
        model = self.model_of(block, start_in_file(occurrence.span))
        if model is None:
            return None
        for name, declarations in self.names_of_model(model).items():
            if occurrence.role is NameRole.CHOICE and name != occurrence.owner:
                continue
            for declaration in declarations:
                if isinstance(declaration.node, tree.OptionDecl):
                    for choice in declaration.node.choices:
                        if choice.text == occurrence.text:
                            made = Declaration(choice, declaration.node, declaration.block)
                            return Resolved(_symbol("choice", choice.text, declaration, name), (made,))
        return None

    def _block(self, role: NameRole, name: str) -> Resolved | None:
        found = self._blocks[role].get(name)
        if found is None and role is NameRole.SCENARIO:  # a model without data is its own scenario
            role, found = NameRole.MODEL, self.workspace.models.get(name)
        if found is None:
            return None
        identifier: tree.Identifier = found.name  # type: ignore[attr-defined]
        symbol = Symbol(role.value, name, place_of(identifier.span))
        return Resolved(symbol, (Declaration(identifier, found, found),))

    def _chain(self, block: tree.TopLevelBlock | None) -> Iterator[tree.TopLevelBlock]:
        """A block, then what it extends; ends in front of a cycle."""
        seen: set[int] = set()
        while block is not None and id(block) not in seen:
            seen.add(id(block))
            yield block
            extended = getattr(block, "extends", None)
            if extended is None:
                return
            kind = next((role for role, kind in _BLOCK_TYPES.items() if isinstance(block, kind)), None)
            block = None if kind is None else self._blocks[kind].get(extended.text)

    def _declarations(self, block: tree.TopLevelBlock) -> dict[str, list[Declaration]]:
        known = self._declared.get(id(block))
        if known is None:
            known = self._declared[id(block)] = {}
            for name, node in _declarations_in(getattr(block, "statements", ())):
                known.setdefault(name.text, []).append(Declaration(name, node, block))
            for statement in getattr(block, "statements", ()):
                by = statement.identical_by if isinstance(statement, tree.SetDecl) else None
                if by is not None and by.text not in known:  # this declares the parameter
                    known[by.text] = [Declaration(by, statement, block)]
        return known


_BLOCK_TYPES: dict[NameRole, type[tree.TopLevelBlock]] = {
    NameRole.MODEL: tree.ModelBlock,
    NameRole.SCENARIO: tree.Scenario,
    NameRole.POLICY: tree.Policy,
    NameRole.ONLINE: tree.Online,
}


def _declarations_in(statements: tuple[tree.Statement, ...]) -> Iterator[tuple[tree.Identifier, tree.Node]]:
    for statement in statements:
        match statement:
            case tree.When():
                yield from _declarations_in(statement.body)
                yield from _declarations_in(statement.otherwise)
            case tree.ObjectiveDecl():
                if statement.name is not None:
                    yield statement.name, statement
                for term in statement.terms:
                    if term.name is not None:
                        yield term.name, term
            case tree.SetDecl():
                yield statement.name, statement
            case tree.Vary():
                yield from ((name, statement) for name in statement.index.names)
            case (
                tree.ParamDecl()
                | tree.LetDecl()
                | tree.ReportDecl()
                | tree.VarDecl()
                | tree.RandomDecl()
                | tree.ConstraintDecl()
                | tree.OptionDecl()
                | tree.PolicyStage()
            ):
                yield statement.name, statement
            case _:
                pass


def _symbol(kind: str, name: str, first: Declaration, owner: str = "") -> Symbol:
    around = getattr(first.block, "name", None)
    within = f"{_KINDS[type(first.block)]} {around.text}" if around is not None else ""
    return Symbol(kind, name, place_of(first.block.span), f"{within} {owner}".strip())


def place_of(span: Span) -> str:
    """The file of a place."""
    source = span.source
    return str(source.path) if source.path is not None else source.name
