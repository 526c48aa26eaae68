"""Objects of clusters: no text of a job or node, such as a name or an annotation, is run, opened or imported."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from drive_files import run_driver, write_files
from hostile_values import TOKEN, VALUES, nothing_reached
from simulated_cluster import SimulatedCluster
from test_kubernetes_objects import a_job, node, pod
from test_slurm_json import JOBS_22, NODES_22

from gsdsl_clusters.drivers.kubernetes.api import Answer, KubernetesApi
from gsdsl_clusters.drivers.kubernetes.scheduler import PodScheduler
from gsdsl_clusters.drivers.protocol import Action, ClusterUnavailable, Observation, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson
from gsdsl_clusters.drivers.slurm.observe import observation_of


def with_texts(thing: Any) -> Iterator[Any]:
    """Yield copies of an observed job or node with a hostile text in each field that has one, found from its types."""
    for field in fields(thing):
        kind, value = str(get_type_hints(type(thing))[field.name]), getattr(thing, field.name)
        for text in VALUES:
            if isinstance(value, str) and field.name != "state":
                yield replace(thing, **{field.name: text})
            elif isinstance(value, tuple):
                yield replace(thing, **{field.name: (text,)})
            elif isinstance(value, Mapping):
                yield replace(thing, **{field.name: {text: 1}})
                for key in value if "str |" in kind else ():
                    yield replace(thing, **{field.name: {**value, key: text}})


class HostileCluster(SimulatedCluster):
    """Shows, beside its own jobs and nodes, one for each place that can have a text."""

    def observe(self) -> Observation:
        found = super().observe()
        jobs, nodes = dict(found.jobs), dict(found.nodes)
        for number, job in enumerate(with_texts(found.jobs["honest"])):
            name = f"h{number}" if job.name == "honest" else job.name
            jobs[name] = replace(job, name=name)
        for number, one in enumerate(with_texts(found.nodes["g2"])):
            name = f"h{number}" if one.name == "g2" else one.name
            nodes[name] = replace(one, name=name, gpus=0)
        assert {"name", "reason", "unsupported"} <= {field.name for field in fields(ObservedJob)}
        assert {"name", "gpu_type"} <= {field.name for field in fields(ObservedNode)}
        return Observation(jobs, nodes)

    def act(self, action: Action) -> None:
        if action.job in self.jobs:
            super().act(action)


@pytest.mark.parametrize("acts", [False, True])
def test_every_text_of_an_observation(tmp_path: Path, acts: bool) -> None:
    cluster = HostileCluster({"g1": 4, "g2": 4})
    cluster.submit("honest", 1, 30, comment="length=30")
    cluster.submit("other", 1, 30, comment=f"length=30 program:touch {TOKEN}")
    with nothing_reached():
        summary = run_driver(write_files(tmp_path), cluster, 2, acts=acts)
    assert summary.rounds == 2
    assert summary.plans
    assert not list(tmp_path.glob(f"**/*{TOKEN}*"))


def leaves(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of the texts of a JSON document."""
    match document:
        case dict() | list():
            for key, value in document.items() if isinstance(document, dict) else enumerate(document):
                yield from leaves(value, (*at, key))
        case str():
            yield at


def hostile_documents(document: Any) -> Iterator[Any]:
    """Yield the document with each hostile text in each place of a text."""
    for at in leaves(document):
        for text in VALUES:
            made = copy.deepcopy(document)
            inner = made
            for key in at[:-1]:
                inner = inner[key]
            inner[at[-1]] = text
            yield made


def test_every_text_of_slurm() -> None:
    with nothing_reached():
        for jobs, nodes in hostile_documents([JOBS_22, NODES_22]):
            with suppress(UnknownJson):
                observation_of(jobs, nodes, "main")


def test_every_text_of_kubernetes() -> None:
    objects = {
        "/api/v1/nodes": [node()],
        "/apis/batch/v1/jobs": [a_job()],
        "/api/v1/pods": [pod("p", job="u-123456789", schedulerName="gpusched-dsl"), pod("q", node="g1")],
    }
    asked = set()
    with nothing_reached():
        for documents in hostile_documents(objects):

            def send(method: str, path: str, headers: Any, body: Any, known: Any = documents) -> Answer:
                place = path.partition("?")[0]
                asked.add(place)
                return Answer(200, json.dumps({"items": known[place]}).encode())

            with suppress(ClusterUnavailable):
                PodScheduler(KubernetesApi(send)).observe()
    assert asked == set(objects)
