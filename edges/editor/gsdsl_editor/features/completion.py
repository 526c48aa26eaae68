"""Completion: what the grammar allows at the cursor, and the names that fit there, the most fitting ones first.

In a subscript, indices over the set of that position come first; after `in` of an index, sets; where a unit is
expected, units, and those that convert to the declared unit first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.rule_table import ADDED_AFTER, RULES, rules_after
from gpusched_dsl.language.blocks.policies.stage_table import PARTS
from gpusched_dsl.language.checked import CheckedModel, Element
from gpusched_dsl.language.checking.functions import FUNCTIONS
from gpusched_dsl.language.checking.placements import QUANTITIES, ROLES
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.distributions import SPELLINGS
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.units import UNITS, convertible
from gsdsl_editor.checks import shipped_methods
from gsdsl_editor.cursor import Cursor, cursor_at, indices_at
from gsdsl_editor.document import Document
from gsdsl_editor.features.hover import checked_model, unit_of_name
from gsdsl_editor.features.labels import labels_of
from gsdsl_editor.resolution import Declaration

TRIGGERS = ("[", '"', " ", ".")
_KIND = types.CompletionItemKind
_KINDS = {
    "set": _KIND.Enum, "param": _KIND.Constant, "let": _KIND.Field, "report": _KIND.Field, "var": _KIND.Variable,
    "random": _KIND.Variable, "constraint": _KIND.Property, "objective": _KIND.Function, "term": _KIND.Function,
    "option": _KIND.EnumMember, "stage": _KIND.Method, "factor": _KIND.Constant,
}  # fmt: skip
_FITTING, _NEAR, _USUAL, _OTHER, _WORDS = range(5)
_VALUES = frozenset(("param", "let", "var", "random", "stage", "factor"))
_ASSIGNED = frozenset(("set", "param", "random", "option"))


def completions(document: Document, position: types.Position) -> types.CompletionList:
    """The completions at a place."""
    offset = document.offset(position)
    cursor = cursor_at(document.text, offset)
    place = document.positions.range(cursor.start, offset)
    found: dict[str, types.CompletionItem] = {}
    for rank, item in _items(document, cursor):
        if item.label not in found:
            item.sort_text = f"{rank}{item.label}"
            item.text_edit = types.TextEdit(place, item.insert_text or item.label)
            item.insert_text = None
            found[item.label] = item
    return types.CompletionList(is_incomplete=False, items=list(found.values()))


def _items(document: Document, cursor: Cursor) -> Iterator[tuple[int, types.CompletionItem]]:
    if cursor.in_text:
        yield from _texts(document, cursor)
        return
    names = _Names(document, cursor)
    expected = cursor.expected
    if expected is None or "NAME" in expected:
        yield from _names(names)
    if expected is not None and not names.only_names:
        spelling = vocabulary().spelling
        for terminal in sorted(expected):
            word = spelling.get(terminal, "")
            if word.isidentifier():
                yield _WORDS, types.CompletionItem(word, kind=_KIND.Keyword)


class _Names:
    """The names that are known at the cursor."""

    def __init__(self, document: Document, cursor: Cursor) -> None:
        self.document = document
        self.cursor = cursor
        extent = document.block_at(cursor.start)
        self.block = None if extent is None else extent.block
        self.model = document.resolver.model_of(self.block, cursor.start)
        self.only_names = False

    @property
    def declared(self) -> dict[str, list[Declaration]]:
        found = {} if self.model is None else self.document.resolver.names_of_model(self.model)
        return {**found, **self.document.resolver.own_names(self.block)}

    @property
    def checked(self) -> CheckedModel | None:
        return None if self.model is None else checked_model(self.document, self.model.name.text)

    def of_kinds(self, kinds: Iterable[str], rank: int = _USUAL) -> Iterator[tuple[int, types.CompletionItem]]:
        wanted = frozenset(kinds)
        for name, declarations in self.declared.items():
            if declarations[0].kind in wanted:
                yield rank, _declaration_item(name, declarations[0])


def _names(names: _Names) -> Iterator[tuple[int, types.CompletionItem]]:
    """The names for the place of the cursor, by the words before it."""
    cursor, workspace = names.cursor, names.document.workspace
    expected = cursor.expected or frozenset()
    blocks: dict[str, Iterable[str]] = {
        "for": workspace.models,
        "solve": (*workspace.scenarios, *workspace.models),
        "run": workspace.scenarios,
        "with": (*workspace.policies, *shipped_methods()),
        "fallback": workspace.policies,
        "online": workspace.onlines,
    }
    names.only_names = True
    if "UNIT_SIGN" in expected:
        yield from _units(names)
    elif cursor.last == "extends":
        kinds: dict[str, Iterable[str]] = {
            "model": workspace.models, "scenario": workspace.scenarios, "policy": workspace.policies
        }  # fmt: skip
        yield from _plain(kinds.get(cursor.first, workspace.onlines), _KIND.Class)
    elif cursor.first in RULES and cursor.keyword == "policy":
        yield from _rules(names)
    elif cursor.last in blocks and (cursor.keyword in ("", "test", "campaign", "online", "policy")):
        yield from _plain(blocks[cursor.last], _KIND.Class)
    elif cursor.first == "drop":
        yield from names.of_kinds(("constraint", "term", "objective"))
    elif cursor.first == "when" and "{" not in map(str, cursor.tokens):
        yield from _choices(names) if cursor.last in ("==", "!=") else names.of_kinds(("option",))
    elif cursor.first == "placement" and cursor.last in ("{", ";"):
        yield from ((_USUAL, types.CompletionItem(r, kind=_KIND.Property, detail=QUANTITIES.get(r))) for r in ROLES)
    elif cursor.first in PARTS and cursor.last in ("{", ";") and cursor.brackets:
        parts = PARTS[cursor.first].items()
        yield from ((_USUAL, types.CompletionItem(p, kind=_KIND.Property, detail=line.meaning)) for p, line in parts)
    elif cursor.keyword in ("scenario", "campaign") and not cursor.tokens:
        names.only_names = False
        yield from names.of_kinds(_ASSIGNED)
    elif cursor.first == "table":
        yield from names.of_kinds(("set", "param"))
    elif _names_new_thing(cursor):
        return
    else:
        names.only_names = False
        yield from _expression(names)


def _names_new_thing(cursor: Cursor) -> bool:
    """Whether the next name is a new one."""
    words = ("set", "param", "let", "report", "var", "random", "interval", "constraint", "option", "minimize")
    return cursor.last in (*words, "maximize", "model", "scenario", "test", "policy", "campaign")


def _expression(names: _Names) -> Iterator[tuple[int, types.CompletionItem]]:
    """Indices in scope, quantities, sets and functions."""
    cursor, checked = names.cursor, names.checked
    domain_follows = cursor.last == "in"
    wanted = _slot_root(checked, cursor)
    for binding in indices_at(cursor):
        root = _root_of(checked, binding.domain, binding.component)
        rank = _FITTING if wanted is not None and root == wanted else _NEAR
        detail = f"in {binding.domain}" if binding.domain else "index"
        yield rank, types.CompletionItem(binding.name, kind=_KIND.Variable, detail=detail)
    if names.cursor.keyword in ("scenario", "test", "campaign") and cursor.last in ("=", "==", "!="):
        yield from _choices(names)
    yield from names.of_kinds(("set",), _FITTING if domain_follows else _OTHER)
    if not domain_follows:
        kinds = _VALUES if cursor.keyword != "test" else _VALUES | {"objective", "term", "report"}
        yield from names.of_kinds(kinds)
        functions = SPELLINGS if "~" in map(str, cursor.tokens) else FUNCTIONS
        yield from ((_OTHER, types.CompletionItem(f, kind=_KIND.Function)) for f in functions)
    if cursor.keyword == "test":
        yield from ((_USUAL, types.CompletionItem(w, kind=_KIND.Constant)) for w in ("status", "bound", "gap"))


def _slot_root(checked: CheckedModel | None, cursor: Cursor) -> str | None:
    """The root set of the subscript at the cursor."""
    subscript = cursor.subscript()
    if subscript is None or checked is None:
        return None
    name, number = subscript
    for values in (checked.params, checked.lets, checked.variables, checked.randoms):
        if name in values:
            slots = slots_of(values[name])
            kind = slots[number].type if number < len(slots) else None
            return kind.root if isinstance(kind, Element) else None
    return None


def _root_of(checked: CheckedModel | None, name: str, component: int) -> str | None:
    declared = None if checked is None else checked.sets.get(name)
    if declared is None or component >= len(declared.types):
        return None
    kind = declared.types[component]
    return kind.root if isinstance(kind, Element) else None


def _choices(names: _Names) -> Iterator[tuple[int, types.CompletionItem]]:
    """The choices of the option before the cursor."""
    cursor = names.cursor
    option = str(cursor.tokens[-2]) if len(cursor.tokens) > 1 else ""
    for declaration in names.declared.get(option, ()):
        if isinstance(declaration.node, tree.OptionDecl):
            for choice in declaration.node.choices:
                yield _FITTING, types.CompletionItem(choice.text, kind=_KIND.EnumMember, detail=f"of {option}")


def _units(names: _Names) -> Iterator[tuple[int, types.CompletionItem]]:
    """All units; those of the quantity that gets a value first."""
    tokens = names.cursor.tokens
    target = next((str(t) for t in tokens if t.type == "NAME"), "")
    checked = names.checked if names.cursor.keyword == "scenario" else None
    declared = None if checked is None else unit_of_name(checked, target)
    if declared is not None and declared.text not in UNITS:
        yield _FITTING, types.CompletionItem(declared.text, kind=_KIND.Unit, detail=f"the unit of {target}")
    for symbol, unit in UNITS.items():
        rank = _FITTING if declared is not None and convertible(unit, declared) else _USUAL
        yield rank, types.CompletionItem(symbol, kind=_KIND.Unit)


def _rules(names: _Names) -> Iterator[tuple[int, types.CompletionItem]]:
    verb = names.cursor.first
    own = RULES[verb]
    for text in rules_after(verb) if verb in ADDED_AFTER else tuple(own):
        detail = own[text].words if text in own else None
        yield _USUAL, types.CompletionItem(text, kind=_KIND.Function, detail=detail)


def _texts(document: Document, cursor: Cursor) -> Iterator[tuple[int, types.CompletionItem]]:
    """Files after `import`, else labels."""
    if cursor.last == "import":
        folder = document.workspace.base
        own = () if document.path is None or folder is None else document.path.parent.rglob("*.gsm")
        files = (p.relative_to(document.path.parent).as_posix() for p in own if document.path and p != document.path)
        yield from _plain(sorted(files), _KIND.File)
        return
    names = _Names(document, cursor)
    root = _slot_root(names.checked, cursor)
    yield from _plain(labels_of(document, root), _KIND.Value)


def _plain(names: Iterable[str], kind: types.CompletionItemKind) -> Iterator[tuple[int, types.CompletionItem]]:
    yield from ((_USUAL, types.CompletionItem(name, kind=kind)) for name in names)


def _declaration_item(name: str, declaration: Declaration) -> types.CompletionItem:
    """A declared name with its indices, unit and description."""
    node = declaration.node
    indexing = getattr(node, "indexing", None)
    unit = getattr(node, "unit", None)
    over = indexing.span.text if indexing is not None else ""
    written = f" in {unit.span.text.strip('[]')}" if unit is not None else ""
    return types.CompletionItem(
        name, kind=_KINDS.get(declaration.kind), detail=f"{declaration.kind} {name}{over}{written}",
        documentation=getattr(node, "doc", None),
    )  # fmt: skip
