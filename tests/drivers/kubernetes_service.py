"""A real kube-apiserver with etcd for tests, on the loopback interface; `build_kubernetes.sh` makes the programs."""

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.drivers.kubernetes.api import KubernetesApi, ObjectChanged
from gpusched_dsl.drivers.protocol import ClusterUnavailable

HERE = Path(__file__).resolve().parent
DEPLOY = HERE.parents[1] / "deploy"
FOLDER = Path(os.environ.get("GSDSL_KUBERNETES", "~/.cache/gsdsl-tests/kubernetes")).expanduser() / "bin"
PROGRAMS = {name: shutil.which(name, path=f"{FOLDER}{os.pathsep}{os.environ['PATH']}")
            for name in ("etcd", "kube-apiserver")}  # fmt: skip
ABSENT = [name for name, path in PROGRAMS.items() if path is None]
ABSENT += ["the Python package kubernetes"] if find_spec("kubernetes") is None else []
NEEDS_KUBERNETES = pytest.mark.skipif(
    bool(ABSENT), reason=f"no {', '.join(ABSENT)}: tests/drivers/build_kubernetes.sh makes the programs"
)
DRIVER = "system:serviceaccount:gpusched-dsl:gpusched-dsl"
Json = dict[str, Any]


@dataclass
class KubernetesService:
    """A running API server. `admin` may do everything; the kubeconfig of the driver has only the roles of `deploy/`."""

    folder: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def admin(self) -> KubernetesApi:
        return KubernetesApi.connect(str(self.folder / "admin.yaml"), None, 30.0)

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
        )  # fmt: skip
        self.wait_until_ready()

    def wait_until_ready(self, seconds: float = 240.0) -> None:
        end, why = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            if (code := self.processes["kube-apiserver"].poll()) is not None:
                why = f"it ended with {code}"
                break
            try:
                self.admin.get("/api/v1/namespaces/kube-system")
                return
            except Exception as failure:
                why = str(failure)
            time.sleep(0.5)
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")[-3000:]
        pytest.fail(f"kube-apiserver did not start: {why}\n{log}")

    def kill(self, name: str) -> None:
        started = self.processes.pop(name)
        os.killpg(started.pid, signal.SIGKILL)
        started.wait(10)

    def end(self) -> None:
        for name in ("kube-apiserver", "etcd"):
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
        """Add Kueue's published resource definitions, and wait until they are served."""
        with gzip.open(HERE / "kueue_definitions.json.gz") as file:
            definitions = json.load(file)
        for definition in definitions:
            self.apply(definition)
        end = time.monotonic() + 60
        for plural in ("workloads", "admissionchecks", "resourceflavors"):
            while True:
                try:
                    list(self.admin.list(f"/apis/kueue.x-k8s.io/v1beta2/{plural}"))
                    break
                except ClusterUnavailable:
                    assert time.monotonic() < end
                    time.sleep(0.3)

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
    subprocess.run(
        ["openssl", "genrsa", "-out", str(folder / "key.pem"), "2048"], check=True, capture_output=True, timeout=60
    )
    tokens = f'admin-token,admin,admin,"system:masters"\ndriver-token,{DRIVER},driver\n'
    (folder / "tokens.csv").write_text(tokens, encoding="utf-8")
    for user in ("admin", "driver"):
        (folder / f"{user}.yaml").write_text(_kubeconfig(service.port, f"{user}-token"), encoding="utf-8")
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


def free_port() -> int:
    """The first of three ports that nobody uses now."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
        try:
            for other in (port, port + 1, port + 2):
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
