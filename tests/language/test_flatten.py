"""Inheritance, overrides, drops and options, before anything is known of types."""

import pytest

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.flatten import FlatModel, flatten
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

BASE = """
model Base "the base" {
  option rule in { paper, force, at_most } default paper "how many nodes";
  set Jobs; param due[Jobs] in h; var x[Jobs] >= 0; var z >= 0;
  minimize total in $ { rent: z; idle: 2 * z; }
  constraint first[j in Jobs]: x[j] <= 1;
  constraint second: z >= 1;
  constraint third: z >= 2;
  when rule == force { constraint forced: z >= 3; } else { constraint relaxed: z >= 4; }
  when rule != paper { constraint unprinted: z >= 5; }
  placement x[j] { job j; }
}
"""


def flat(text: str, name: str, **options: str) -> tuple[FlatModel | None, list[Diagnostic]]:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(BASE + text, "m.gsm", diagnostics)
    assert not len(diagnostics)
    return flatten(workspace, name, options, diagnostics), list(diagnostics)


def right(text: str, name: str, **options: str) -> FlatModel:
    model, found = flat(text, name, **options)
    assert found == []
    assert model is not None
    return model


def wrong(text: str, name: str = "M", **options: str) -> tuple[str, str]:
    _, [found] = flat(text, name, **options)
    assert isinstance(found.primary, Span)
    return found.code, found.primary.text


def constraints(model: FlatModel) -> dict[str, str]:
    return {s.name.text: s.body.span.text for s in model.statements if isinstance(s, tree.ConstraintDecl)}


def terms(model: FlatModel) -> dict[str | None, dict[str | None, str]]:
    return {
        s.name.text if s.name else None: {t.name.text if t.name else None: t.value.span.text for t in s.terms}
        for s in model.statements
        if isinstance(s, tree.ObjectiveDecl)
    }


def test_a_model_by_itself() -> None:
    model = right("", "Base")
    assert (model.name, model.doc) == ("Base", "the base")
    assert list(constraints(model)) == ["first", "second", "third", "relaxed"]
    assert model.options == {"rule": "paper"}
    assert model.option_choices == {"rule": ("paper", "force", "at_most")}
    assert not any(isinstance(s, (tree.When, tree.OptionDecl, tree.Drop)) for s in model.statements)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("paper", ["first", "second", "third", "relaxed"]),
        ("force", ["first", "second", "third", "forced", "unprinted"]),
        ("at_most", ["first", "second", "third", "relaxed", "unprinted"]),
    ],
)
def test_options_choose_declarations(choice: str, expected: list[str]) -> None:
    model = right("", "Base", rule=choice)
    assert list(constraints(model)) == expected
    assert model.options == {"rule": choice}


def test_an_extending_model_adds() -> None:
    model = right('model M "more" extends Base { param more; constraint fourth: z >= 9; }', "M")
    assert model.doc == "more"
    assert list(constraints(model)) == ["first", "second", "third", "relaxed", "fourth"]
    assert isinstance(model.statements[0], tree.SetDecl)


def test_options_are_inherited() -> None:
    model = right("model M extends Base { when rule == force { constraint mine: z >= 9; } }", "M", rule="force")
    assert list(constraints(model))[-2:] == ["unprinted", "mine"]


def test_override_replaces_in_place() -> None:
    model = right("model M extends Base { override constraint second: z >= 7; }", "M")
    assert constraints(model) == {"first": "x[j] <= 1", "second": "z >= 7", "third": "z >= 2", "relaxed": "z >= 4"}


def test_override_in_a_when_of_the_same_model() -> None:
    text = """model M {
      option kind in { a, b } default a; var z >= 0;
      when kind == b { override constraint c: z >= 2; }
      constraint c: z >= 1;
    }"""
    assert constraints(right(text, "M", kind="a")) == {"c": "z >= 1"}
    assert constraints(right(text, "M", kind="b")) == {"c": "z >= 2"}


def test_drop() -> None:
    model = right("model M extends Base { drop second, idle; }", "M")
    assert list(constraints(model)) == ["first", "third", "relaxed"]
    assert terms(model) == {"total": {"rent": "z"}}


def test_a_dropped_name_is_free_again() -> None:
    model = right("model M extends Base { drop second; constraint second: z >= 8; }", "M")
    assert constraints(model)["second"] == "z >= 8"
    assert right("model M extends Base { drop total; maximize total in $: z; }", "M").names["total"].text == "total"


def test_terms_join_the_inherited_objective() -> None:
    model = right("model M extends Base { minimize total in $ { override idle: 3 * z; late: 4 * z; } }", "M")
    assert terms(model) == {"total": {"rent": "z", "idle": "3 * z", "late": "4 * z"}}


def test_an_objective_of_lower_priority_is_added() -> None:
    model = right("model M extends Base { then maximize speed: z; }", "M")
    assert terms(model) == {"total": {"rent": "z", "idle": "2 * z"}, "speed": {None: "z"}}


def test_a_placement_replaces_the_inherited_one() -> None:
    model = right("model M extends Base { placement x[i] { job i; } }", "M")
    [placement] = [s for s in model.statements if isinstance(s, tree.PlacementDecl)]
    assert placement.indices[0].text == "i"


def roots(model: FlatModel) -> list[str]:
    return [s.root.text for s in model.statements if isinstance(s, tree.Decompose)]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("", ["Jobs"]),
        ("set Nodes; decompose by Nodes;", ["Nodes"]),
        ("drop decompose;", []),
        ("set Nodes; drop decompose; decompose by Nodes;", ["Nodes"]),
        ("constraint decompose: z >= 1;", ["Jobs"]),
    ],
)
def test_a_decomposition_is_inherited_replaced_or_dropped(statements: str, expected: list[str]) -> None:
    text = "model D extends Base { decompose by Jobs; }"
    assert roots(right(f"{text} model M extends D {{ {statements} }}", "M")) == expected


def test_what_is_called_decompose_is_dropped_first() -> None:
    text = "model D extends Base { decompose by Jobs; constraint decompose: z >= 1; }"
    model = right(f"{text} model M extends D {{ drop decompose; }}", "M")
    assert roots(model) == ["Jobs"]
    assert "decompose" not in constraints(model)
    assert roots(right(f"{text} model M extends D {{ drop decompose, decompose; }}", "M")) == []


@pytest.mark.parametrize(("choice", "expected"), [("paper", []), ("force", ["Jobs"]), ("at_most", [])])
def test_an_option_chooses_the_decomposition(choice: str, expected: list[str]) -> None:
    text = "model M extends Base { when rule == force { decompose by Jobs; } }"
    assert roots(right(text, "M", rule=choice)) == expected


def test_three_generations() -> None:
    model = right(
        "model M extends Base { override constraint first[j in Jobs]: x[j] <= 2; drop third; }"
        "model N extends M { override constraint first[j in Jobs]: x[j] <= 3; }",
        "N",
    )
    assert constraints(model) == {"first": "x[j] <= 3", "second": "z >= 1", "relaxed": "z >= 4"}


def test_declarations_are_replaced_in_their_place() -> None:
    """`override` replaces a set, parameter, `let` or variable of an extended model, also by another kind."""
    model = right(
        "model M extends Base { override var x[Jobs] binary; override let due[j in Jobs] in h = 3[h]; var y; }"
        "model N extends M { override var y >= 1; override set Jobs ordered; }",
        "N",
    )
    declared = {s.name.text: s for s in model.statements if isinstance(s, tree.SetDecl | tree.LetDecl | tree.VarDecl)}
    assert [name for name in declared if name != "z"] == ["Jobs", "due", "x", "y"]
    assert isinstance(declared["due"], tree.LetDecl)
    jobs, x, y = declared["Jobs"], declared["x"], declared["y"]
    assert isinstance(jobs, tree.SetDecl)
    assert isinstance(x, tree.VarDecl)
    assert isinstance(y, tree.VarDecl)
    assert (jobs.ordered, x.kind, len(y.bounds)) == (True, "binary", 1)
    assert model.names["y"].text == "y"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model M extends Base { override var y; }", ("GSM1402", "y")),
        ("model M extends Base { override var second; }", ("GSM1402", "second")),
        ("model M extends Base { override constraint due: z >= 1; }", ("GSM1402", "due")),
        ("model M { var y; override var y >= 1; }", ("GSM1402", "y")),
        ("model M extends Base { override var x[Jobs]; override var x[Jobs] >= 1; }", ("GSM1103", "x")),
        ("model M extends Base { var x[Jobs]; }", ("GSM1103", "x")),
        ("model M extends Bas { }", ("GSM1107", "Bas")),
        ("model M extends N { } model N extends M { }", ("GSM1401", "N")),
        ("model M extends M { }", ("GSM1401", "M")),
        ("model M extends Base { override constraint secnd: z >= 1; }", ("GSM1402", "secnd")),
        ("model M extends Base { minimize total in $ { override lent: z; } }", ("GSM1402", "lent")),
        ("model M { var z; minimize t { override a: z; } }", ("GSM1402", "a")),
        ("model M extends Base { drop secnd; }", ("GSM1403", "secnd")),
        ("model M extends Base { drop due; }", ("GSM1403", "due")),
        ("model M extends Base { constraint second: z >= 1; }", ("GSM1103", "second")),
        ("model M extends Base { minimize total in $ { rent: z; } }", ("GSM1103", "rent")),
        ("model M extends Base { param due; }", ("GSM1103", "due")),
        ("model M extends Base { option rule in { a } default a; }", ("GSM1103", "rule")),
        (
            "model M extends Base { override constraint second: z >= 1; override constraint second: z >= 2; }",
            ("GSM1103", "second"),
        ),
        ("model M extends Base { maximize total in $ { late: z; } }", ("GSM1410", "total")),
        ("model M extends Base { minimize total in h { late: z; } }", ("GSM1410", "h")),
        ("model M { placement a[i] { } placement b[i] { } }", ("GSM1414", "b")),
        ("model M { set A; set B; decompose by A; decompose by B; }", ("GSM1418", "B")),
        ("model M extends Base { drop decompose; }", ("GSM1403", "decompose")),
    ],
)
def test_faults(text: str, expected: tuple[str, str]) -> None:
    assert wrong(text) == expected


def test_both_places_of_a_duplicate_are_shown() -> None:
    _, [found] = flat("model M extends Base { constraint second: z >= 1; }", "M")
    assert [label.place.text for label in found.secondary if isinstance(label.place, Span)] == ["second"]
    assert found.help == "write `override constraint second` to replace it"


def test_a_circle_of_models_is_written_out() -> None:
    _, [found] = flat("model A extends B { } model B extends C { } model C extends A { }", "B")
    assert found.notes == ("the cycle is `A` extends `B` extends `C` extends `A`",)
    assert len(found.secondary) == 2


def test_an_unknown_model() -> None:
    model, [found] = flat("", "Bsae")
    assert model is None
    assert (found.code, found.primary, found.help) == ("GSM1107", None, "did you mean `Base`?")


def test_wrong_choices_from_outside() -> None:
    _, [unknown] = flat("", "Base", rul="force")
    assert (unknown.code, unknown.primary, unknown.help) == ("GSM1404", None, "did you mean `rule`?")
    _, [choice] = flat("", "Base", rule="forced")
    assert (choice.code, choice.primary, choice.help) == ("GSM1405", None, "did you mean `force`?")
    _, [none] = flat("model M { }", "M", rule="force")
    assert none.help == "`M` has no options"


def test_the_place_of_a_wrong_choice_is_shown_when_known() -> None:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(BASE, "m.gsm", diagnostics)
    place = workspace.models["Base"].name.span
    flatten(workspace, "Base", {"rule": "forced"}, diagnostics, {"rule": place})
    [found] = diagnostics
    assert found.primary == place
