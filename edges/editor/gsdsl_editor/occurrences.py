"""Where names occur in a text, by syntax alone: declarations, references, indices with the place that binds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from gpusched_dsl.language import tree
from gpusched_dsl.language.source import Span


class NameRole(Enum):
    """What a name at a place refers to."""

    DECLARED = "declared"  # something that a model declares, or the policy or campaign around the place
    INDEX = "index"
    MODEL = "model"
    SCENARIO = "scenario"
    TEST = "test"
    POLICY = "policy"
    ONLINE = "online"
    CAMPAIGN = "campaign"
    METHOD = "method"  # a policy or a solver
    CHOICE = "choice"  # of the option `owner`
    FUNCTION = "function"
    RULE = "rule"
    ROLE = "role"  # a part of a placement or of a stage
    UNIT = "unit"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at a place. `binder` is the place that binds an index; `declares` marks declarations.

    `owner` is the option of a choice.
    """

    span: Span
    text: str
    role: NameRole
    declares: bool = False
    binder: tree.Identifier | None = None
    owner: str = ""


Scope = Mapping[str, tree.Identifier]
_BLOCK_ROLES: dict[type[tree.TopLevelBlock], NameRole] = {
    tree.ModelBlock: NameRole.MODEL,
    tree.Scenario: NameRole.SCENARIO,
    tree.Test: NameRole.TEST,
    tree.Policy: NameRole.POLICY,
    tree.Online: NameRole.ONLINE,
    tree.Campaign: NameRole.CAMPAIGN,
}


def occurrences_in(blocks: Iterable[tree.TopLevelBlock], first: int, last: int) -> tuple[Occurrence, ...]:
    """The names in blocks in the order of the text, from one offset to another."""
    found: list[Occurrence] = []
    for block in blocks:
        found += _block(block)
    own = (o for o in found if first <= o.span.start < o.span.end <= last)
    return tuple(sorted(own, key=lambda o: (o.span.start, o.span.end)))


def _block(block: tree.TopLevelBlock) -> Iterator[Occurrence]:
    if isinstance(block, tree.Import):
        yield Occurrence(block.path.span, block.path.value, NameRole.FILE)
        return
    role = _BLOCK_ROLES[type(block)]
    yield Occurrence(block.name.span, block.name.text, role, declares=True)  # type: ignore[attr-defined]
    extended = getattr(block, "extends", None)
    if extended is not None:
        yield Occurrence(extended.span, extended.text, role)
    model = getattr(block, "model", None)
    if model is not None:
        yield Occurrence(model.span, model.text, NameRole.MODEL)
    for statement in getattr(block, "statements", ()):
        yield from _Statement().of(statement, {})


_KNOWN_FIELDS: dict[str, tuple[str, ...]] = {}


def _fields(node: tree.Node) -> tuple[str, ...]:
    """The names of the fields of a node that can hold names."""
    kind = type(node).__name__
    known = _KNOWN_FIELDS.get(kind)
    if known is None:
        left_out = ("span", "indexing")
        known = _KNOWN_FIELDS[kind] = tuple(n for n in node.__struct_fields__ if n not in left_out)
    return known


class _Statement:
    """The names in one statement."""

    def declared(self, name: tree.Identifier, *, declares: bool = False) -> Occurrence:
        return Occurrence(name.span, name.text, NameRole.DECLARED, declares)

    def named(self, name: tree.Identifier, role: NameRole, owner: str = "") -> Occurrence:
        return Occurrence(name.span, name.text, role, owner=owner)

    def of(self, node: object, scope: Scope) -> Iterator[Occurrence]:
        """All names in a node."""
        match node:
            case tuple():
                for item in node:
                    yield from self.of(item, scope)
            case tree.Name():
                yield self.reference(node.span, node.text, scope)
            case tree.Subscript():
                yield self.reference(node.name.span, node.name.text, scope)
                yield from self.of(node.subscripts, scope)
            case tree.Call():
                yield self.named(node.function, NameRole.FUNCTION)
                yield from self.of(node.arguments, scope)
                for argument in node.named:
                    yield from self.of(argument.value, scope)
            case tree.Indexing():
                yield from self.indexing(node, scope)[0]
            case tree.Index():
                found, _ = self.index(node, scope)
                yield from found
            case tree.UnitNode():
                for factor in node.factors:
                    yield Occurrence(factor.span, factor.symbol, NameRole.UNIT)
            case tree.PlacementDecl() | tree.Carry():
                yield from self.bound_by_names(node, scope)
            case tree.Node():
                yield from self.statement(node, scope)
            case _:
                return

    def reference(self, span: Span, text: str, scope: Scope) -> Occurrence:
        binder = scope.get(text)
        role = NameRole.DECLARED if binder is None else NameRole.INDEX
        return Occurrence(span, text, role, binder=binder)

    def indexing(self, node: tree.Indexing, scope: Scope) -> tuple[list[Occurrence], Scope]:
        """The names in an index list, and the scope inside it."""
        found: list[Occurrence] = []
        for index in node.indices:
            own, scope = self.index(index, scope)
            found += own
        found += self.of(node.where, scope)
        return found, scope

    def index(self, node: tree.Index, scope: Scope) -> tuple[list[Occurrence], Scope]:
        found = list(self.of(node.domain, scope))
        bound = dict(scope)
        for at, name in enumerate(node.names):
            fixed = node.fixed_at(at)
            if fixed is not None:
                found += self.of(fixed, scope)
            elif name.text != "_":
                bound[name.text] = name
                found.append(Occurrence(name.span, name.text, NameRole.INDEX, declares=True, binder=name))
        return found, bound

    def bound_by_names(self, node: tree.PlacementDecl | tree.Carry, scope: Scope) -> Iterator[Occurrence]:
        """A statement whose indices have only names, as in `placement x[j, n] { ... }`."""
        yield self.declared(node.variable if isinstance(node, tree.PlacementDecl) else node.target)
        inner = {**scope, **{name.text: name for name in node.indices}}
        for name in node.indices:
            yield Occurrence(name.span, name.text, NameRole.INDEX, declares=True, binder=name)
        yield from self.of(node.items if isinstance(node, tree.PlacementDecl) else node.value, inner)

    def statement(self, node: tree.Node, scope: Scope) -> Iterator[Occurrence]:
        """A statement or an expression with an own list of indices, if any; then its other fields."""
        indexing = getattr(node, "indexing", None)
        inner = scope
        if indexing is not None:
            found, inner = self.indexing(indexing, scope)
            yield from found
        over = getattr(node, "over", None)
        if isinstance(over, tree.Indexing):
            found, inner = self.indexing(over, inner)
            yield from found
        index = getattr(node, "index", None)
        if isinstance(index, tree.Index):
            found, inner = self.index(index, inner)
            if isinstance(node, tree.Vary):
                found = [self.declared(o.binder, declares=True) if o.declares and o.binder else o for o in found]
            yield from found
        yield from self.names_of(node)
        for name in _fields(node):
            value = getattr(node, name)
            if isinstance(value, tree.Identifier) or name in ("over", "index"):
                continue
            outside = isinstance(node, tree.Aggregate) and name == "limit"
            yield from self.of(value, scope if outside else inner)

    def names_of(self, node: tree.Node) -> Iterator[Occurrence]:
        """The plain names of a statement."""
        match node:
            case (
                tree.SetDecl()
                | tree.ParamDecl()
                | tree.LetDecl()
                | tree.ReportDecl()
                | tree.VarDecl()
                | tree.RandomDecl()
                | tree.ConstraintDecl()
                | tree.PolicyStage()
            ):
                yield self.declared(node.name, declares=True)
                if isinstance(node, tree.SetDecl) and node.identical_by is not None:
                    yield self.declared(node.identical_by)
            case tree.ObjectiveDecl() | tree.ObjectiveTerm():
                if node.name is not None:
                    yield self.declared(node.name, declares=True)
            case tree.OptionDecl():
                yield self.declared(node.name, declares=True)
                for choice in node.choices:
                    yield Occurrence(choice.span, choice.text, NameRole.CHOICE, True, owner=node.name.text)
                yield self.named(node.default, NameRole.CHOICE, node.name.text)
                if node.start is not None:
                    yield self.named(node.start, NameRole.CHOICE, node.name.text)
            case tree.When():
                yield self.declared(node.option)
                yield self.named(node.choice, NameRole.CHOICE, node.option.text)
            case tree.Drop():
                yield from map(self.declared, node.names)
            case tree.Decompose():
                yield self.declared(node.root)
            case tree.Assign() | tree.Draw() | tree.MatrixTable() | tree.DataItem():
                yield self.declared(node.target)
            case tree.CalendarStatement():
                if node.holiday_set is not None:
                    yield self.declared(node.holiday_set)
            case tree.Table():
                yield from map(self.declared, node.keys)
            case tree.TableColumn():
                yield self.declared(node.name)
            case tree.MatrixLabel(bare=True):
                yield Occurrence(node.span, node.span.text, NameRole.DECLARED)
            case tree.PolicyRule():
                if node.target is not None and node.verb != "randomise":
                    yield self.declared(node.target)
                if node.verb == "continue":
                    yield from (self.named(name, NameRole.POLICY) for name in node.by)
            case tree.Rule():
                yield from (self.named(word, NameRole.RULE) for word in node.words)
            case tree.PlacementItem() | tree.StagePart():
                yield self.named(node.role, NameRole.ROLE)
            case _:
                yield from self.methods_of(node)

    def methods_of(self, node: tree.Node) -> Iterator[Occurrence]:
        """Names of scenarios and methods, in tests and campaigns; targets of settings."""
        match node:
            case tree.Solve():
                yield self.named(node.scenario, NameRole.SCENARIO)
                for setting in node.settings:
                    yield self.declared(setting.name)
            case tree.GridRuns():
                yield from (self.named(name, NameRole.SCENARIO) for name in node.scenarios)
                if node.online is not None:
                    yield self.named(node.online, NameRole.ONLINE)
            case tree.MethodCall() | tree.GridMethod():
                yield self.named(node.name, NameRole.METHOD)
            case tree.FallbackPolicy():
                yield self.named(node.policy, NameRole.POLICY)
            case _:
                return
