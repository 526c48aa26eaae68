"""Policies for any model: their text for a model, the reasons why one does not apply, their lists, and their rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from found_codes import raises_code
from generic_clusters import MODEL, random_cluster

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.policies.catalogue import listed_generic
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.policies.generic.instantiate import obstacle, policy_text
from gpusched_dsl.policies.library import any_policy_named, policy_named

PLACEMENT = "placement run[j, n] { job j;  node n;  ROLES }"
BODY = """
  set Jobs;  set Nodes;  set Types;
  param time[Jobs, Nodes] in h;
  param due[Jobs] in h;
  param late[Jobs, Nodes] in h;
  param type[Nodes] within Types;
  var run[Jobs, Nodes] binary;
"""


def workspace_of(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "text.gsm", found, Path.cwd())
    found.raise_if_errors()
    return workspace


def reason(name: str, body: str) -> str:
    workspace = workspace_of(f"model M {{ {BODY} {body} }}")
    model = check_model(workspace, "M", {}, Diagnostics())
    assert model is not None
    found = obstacle(GENERIC[name], model)
    return "" if found is None else f"{found.reason}: {found.help}"


@pytest.mark.parametrize(
    ("name", "roles", "expected"),
    [
        ("FIFO", "", ""),
        ("LAS", "", ""),
        ("SJF", "", "how long a job lasts: add `lasts TIME;`"),
        ("EASY", "due due[j];", "how long a job lasts: add `lasts TIME;`"),
        ("SJF", "lasts time[j, n];", ""),
        ("EDF", "lasts time[j, n];", "when a job is due: add `due TIME;`"),
        ("EDF", "due late[j, n];", "`due` depends on more than the job"),
        ("FairShare", "", "the user of a job: add `user USER;`"),
        ("MaxMin", "lasts time[j, n];  node_type type[n];", ""),
    ],
)
def test_reasons(name: str, roles: str, expected: str) -> None:
    assert expected in reason(name, PLACEMENT.replace("ROLES", roles))
    assert bool(reason(name, PLACEMENT.replace("ROLES", roles))) == bool(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "the model has no placement: "),
        ("placement run[j, n] { node n; }", "the index of the job"),
        ("placement run[j, n] { job j; }", "the index of the node"),
        ("placement run[j, n] { job j;  slot n; }", "decisions have slots"),
        ("placement run[j, n] { job j;  node j;  place_from_end n; }", "positions in queues"),
    ],
)
def test_reasons_against_all(body: str, expected: str) -> None:
    assert expected in reason("FIFO", body)


DECLARATIONS = {
    "set": "set {};", "option": "option {} in {{ a, b }} default a;", "number": "param {} default 1;",
    "of jobs": "param {}[Jobs] in h default 1[h];", "of nodes": "param {}[Nodes] in h default 1[h];",
    "let": "let {} in h = 1[h];", "let of jobs": "let {}[j in Jobs] in h = due[j];",
    "variable": "var {}[Jobs] binary;", "constraint": "constraint {}: run[first(Jobs), first(Nodes)] <= 1;",
    "objective": "minimize {}: sum[j in Jobs, n in Nodes] run[j, n];",
    "report": "report {} = 1;",
}  # fmt: skip


@pytest.mark.parametrize("kind", DECLARATIONS)
def test_names_of_models(kind: str) -> None:
    """A policy that applies can be checked, whichever of its words a model declares; else the reason names the word."""
    roles = "placement run[j, n] { job j;  node n;  lasts time[j, n];  due due[j];  weight 1[$/h];  user type_of[j]; }"
    body = BODY.replace("set Jobs;", "set Jobs ordered;").replace("set Nodes;", "set Nodes ordered;")
    body += f"param type_of[Jobs] within Types; {roles}"
    plain = check_model(workspace_of(f"model M {{ {body} }}"), "M", {}, Diagnostics())
    assert plain is not None
    known = set(re.findall(r"\w+", body))
    for policy in GENERIC.values():
        words = set(re.findall(r"\b[a-z]\w+", re.sub('".*"', "", policy_text(policy, plain)))) - known
        for word in words:
            found = Diagnostics()
            more = DECLARATIONS[kind].format(word)
            workspace = workspace_from_text(f"model M {{ {body} {more} }}", "text.gsm", found, Path.cwd())
            model = None if found.has_errors else check_model(workspace, "M", {}, found)
            if model is None:
                continue  # a word of the language
            against = obstacle(policy, model)
            if against is None:
                assert policy_named(workspace, policy.name, model).name == policy.name
            else:
                assert f"`{word}` of the model hides" in against.reason
                assert word != "mean_time"
                assert kind != "of jobs"


def test_lists_in_python() -> None:
    found = gs.loads(random_cluster(3).text()).generic_policies()
    assert {entry.policy.name: entry.applies for entry in found} == dict.fromkeys(GENERIC, True) | {"FairShare": False}
    assert next(entry.help for entry in found if not entry.applies).startswith("add `user USER;`")


def test_rented_nodes() -> None:
    workspace = workspace_of('import "gsdsl:capacity_planning/model.gsm";')
    model = check_model(workspace, "CapacityPlanning", {}, Diagnostics())
    assert model is not None
    against = {name for name, policy in GENERIC.items() if obstacle(policy, model) is not None}
    assert against == {"FairShare"}  # the model does not state users
    with raises_code("GSM4016", "FairShare", "CapacityPlanning") as error:
        policy_named(workspace, "FairShare", model)
    assert [d.code for d in error.value.diagnostics] == ["GSM4016"]
    assert (
        "order j in Jobs by submitted" in policy_named(workspace, "FIFO", model).order.span.text
    )  # its own comes first
    assert "choose by time_left[j, v, g], g;" in policy_text(GENERIC["SJF"], model)


def test_the_only_model_is_meant() -> None:
    workspace = workspace_of(MODEL.replace("ROLES", "").replace("OUTAGE", ""))
    assert any_policy_named(workspace, "LAS").model.name == "Cluster"
    with raises_code("GSM4016", "FairShare", "Cluster"):
        any_policy_named(workspace, "FairShare")


def test_the_text_is_a_policy_of_the_language() -> None:
    text = random_cluster(3).text("user owner[j];")
    workspace = workspace_of(text)
    listed = {entry.policy.name: entry for entry in listed_generic(workspace)}
    assert all(entry.applies and entry.model == "Cluster" and entry.scenarios == () for entry in listed.values())
    written = "".join(f"policy My{name} for Cluster {{ {' '.join(e.lines)} }}\n" for name, e in listed.items())
    outcomes = {}
    for name in ("EASY", "MyEASY"):
        setup = setup_of(workspace_of(text + written), RunConfig(method=name))
        outcomes[name] = loop_of(setup).run().world.end.tolist()
    assert outcomes["EASY"] == outcomes["MyEASY"]


def test_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.gsm"
    path.write_text(random_cluster(3).text() + "policy SJF for Cluster { order j in Jobs by needs[j]; place wait; }")
    assert main(["policies", str(path)]) == 0
    out = capsys.readouterr().out
    assert "any model with a placement: policies for Cluster" in out
    assert "    order j in Jobs by arrived[j];\n    choose by left[j, n], needs[j];" in out
    assert "does not apply: the model has its own policy `SJF`" in out
    assert "add `user USER;` to the placement" in out
    assert main(["policies", str(path), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    schema = Path(__file__).parents[3] / "docs" / "schema" / "policies.schema.json"
    described = json.loads(schema.read_text(encoding="utf-8"))["properties"]["for_any_model"]["items"]
    assert all(
        set(entry) == set(described["required"]) == set(described["properties"]) for entry in document["for_any_model"]
    )
    applies = {entry["name"]: entry["applies"] for entry in document["for_any_model"]}
    assert applies == dict.fromkeys(GENERIC, True) | {"SJF": False, "FairShare": False}
    assert main(["policies"]) == 0
    assert all(policy.source in capsys.readouterr().out for policy in list(GENERIC.values())[:1])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("place best_fit, backfill;", "`backfill` must be the only rule of `place`"),
        ("place backfill;  finish grow by speedup;", "`finish` is not allowed with `backfill`"),
        ("place fair_share;", "`fair_share` needs the user of a job"),
    ],
)
def test_rules_that_stand_alone(lines: str, expected: str) -> None:
    text = MODEL.replace("ROLES", "").replace("OUTAGE", "")
    workspace = workspace_of(f"{text} policy P for Cluster {{ order j in Jobs by length[j];  {lines} }}")
    with pytest.raises(DiagnosticError) as error:
        any_policy_named(workspace, "P")
    assert any(expected in d.message for d in error.value.diagnostics)


@pytest.mark.parametrize("share", ["0", "-1"])
def test_shares_are_positive(share: str) -> None:
    text = random_cluster(3).text(f"user owner[j];  share {share};")
    with raises_code("GSM3016", "share", share, at=share):
        loop_of(setup_of(workspace_of(text), RunConfig(method="FairShare"))).run()


def test_all_ways_are_for_nodes() -> None:
    body = BODY + "var at[Jobs, Nodes, 1..3] binary;  placement at[j, n, h] { job j;  node n;  slot h;  lasts 1[h]; }"
    lines = "order j in Jobs by due[j];  choose by 1;  occupies 1;  place start_now;"
    text = f"model M {{ {body} }} policy P for M {{ {lines} }}"
    with pytest.raises(DiagnosticError) as error:
        any_policy_named(workspace_of(text), "P")
    assert "GSM1630" in [d.code for d in error.value.diagnostics]


UNLIMITED = """
model Machines {
  set Jobs; set Machines; param hours[Jobs] in h;
  var run[Jobs, Machines] binary;
  maximize busy: sum[j in Jobs, m in Machines] run[j, m];
  constraint once[j in Jobs]: sum[m in Machines] run[j, m] <= 1;
  placement run[j, m] { job j; node m; lasts hours[j]; uses 1; }
}
scenario S for Machines { Jobs = { x, y, z }; Machines = { m1, m2 }; table Jobs: hours[h] = x 1  y 2  z 3; }
"""


def test_nodes_without_a_capacity_have_room_for_all_jobs() -> None:
    found = gs.loads(UNLIMITED).solve(backend="FIFO")
    assert found.status == "feasible"
    assert found.objective == 3
