"""The Helm chart gives the manifests of `deploy/`, and its dashboard shows metrics that exist.

A small renderer of the constructs that the chart uses stands for Helm.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from helm_templates import render, rendered

from gpusched_dsl.cli.arguments.parse import parse
from gsdsl_clusters.drivers.metrics import DriveMetrics
from gsdsl_clusters.drivers.protocol import Action, ActionKind, JobState, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.reconcile import WantedState
from gsdsl_clusters.drivers.report_figures import FIGURES

DEPLOY = Path(__file__).parents[4] / "deploy"
CHART = DEPLOY / "helm"
FILES: dict[str, Any] = {"cluster": {"toml": 'driver = "kueue"\n', "gsm": "online Live {\n}\n"}}
Rules = set[tuple[str, str, str]]


def objects(**values: Any) -> dict[tuple[str, str], dict[str, Any]]:
    found = rendered(CHART, FILES | values)
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def rules_of(thing: dict[str, Any]) -> Rules:
    parts = [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in thing["rules"]]
    return {one for rule in parts for one in itertools.product(*rule)}


def deployed(*names: str) -> Rules:
    things = [one for name in names for one in yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text())]
    return set().union(*(rules_of(one) for one in things if one["kind"] == "ClusterRole"))


@pytest.mark.parametrize(
    ("values", "manifests"),
    [
        ({}, ["kueue-watch"]),
        ({"act": True}, ["kueue-watch", "kueue-act"]),
        ({"act": True, "bindPods": True}, ["kueue-watch", "kueue-act", "kueue-bind"]),
        ({"bindPods": True}, ["kueue-watch"]),
        ({"driver": "kubernetes"}, ["scheduler-watch"]),
        ({"driver": "kubernetes", "act": True}, ["scheduler-watch", "scheduler-act"]),
    ],
)
def test_the_rights_are_those_of_the_manifests(values: dict[str, Any], manifests: list[str]) -> None:
    found = objects(**values)
    name = "gpus-gpusched-dsl"
    assert rules_of(found["ClusterRole", name]) == deployed(*manifests)
    binding = found["ClusterRoleBinding", name]
    (subject,) = binding["subjects"]
    assert ("ServiceAccount", subject["name"]) in found
    assert (subject["namespace"], binding["roleRef"]["name"]) == ("gpus", name)
    assert (("AdmissionCheck", "gpusched-dsl") in found) is ("kueue-act" in manifests)


@pytest.mark.parametrize("act", [False, True])
def test_the_deployment_is_that_of_the_manifest(act: bool) -> None:
    found = objects(act=act)
    chart = found["Deployment", "gpusched-dsl"]["spec"]["template"]["spec"]
    things = list(yaml.safe_load_all((DEPLOY / "driver.yaml").read_text()))
    plain = next(one for one in things if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,), (other,) = chart.pop("containers"), plain.pop("containers")
    options = parse(container.pop("args"))
    assert (options.act, options.metrics) == (act, ("0.0.0.0", 9464))
    (port,) = container.pop("ports")
    assert port == {"name": "metrics", "containerPort": 9464}
    assert other.pop("args") == ["drive", "/config/cluster.toml"]
    assert container == other
    volumes = {one["name"]: one for one in chart.pop("volumes")}
    claim = volumes["records"]["persistentVolumeClaim"]["claimName"]
    files = volumes["config"]["configMap"]["name"]
    assert found["ConfigMap", files]["data"] == {f"cluster.{key}": text for key, text in FILES["cluster"].items()}
    assert found["PersistentVolumeClaim", claim]["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert "storageClassName" not in found["PersistentVolumeClaim", claim]["spec"]
    plain.pop("volumes")
    assert chart == plain
    assert found["Deployment", "gpusched-dsl"]["spec"]["replicas"] == 1


def test_values_change_what_they_say() -> None:
    found = objects(
        image={"repository": "registry.example/gsdsl", "tag": "1.2"}, records={"storageClass": "fast", "size": "9Gi"},
        metrics={"serviceMonitor": True, "port": 9999}, dashboard=False, act=True, check="plan",
    )  # fmt: skip
    (container,) = found["Deployment", "gpusched-dsl"]["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"][3]) == ("registry.example/gsdsl:1.2", "0.0.0.0:9999")
    claim = found["PersistentVolumeClaim", "gpusched-dsl-records"]["spec"]
    assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("fast", "9Gi")
    (port,) = found["Service", "gpusched-dsl-metrics"]["spec"]["ports"]
    assert port["port"] == 9999
    assert ("ServiceMonitor", "gpusched-dsl") in found
    assert ("AdmissionCheck", "plan") in found
    assert not [name for kind, name in found if name.endswith("dashboard")]
    used = set(re.findall(r"\.Values\.([\w.]+)", "".join(p.read_text() for p in (CHART / "templates").glob("*"))))
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    stated = {key if key == "resources" or not isinstance(one, dict) else f"{key}.{inner}"
              for key, one in values.items() for inner in (one if isinstance(one, dict) else [""])}  # fmt: skip
    assert used == stated


def test_a_chart_without_its_files_fails() -> None:
    with pytest.raises(ValueError, match=r"--set-file cluster.toml=cluster.toml"):
        rendered(CHART, {})


def test_the_renderer_refuses_what_it_does_not_know() -> None:
    for text in ("{{ lower .Values.a }}", "{{ range .Values.a }}", "{{ .Values.b }}", "{{ if .Values.a }}"):
        with pytest.raises(ValueError, match=r"does not know|there is no|no end"):
            render(text, {"Values": {"a": "x"}})


def test_the_dashboard_shows_metrics_that_exist(tmp_path: Path) -> None:
    text = objects()["ConfigMap", "gpusched-dsl-dashboard"]["data"]["gsdsl.json"]
    panels = json.loads(text)["panels"]
    (tmp_path / FIGURES).write_text(json.dumps({"cost": {"a": 1}, "saved": {"a": 1}, "most": 1}))
    metrics = DriveMetrics("s", tmp_path, acts=True)
    metrics.count_action(Action(ActionKind.START, "a"), acts=True)
    for family in (metrics._live.events.labels("s", "refused"), metrics._live.decisions.labels("s", "ok")):
        family.inc()
    metrics._live.plan_seconds.labels("s").observe(1.0)
    job = ObservedJob("a", JobState.PENDING, 1, submitted=0.0)
    metrics.observe(Observation({"a": job}, {"g": ObservedNode("g", 1)}), WantedState({}, ()), 1.0)
    known: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(gsdsl\w+)(?:\{(.*)\})? ", metrics.text().decode(), re.MULTILINE):
        known.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    named = {name for text in expressions for name in re.findall(r"gsdsl_\w+", text)}
    assert len(named) == 13
    assert named <= known.keys(), named - known.keys()
    for panel in panels:
        for target in panel["targets"]:
            (name, *_) = re.findall(r"gsdsl_\w+", target["expr"])
            labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            labels |= {one for found in re.findall(r"by \(([\w, ]+)\)", target["expr"]) for one in found.split(", ")}
            assert labels <= known[name], (panel["title"], labels)
    spots = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(spots)) == len(spots)
