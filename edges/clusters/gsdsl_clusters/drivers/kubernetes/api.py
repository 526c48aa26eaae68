"""Requests to a Kubernetes API server by the official client: plain JSON in and out, its errors as ours.

The objects of the client are made for one version of the API and refuse or drop unknown fields, so only its
connection and configuration are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

from gpusched_dsl.data.sources.json_keys import decode_distinct
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import missing_extra
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable

Json: TypeAlias = dict[str, Any]
PAGE = 500  # objects in one answer to a list


class ObjectChanged(Exception):
    """An object has changed since it was read, or exists already."""


class Gone(Exception):
    """There is no such object."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


Send = Callable[[str, str, Mapping[str, str], Any], Answer]  # method, path, headers, body


@dataclass(frozen=True, eq=False)
class KubernetesApi:
    """`send` makes one request and raises ClusterUnavailable without an answer."""

    send: Send

    @classmethod
    def connect(cls, kubeconfig: str | None, context: str | None, timeout: float) -> KubernetesApi:
        """Use a kubeconfig, or the service account of the pod that this process runs in.

        Raises ValueError with `key: reason` for a configuration that cannot be used, and DiagnosticError (GSM5404)
        without the client.
        """
        return cls(_sender(kubeconfig, context, timeout))

    def get(self, path: str) -> Json:
        """Raises Gone, ActionRefused if it may not be read, and ClusterUnavailable."""
        return self._request("GET", path)

    def list(self, path: str, **selectors: str) -> Iterator[Json]:
        """All objects, page by page from one version of the state. Raises ClusterUnavailable."""
        more = ""
        while True:
            query = {**selectors, "limit": str(PAGE)} | ({"continue": more} if more else {})
            try:
                page = self._request("GET", f"{path}?{urlencode(query)}")
            except (ActionRefused, Gone, ObjectChanged) as failure:
                raise ClusterUnavailable(f"`{path}` cannot be listed: {failure}") from failure
            items = page.get("items", ...)  # an answer without them is of another kind, and no empty list
            if items is None:
                items = []
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise ClusterUnavailable(f"the answer for `{path}` is not a list of objects")
            yield from items
            about = page.get("metadata")
            more = str(about.get("continue") or "") if isinstance(about, dict) else ""
            if not more:
                return

    def create(self, path: str, body: Json) -> Json:
        """Raises ObjectChanged if it exists, ActionRefused, Gone and ClusterUnavailable."""
        return self._request("POST", path, body)

    def replace(self, path: str, body: Json) -> Json:
        """Replace an object of the same `resourceVersion`. Raises ObjectChanged for another one."""
        return self._request("PUT", path, body)

    def merge(self, path: str, body: Json) -> Json:
        """Change the given fields."""
        return self._request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str, body: Json) -> Json:
        return self._request("DELETE", path, body)

    def _request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Json:
        headers = {"Accept": "application/json", **({"Content-Type": kind} if body is not None else {})}
        answer = self.send(method, path, headers, body)
        document, why = None, ""
        try:
            document = decode_distinct(answer.body) if answer.body else {}
        except (ValueError, RecursionError) as failure:
            why = f": {failure}"
        message = _message(answer, document)
        match answer.status:
            case status if 200 <= status < 300:
                if not isinstance(document, dict):
                    raise ClusterUnavailable(f"the answer for `{path}` is no JSON object{why}")
                return document
            case 404:
                raise Gone(message)
            case 409:
                raise ObjectChanged(message)
            case 429 | 408 | 410:
                raise ClusterUnavailable(message)
            case status if 400 <= status < 500:
                raise ActionRefused(message)
        raise ClusterUnavailable(message)


def _message(answer: Answer, document: Any) -> str:
    found = document.get("message") if isinstance(document, dict) else None
    return str(found) if found else f"the API server has answered with status {answer.status}"


# --- the official client ---------------------------------------------------------------------------------------------


def _sender(kubeconfig: str | None, context: str | None, timeout: float) -> Send:
    try:
        from kubernetes import client, config
        from kubernetes.client import rest
        from urllib3.exceptions import HTTPError
    except ImportError as failure:
        missing = missing_extra("kubernetes", "a driver of Kubernetes needs", "GSM5404")
        raise DiagnosticError([missing]) from failure
    settings = client.Configuration()
    settings.retries = False
    _load(config, settings, kubeconfig, context)
    pool = rest.RESTClientObject(settings)

    def send(method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        tokens = {auth["key"]: auth["value"] for auth in settings.auth_settings().values() if auth["value"]}
        try:
            answer = pool.request(
                method,
                settings.host.rstrip("/") + path,
                headers={**headers, **tokens},
                body=body,
                _request_timeout=timeout,
            )
        except client.ApiException as failure:  # older versions of the client raise it for an answer too
            if failure.status:
                return Answer(failure.status, _bytes(failure.body))
            raise ClusterUnavailable(f"the API server does not answer: {failure.reason}") from failure
        except (HTTPError, OSError) as failure:
            raise ClusterUnavailable(f"the API server does not answer: {failure}") from failure
        try:
            return Answer(answer.status, _bytes(answer.data if answer.data is not None else answer.read()))
        except (HTTPError, OSError) as failure:
            raise ClusterUnavailable(f"the answer of the API server is incomplete: {failure}") from failure

    return send


def _load(config: Any, settings: Any, kubeconfig: str | None, context: str | None) -> None:
    """Raises ValueError with `key: reason`."""
    if kubeconfig is not None and not Path(kubeconfig).is_file():
        raise ValueError(f"kubeconfig: names no file: `{kubeconfig}`")
    inside = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
    try:
        if kubeconfig is None and context is None and inside.exists():
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(kubeconfig, context, client_configuration=settings, persist_config=False)
    except Exception as failure:  # the client raises many kinds for a wrong file
        key = "context" if context is not None else "kubeconfig"
        raise ValueError(f"{key}: cannot be used: {str(failure).splitlines()[0]}") from failure


def _bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else str(data or "").encode()
