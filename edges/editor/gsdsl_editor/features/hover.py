"""Hover: the declaration of a name, its meaning, its unit and indices, and its formula as mathematics."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies import rule_table, stage_table
from gpusched_dsl.language.checked import CheckedModel, IntervalType, Numeric
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.checking.clock_functions import CLOCK_MEANINGS
from gpusched_dsl.language.checking.flatten import flatten
from gpusched_dsl.language.checking.placements import QUANTITIES, ROLES
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.distributions import SPELLINGS
from gpusched_dsl.language.tree_walk import nodes_in
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit
from gpusched_dsl.reporting.mathematics.formulation import Equation, FormulationWriter, Notation
from gsdsl_editor.document import Document, NamedPlace
from gsdsl_editor.fragments import start_in_file
from gsdsl_editor.occurrences import NameRole
from gsdsl_editor.plain_mathematics import plain_mathematics
from gsdsl_editor.resolution import Declaration

_LINES = 12


def hover(document: Document, position: types.Position, *, latex: bool = False) -> types.Hover | None:
    """What is known about the name at a place, in Markdown; formulas as LaTeX for clients that typeset it."""
    place = document.place_at(document.offset(position))
    if place is None:
        return None
    parts = list(_about(document, place, latex))
    if not parts:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts))
    return types.Hover(content, document.range_of(place.occurrence.span))


def _about(document: Document, place: NamedPlace, latex: bool) -> Iterator[str]:
    resolved = document.resolve(place)
    if resolved is None:
        yield from _word(document, place)
        return
    first, last = resolved.declarations[0], resolved.declarations[-1]
    if resolved.symbol.kind == "index":
        yield f"index `{resolved.symbol.name}`"
        yield from _index_set(document, place)
        return
    yield f"```gsm\n{_source(last)}\n```"
    doc = next((d for each in (last, first) if (d := getattr(each.node, "doc", None))), None)
    if doc:
        yield doc
    if resolved.symbol.kind == "choice":
        yield f"a choice of the option `{last.node.name.text}`"  # type: ignore[attr-defined]
        return
    yield from _formula(document, place, last, latex)
    if first.block is not last.block:
        yield f"declared in {first.kind} `{first.block.name.text}`"  # type: ignore[attr-defined]


def _source(declaration: Declaration) -> str:
    """The text of a declaration; of a block only its head, of a long statement its first lines."""
    text = declaration.node.span.text
    if isinstance(declaration.node, tree.TopLevelBlock):
        return text.split("{")[0].strip()
    first, _, rest = text.partition("\n")
    lines = (first + ("\n" + textwrap.indent(textwrap.dedent(rest), "  ") if rest else "")).split("\n")
    return "\n".join([*lines[:_LINES], "..."] if len(lines) > _LINES else lines)


# --- the formula -----------------------------------------------------------------------------------------------------


def _formula(document: Document, place: NamedPlace, declaration: Declaration, latex: bool) -> Iterator[str]:
    model = document.resolver.model_of(place.block, start_in_file(place.occurrence.span))
    if model is None or not isinstance(declaration.block, tree.ModelBlock):
        return
    flat = flatten(document.workspace, model.name.text, {}, Diagnostics())
    if flat is None:
        return
    written = _written(FormulationWriter(flat), declaration.node)
    if isinstance(written, Notation):
        facts = [f"unit {_math(written.unit, latex)}"] if written.unit else []
        yield _display(f"{written.symbol} {written.values}".strip(), written.over, latex)
    elif written is not None:
        facts = []
        yield _display(written.latex, written.over, latex)
    else:
        return
    checked = checked_model(document, model.name.text)
    inferred = None if checked is None or facts else unit_of_name(checked, declaration.name.text)
    if inferred is not None and inferred != DIMENSIONLESS:
        facts.append(f"unit `{inferred.text}`")
    yield from facts


def _written(writer: FormulationWriter, node: tree.Node) -> Notation | Equation | None:
    try:
        match node:
            case tree.SetDecl():
                return writer.set_notation(node)
            case tree.ParamDecl():
                return writer.parameter(node)
            case tree.VarDecl():
                return writer.variable(node)
            case tree.RandomDecl():
                return writer.random(node)
            case tree.LetDecl():
                return writer.definition(node)
            case tree.ObjectiveDecl():
                return writer.objective(node)
            case tree.ConstraintDecl():
                return writer.constraint(node)
            case _:
                return None
    except (AttributeError, KeyError, AssertionError):  # an expression with errors
        return None


def _math(latex_text: str, latex: bool) -> str:
    return f"${latex_text}$" if latex else f"`{plain_mathematics(latex_text)}`"


def _display(formula: str, over: str, latex: bool) -> str:
    """A formula in a block of its own, with the indices that it holds for."""
    if latex:
        domain = rf" \qquad {over}" if over else ""
        return f"$$\n{formula}{domain}\n$$"
    domain = f"    for {plain_mathematics(over)}" if over else ""
    return f"```text\n{plain_mathematics(formula)}{domain}\n```"


# --- types -----------------------------------------------------------------------------------------------------------


def checked_model(document: Document, name: str) -> CheckedModel | None:
    """The checked model with the defaults of its options, as far as its errors allow."""
    check_model(document.workspace, name, {}, Diagnostics())
    for (checked_name, _), (model, _) in document.workspace.checked.items():
        if checked_name == name and model is not None:
            return model
    return None


def unit_of_name(model: CheckedModel, name: str) -> Unit | None:
    """The unit of a quantity or objective of a model, also if it is inferred."""
    for values in (model.params, model.lets, model.variables, model.randoms, model.reports):
        declared = values.get(name)
        if declared is not None:
            kind = declared.type
            return kind.unit if isinstance(kind, Numeric | IntervalType) else None
    return next((o.unit for o in model.objectives if o.name == name), None)


def _index_set(document: Document, place: NamedPlace) -> Iterator[str]:
    """The set of an index."""
    binder = place.occurrence.binder
    statements = getattr(place.block, "statements", ())
    for statement in statements:
        for index in _indices(statement):
            if any(name is binder for name in index.names):
                yield f"```gsm\n{index.span.text}\n```"
                return


def _indices(node: tree.Node) -> Iterator[tree.Index]:
    return nodes_in(node, tree.Index)


# --- words of the language -------------------------------------------------------------------------------------------


def _word(document: Document, place: NamedPlace) -> Iterator[str]:
    """A unit, a function, a distribution, a rule of a policy, a role of a placement."""
    text = place.occurrence.text
    match place.occurrence.role:
        case NameRole.UNIT if text in UNITS:
            unit = UNITS[text]
            base = unit.base
            scale = "" if unit.scale == 1 else f" = {float(unit.scale):g} {base.text}"
            yield f"unit `{text}`{scale}"
        case NameRole.FUNCTION if text in SPELLINGS:
            yield f"distribution `{text}({', '.join(SPELLINGS[text].arguments)})`"
        case NameRole.FUNCTION if text in CLOCK_MEANINGS:
            yield f"`{text}(t)`: {CLOCK_MEANINGS[text]}"
        case NameRole.ROLE if text in ROLES:
            meaning = QUANTITIES.get(text, "")
            yield f"`{text}` of a placement{': ' + meaning if meaning else ''}"
        case NameRole.ROLE:
            yield from (f"`{text}`: {p[text].meaning}" for p in stage_table.PARTS.values() if text in p)
        case NameRole.RULE:
            yield from _rule(text)
        case NameRole.METHOD:
            yield f"method `{text}`"
        case _:
            return


def _rule(word: str) -> Iterator[str]:
    """The rules whose name begins with a word."""
    for rules in (*rule_table.RULES.values(), rule_table.RESERVE, rule_table.SERVE):
        for name, shape in rules.items():
            if name.split()[0] == word:
                yield f"`{name}`: {shape.words}"
