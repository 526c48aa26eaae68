"""What pods demand of their nodes: resources, labels, node affinity, tolerations of taints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from gsdsl_clusters.drivers.kubernetes.objects import (
    Gpus,
    labels,
    metadata,
    profile_of,
    requests,
    resource_of,
    spec,
    status,
)
from gsdsl_clusters.kubernetes_objects.values import Json, UnknownValue, quantity, table, tables, text, texts

_OF_NODES = ("nodeSelector", "affinity", "tolerations")


def misfit(pod: Json, node: Json, used: Mapping[str, Decimal]) -> str | None:
    """Why a pod cannot run on a node of which `used` is reserved, None if it can. Raises UnknownValue.

    Checked are what a kubelet refuses: resources, node selector and required node affinity, and taints.
    """
    name = text(metadata(node).get("name"))
    offered = table(status(node).get("allocatable"))
    for resource, amount in {**requests(pod), "pods": Decimal(1)}.items():
        free = quantity(offered.get(resource, 0)) - used.get(resource, Decimal(0))
        if amount > free:
            return f"node `{name}` has {max(free, Decimal(0)):f} of {resource} free, and {amount:f} are needed"
    own = labels(node)
    for key, value in texts(spec(pod).get("nodeSelector")).items():
        if own.get(key) != value:
            return f"node `{name}` does not have the label {key}={value}"
    affinity = table(table(spec(pod).get("affinity")).get("nodeAffinity"))
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        terms = tables(table(required).get("nodeSelectorTerms"))
        if not any([_term_holds(term, node) for term in terms]):  # noqa: C419 (every term is read)
            return f"node `{name}` does not satisfy the node affinity"
    for taint in tables(spec(node).get("taints")):
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _is_tolerated(taint, spec(pod)):
            return f"node `{name}` has the taint {taint.get('key')}, which is not tolerated"
    return None


@dataclass
class Misfits:
    """The nodes on which pods cannot run now; equal demands share one answer.

    `nodes` are readable nodes by name, and `reserved` is what pods reserve on each now. Free devices of
    `gpus` are not asked for: plans distribute them, so that only the number of a place counts.
    """

    nodes: Mapping[str, Json]
    reserved: Mapping[str, Mapping[str, Decimal]]
    gpus: Gpus
    _known: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, pods: Sequence[Json], labels_too: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """The nodes on which one of some pods cannot run, with the reason; each needs `labels_too` besides its own.

        Raises UnknownValue.
        """
        answers = {id(one): one for one in (self._of_pod(pod, labels_too or {}) for pod in pods)}
        if len(answers) == 1:
            return next(iter(answers.values()))  # the same object for equal demands
        found: dict[str, str] = {}
        for one in answers.values():
            found = {**one, **found}
        return found

    def _of_pod(self, pod: Json, labels_too: Mapping[str, str]) -> Mapping[str, str]:
        wanted = {key: spec(pod).get(key) for key in _OF_NODES}
        amounts = {name: str(amount) for name, amount in requests(pod).items()}
        demands = json.dumps([wanted, amounts, dict(labels_too)], sort_keys=True)
        if demands not in self._known:
            whole = {**spec(pod), "nodeSelector": {**labels_too, **texts(spec(pod).get("nodeSelector"))}}
            answers = {name: misfit({"spec": whole}, node, self._used(name)) for name, node in self.nodes.items()}
            self._known[demands] = self._of_places(resource_of(pod, self.gpus), answers)
        return self._known[demands]

    def _of_places(self, wanted: str, answers: Mapping[str, str | None]) -> dict[str, str]:
        """The places of other resources, and those of nodes on which a pod cannot run."""
        found: dict[str, str] = {}
        for name, why in answers.items():
            offered = table(status(self.nodes[name]).get("allocatable"))
            for resource in self.gpus.all:
                if resource != wanted and self.gpus.others and (resource == self.gpus.resource or resource in offered):
                    found[self.gpus.place(name, resource)] = f"it offers {profile_of(resource)}"
            if why is not None:
                found[self.gpus.place(name, wanted)] = why
        return found

    def _used(self, name: str) -> Mapping[str, Decimal]:
        return {resource: n for resource, n in self.reserved.get(name, {}).items() if resource not in self.gpus.all}


def _term_holds(term: Json, node: Json) -> bool:
    """Whether a node satisfies all requirements of a term; a term without any holds nowhere."""
    by_label, by_field = tables(term.get("matchExpressions")), tables(term.get("matchFields"))
    fields = {"metadata.name": text(metadata(node).get("name"))}
    answers = [_expression_holds(one, labels(node)) for one in by_label]
    answers += [_expression_holds(one, fields) for one in by_field]
    return bool(answers) and all(answers)


def _expression_holds(expression: Json, known: Mapping[str, str]) -> bool:
    values = expression.get("values")
    values = [] if values is None else values
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise UnknownValue("the values of a node affinity are not texts")
    value = known.get(text(expression.get("key")))
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            try:
                difference = int(value or "") - int(values[0])
            except (ValueError, IndexError):
                return False
            return difference > 0 if operator == "Gt" else difference < 0
    raise UnknownValue(f"the operator `{expression.get('operator')}` of a node affinity is unknown")


def _is_tolerated(taint: Json, pod: Json) -> bool:
    for one in tables(pod.get("tolerations")):
        if one.get("effect") not in (None, "", taint.get("effect")):
            continue
        if not one.get("key"):
            if one.get("operator") == "Exists":
                return True
            continue
        if one.get("key") != taint.get("key"):
            continue
        if one.get("operator") == "Exists":
            return True
        if one.get("operator") in (None, "", "Equal") and (one.get("value") or "") == (taint.get("value") or ""):
            return True
    return False
