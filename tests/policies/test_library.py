"""The standard library of policies: found by name and model without reading more files than need be."""

from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.policies import library as policy_library
from gpusched_dsl.policies.library import library, policy_files, policy_model, policy_named


@pytest.mark.parametrize("path", policy_files(), ids=lambda path: path.parent.name)
def test_heads_read_off_the_text_are_those_of_the_tree(path: Path) -> None:
    declared = policy_library._library_files()[path]
    workspace = library(path)
    own = {name: p for name, p in workspace.policies.items() if p.span.source.path == path}
    assert set(declared) == set(own)
    for name, policy in own.items():
        assert declared[name] in (None, policy_model(workspace, policy))


def test_heads_in_any_form() -> None:
    text = """
policy A for M { }
policy B extends A "for Other {" { }
policy C
  "said" for N extends B { }
policy D extends Elsewhere { }
# policy E for M { }
policy F extends G { }
policy G extends F { }
"""
    assert policy_library._declared_policies(text) == {"A": "M", "B": "M", "C": "N", "D": None, "F": None, "G": None}


def workspace_of(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "<text>", found)
    found.raise_if_errors()
    return workspace


def test_only_files_for_the_model_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def reading(path: Path) -> Workspace:
        read.append(path)
        return load_workspace(path, Diagnostics())

    monkeypatch.setattr(policy_library, "library", reading)
    workspace = workspace_of('import "gsdsl:capacity_planning/model.gsm";')
    model = check_model(workspace, "CapacityPlanning", {}, Diagnostics())
    assert model is not None
    assert policy_named(workspace, "Greedy", model).model.name == "CapacityPlanning"
    assert [path.parent.name for path in read] == ["capacity_planning"]


def test_a_policy_is_for_models_that_extend_its_own() -> None:
    workspace = workspace_of(
        'import "gsdsl:capacity_planning/model.gsm";\nmodel Larger extends CapacityPlanning { param more default 1; }'
    )
    model = check_model(workspace, "Larger", {}, Diagnostics())
    assert model is not None
    assert policy_named(workspace, "EDF", model).model.name == "Larger"
    with pytest.raises(DiagnosticError) as error:
        policy_named(workspace, "STS", model)
    assert [d.code for d in error.value.diagnostics] == ["GSM4016"]


def test_a_policy_of_the_text_hides_that_of_the_library() -> None:
    workspace = workspace_of(
        'import "gsdsl:capacity_planning/model.gsm";\n'
        "policy EDF for CapacityPlanning {\n"
        "  order j in Jobs by weight[j];\n"
        "  choose (v, g) in Configs where (j, v, g) in Runnable by g;\n"
        "  place postpone;\n"
        "}"
    )
    model = check_model(workspace, "CapacityPlanning", {}, Diagnostics())
    assert model is not None
    assert [rule.name for rule in policy_named(workspace, "EDF", model).place] == ["postpone"]
    assert [rule.name for rule in policy_named(workspace, "PS", model).place] == ["new_node", "wait"]


def test_help_lists_only_policies_that_apply(tmp_path: Path) -> None:
    """Policies for any model do not apply to decisions with slots, such as those of price-aware models."""
    path = tmp_path / "c.gsm"
    text = 'import "gsdsl:price_aware/scenarios/day.gsm";\ncampaign C {{ solve DayByNode with {}; }}\n'
    helps = []
    for name in ("Zzzzz", "Greedy"):  # no method at all, a policy for another model
        path.write_text(text.format(name))
        with pytest.raises(DiagnosticError) as caught:
            gs.load(path).campaign("C").run(tmp_path / "store")
        (error,) = caught.value.diagnostics
        helps.append((error.code, str(error.help)))
    assert [code for code, _ in helps] == ["GSM1602", "GSM4016"]
    for _, help in helps:
        assert "`EPRONS`" in help
        for other in ("EASY", "MaxMin", "Hierarchical"):
            assert f"`{other}`" not in help
