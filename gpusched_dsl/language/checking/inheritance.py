"""Adds the declarations of an extending model to those it inherits: `override`, `drop`, added terms, duplicates."""

from __future__ import annotations

from msgspec import Struct, field, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.similar_names import listed
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import unit_of

DECOMPOSE = "decompose"  # the name of an inherited decomposition in `drop`, unless something else has this name
Replaceable = tree.SetDecl | tree.ParamDecl | tree.LetDecl | tree.VarDecl
CONSTRAINT_OR_TERM = "constraint or term"
_WORDS = {tree.SetDecl: "set", tree.ParamDecl: "param", tree.LetDecl: "let", tree.VarDecl: "var"}


def report_duplicate(name: tree.Identifier, first: Span, diagnostics: Diagnostics, help: str | None = None) -> None:
    diagnostics.error(
        "GSM1103",
        f"`{name.text}` is declared twice",
        name.span,
        "declared again here",
        secondary=[Label(first, "first declared here")],
        help=help or "give one of them another name",
    )


class Merger(Struct):
    """Adds the statements of one model after another; `statements` has None for dropped ones."""

    diagnostics: Diagnostics
    statements: list[tree.Statement | None] = field(default_factory=list)
    names: dict[str, Span] = field(default_factory=dict)
    constraints: dict[str, int] = field(default_factory=dict)
    declarations: dict[str, int] = field(default_factory=dict)
    objectives: dict[str | None, int] = field(default_factory=dict)
    placement: int | None = None
    decomposition: int | None = None

    def add_layer(self, layer: list[tree.Statement]) -> None:
        """Apply drops of inherited names, then declarations, overrides, and drops of the layer's own names."""
        drops = [name for s in layer if isinstance(s, tree.Drop) for name in s.names]
        own_drops = [name for name in drops if not self._drop(name.text)]
        inherited = set(self.objectives)
        declared = set(self.declarations)
        replaced: dict[str, Span] = {}
        inherited_placement, inherited_decomposition = self.placement, self.decomposition
        overrides: list[tree.ConstraintDecl] = []
        for statement in layer:
            if isinstance(statement, tree.ConstraintDecl) and statement.override:
                overrides.append(statement)
            elif isinstance(statement, Replaceable) and statement.override:
                self._replace(statement, self.declarations, declared, replaced)
            elif isinstance(statement, tree.ObjectiveDecl):
                self._add_objective(statement, inherited)
            elif isinstance(statement, tree.PlacementDecl):
                self._add_placement(statement, inherited_placement)
            elif isinstance(statement, tree.Decompose):
                self._add_decomposition(statement, inherited_decomposition)
            elif not isinstance(statement, tree.Drop):
                self._add(statement, declared)
        for override in overrides:
            self._replace(override, self.constraints, set(self.constraints), replaced)
        for name in own_drops:
            if not self._drop(name.text):
                self._report_nothing(
                    "GSM1403", "drop", name, [*self.constraints, *self._term_names(), *self._objective_names()]
                )

    def _objective_names(self) -> list[str]:
        return [name for name in self.objectives if name is not None]

    def _term_names(self) -> list[str]:
        found = (self.statements[place] for place in self.objectives.values())
        terms = (t.name for s in found if isinstance(s, tree.ObjectiveDecl) for t in s.terms)
        return [name.text for name in terms if name is not None]

    def _report_nothing(
        self, code: str, verb: str, name: tree.Identifier, known: list[str], what: str = CONSTRAINT_OR_TERM
    ) -> None:
        other = self.names.get(name.text)
        only = (
            "only constraints, terms and objectives can be dropped"
            if verb == "drop"
            else "`override` repeats the kind of what it replaces, and replaces what an extended model declares"
        )
        self.diagnostics.error(
            code,
            f"there is no {what} `{name.text}` to {verb}",
            name.span,
            "not declared by the model or one that it extends" if other is None else f"cannot {verb} this",
            secondary=[Label(other, f"`{name.text}` is declared here")] if other is not None else [],
            help=only if other is not None else did_you_mean(name.text, known) or _listing(known),
        )

    def _claim_name(self, name: tree.Identifier, help: str | None = None) -> bool:
        first = self.names.get(name.text)
        if first is not None:
            report_duplicate(name, first, self.diagnostics, help)
            return False
        self.names[name.text] = name.span
        return True

    def _add(self, statement: tree.Statement, inherited: set[str]) -> None:
        match statement:
            case tree.ConstraintDecl(name=name):
                replaceable = name.text in self.constraints
                help: str | None = f"write `override constraint {name.text}` to replace it"
                if not self._claim_name(name, help if replaceable else None):
                    return
                self.constraints[name.text] = len(self.statements)
            case (
                tree.SetDecl()
                | tree.ParamDecl()
                | tree.LetDecl()
                | tree.VarDecl()
                | tree.RandomDecl()
                | tree.ReportDecl()
            ):
                text = statement.name.text
                word = _WORDS.get(type(statement))
                advice = f"write `override {word} {text}` to replace it" if text in inherited and word else None
                if not self._claim_name(statement.name, advice):
                    return
                if isinstance(statement, Replaceable):
                    self.declarations[text] = len(self.statements)
            case _:
                pass
        self.statements.append(statement)

    def _replace(
        self,
        statement: tree.ConstraintDecl | Replaceable,
        places: dict[str, int],
        replaceable: set[str],
        replaced: dict[str, Span],
    ) -> None:
        """Put a statement with `override` in the place of the one of its name, once in a layer."""
        name = statement.name
        if name.text not in replaceable:
            word = _WORDS.get(type(statement), CONSTRAINT_OR_TERM)
            known = [each for each in places if each in replaceable]
            self._report_nothing("GSM1402", "override", name, known, word)
        elif name.text in replaced:
            report_duplicate(name, replaced[name.text], self.diagnostics, "override it once")
        else:
            replaced[name.text] = name.span
            self.names[name.text] = name.span
            self.statements[places[name.text]] = statement

    def _drop(self, name: str) -> bool:
        if name in self.constraints:
            self.statements[self.constraints.pop(name)] = None
            del self.names[name]
            return True
        if name in self.objectives:
            self._drop_objective(self.objectives.pop(name))
            return True
        for place in self.objectives.values():
            objective = self.statements[place]
            assert isinstance(objective, tree.ObjectiveDecl)
            remaining = tuple(t for t in objective.terms if t.name is None or t.name.text != name)
            if len(remaining) < len(objective.terms):
                self.statements[place] = structs.replace(objective, terms=remaining)
                del self.names[name]
                return True
        if name == DECOMPOSE and self.decomposition is not None:
            self.statements[self.decomposition] = None
            self.decomposition = None
            return True
        return False

    def _drop_objective(self, place: int) -> None:
        objective = self.statements[place]
        assert isinstance(objective, tree.ObjectiveDecl)
        for name in (objective.name, *(t.name for t in objective.terms)):
            if name is not None:
                self.names.pop(name.text, None)
        self.statements[place] = None

    def _add_objective(self, decl: tree.ObjectiveDecl, inherited: set[str | None]) -> None:
        key = decl.name.text if decl.name is not None else None
        all_named = all(term.name is not None for term in decl.terms)
        if key in inherited and key in self.objectives and (key is not None or all_named):
            self._extend_objective(self.objectives[key], decl)
            return
        if decl.name is not None and not self._claim_name(decl.name):
            return
        accepted = tuple(t for t in decl.terms if self._claim_term(t))
        if key is not None or key not in self.objectives:
            self.objectives[key] = len(self.statements)
        self.statements.append(structs.replace(decl, terms=accepted))

    def _claim_term(self, term: tree.ObjectiveTerm) -> bool:
        if term.name is None:
            return True
        if term.override:
            self._report_nothing("GSM1402", "override", term.name, self._term_names())
            return False
        replaceable = term.name.text in self._term_names()
        return self._claim_name(
            term.name, f"write `override {term.name.text}: ...` to replace it" if replaceable else None
        )

    def _extend_objective(self, place: int, decl: tree.ObjectiveDecl) -> None:
        """Add the terms of an extending model to the inherited objective of the same name."""
        base = self.statements[place]
        assert isinstance(base, tree.ObjectiveDecl)
        if not self._check_same_goal(base, decl):
            return
        terms = list(base.terms)
        for term in decl.terms:
            at = next((i for i, t in enumerate(terms) if _have_same_name(t, term)), None)
            if term.override and term.name is not None and at is not None:
                self.names[term.name.text] = term.name.span
                terms[at] = term
            elif self._claim_term(term):
                terms.append(term)
        self.statements[place] = structs.replace(base, terms=tuple(terms), doc=decl.doc or base.doc)

    def _check_same_goal(self, base: tree.ObjectiveDecl, decl: tree.ObjectiveDecl) -> bool:
        what = f"objective `{decl.name.text}`" if decl.name is not None else "the objective"
        place = decl.name.span if decl.name is not None else decl.span
        first = base.name.span if base.name is not None else base.span
        if base.sense != decl.sense:
            self.diagnostics.error(
                "GSM1410",
                f"{what} is extended as `{decl.sense}` but declared as `{base.sense}`",
                place,
                f"`{decl.sense}` here",
                secondary=[Label(first, f"`{base.sense}` here")],
                help="`drop` the inherited objective to replace it",
            )
            return False
        silent = Diagnostics()
        if decl.unit is not None and (base.unit is None or unit_of(decl.unit, silent) != unit_of(base.unit, silent)):
            self.diagnostics.error(
                "GSM1410",
                f"{what} is extended in another unit",
                decl.unit.span,
                "another unit",
                secondary=[Label(base.unit.span if base.unit is not None else first, "declared here")],
                help="remove the unit: the terms are converted to the unit of the inherited objective",
            )
            return False
        return True

    def _add_placement(self, decl: tree.PlacementDecl, inherited: int | None) -> None:
        """Add a placement: that of an extending model replaces the inherited one; one model has only one."""
        if self.placement is not None and self.placement != inherited:
            first = self.statements[self.placement]
            assert isinstance(first, tree.PlacementDecl)
            self.diagnostics.error(
                "GSM1414",
                "a model can have only one placement",
                decl.variable.span,
                "a second one",
                secondary=[Label(first.variable.span, "the first one")],
                help="put all items into one placement",
            )
            return
        if inherited is not None:
            self.statements[inherited] = None
        self.placement = len(self.statements)
        self.statements.append(decl)

    def _add_decomposition(self, decl: tree.Decompose, inherited: int | None) -> None:
        """Add a decomposition: that of an extending model replaces the inherited one; one model has only one."""
        if self.decomposition is not None and self.decomposition != inherited:
            first = self.statements[self.decomposition]
            assert isinstance(first, tree.Decompose)
            self.diagnostics.error(
                "GSM1418",
                "a model can have only one `decompose`",
                decl.root.span,
                "a second one",
                secondary=[Label(first.root.span, "the first one")],
                help="keep the one with blocks that are easy to solve separately; a `when` may choose between them",
            )
            return
        if self.decomposition is not None:
            self.statements[self.decomposition] = None
        self.decomposition = len(self.statements)
        self.statements.append(decl)


def _have_same_name(one: tree.ObjectiveTerm, other: tree.ObjectiveTerm) -> bool:
    return one.name is not None and other.name is not None and one.name.text == other.name.text


def _listing(names: list[str]) -> str | None:
    return f"there are {listed(names)}" if names else None
