"""Counters of live runs in the format of Prometheus, for the service and for drivers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gpusched_dsl.online.live.messages import Acknowledged, AnyRecord, Decided, Failed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "gsdsl_requests", "Requests by path and status.", ("method", "path", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "gsdsl_request_seconds", "Time of requests.", ("path",), buckets=SECONDS, registry=self.registry
        )
        self.events = Counter("gsdsl_events", "Events by result.", ("session", "result"), registry=self.registry)
        self.decisions = Counter("gsdsl_decisions", "Decisions.", ("session", "status"), registry=self.registry)
        self.plan_seconds = Histogram(
            "gsdsl_plan_seconds", "Time to make a plan.", ("session",), buckets=SECONDS, registry=self.registry
        )
        self.sessions = Gauge("gsdsl_sessions", "Sessions by state.", ("state",), registry=self.registry)
        self.waiting = Gauge("gsdsl_waiting_requests", "Requests that wait.", ("session",), registry=self.registry)

    def count_record(self, session: str, record: AnyRecord) -> None:
        """Count a record of a session, unless it repeats an earlier one."""
        match record:
            case Acknowledged():
                self.events.labels(session, "duplicate" if record.duplicate else "acknowledged").inc()
            case Failed():
                self.events.labels(session, "refused").inc()
            case Decided() if not record.again and not record.is_border:
                self.decisions.labels(session, record.status).inc()
                self.plan_seconds.labels(session).observe(record.seconds)

    def forget(self, session: str) -> None:
        """Remove the metrics of a session, so that they do not grow with the number of sessions."""
        for metric in (self.events, self.decisions, self.plan_seconds, self.waiting):
            for labels in [key for key in metric._metrics if key[0] == session]:
                metric.remove(*labels)

    def text(self) -> bytes:
        return generate_latest(self.registry)
