"""The cost and the violations of a plan by the printed formulas of the paper: products, maxima and all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from price_aware_reference import Instance, Job, Rules

CLOSE = 1e-5  # of a request per minute


@dataclass(frozen=True)
class Plan:
    """Decisions by (job, node, slot), (service, node, slot) and (node, slot); what is not there is 0."""

    train: Mapping[tuple[int, int, int], int]
    serve: Mapping[tuple[int, int, int], int]
    share: Mapping[tuple[int, int, int], float]
    on: Mapping[tuple[int, int], int]


def cost(instance: Instance, plan: Plan, rules: Rules) -> float:
    """Electricity (C11)-(C14), starts (C15), switching on (C16), and the penalties of Problem 2, in $."""
    train, serve, share, on = plan.train, plan.serve, plan.share, plan.on
    total = 0.0
    for k in instance.nodes:
        kind = instance.types[k]
        for h in instance.slots:
            power = instance.idle[kind]
            power += sum(job.power[kind] * train.get((b, k, h), 0) for b, job in _fitting(instance, kind))
            power += sum(
                serve.get((i, k, h), 0) * (s.base_power[kind] + s.load_power[kind] * share.get((i, k, h), 0.0))
                for i, s in enumerate(instance.services)
            )
            watt_hours = on.get((k, h), 0) * power * instance.slot / 60
            total += watt_hours * instance.prices[h] * 1e-6
            before = on.get((k, h - 1), 0) if h else int(instance.was_on[k])
            total += instance.boot[kind] * max(on.get((k, h), 0) - before, 0)
        for b, job in _fitting(instance, kind):
            for h in instance.slots:
                before = train.get((b, k, h - 1), 0) if h else int(job.was_training_on == k)
                total += job.restart[kind] * max(train.get((b, k, h), 0) - before, 0)
    for b, job in enumerate(instance.jobs):
        used = [(k, h) for k in instance.nodes for h in instance.slots if train.get((b, k, h), 0)]
        late = [max(h - job.due, 0) for _, h in used]
        total += job.lateness_weight * (sum(late) if rules.lateness_measure == "per_slot" else max(late, default=0))
        if rules.charge_first_start == "no" and job.was_training_on is None:
            total -= job.restart[instance.types[used[0][0]]]
    for (i, k, h), rate in share.items():
        service, kind = instance.services[i], instance.types[k]
        threshold = service.threshold(kind)
        assert threshold is not None
        if rules.mode == "soft":
            total += service.latency_weight[kind] * max(rate - threshold, 0.0) * serve.get((i, k, h), 0)
    return total


def broken_rules(instance: Instance, plan: Plan, rules: Rules) -> Iterator[str]:
    """The constraints (17)-(29) as corrected, and the rule about migration, that the plan breaks."""
    train, serve, share, on = plan.train, plan.serve, plan.share, plan.on
    for b, job in enumerate(instance.jobs):
        used = [(k, h) for k in instance.nodes for h in instance.slots if train.get((b, k, h), 0)]
        if any(h < job.arrives or (rules.mode == "hard" and h > job.due) for _, h in used):
            yield f"job {b} trains outside its window"
        if len({h for _, h in used}) < len(used):
            yield f"job {b} trains on two nodes at a time"
        if sum(instance.slot / job.time[instance.types[k]] for k, _ in used) < job.epochs - 1e-6:
            yield f"job {b} does not end"
        if rules.migration != "anywhere" and len({instance.types[k] for k, _ in used}) > 1:
            yield f"job {b} changes the type of its node"
        if rules.migration == "forbidden" and len({k for k, _ in used}) > 1:
            yield f"job {b} changes its node"
    for k in instance.nodes:
        for h in instance.slots:
            training = sum(train.get((b, k, h), 0) for b in range(len(instance.jobs)))
            serving = sum(serve.get((i, k, h), 0) for i in range(len(instance.services)))
            if training > 1 or (training and serving):
                yield f"node {k} does too much in slot {h}"
            if rules.inference_sharing == "exclusive" and serving > 1:
                yield f"node {k} serves two services in slot {h}"
            if (training or serving) and not on.get((k, h)):
                yield f"node {k} works in slot {h} though it is off"
    for i, service in enumerate(instance.services):
        for h in instance.slots:
            if abs(sum(share.get((i, k, h), 0.0) for k in instance.nodes) - service.load[h]) > CLOSE:
                yield f"service {i} loses requests in slot {h}"
    for (i, k, h), rate in share.items():
        service, kind = instance.services[i], instance.types[k]
        mu = service.rate[kind]
        if rate > CLOSE and not serve.get((i, k, h)):
            yield f"requests of service {i} on node {k}, which does not serve it in slot {h}"
        if not serve.get((i, k, h)):
            continue
        if rules.mode == "hard" and 1 / (mu - rate) + 1 / mu > service.bound / 60 * (1 + CLOSE):
            yield f"service {i} takes too long on node {k} in slot {h}"
        if rules.mode == "soft" and rate > max(0.99 * mu, service.threshold(kind) or 0.0) + CLOSE:
            yield f"service {i} overloads node {k} in slot {h}"


def _fitting(instance: Instance, kind: str) -> Iterator[tuple[int, Job]]:
    return ((b, job) for b, job in enumerate(instance.jobs) if kind in job.time)
