"""Metrics of a driven cluster for Prometheus: GPUs, jobs, waits and their reasons, changes, and savings."""

from __future__ import annotations

import json
import threading
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import Counter, Gauge, Histogram, make_wsgi_app

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.live.messages import AnyRecord
from gpusched_dsl.online.live.metrics import Metrics
from gsdsl_clusters.drivers.protocol import Action, JobState, Observation
from gsdsl_clusters.drivers.reconcile import WantedState
from gsdsl_clusters.drivers.report_figures import FIGURES
from gsdsl_clusters.drivers.waiting_jobs import WaitingWatch

WAITS = (1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 24 * 3600.0, 3 * 24 * 3600.0)  # seconds


class DriveMetrics:
    """The metrics of one run, in a registry of its own; `session` labels those that the service has too."""

    def __init__(self, session: str, folder: Path, *, acts: bool) -> None:
        self._session, self._folder, self._acts = session, folder, acts
        self._live = Metrics()
        own: dict[str, Any] = {"registry": self._live.registry}
        self.gpus = Gauge("gsdsl_gpus", "GPUs of nodes that are up, and those in use.", ("type", "what"), **own)
        self.nodes = Gauge("gsdsl_nodes", "Nodes by state.", ("state",), **own)
        self.jobs = Gauge("gsdsl_jobs", "Jobs by state.", ("state",), **own)
        self.waiting = Gauge("gsdsl_waiting_jobs", "Jobs that wait, by the kind of the reason.", ("reason",), **own)
        self.longest = Gauge("gsdsl_longest_wait_seconds", "Wait so far of the oldest job that waits.", **own)
        self.waits = Histogram("gsdsl_wait_seconds", "Waits of jobs that have started.", buckets=WAITS, **own)
        self.actions = Counter("gsdsl_actions", "Changes; in shadow mode those not made.", ("action", "made"), **own)
        self.observed = Gauge("gsdsl_last_observation_timestamp_seconds", "Time of the last observation.", **own)
        self.cost = Gauge("gsdsl_report_cost", "Cost of the compared jobs in the last report.", ("method",), **own)
        self.saved = Gauge("gsdsl_report_saved", "Saving against the cluster in the last report.", ("method",), **own)
        self.most = Gauge("gsdsl_report_saved_at_most", "No method could have saved more (the bound).", (), **own)
        self._watch = WaitingWatch()
        self._waiting_before: set[str] = set()
        self._figures_at = 0

    def count_record(self, record: AnyRecord) -> None:
        """Count a record of the run."""
        self._live.count_record(self._session, record)

    def count_action(self, action: Action, *, acts: bool) -> None:
        """Count a change."""
        self.actions.labels(action.kind.value, "yes" if acts else "no").inc()

    def observe(self, observation: Observation, plan: WantedState, now: float) -> None:
        """Show an observation and the plan in effect, at a time in seconds since 1970."""
        self.observed.set(now)
        up = {name: node for name, node in observation.nodes.items() if node.up}
        _set(self.nodes, {"up": len(up), "down": len(observation.nodes) - len(up)})
        amounts: Tally[tuple[str, str]] = Tally()
        for node in observation.nodes.values():
            for what in ("up", "used", "planned"):
                amounts[node.gpu_type, what] += node.gpus if node.up and what == "up" else 0
        used = [("used", job.allocation) for job in observation.jobs.values()]
        for what, allocation in [*used, *(("planned", one) for one in plan.allocations.values())]:
            for place, gpus in allocation.items():
                if place in observation.nodes:
                    amounts[observation.nodes[place].gpu_type, what] += gpus
        _set(self.gpus, amounts)
        _set(self.jobs, Tally(job.state.value for job in observation.jobs.values()))
        self._observe_waits(observation, plan, now)
        self._read_figures()

    def _observe_waits(self, observation: Observation, plan: WantedState, now: float) -> None:
        starting = {n: where for n, where in plan.allocations.items() if n not in plan.barred} if self._acts else {}
        waiting = self._watch.look(observation, starting, now)
        if waiting is not None:
            _set(self.waiting, Tally(job.kind for job in waiting))
            self.longest.set(max((now - job.submitted for job in waiting if job.submitted is not None), default=0.0))
        for name in self._waiting_before:
            job = observation.jobs.get(name)
            if job is None or job.started is None or job.submitted is None:
                continue
            if job.state is JobState.RUNNING or job.state.has_ended:
                self.waits.observe(max(0.0, job.started - job.submitted))
        states = (JobState.PENDING, JobState.BLOCKED)
        self._waiting_before = {job.name for job in observation.jobs.values() if job.state in states}

    def _read_figures(self) -> None:
        """Read the last report if it is new."""
        path = self._folder / FIGURES
        try:
            at = path.stat().st_mtime_ns
            if at == self._figures_at:
                return
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        self._figures_at = at
        _set(self.cost, found["cost"])
        _set(self.saved, found["saved"])
        self.most.set(found.get("most", float("nan")))

    def text(self) -> bytes:
        """The metrics in the format of Prometheus."""
        return self._live.text()

    @contextmanager
    def serve(self, host: str, port: int) -> Iterator[int]:
        """Serve the metrics by a thread of its own; gives the port. Raises DiagnosticError (GSM5501)."""
        try:
            server = make_server(host, port, make_wsgi_app(self._live.registry), WSGIServer, _Silent)
        except (OSError, OverflowError) as failure:
            message = f"metrics cannot be served at {host}:{port}: {failure}"
            raise DiagnosticError([Diagnostic("GSM5501", message, help="use another port")]) from failure
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


def _set(gauge: Gauge, values: Mapping[Any, float]) -> None:
    """Set the values of all labels, and remove those that are not there any more."""
    wanted = {key if isinstance(key, tuple) else (key,): value for key, value in values.items()}
    for labels, value in wanted.items():
        gauge.labels(*labels).set(value)
    for obsolete in gauge._metrics.keys() - wanted.keys():
        gauge.remove(*obsolete)
