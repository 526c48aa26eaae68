"""The check of an external event before it is applied: its job or node, and the data after it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import NoReturn

from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.magnitudes import LARGEST
from gpusched_dsl.online.live.event_data import base_with_jobs, base_with_values
from gpusched_dsl.online.live.labels import Label, find_code, job_code, node_code, refuse
from gpusched_dsl.online.live.messages import (
    AnyEvent,
    Arrival,
    Arrivals,
    Completion,
    NodeDown,
    NodeUp,
    Progress,
    Value,
    Withdrawal,
)
from gpusched_dsl.online.loops.setup import period_of
from gpusched_dsl.online.simulation.world import FUTURE, RUNNING, WAITING, World


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event that fits the data `checked_against`; `base` are the data after the event, if it changes them."""

    event: AnyEvent
    checked_against: Base
    base: Base | None


def check_event(
    event: AnyEvent, base: Base, online: CheckedOnline, world: World, forgotten: Container[Label] = ()
) -> Candidate:
    """Return the event with the data after it; `forgotten` are the labels of jobs that ended and that the data lack.

    Raises DiagnosticError (GSM5207, GSM7007, and as data are checked).
    """
    root, placement = online.jobs_root, online.base.placement
    assert placement is not None
    changed: Base | None = None
    if isinstance(event, Completion | Progress | Withdrawal) and event.job in forgotten:
        _refuse_absent(event.job)
    match event:
        case Arrival():
            if isinstance(event.job, int) and not -(2**63) <= event.job < 2**63:
                refuse(f"the label {event.job} of a job is too large for an integer", "send it as a text, in quotes")
            if event.job in forgotten:
                _refuse_known(event.job, ended=True)
            if find_code(base, root, event.job) is None:
                changed = base_with_jobs(base, online, (event,))
            elif world.status[job_code(base, root, event.job)] != FUTURE:
                _refuse_known(event.job, ended=world.status[job_code(base, root, event.job)] not in (WAITING, RUNNING))
        case Arrivals():
            changed = _check_arrivals(event, base, online, world, forgotten)
        case Completion() | Progress() | Withdrawal():
            code = job_code(base, root, event.job)
            expected = isinstance(event, Withdrawal) and not event.returns and world.status[code] == FUTURE
            if world.status[code] not in (WAITING, RUNNING) and not expected:
                _refuse_absent(event.job)
            if isinstance(event, Progress) and event.done is not None and not event.done <= LARGEST:
                help = "write `done` in the unit of `work` in the block"
                refuse(f"job `{event.job}` has done {event.done:g}; the largest possible value is {LARGEST:g}", help)
        case NodeDown() | NodeUp():
            node_code(base, placement.places_root, event.node)
        case Value():
            changed = base_with_values(base, event)
            period_of(online, changed)
    return Candidate(event, base, changed)


def _check_arrivals(
    event: Arrivals, base: Base, online: CheckedOnline, world: World, forgotten: Container[Label]
) -> Base:
    """Return the data with new jobs. Raises DiagnosticError for a job that is known, or is there twice."""
    seen: set[Label] = set()
    for one in event.jobs:
        code = find_code(base, online.jobs_root, one.job)
        if one.job in seen or one.job in forgotten or code is not None:
            ended = one.job in forgotten or (code is not None and world.status[code] not in (FUTURE, WAITING, RUNNING))
            _refuse_known(one.job, ended=ended)
        if isinstance(one.job, int) and not -(2**63) <= one.job < 2**63:
            refuse(f"the label {one.job} of a job is too large for an integer", "send it as a text, in quotes")
        seen.add(one.job)
    return base_with_jobs(base, online, event.jobs)


def _refuse_known(job: Label, *, ended: bool) -> NoReturn:
    if ended:
        refuse(f"job `{job}` has already ended", "a label names one job: give another job another label")
    refuse(f"job `{job}` is already present", "use one label for all events of a job")


def _refuse_absent(job: Label) -> NoReturn:
    refuse(f"job `{job}` is not present", "it has not arrived, or has already ended")
