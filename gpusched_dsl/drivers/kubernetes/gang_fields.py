"""Fields of a job about its pods, for models of gangs: how many there are, and the GPUs of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpusched_dsl.drivers.protocol import Field

GANG_FIELDS = frozenset({"pods", "gpus_per_pod"})


def gang_fields(sets: Iterable[tuple[int, int]]) -> Mapping[str, Field]:
    """Return the number of pods with GPUs, and the most GPUs of one, from the number and GPUs of pods of each kind."""
    with_gpus = [(pods, gpus) for pods, gpus in sets if pods and gpus]
    return {"pods": sum(pods for pods, _ in with_gpus), "gpus_per_pod": max((gpus for _, gpus in with_gpus), default=0)}
