"""A real kube-apiserver with etcd for tests, on the loopback interface; `build_kubernetes.sh` makes the programs.

Kueue's published resource definitions are newer than that server: a current server of definitions (without the core
of Kubernetes) serves them, with their rules in CEL, and kube-apiserver passes requests on to it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gsdsl_clusters.drivers.kubernetes.api import KubernetesApi, ObjectChanged

HERE = Path(__file__).resolve().parent
DEPLOY = HERE.parents[3] / "deploy"
FOLDER = Path(os.environ.get("GSDSL_KUBERNETES", "~/.cache/gsdsl-tests/kubernetes")).expanduser() / "bin"
PROGRAMS = {name: shutil.which(name, path=f"{FOLDER}{os.pathsep}{os.environ['PATH']}")
            for name in ("etcd", "kube-apiserver", "apiextensions-apiserver")}  # fmt: skip
ABSENT = [name for name, path in PROGRAMS.items() if path is None]
ABSENT += ["the Python package kubernetes"] if find_spec("kubernetes") is None else []
NEEDS_KUBERNETES = pytest.mark.skipif(
    bool(ABSENT), reason=f"no {', '.join(ABSENT)}: edges/clusters/tests/drivers/build_kubernetes.sh makes the programs"
)
DEFINITIONS = "apiextensions-apiserver"
DRIVER = "system:serviceaccount:gpusched-dsl:gpusched-dsl"
Json = dict[str, Any]


@dataclass
class KubernetesService:
    """A running API server. `admin` may do everything; the kubeconfig of the driver has only the roles of `deploy/`."""

    folder: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @cached_property
    def admin(self) -> KubernetesApi:
        return KubernetesApi.connect(str(self.folder / "admin.yaml"), None, 300.0)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "driver.yaml"

    def start(self, name: str, *options: str) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [str(PROGRAMS[name]), *options], stdout=log, stderr=log, start_new_session=True
        )
        log.close()

    def start_server(self) -> None:
        folder = self.folder
        self.start(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.port + 1}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", f"--cert-dir={folder}/certificates", "--authorization-mode=RBAC",
            f"--token-auth-file={folder}/tokens.csv", "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://test",
            f"--service-account-key-file={folder}/key.pem", f"--service-account-signing-key-file={folder}/key.pem",
            f"--requestheader-client-ca-file={folder}/front.pem", "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-", f"--proxy-client-cert-file={folder}/proxy.pem",
            f"--proxy-client-key-file={folder}/proxy.key",
        )  # fmt: skip
        self.wait_until_ready()

    def start_definitions(self) -> None:
        """Start the server of definitions. It asks kube-apiserver who a user is and what he may do."""
        known = str(self.folder / "admin.yaml")
        self.start(
            DEFINITIONS, f"--etcd-servers=http://127.0.0.1:{self.port + 1}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port + 3}", f"--cert-dir={self.folder}/definitions", f"--kubeconfig={known}",
            f"--authentication-kubeconfig={known}", f"--authorization-kubeconfig={known}",
            "--enable-priority-and-fairness=false",  # these two need a newer core
            "--disable-admission-plugins=ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
        )  # fmt: skip

    def wait_until_ready(self) -> None:
        self._wait("kube-apiserver", lambda: self.admin.get("/api/v1/namespaces/default"))  # it is made last

    def _wait(self, name: str, request: Callable[[], Any], seconds: float = 240.0) -> None:
        """Wait until a request to a server succeeds."""
        end, why = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            if (code := self.processes[name].poll()) is not None:
                why = f"it ended with {code}"
                break
            try:
                request()
                return
            except Exception as failure:
                why = str(failure)
            time.sleep(0.5)
        log = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
        pytest.fail(f"{name} does not answer: {why}\n{log}")

    def kill(self, name: str) -> None:
        started = self.processes.pop(name)
        os.killpg(started.pid, signal.SIGKILL)
        started.wait(10)

    def end(self) -> None:
        for name in (DEFINITIONS, "kube-apiserver", "etcd"):
            if name in self.processes:
                self.kill(name)

    def apply(self, thing: Json) -> None:
        """Create an object of a manifest, unless it is there."""
        version, kind, known = thing["apiVersion"], thing["kind"], thing["metadata"]
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        place = f"/namespaces/{known['namespace']}" if "namespace" in known else ""
        plural = kind.lower() + ("es" if kind.endswith(("s", "ch")) else "s")
        with contextlib.suppress(ObjectChanged):
            self.admin.create(f"{root}{place}/{plural}", thing)

    def define_kueue(self) -> None:
        """Add Kueue's published resource definitions, and wait until kube-apiserver serves their objects."""
        self.start_definitions()
        with gzip.open(HERE / "kueue_definitions.json.gz") as file:
            self.define(json.load(file))

    def define(self, definitions: list[Json]) -> None:
        """Add resource definitions, and wait until kube-apiserver serves their objects in all versions.

        It does not keep them itself: objects of any form crash this old server, built by a newer compiler.
        """
        direct = KubernetesApi.connect(str(self.folder / "definitions.yaml"), None, 30.0)
        root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self._wait(DEFINITIONS, lambda: direct.get(root))
        for definition in definitions:
            direct.create(root, definition)
        where = {"name": "definitions", "namespace": "default"}
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": where,
                    "spec": {"type": "ExternalName", "externalName": "localhost"}})  # fmt: skip
        served = {(one["spec"]["group"], version["name"], one["spec"]["names"]["plural"])
                  for one in definitions for version in one["spec"]["versions"] if version["served"]}  # fmt: skip
        for group, version in {(group, version) for group, version, _ in served}:
            self.apply({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": f"{version}.{group}"},
                "spec": {"group": group, "version": version, "insecureSkipTLSVerify": True,
                         "groupPriorityMinimum": 1000, "versionPriority": 10,
                         "service": {**where, "port": self.port + 3}},
            })  # fmt: skip
        paths = [f"/apis/{group}/{version}/{plural}" for group, version, plural in served]
        self._wait(DEFINITIONS, lambda: [list(self.admin.list(path)) for path in paths])

    def add_node(self, name: str, gpus: int, labels: dict[str, str] | None = None) -> None:
        """Add a node, and play its kubelet's report."""
        known = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "H200", **(labels or {})}
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": known}})
        node = self.admin.get(f"/api/v1/nodes/{name}")
        node["spec"].pop("taints", None)  # a new node has one until its kubelet is ready
        node = self.admin.replace(f"/api/v1/nodes/{name}", node)
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "ready"}
        node["status"] = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
        self.admin.replace(f"/api/v1/nodes/{name}/status", node)


@contextlib.contextmanager
def kubernetes_service(folder: Path, *, port: int = 0) -> Iterator[KubernetesService]:
    """An API server that runs until the end of the block."""
    service = KubernetesService(folder, port or free_port())
    _make_keys(folder)
    tokens = f'admin-token,admin,admin,"system:masters"\ndriver-token,{DRIVER},driver\n'
    (folder / "tokens.csv").write_text(tokens, encoding="utf-8")
    for name, port, user in (
        ("admin", service.port, "admin"), ("driver", service.port, "driver"), ("definitions", service.port + 3, "admin")
    ):  # fmt: skip
        (folder / f"{name}.yaml").write_text(_kubeconfig(port, f"{user}-token"), encoding="utf-8")
    try:
        client, peer = f"http://127.0.0.1:{service.port + 1}", f"http://127.0.0.1:{service.port + 2}"
        service.start(
            "etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        )  # fmt: skip
        service.start_server()
        yield service
    finally:
        service.end()


def _make_keys(folder: Path) -> None:
    """A key for service accounts, and the certificate by which kube-apiserver shows itself to the other server."""
    for words in (
        "genrsa -out key.pem 2048",
        "req -x509 -newkey rsa:2048 -nodes -keyout front.key -out front.pem -subj /CN=front -days 30",
        "req -newkey rsa:2048 -nodes -keyout proxy.key -out proxy.csr -subj /CN=front-proxy",
        "x509 -req -in proxy.csr -CA front.pem -CAkey front.key -CAcreateserial -out proxy.pem -days 30",
    ):
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True, timeout=120)


def free_port() -> int:
    """The first of four ports that nobody uses now."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
        try:
            for other in range(port, port + 4):
                with socket.socket() as tried:
                    tried.bind(("127.0.0.1", other))
            return port
        except (OSError, OverflowError):
            continue


def _kubeconfig(port: int, token: str) -> str:
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{port}",
                                                  "insecure-skip-tls-verify": True}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    })  # fmt: skip
